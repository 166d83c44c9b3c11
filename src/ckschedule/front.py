"""The whole trade-off between peak memory and makespan."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ckschedule.budgets import budget_bytes
from ckschedule.costs.encoding import encode
from ckschedule.errors import NoScheduleError
from ckschedule.result import Scope, Status, Stop, figures, gap, nothing_fits
from ckschedule.schedule import Schedule, from_codes
from ckschedule.simulation import Model, Trace, as_graph, simulate
from ckschedule.units import Budget, format_bytes


@dataclass(frozen=True, kw_only=True)
class ParetoPoint:
    """One schedule of a front; all numbers are the simulator's.

    Two points are equal if model, codes and bound are: the rest follows from these.

    Attributes
    ----------
    model
        What the schedule is for.
    codes
        The schedule, encoded (`ckschedule.schedule.to_codes`).
    peak
        Bytes, static bytes included.
    makespan
        Ticks.
    executions
        Computations of all nodes together.
    lower_bound
        Ticks that no schedule of the front's scope undercuts within ``peak`` bytes:
        where it equals the makespan, the point is optimal for the budget ``peak``. It
        says nothing about larger budgets, where only `ParetoFront.exact` or the front's
        next points do; for smaller ones it holds as well.
    """

    model: Model
    codes: npt.NDArray[np.int64]
    peak: int
    makespan: int
    executions: int
    lower_bound: int

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParetoPoint):
            return NotImplemented
        return (
            self.lower_bound == other.lower_bound
            and np.array_equal(self.codes, other.codes)
            and self.model == other.model
        )

    def __post_init__(self) -> None:
        # A view: the caller's array stays as it is.
        codes = self.codes.view()
        codes.flags.writeable = False
        object.__setattr__(self, "codes", codes)

    __hash__ = None  # type: ignore[assignment]  # holds an array

    @property
    def overhead(self) -> int:
        """Ticks beyond computing everything once."""
        return self.makespan - self.model.base_time

    @property
    def relative_overhead(self) -> float:
        """Overhead as a ratio of computing everything once; 0.3 for 30 % more time."""
        return gap(self.makespan, self.model.base_time)

    def __str__(self) -> str:
        """Return the figures in words."""
        return figures(self.peak, self.makespan, self.model)

    @property
    def gap(self) -> float:
        """How far it may lie above the optimum; see `ckschedule.result.gap`.

        Zero at every point of an exact front.
        """
        return gap(self.makespan, self.lower_bound)

    @property
    def recomputations(self) -> int:
        """Computations beyond the first of each node."""
        encoding = encode(as_graph(self.model))
        ran = np.unique(encoding.node[self.codes[self.codes >= 0]])
        return self.executions - len(ran)

    @property
    def activation_peak(self) -> int:
        """The peak without the static bytes."""
        return self.peak - self.model.static.total

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule in operations, decoded when asked for."""
        return from_codes(self.codes, encode(as_graph(self.model)))

    @cached_property
    def trace(self) -> Trace:
        """The full simulation, run when asked for."""
        return simulate(self.model, self.schedule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a search said about one budget of a front.

    Attributes
    ----------
    budget
        Bytes that it was asked for, static bytes included.
    status
        How it ended, among the schedules of the front's scope.
    lower_bound
        Ticks that no schedule of that scope within the budget undercuts; None if there
        is no such proof.
    """

    budget: int
    status: Status
    lower_bound: int | None

    @property
    def proved(self) -> bool:
        """Whether no search can say more about this budget."""
        return self.status in (Status.OPTIMAL, Status.INFEASIBLE)


@dataclass(frozen=True, kw_only=True)
class ParetoFront:
    """Points by rising peak and falling makespan, none dominated by another.

    Attributes
    ----------
    model
        What it is the front of.
    points
        At least one.
    scope
        The schedules that the front ranges over.
    exact
        Whether these are all breakpoints of the optimum: every budget is answered by
        the last point within it. Otherwise each point has its own bound and gap.
    solver
        Who computed it, with settings.
    infeasible
        Bytes: the largest budget that is proved to be too small for every schedule of
        the scope; None if none is.
    stop
        Why the search ended: an interrupted one can go on, see `ckschedule.pareto`.
    answers
        By rising budget, what was asked where budgets were asked one by one.
    """

    model: Model
    points: Sequence[ParetoPoint]
    scope: Scope
    exact: bool
    solver: str
    infeasible: int | None = None
    stop: Stop = Stop.FINISHED
    answers: Sequence[Answer] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", tuple(self.points))
        object.__setattr__(self, "answers", tuple(self.answers))

    def __len__(self) -> int:
        return len(self.points)

    def __str__(self) -> str:
        """Return ends and knee in words."""
        kind = "breakpoints, exact" if self.exact else "bracketed points"
        return (
            f"{self.model.name}: {len(self)} {kind} among {self.scope.sentence}\n"
            f"  least memory: {self.minimum}\n"
            f"  knee: {self.knee}\n"
            f"  least time: {self.fastest}"
        )

    def __iter__(self) -> Iterator[ParetoPoint]:
        return iter(self.points)

    @property
    def minimum(self) -> ParetoPoint:
        """The point of least memory."""
        return self.points[0]

    @property
    def fastest(self) -> ParetoPoint:
        """The point of least time."""
        return self.points[-1]

    @property
    def knee(self) -> ParetoPoint:
        """The point farthest below the line from the slowest to the fastest point.

        Memory and time are each scaled to the front's range (the "Kneedle" criterion,
        Satopaa et al. 2011, doi:10.1109/ICDCSW.2011.20). With two points or fewer it is
        the fastest.
        """
        first, last = self.minimum, self.fastest
        width, height = last.peak - first.peak, first.makespan - last.makespan
        if len(self.points) < 3 or not width or not height:
            return last
        # Both distances multiplied by width * height: exact in integers.
        return min(
            self.points,
            key=lambda point: (
                (point.peak - first.peak) * height
                + (point.makespan - last.makespan) * width
            ),
        )

    def at(self, budget: Budget) -> ParetoPoint:
        """Return the fastest point within a budget; O(log points).

        Raises
        ------
        InvalidBudgetError
            If the budget cannot be read.
        NoScheduleError
            If it is below the front's least memory, which the message names, and
            whether less may do.
        """
        limit = budget_bytes(self.model, budget)
        position = bisect_right(self._peaks, limit)
        if position == 0:
            raise NoScheduleError(self._nothing_at(limit))
        return self.points[position - 1]

    @property
    def minimum_proved(self) -> bool:
        """Whether no schedule of the scope needs less memory than the first point."""
        least = self.minimum.peak
        return self.exact or least == 0 or self.infeasible == least - 1

    def _nothing_at(self, limit: int) -> str:
        least, refuted = self.minimum.peak, self.infeasible
        proved = self.minimum_proved or (refuted is not None and limit <= refuted)
        if not proved:
            rest = "" if refuted is None else f"; up to {refuted} nothing fits"
            return (
                f"no schedule found within {format_bytes(limit)}, and no proof that "
                f"there is none: the least peak found is {least} bytes "
                f"({format_bytes(least)}){rest}"
            )
        words = nothing_fits(
            limit,
            self.scope,
            least=least if self.minimum_proved else None,
            static=self.model.static.total,
        )
        if self.minimum_proved:
            return words
        return f"{words}; the least peak found is {least} bytes ({format_bytes(least)})"

    @cached_property
    def _peaks(self) -> list[int]:
        return [point.peak for point in self.points]

    def within_time(self, makespan: int) -> ParetoPoint | None:
        """Return the point of least memory that takes at most ``makespan`` ticks."""
        return next((p for p in self.points if p.makespan <= makespan), None)
