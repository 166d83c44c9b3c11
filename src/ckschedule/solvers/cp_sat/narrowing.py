"""What is known about schedules below a ceiling before any of them is searched."""

from __future__ import annotations

from typing import Final

from ckschedule.solvers.cp_sat.copies import Copies, copies_of
from ckschedule.solvers.cp_sat.pricing import Prices, Relaxation
from ckschedule.solvers.cp_sat.problem import Problem
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.order import Order

_PART: Final = 0.1
"""Part of the time left that each of two relaxations may take."""


class Narrowing:
    """Bounds on copies, collected in the course of a search.

    Parameters
    ----------
    problem
        The steps.
    order
        Of first computations.
    """

    def __init__(self, problem: Problem, order: Order) -> None:
        self.problem = problem
        self.order = order
        # Ceiling below which it holds (None: always), prices, extra ticks at least.
        self._known: list[tuple[int | None, Prices, int]] = []
        self._done: set[int | None] = set()

    def copies(self, ceiling: int | None, cap: int | None = None) -> Copies:
        """Return how often steps may run in schedules below a ceiling.

        Parameters
        ----------
        ceiling
            Ticks; None for all schedules.
        cap
            Most computations of one step; None for no such limit.
        """
        limits: list[int] = []
        if ceiling is not None:
            room = ceiling - 1 - self.problem.floor
            for below, prices, least in self._known:
                if below is not None and below < ceiling:
                    continue
                found = prices.limits(room, least)
                if limits:
                    found = [min(a, b) for a, b in zip(limits, found, strict=True)]
                limits = found
        if cap is None:
            return copies_of(self.problem, self.order, ceiling, limits=limits)
        return copies_of(self.problem, self.order, ceiling, cap, limits)

    def bound(self, ceiling: int | None, deadline: Deadline, workers: int) -> int:
        """Return ticks that no schedule undercuts, by the crossings alone.

        Parameters
        ----------
        ceiling
            Ticks; only schedules below it are looked at, so that the bound is at most
            this. None for all.
        deadline
            Of the whole search.
        workers
            Threads.

        Returns
        -------
        int
            The problem's floor where there is nothing to say; past any number of ticks
            (`NEVER`) if it is proved that there is no schedule at all.
        """
        problem = self.problem
        if self.order is Order.FREE or not (problem.plain and problem.exact):
            return problem.floor
        if ceiling in self._done or deadline.passed:
            return problem.floor
        self._done.add(ceiling)
        copies = self.copies(ceiling)
        if not copies.complete:
            return problem.floor
        relaxation = Relaxation(problem, copies)
        least = 0
        if not relaxation.infeasible:
            prices = relaxation.solve(_PART * deadline.remaining)
            whole = relaxation.integral(deadline, _PART * deadline.remaining, workers)
            least = whole if prices is None else max(whole, prices.ticks)
            self._known.append((ceiling, prices or relaxation.nothing(), least))
        top = NEVER if ceiling is None else ceiling
        return top if relaxation.infeasible else min(top, problem.floor + least)


NEVER: Final = 1 << 62
"""Ticks beyond those of any schedule."""
