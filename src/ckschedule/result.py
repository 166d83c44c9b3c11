"""What a solve comes back with: status, proof and the simulated schedule."""

from dataclasses import dataclass
from enum import StrEnum

from ckschedule.errors import NoScheduleError
from ckschedule.schedule import Schedule
from ckschedule.simulation import Model, Trace
from ckschedule.units import format_bytes, format_time


class Status(StrEnum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    """The schedule is proved to be the fastest within the budget and the scope."""
    FEASIBLE = "feasible"
    """A schedule within the budget, not proved to be the fastest."""
    INFEASIBLE = "infeasible"
    """Proved: no schedule of the scope keeps the budget."""
    UNKNOWN = "unknown"
    """Neither a schedule nor a proof that there is none."""


class Stop(StrEnum):
    """Why a search ended."""

    FINISHED = "finished"
    """It had nothing left to do."""
    TIME_LIMIT = "time limit"
    """Its time was over: what it had not found by then may exist."""
    INTERRUPTED = "interrupted"
    """The user stopped it (Ctrl-C); the best schedule until then is kept."""


class Scope(StrEnum):
    """The class of schedules that a proof ranges over."""

    UNRESTRICTED = "unrestricted"
    GIVEN_ORDER = "given-order"
    PERSISTENT = "persistent"
    SINGLE_TAPE = "single-tape"
    CONSTRUCTION = "construction"

    @property
    def sentence(self) -> str:
        """The class in words, to print after "among"."""
        return _SENTENCES[self]


_SENTENCES = {
    Scope.UNRESTRICTED: "all schedules that the simulator accepts",
    Scope.GIVEN_ORDER: (
        "schedules that compute the nodes for the first time in the graph's order and, "
        "between two first computations, others at most once each, in that order, too"
    ),
    Scope.PERSISTENT: (
        "persistent schedules: saved tensors stay until their own backward, and "
        "nothing is computed from a kept output once it has been freed"
    ),
    Scope.SINGLE_TAPE: (
        "schedules that never hold the saved tensors of one stage across the "
        "computation of another (the loss counts as part of the last stage)"
    ),
    Scope.CONSTRUCTION: "the one construction that was asked for",
}


@dataclass(frozen=True, kw_only=True)
class Result:
    """The outcome of `solve`; every number of the schedule is the simulator's.

    Attributes
    ----------
    model
        What was to be scheduled.
    status
        How it ended.
    scope
        The schedules that the status, the bound and the minimum budget speak about.
    budget
        Bytes, static bytes included.
    solver
        Name and settings of the solver that answered.
    trace
        Simulation of the schedule; None if there is none.
    lower_bound
        Ticks: no schedule of the scope within the budget is faster; None if there is no
        such schedule.
    minimum_budget
        The smallest budget that works within the scope, in bytes; None if not known.
    stop
        Why the search ended.
    bound_source
        Where the lower bound comes from, in words, such as "CP-SAT" or "knapsack at
        'conv4'"; empty if it is the solver's own.
    """

    model: Model
    status: Status
    scope: Scope
    budget: int
    solver: str
    trace: Trace | None
    lower_bound: int | None
    minimum_budget: int | None
    stop: Stop = Stop.FINISHED
    bound_source: str = ""

    @property
    def static(self) -> int:
        """Bytes of the budget that no schedule can use."""
        return self.model.static.total

    @property
    def schedule(self) -> Schedule | None:
        """The schedule, if there is one."""
        return None if self.trace is None else self.trace.schedule

    @property
    def peak(self) -> int | None:
        """Simulated peak in bytes, static bytes included."""
        return None if self.trace is None else self.trace.peak

    @property
    def makespan(self) -> int | None:
        """Simulated ticks."""
        return None if self.trace is None else self.trace.makespan

    @property
    def overhead(self) -> int | None:
        """Ticks beyond computing everything once."""
        return None if self.trace is None else self.trace.overhead

    @property
    def relative_overhead(self) -> float | None:
        """Overhead as a ratio of computing everything once; 0.3 for 30 % more time."""
        if self.trace is None:
            return None
        return gap(self.trace.makespan, self.model.base_time)

    @property
    def gap(self) -> float | None:
        """How far it may lie above the optimum; see `ckschedule.result.gap`."""
        if self.trace is None or self.lower_bound is None:
            return None
        return gap(self.trace.makespan, self.lower_bound)

    def __str__(self) -> str:
        """Return the outcome and the schedule's figures in words."""
        if self.trace is None:
            return self.explanation
        found = figures(self.trace.peak, self.trace.makespan, self.model)
        return (
            f"{self.status} within {format_bytes(self.budget)} among {self.scope} "
            f"schedules: {found}"
        )

    def raise_for_status(self) -> Trace:
        """Return the trace, or raise if there is no schedule.

        Raises
        ------
        NoScheduleError
            If the status is INFEASIBLE or UNKNOWN; the message names the smallest
            budget that works where it is known.
        """
        if self.trace is None:
            raise NoScheduleError(self.explanation)
        return self.trace

    @property
    def explanation(self) -> str:
        """The outcome and its scope in one sentence."""
        if self.status is Status.INFEASIBLE:
            return nothing_fits(
                self.budget,
                self.scope,
                least=self.minimum_budget,
                static=self.static,
            )
        among = f"among {self.scope.sentence}"
        within = f"within {format_bytes(self.budget)}"
        if self.status is Status.OPTIMAL:
            return f"optimal {within} {among}"
        if self.status is Status.FEASIBLE:
            if self.trace is None or not self.lower_bound:
                return f"feasible {within}, with no bound to compare it with"
            # Thousandths of a percent, rounded up: "at most" has to be true.
            excess = self.trace.makespan - self.lower_bound
            above = -(-excess * 100_000 // self.lower_bound)
            return (
                f"feasible {within}, at most {above // 1000}.{above % 1000:03}% above "
                f"the optimum {among}"
            )
        ended = {
            Stop.FINISHED: "",
            Stop.TIME_LIMIT: " in the time given",
            Stop.INTERRUPTED: " before the interrupt",
        }[self.stop]
        return f"no schedule found {within}{ended}, and no proof that there is none"


def figures(peak: int, makespan: int, model: Model) -> str:
    """Return peak, makespan and overhead of a schedule in words."""
    more = gap(makespan, model.base_time)
    return (
        f"peak {format_bytes(peak)}, {format_time(makespan, model.time_unit)}, "
        f"{more:+.2%} over computing everything once"
    )


def gap(makespan: int, bound: int) -> float:
    """Return (makespan - bound) / bound, a ratio for people: hence a float.

    Parameters
    ----------
    makespan, bound
        Ticks: of a schedule, and what no schedule undercuts.

    Returns
    -------
    float
        0.0 if they are equal; infinity if only the bound is zero.
    """
    if makespan == bound:
        return 0.0
    return (makespan - bound) / bound if bound else float("inf")


def nothing_fits(budget: int, scope: Scope, *, least: int | None, static: int) -> str:
    """Return the sentence that no schedule of a scope keeps a budget.

    Parameters
    ----------
    budget
        Bytes, static bytes included.
    scope
        The schedules that the sentence is about.
    least
        The smallest budget that works, in bytes; None if not known.
    static
        Static bytes, which every budget includes.
    """
    words = f"nothing fits within {format_bytes(budget)} among {scope.sentence}"
    if least is not None:
        works = "works" if scope is not Scope.CONSTRUCTION else "holds this one"
        words += (
            f"; the smallest budget that {works} is {least} bytes "
            f"({format_bytes(least)})"
        )
    if static:
        words += f", of which {format_bytes(static)} are static"
    return words
