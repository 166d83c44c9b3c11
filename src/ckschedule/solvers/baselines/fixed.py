"""What people switch on today: store all, recompute all, and segments of equal length.

All of them ignore the budget; `ckschedule.solve` checks it. Every chain is taken, in
the first variant of each stage; a graph raises `UnsupportedModelError`.
"""

from dataclasses import dataclass

from ckschedule.result import Scope
from ckschedule.simulation import Model
from ckschedule.solvers.base import AbstractSolver, Progress, Proposal, as_chain
from ckschedule.solvers.baselines.cutting import (
    positive,
    segments,
    steps,
    torch_segments,
    write_segments,
)


@dataclass(frozen=True, slots=True)
class StoreAll(AbstractSolver):
    """Record every stage in the forward pass and recompute nothing.

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = StoreAll().search(chain, 0).schedule
    >>> simulate(chain, schedule).recomputations
    {}
    """

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the schedule whatever the budget; O(stages)."""
        chain = as_chain(model, self)
        schedule = write_segments(chain, (steps(chain),) * (steps(chain) > 0))
        return Proposal(scope=Scope.CONSTRUCTION, schedule=schedule)


@dataclass(frozen=True, slots=True)
class RecomputeAll(AbstractSolver):
    """Keep every stage's output and recompute every stage's saved tensors.

    "Checkpoint every block", the same as ``EveryNth(1)``. The last step's backward
    follows its forward, so that step alone is not recomputed.

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = RecomputeAll().search(chain, 0).schedule
    >>> simulate(chain, schedule).recomputations
    {'F1': 1, 'F2': 1, 'F3': 1}
    """

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the schedule whatever the budget; O(stages)."""
        chain = as_chain(model, self)
        schedule = write_segments(chain, segments(steps(chain), 1))
        return Proposal(scope=Scope.CONSTRUCTION, schedule=schedule)


@dataclass(frozen=True, slots=True)
class EveryNth(AbstractSolver):
    """Keep the input of every n-th step and recompute segment by segment.

    Megatron-LM's recompute method "uniform". In the last segment nothing is
    recomputed; the remainder, if any, is the last segment.

    Attributes
    ----------
    n
        Steps a segment, at least one; more than there are means one segment, that is,
        storing all.

    Raises
    ------
    ValueError
        If ``n`` is below one.

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = EveryNth(2).search(chain, 0).schedule
    >>> simulate(chain, schedule).recomputations
    {'F1': 1, 'F2': 1}
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive(self.n, "EveryNth: n"))

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the schedule whatever the budget; O(stages)."""
        chain = as_chain(model, self)
        schedule = write_segments(chain, segments(steps(chain), self.n))
        return Proposal(scope=Scope.CONSTRUCTION, schedule=schedule)


@dataclass(frozen=True, slots=True)
class UniformSegments(AbstractSolver):
    """Cut into a number of segments as torch's ``checkpoint_sequential`` does.

    Segments have ``steps // count`` steps; the last takes the remainder and is run
    without checkpointing, here as there.

    Attributes
    ----------
    count
        Segments, at least one; more than there are steps means one a step.

    Raises
    ------
    ValueError
        If ``count`` is below one.

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = UniformSegments(2).search(chain, 0).schedule
    >>> simulate(chain, schedule).recomputations
    {'F1': 1, 'F2': 1}
    """

    count: int

    def __post_init__(self) -> None:
        count = positive(self.count, "UniformSegments: count")
        object.__setattr__(self, "count", count)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the schedule whatever the budget; O(stages)."""
        chain = as_chain(model, self)
        schedule = write_segments(chain, torch_segments(steps(chain), self.count))
        return Proposal(scope=Scope.CONSTRUCTION, schedule=schedule)


@dataclass(frozen=True, slots=True)
class FirstN(AbstractSolver):
    """Recompute each of the first n steps on its own and store the others.

    Megatron-LM's recompute method "block". The last step is stored in any case.

    Attributes
    ----------
    n
        Steps that are recomputed, at least one; more than there are means all.

    Raises
    ------
    ValueError
        If ``n`` is below one.

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = FirstN(1).search(chain, 0).schedule
    >>> simulate(chain, schedule).recomputations
    {'F1': 1}
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive(self.n, "FirstN: n"))

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the schedule whatever the budget; O(stages)."""
        chain = as_chain(model, self)
        schedule = write_segments(chain, segments(steps(chain), 1), recomputed=self.n)
        return Proposal(scope=Scope.CONSTRUCTION, schedule=schedule)
