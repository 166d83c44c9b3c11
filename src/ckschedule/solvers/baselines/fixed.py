"""What people switch on today: store all, recompute all, and segments of equal length.

All of them ignore the budget; `ckschedule.solve` checks it. Every chain is taken, in
the first variant of each stage; of graphs only `StoreAll` has a schedule, for the
others they raise `UnsupportedModelError`.
"""

from dataclasses import dataclass

from ckschedule.costs.chain import Chain
from ckschedule.result import Scope
from ckschedule.schedule import Schedule
from ckschedule.simulation import Model, as_graph
from ckschedule.solvers.base import (
    AbstractConstruction,
    Progress,
    Proposal,
    as_setting,
)
from ckschedule.solvers.baselines.cutting import (
    segments,
    steps,
    torch_segments,
    write_segments,
)
from ckschedule.solvers.baselines.once import once_each


@dataclass(frozen=True, slots=True)
class StoreAll(AbstractConstruction):
    """Record every stage in the forward pass and recompute nothing.

    Of a graph, every node runs once, in the graph's order (`once_each`).

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = StoreAll().schedule(chain)
    >>> simulate(chain, schedule).recomputations
    {}
    """

    def schedule(self, chain: Chain) -> Schedule:
        """Return the schedule; O(stages)."""
        return write_segments(chain, (steps(chain),) * (steps(chain) > 0))

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the schedule, of a graph, too.

        Raises
        ------
        UnsupportedModelError
            If a graph's order is not topological.
        """
        if isinstance(model, Chain):
            return AbstractConstruction.search(self, model, budget, progress)
        schedule = once_each(as_graph(model))
        return Proposal(scope=Scope.CONSTRUCTION, schedule=schedule)


@dataclass(frozen=True, slots=True)
class RecomputeAll(AbstractConstruction):
    """Keep every stage's output and recompute every stage's saved tensors.

    "Checkpoint every block", the same as ``EveryNth(1)``. The last step's backward
    follows its forward, so that step alone is not recomputed.

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = RecomputeAll().schedule(chain)
    >>> simulate(chain, schedule).recomputations
    {'F1': 1, 'F2': 1, 'F3': 1}
    """

    def schedule(self, chain: Chain) -> Schedule:
        """Return the schedule; O(stages)."""
        return EveryNth(1).schedule(chain)


@dataclass(frozen=True, slots=True)
class EveryNth(AbstractConstruction):
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
    InvalidSettingError
        If ``n`` is no integer of at least one.

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = EveryNth(2).schedule(chain)
    >>> simulate(chain, schedule).recomputations
    {'F1': 1, 'F2': 1}
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", as_setting(self.n, "EveryNth: n", least=1))

    def schedule(self, chain: Chain) -> Schedule:
        """Return the schedule; O(stages)."""
        return write_segments(chain, segments(steps(chain), self.n))


@dataclass(frozen=True, slots=True)
class UniformSegments(AbstractConstruction):
    """Cut into a number of segments as torch's ``checkpoint_sequential`` does.

    Segments have ``steps // count`` steps; the last takes the remainder and is run
    without checkpointing, here as there.

    Attributes
    ----------
    count
        Segments, at least one; more than there are steps means one a step.

    Raises
    ------
    InvalidSettingError
        If ``count`` is no integer of at least one.

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = UniformSegments(2).schedule(chain)
    >>> simulate(chain, schedule).recomputations
    {'F1': 1, 'F2': 1}
    """

    count: int

    def __post_init__(self) -> None:
        count = as_setting(self.count, "UniformSegments: count", least=1)
        object.__setattr__(self, "count", count)

    def schedule(self, chain: Chain) -> Schedule:
        """Return the schedule; O(stages)."""
        return write_segments(chain, torch_segments(steps(chain), self.count))


@dataclass(frozen=True, slots=True)
class FirstN(AbstractConstruction):
    """Recompute each of the first n steps on its own and store the others.

    Megatron-LM's recompute method "block". The last step is stored in any case.

    Attributes
    ----------
    n
        Steps that are recomputed, at least one; more than there are means all.

    Raises
    ------
    InvalidSettingError
        If ``n`` is no integer of at least one.

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = FirstN(1).schedule(chain)
    >>> simulate(chain, schedule).recomputations
    {'F1': 1}
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", as_setting(self.n, "FirstN: n", least=1))

    def schedule(self, chain: Chain) -> Schedule:
        """Return the schedule; O(stages)."""
        return write_segments(chain, segments(steps(chain), 1), recomputed=self.n)
