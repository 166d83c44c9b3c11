"""The solver that brackets the optimum of long chains."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from ckschedule.costs.chain import Chain
from ckschedule.costs.encoding import encode
from ckschedule.result import Scope
from ckschedule.schedule import from_codes
from ckschedule.simulation import Model, measure
from ckschedule.solvers.base import (
    AbstractFrontSolver,
    FrontProposal,
    PointProposal,
    Progress,
    Proposal,
    as_chain,
)
from ckschedule.solvers.chain_dp.arrays import chain_arrays
from ckschedule.solvers.slot_dp.bracket import Bracket, bracket_optimum
from ckschedule.solvers.slot_dp.grid import make_frame

MEMORY_LIMIT: Final = 5 * 2**29
"""Default bytes for the rows of all intervals, 2.5 GiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotDP(AbstractFrontSolver):
    """A schedule of a chain and a bound close below it, among persistent schedules.

    For long chains of unequal stages, whose exact fronts (`ChainDP`) grow too long.

    Attributes
    ----------
    gap
        Refine until (makespan - bound) / bound is no more; 0 asks for the least that
        the limits allow. A ratio: hence a float.
    slots
        Units in the budget on the first, coarsest grid.
    memory_limit
        Bytes that a grid may take. If the first would pass it: `ResourceLimitError`; if
        a finer one would, the bracket at hand is returned.
    time_limit
        Seconds: no finer grid is begun that would probably end later. What comes back
        is a bracket in any case; with another limit, or on another machine, it may be
        wider or narrower.
    points
        Budgets of a `front`, at least 1.

    Notes
    -----
    See `ckschedule.solvers.slot_dp` for the method and the proof. A grid of m slots for
    n stages takes O(n^2 m) memory and O(n^3 m) time, with small constants.
    """

    gap: float = 0.001
    slots: int = 500
    memory_limit: int = MEMORY_LIMIT
    time_limit: float = 60.0
    points: int = 33

    def __post_init__(self) -> None:
        if not (isfinite(self.gap) and self.gap >= 0):
            raise ValueError(f"gap is {self.gap}; give a ratio, zero or more")
        if self.slots < 1:
            raise ValueError(f"slots is {self.slots}; give at least 1")
        if self.points < 1:
            raise ValueError(f"points is {self.points}; give at least 1")
        if not self.time_limit >= 0:
            raise ValueError(
                f"time_limit is {self.time_limit}; give seconds, 0 or more"
            )

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return a schedule and a lower bound; see `AbstractSolver`.

        Raises
        ------
        UnsupportedModelError
            If the model is a graph.
        ResourceLimitError
            If the first grid would pass ``memory_limit``, or the chain's times are too
            fine.
        """
        chain = as_chain(model, self)
        (found,) = self._bracket(chain, [budget], progress)
        if found.codes is None:
            return Proposal(
                scope=Scope.PERSISTENT,
                infeasible=True,
                minimum_budget=found.minimum_budget,
            )
        encoding = encode(chain.to_graph())
        peak, _, _ = measure(encoding, found.codes)
        return Proposal(
            scope=Scope.PERSISTENT,
            schedule=from_codes(found.codes, encoding),
            makespan=found.makespan,
            peak=peak,
            lower_bound=found.lower_bound,
            minimum_budget=found.minimum_budget,
        )

    def front(self, model: Model, progress: Progress | None = None) -> FrontProposal:
        """Return brackets at ``points`` budgets, evenly from the least to the most.

        The least is exact; the most is what storing everything in the fastest variants
        takes.

        Raises
        ------
        UnsupportedModelError, ResourceLimitError
            As `search`.
        """
        chain = as_chain(model, self)
        arrays = chain_arrays(chain)
        frame = make_frame(arrays, self.memory_limit)
        outside = chain.input + chain.static.total
        least = int(frame.least[0, 1, arrays.n]) + outside
        spread = frame.room + outside - least
        steps = max(self.points - 1, 1)
        budgets = sorted({least + spread * i // steps for i in range(self.points)})
        encoding = encode(chain.to_graph())
        points = []
        for found in self._bracket(chain, budgets, progress):
            assert found.codes is not None, "every budget is at least the least"
            assert found.lower_bound is not None, "likewise"
            peak, makespan, _ = measure(encoding, found.codes)
            points.append(
                PointProposal(
                    codes=found.codes,
                    peak=peak,
                    makespan=makespan,
                    lower_bound=found.lower_bound,
                )
            )
        return FrontProposal(
            scope=Scope.PERSISTENT,
            exact=False,
            points=sorted(points, key=lambda point: (point.peak, point.makespan)),
            solver=repr(self),
        )

    def _bracket(
        self, chain: Chain, budgets: Sequence[int], progress: Progress | None
    ) -> tuple[Bracket, ...]:
        return bracket_optimum(
            chain,
            budgets,
            gap=self.gap,
            slots=self.slots,
            memory_limit=self.memory_limit,
            time_limit=self.time_limit,
            progress=progress,
        )
