"""The solver that has HiGHS solve the staged program."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Final

import numpy as np

from ckschedule.result import Scope, Stop
from ckschedule.simulation import Model
from ckschedule.solvers.base import (
    AbstractSolver,
    Progress,
    Proposal,
    Report,
    as_real_setting,
    as_seeds,
    as_setting,
)
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.milp.seeding import best_seed
from ckschedule.solvers.pebbling import Pebbling, as_pebbling

if TYPE_CHECKING:
    from ckschedule.solvers.milp.highs import Outcome
    from ckschedule.solvers.milp.plan import Plan
    from ckschedule.solvers.milp.program import Program
    from ckschedule.solvers.milp.tightening import Tight

MAX_ENTRIES: Final = 20_000_000
"""Default limit of a program's entries; HiGHS takes about 100 bytes for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Milp(AbstractSolver):
    """Fastest staged schedule of a graph, by Checkmate's integer program and HiGHS.

    Attributes
    ----------
    time_limit
        Seconds of wall time, 0 or more; infinity for none.
    seeds
        Solvers whose schedules the search starts from, in turn; None means
        `GreedyEviction`. A good one also makes the program smaller: what takes longer
        than its extra time is never run again.
    threads
        Of HiGHS; 0 lets it choose.
    max_entries
        Entries that the program's matrix may have; past it `ResourceLimitError`.

    Raises
    ------
    InvalidSettingError
        If one of them is out of its range.

    Notes
    -----
    See `ckschedule.solvers.milp` for the program. Complete within its scope, given
    order, if it is given the time; the number of binary variables is quadratic in the
    nodes.
    """

    time_limit: float = 60.0
    seeds: tuple[AbstractSolver, ...] | None = None
    threads: int = 0
    max_entries: int = MAX_ENTRIES

    def __post_init__(self) -> None:
        limit = as_real_setting(self.time_limit, "Milp: time_limit")
        object.__setattr__(self, "time_limit", limit)
        object.__setattr__(self, "seeds", as_seeds(self.seeds, "Milp: seeds"))
        for name, least in (("threads", 0), ("max_entries", 1)):
            number = as_setting(getattr(self, name), f"Milp: {name}", least=least)
            object.__setattr__(self, name, number)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the best schedule found, and a bound; see `AbstractSolver`.

        Raises
        ------
        UnsupportedModelError
            If the model is no graph under weighted pebbling.
        ResourceLimitError
            If the program would pass ``max_entries``.
        """
        pebbling = as_pebbling(model, self)
        with Deadline(self.time_limit) as deadline:
            return self._search(pebbling, budget, deadline, progress)

    def _search(
        self,
        pebbling: Pebbling,
        budget: int,
        deadline: Deadline,
        progress: Progress | None,
    ) -> Proposal:
        from ckschedule.solvers.milp.fixing import freedom
        from ckschedule.solvers.milp.plan import plan
        from ckschedule.solvers.milp.tightening import tighten

        room = budget - pebbling.base
        once = plan(pebbling, np.eye(len(pebbling), dtype=bool))
        if once.peak <= budget:
            return propose(once, bound=once.makespan)
        free = freedom(pebbling, room, None)
        if free is None:
            return Proposal(scope=Scope.GIVEN_ORDER, infeasible=True)
        best = best_seed(pebbling, budget, self.seeds)
        if deadline.passed:
            return propose(best, bound=pebbling.base_time, stop=deadline.stop)
        tight = tighten(
            pebbling,
            budget,
            best,
            free,
            deadline,
            lambda best, bound: tell(progress, deadline, best.makespan, bound),
            threads=self.threads,
            most=self.max_entries,
        )
        if tight.infeasible:
            return Proposal(scope=Scope.GIVEN_ORDER, infeasible=True)
        if tight.program is None:
            return propose(tight.best, bound=tight.bound)
        if deadline.passed:
            return propose(tight.best, bound=tight.bound, stop=deadline.stop)
        run = _Run(tight.program, tight, budget, deadline, progress, self.threads)
        return run.answer()


class _Run:
    """One search: what is known so far."""

    def __init__(
        self,
        program: Program,
        tight: Tight,
        budget: int,
        deadline: Deadline,
        progress: Progress | None,
        threads: int,
    ) -> None:
        self.program = program
        self.tight = tight
        self.best = tight.best
        self.bound = tight.bound
        self.budget = budget
        self.deadline = deadline
        self.progress = progress
        self.threads = threads
        # Whether only what is better than the best was looked for.
        self._strict = False
        self._told: tuple[int | None, int] | None = None

    def answer(self) -> Proposal:
        """Return the outcome of the search."""
        outcome = self._solve(slack=1)
        if outcome.infeasible:
            if self.best is None:
                return Proposal(scope=Scope.GIVEN_ORDER, infeasible=True)
            if self._strict:
                self.bound = self.best.makespan
        if outcome.bound is not None:
            self.bound = max(self.bound, self._base + outcome.bound)
        finished = outcome.finished
        if not self._take(outcome) and finished and not self.deadline.passed:
            # What is best passes the budget by less than HiGHS can tell apart.
            self._take(self._solve(slack=-1))
        stop = Stop.FINISHED if finished else self.deadline.stop
        return propose(self.best, bound=self.bound, stop=stop)

    @property
    def _base(self) -> int:
        return self.program.pebbling.base_time

    def _solve(self, *, slack: float) -> Outcome:
        from ckschedule.solvers.milp.highs import Integer

        solver = Integer(
            self.program,
            slack=slack,
            threads=self.threads,
            low=self.tight.low,
            high=self.tight.high,
        )
        if self.best is not None:
            self._strict = solver.below(self.best.makespan - self._base)
        # A bound for less than the budget is none for the budget.
        whole = slack > 0
        return solver.solve(
            self.deadline,
            lambda extra, bound: self._tell(extra, bound if whole else None),
        )

    def _take(self, outcome: Outcome) -> bool:
        """Keep the best solution within the budget; return whether the last one is."""
        from ckschedule.solvers.milp.plan import plan

        for number, x in enumerate(outcome.solutions):
            found = plan(self.program.pebbling, self.program.again(x))
            if found.peak > self.budget:
                continue
            if self.best is None or found.makespan < self.best.makespan:
                self.best = found
            return number == 0
        return not outcome.solutions

    def _tell(self, extra: int | None, bound: int | None) -> None:
        makespan = None if self.best is None else self.best.makespan
        if extra is not None:
            found = self._base + extra
            makespan = found if makespan is None else min(makespan, found)
        self.bound = max(self.bound, self._base + (bound or 0))
        if self._told != (makespan, self.bound):
            self._told = (makespan, self.bound)
            tell(self.progress, self.deadline, makespan, self.bound)


def tell(
    progress: Progress | None, deadline: Deadline, makespan: int | None, bound: int
) -> None:
    """Report how far a search has come.

    Parameters
    ----------
    makespan, bound
        Ticks: of the best schedule so far, and what no better one undercuts.
    """
    if progress is None:
        return
    done = int(1000 * deadline.elapsed)
    total = int(1000 * deadline.limit) if isfinite(deadline.limit) else done
    least = bound if makespan is None else min(bound, makespan)
    report = Report(done=done, total=total, makespan=makespan, lower_bound=least)
    progress(report)


def propose(best: Plan | None, *, bound: int, stop: Stop = Stop.FINISHED) -> Proposal:
    """Return the proposal for the best staged schedule known.

    Parameters
    ----------
    best
        Within the budget; None if there is none.
    bound
        Ticks that no better schedule undercuts.
    """
    if best is None:
        return Proposal(scope=Scope.GIVEN_ORDER, stop=stop)
    return Proposal(
        scope=Scope.GIVEN_ORDER,
        schedule=best.schedule,
        makespan=best.makespan,
        peak=best.peak,
        lower_bound=min(bound, best.makespan),
        stop=stop,
    )
