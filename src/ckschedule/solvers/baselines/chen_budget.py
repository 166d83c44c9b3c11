"""Chen's planner: greedy segments of bounded size, and the search for the bound.

Chen, Xu, Zhang, Guestrin: Training Deep Nets with Sublinear Memory Cost,
arXiv 1604.06174, Algorithm 3; the search follows the authors' code (mxnet-memonger).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt

from ckschedule.costs.chain import Chain
from ckschedule.result import Scope
from ckschedule.simulation import Model, simulate
from ckschedule.solvers.base import (
    AbstractSolver,
    Progress,
    Proposal,
    as_chain,
    as_setting,
)
from ckschedule.solvers.baselines.cutting import write_segments


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPlan:
    """What Algorithm 3 decides for one segment budget.

    Attributes
    ----------
    lengths
        Steps of each segment.
    stored
        x in the paper: bytes kept between segments.
    largest
        y in the paper: bytes of the largest segment, the last open one included, which
        the paper's listing forgets.
    """

    lengths: tuple[int, ...]
    stored: int
    largest: int


def budget_plan(
    sizes: Sequence[int], budget: int, *, outputs: Sequence[int] | None = None
) -> BudgetPlan:
    """Return the segments that Algorithm 3 makes: each ends once it passes the budget.

    Parameters
    ----------
    sizes
        (n_steps,), bytes that each step adds to its segment.
    budget
        B in the paper: bytes a segment may have before it is closed.
    outputs
        (n_steps,), bytes kept if a segment ends at that step; None means ``sizes``.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> plan = budget_plan([1] * 1000, 27)
    >>> plan.stored, plan.largest
    (35, 28)
    """
    outputs = sizes if outputs is None else outputs
    lengths: list[int] = []
    stored = largest = open_size = length = 0
    for size, output in zip(sizes, outputs, strict=True):
        open_size += size
        length += 1
        if open_size > budget:
            stored += output
            largest = max(largest, open_size)
            lengths.append(length)
            open_size = length = 0
    if length:
        lengths.append(length)
    return BudgetPlan(
        lengths=tuple(lengths), stored=stored, largest=max(largest, open_size)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChenBudget(AbstractSolver):
    """Run Algorithm 3 for several segment budgets and take the best simulated plan.

    The segment budgets are 0, then ``rounds - 1`` times sqrt(x y / 2) of the plan
    before, then ``trials`` equal steps from the smallest y seen to sqrt(2) times the
    next guess. Every plan is simulated. The fastest that keeps the memory budget is
    proposed, the one of lower peak among equals; if none does, the one of lowest peak.
    In the last segment nothing is recomputed.

    Attributes
    ----------
    rounds, trials
        At least one each; the authors' code has 3 and 6.

    Raises
    ------
    InvalidSettingError
        If one of them is no integer of at least one.

    Examples
    --------
    >>> import ckschedule as ck
    >>> chain = ck.catalog.uniform(stages=4, saved=1)
    >>> ck.solve(chain, "90%", ChenBudget()).raise_for_status().recomputations
    {'F1': 1, 'F2': 1}
    """

    rounds: int = 3
    trials: int = 6

    def __post_init__(self) -> None:
        for name in ("rounds", "trials"):
            value = as_setting(getattr(self, name), f"ChenBudget: {name}", least=1)
            object.__setattr__(self, name, value)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the best plan's schedule; O((rounds + trials) stages).

        Raises
        ------
        UnsupportedModelError
            If the model is a graph.
        """
        chain = as_chain(model, self)
        found = []
        # Segment budgets that lead to the same plan are simulated once.
        for lengths in dict.fromkeys(self._plans(chain)):
            schedule = write_segments(chain, lengths)
            trace = simulate(chain, schedule)
            fits = trace.peak <= budget
            order = (
                (trace.makespan, trace.peak) if fits else (trace.peak, trace.makespan)
            )
            found.append((not fits, *order, schedule))
        best = min(found, key=lambda entry: entry[:3])
        return Proposal(scope=Scope.CONSTRUCTION, schedule=best[3])

    def _plans(self, chain: Chain) -> Iterator[tuple[int, ...]]:
        own = chain.stages[chain.frozen_prefix :]
        outputs = [stage.output for stage in own]
        sizes = [stage.output + stage.variants[0].saved for stage in own]
        limit, smallest = 0, sum(sizes)
        for _ in range(self.rounds):
            plan = budget_plan(sizes, limit, outputs=outputs)
            yield plan.lengths
            smallest = min(smallest, plan.largest)
            limit = isqrt(plan.stored * plan.largest // 2)
        width = isqrt(2 * limit * limit) - smallest
        for trial in range(self.trials):
            limit = smallest + width * trial // max(1, self.trials - 1)
            yield budget_plan(sizes, limit, outputs=outputs).lengths
