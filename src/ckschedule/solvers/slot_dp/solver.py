"""The solver that brackets the optimum of long chains."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from time import perf_counter
from typing import Final

from ckschedule.costs.encoding import encode
from ckschedule.errors import InvalidSettingError
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
    as_real_setting,
    as_setting,
)
from ckschedule.solvers.chain_dp.arrays import chain_arrays
from ckschedule.solvers.slot_dp.bracket import Bracket, bracket_optimum
from ckschedule.solvers.slot_dp.grid import Frame, make_frame

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
        the limits allow. A ratio: hence a float, finite.
    slots
        Units in the budget on the first, coarsest grid, at least 1.
    memory_limit
        Bytes that a grid may take, 0 or more. If the first would pass it:
        `ResourceLimitError`; if a finer one would, the bracket at hand is returned.
    time_limit
        Seconds, 0 or more: no finer grid is begun that would probably end later. What
        comes back is a bracket in any case; with another limit, or on another machine,
        it may be wider or narrower.
    points
        Budgets of a `front`, at least 1.

    Raises
    ------
    InvalidSettingError
        If one of them is out of its range, or no number.

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
        for name, least in (("slots", 1), ("memory_limit", 0), ("points", 1)):
            number = as_setting(getattr(self, name), f"SlotDP: {name}", least=least)
            object.__setattr__(self, name, number)
        for name in ("gap", "time_limit"):
            real = as_real_setting(getattr(self, name), f"SlotDP: {name}")
            object.__setattr__(self, name, real)
        if isinf(self.gap):
            raise InvalidSettingError(f"SlotDP: gap is {self.gap}; give a finite ratio")

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return a schedule and a lower bound; see `AbstractSolver`.

        Raises
        ------
        UnsupportedModelError
            If the model is a graph.
        ResourceLimitError
            If the first grid would pass ``memory_limit``, the chain's times are too
            fine, or its sizes too large.
        """
        chain = as_chain(model, self)
        begin = perf_counter()
        frame = make_frame(chain_arrays(chain), self.memory_limit)
        outside = chain.input + chain.static.total
        minimum = frame.minimum + outside
        (found,) = self._bracket(frame, [budget - outside], begin, progress)
        if found.codes is None:
            return Proposal(
                scope=Scope.PERSISTENT,
                infeasible=True,
                minimum_budget=minimum,
            )
        encoding = encode(chain.to_graph())
        peak, _, _ = measure(encoding, found.codes)
        return Proposal(
            scope=Scope.PERSISTENT,
            schedule=from_codes(found.codes, encoding),
            makespan=found.makespan,
            peak=peak,
            lower_bound=found.lower_bound,
            minimum_budget=minimum,
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
        begin = perf_counter()
        frame = make_frame(chain_arrays(chain), self.memory_limit)
        least, spread = frame.minimum, frame.room - frame.minimum
        steps = max(self.points - 1, 1)
        rooms = sorted({least + spread * i // steps for i in range(self.points)})
        encoding = encode(chain.to_graph())
        points = []
        for found in self._bracket(frame, rooms, begin, progress):
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
        self,
        frame: Frame,
        rooms: Sequence[int],
        begin: float,
        progress: Progress | None,
    ) -> tuple[Bracket, ...]:
        return bracket_optimum(
            frame,
            rooms,
            gap=self.gap,
            slots=self.slots,
            memory_limit=self.memory_limit,
            deadline=begin + self.time_limit,
            progress=progress,
        )
