"""Model after model, until one proves the best schedule or the time is over.

Few copies make small models that find good schedules soon; what they prove holds for
every schedule only if no better one could need more. So each round asks how many copies
a schedule below the incumbent could have, and rounds go on until a model with all of
them has been searched through.
"""

from __future__ import annotations

import logging
from typing import Final

from ckschedule.errors import SolverFaultError
from ckschedule.solvers.base import Progress, Report
from ckschedule.solvers.cp_sat.copies import Copies
from ckschedule.solvers.cp_sat.model import RetentionModel
from ckschedule.solvers.cp_sat.narrowing import NEVER, Narrowing
from ckschedule.solvers.cp_sat.problem import Problem
from ckschedule.solvers.cp_sat.staging import Incumbent, incumbent_of
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.order import Order

_SHARE: Final = 0.4
"""Part of the time left that a model with too few copies may take."""

_NEAR: Final = 1.5
"""How much larger the model with all copies may be for going to it at once."""

_SHRINK: Final = 0.8
"""A better schedule starts a new round if it makes the model this much smaller."""

_LARGE: Final = 4000
"""Links of the model with all copies up to which no smaller one comes first, where a
schedule is known."""

_GUESS: Final = 0.25
"""Part of the time left for what lies below a guess."""

_LEAST_STRETCH: Final = 0.05
"""Guesses closer to the bound than this are not worth their time."""

_SMALL: Final = 1500
"""Links of a model that is searched without guessing a ceiling first."""

LARGEST: Final = 150_000
"""Literals of who serves whom that one model may have; well below 2 GB."""

_PACE: Final = 5000
"""Such literals in a model for each second that is left: building it takes time, and
CP-SAT takes some before it looks at the clock."""

_logger = logging.getLogger(__name__)


class Rounds:
    """The state of one search.

    Parameters
    ----------
    problem
        The steps.
    order
        Of first computations.
    budget
        Bytes, static bytes included.
    deadline
        Of the search.
    workers
        Threads of CP-SAT.
    progress
        Told of better schedules and bounds.

    Attributes
    ----------
    incumbent
        The best schedule of the order; None until there is one.
    bound
        Ticks that no schedule of the order undercuts.
    source
        Where the bound comes from.
    infeasible
        Whether it is proved that there is no schedule.
    """

    def __init__(
        self,
        problem: Problem,
        order: Order,
        budget: int,
        deadline: Deadline,
        workers: int,
        progress: Progress | None,
    ) -> None:
        self.problem = problem
        self.order = order
        self.budget = budget
        self.deadline = deadline
        self.workers = workers
        self.progress = progress
        self.incumbent: Incumbent | None = None
        self.bound = problem.floor
        self.source = "computing every node once"
        self.infeasible = False
        self.narrowing = Narrowing(problem, order)
        self._stretch = 1.0
        self._stuck = False

    @property
    def ceiling(self) -> int | None:
        """Ticks of the incumbent."""
        return None if self.incumbent is None else self.incumbent.makespan

    @property
    def proved(self) -> bool:
        """Whether nothing is left to find."""
        return self.infeasible or (
            self.incumbent is not None and self.incumbent.makespan <= self.bound
        )

    def offer(self, modes: list[int] | tuple[int, ...]) -> bool:
        """Take a sequence of computations if it is better; say whether it was."""
        found = incumbent_of(self.problem, modes, self.order, self.budget)
        if found is None or found.placed is None:
            return False
        if self.ceiling is not None and found.makespan >= self.ceiling:
            return False
        self.incumbent = found
        self.report(found.makespan, self.bound)
        return True

    def raise_bound(self, ticks: int, source: str) -> None:
        """Take a lower bound if it is better."""
        if ticks > self.bound:
            self.bound, self.source = ticks, source
            self.report(self.ceiling, ticks)

    def report(self, makespan: int | None, bound: int) -> None:
        """Tell how far it has come."""
        if self.progress is None:
            return
        done = int(self.deadline.elapsed * 1000)
        limit = self.deadline.limit
        total = done if limit == float("inf") else max(done, int(limit * 1000))
        self.progress(
            Report(done=done, total=total, makespan=makespan, lower_bound=bound)
        )

    def run(self) -> None:
        """Search until everything is proved, or the deadline passes."""
        cap: int | None = 2
        while not self.over:
            self.tighten()
            guess = None if self._stuck else self._guess()
            if guess is not None:
                self._below(guess)
                continue
            needed = self.narrowing.copies(self.ceiling)
            copies = self.narrowing.copies(self.ceiling, cap)
            near = needed.total <= _NEAR * copies.total
            if near or (self.incumbent is not None and self._size(needed) <= _LARGE):
                copies = needed
            if self.over:
                return
            last = self._too_large(copies)
            if last:
                # Better schedules may still be found among those of few copies.
                copies = self.narrowing.copies(self.ceiling, 2)
                if self._too_large(copies):
                    return
            whole = needed.complete and copies.count == needed.count
            seconds = self.deadline.remaining * (1.0 if whole or last else _SHARE)
            closed = self._round(copies, self.ceiling, seconds, whole=whole)
            if closed is None:
                continue
            if whole or last:
                return
            if not closed:
                # A bound takes all copies; a first schedule may take few.
                cap = None if cap is None or self.incumbent else cap * 2
                continue
            if cap is None:
                return
            # Schedules better than the one just found may need no more copies.
            needed = self.narrowing.copies(self.ceiling)
            if needed.complete and _covers(copies, needed):
                self._conclude()
            cap *= 2

    @property
    def over(self) -> bool:
        """Whether there is nothing left to find, or no time for it."""
        return self.proved or self.deadline.passed

    def tighten(self) -> None:
        """Raise the bound, and lower numbers of copies, without a search."""
        if self.over:
            return
        bound = self.narrowing.bound(self.ceiling, self.deadline, self.workers)
        if bound == NEVER:
            self.infeasible = True
        else:
            self.raise_bound(bound, "the memory at all first computations")
        _logger.info("tightened: bound %d, ceiling %s", self.bound, self.ceiling)

    def _guess(self) -> int | None:
        """Return ticks below which to look first; None to look at all at once.

        Below a lower ceiling fewer copies do. A proof that nothing is there raises the
        bound, and what is found there ends the search.
        """
        ceiling, bound = self.ceiling, self.bound
        size = self._size(self.narrowing.copies(ceiling))
        if not self.problem.exact or size < _SMALL:
            return None
        if ceiling is None:
            above = max(bound - self.problem.floor, self.problem.floor // 100)
            step = above / 4
        else:
            step = (ceiling - bound) / 3
        guess = bound + max(1, int(step * self._stretch))
        if ceiling is not None and guess >= ceiling:
            return None
        copies = self.narrowing.copies(guess)
        smaller = copies.complete and _SHRINK * size > self._size(copies)
        return guess if smaller else None

    def _below(self, guess: int) -> None:
        """Search everything below a guess."""
        bound = self.narrowing.bound(guess, self.deadline, self.workers)
        self.raise_bound(bound, "the memory at all first computations")
        copies = self.narrowing.copies(guess)
        if self.over or bound >= guess:
            self._stretch *= 2
            return
        closed: bool | None = False
        if copies.complete and not self._too_large(copies):
            seconds = _GUESS * self.deadline.remaining
            closed = self._round(copies, guess, seconds, whole=True)
        # What took too long may be asked in smaller steps.
        self._stretch *= 0.25 if closed is False else 2.0
        self._stuck = self._stretch < _LEAST_STRETCH

    def _round(
        self, copies: Copies, ceiling: int | None, seconds: float, *, whole: bool
    ) -> bool | None:
        """Search one model; say whether it was searched through, None if cut short."""
        claims = whole and self.problem.exact
        size = self._size(copies)
        restart = False
        best = self.ceiling

        def on_solution(ticks: int) -> bool:
            nonlocal restart, best
            best = ticks
            self.report(ticks, self.bound)
            smaller = self.narrowing.copies(ticks)
            restart = self._size(smaller) < _SHRINK * size
            return restart or ticks <= self.bound

        def on_bound(ticks: int) -> None:
            if claims:
                ticks = ticks if ceiling is None else min(ticks, ceiling)
                self.report(best, max(self.bound, ticks))

        model = RetentionModel(self.problem, self.order, copies, ceiling)
        if self.incumbent is not None:
            model.hint(self.incumbent)
        _logger.info(
            "round below %s: %d computations of %d steps, %s, %d links",
            ceiling,
            copies.total,
            len(self.problem),
            "whole" if whole else "not whole",
            size,
        )
        outcome = model.solve(
            self.deadline, seconds, self.workers, on_solution, on_bound
        )
        taken = outcome.modes is None or self.offer(outcome.modes)
        # With rounded ticks it may be no faster than the incumbent.
        if not taken and model.objective.exact:
            raise SolverFaultError(
                f"CP-SAT's computations for {self.problem.encoding.graph.name!r} make "
                f"no schedule within the budget below {ceiling} ticks"
            )
        if claims:
            self.raise_bound(outcome.bound, "CP-SAT")
            if outcome.closed and (outcome.modes is not None or ceiling is None):
                self._conclude()
        return None if restart and not outcome.closed else outcome.closed

    def _conclude(self) -> None:
        """Nothing is better than the incumbent; without one, there is nothing."""
        if not self.problem.exact:
            return
        if self.incumbent is None:
            self.infeasible = True
        else:
            self.raise_bound(self.incumbent.makespan, "CP-SAT")

    def _too_large(self, copies: Copies) -> bool:
        """Whether a model would not fit, or could not be built in the time left."""
        size = self._size(copies)
        return size > min(LARGEST, _PACE * self.deadline.remaining)

    def _size(self, copies: Copies) -> int:
        """Return how many literals say who serves whom."""
        return sum(
            copies.count[k] * copies.count[w]
            for k, values in enumerate(self.problem.yields)
            for v in values
            for w in self.problem.users.get(v, ())
        )


def _covers(copies: Copies, needed: Copies) -> bool:
    return all(a >= b for a, b in zip(copies.count, needed.count, strict=True)) and all(
        a >= b for a, b in zip(copies.last, needed.last, strict=True)
    )
