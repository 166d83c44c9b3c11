"""Schedules rounded from solutions of the linear relaxation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ckschedule.solvers.milp.plan import Plan, plan
from ckschedule.solvers.milp.program import kept

if TYPE_CHECKING:
    from ckschedule.solvers.deadline import Deadline
    from ckschedule.solvers.milp.fixing import Flags, Freedom
    from ckschedule.solvers.milp.highs import Relaxation
    from ckschedule.solvers.milp.layout import Floats, Ints
    from ckschedule.solvers.pebbling import Pebbling

MARGINS: Final = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Parts by which the budget of a relaxation is lowered, so that what is rounded from it
fits into the whole."""

THRESHOLDS: Final = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9, 0.01, 0.99)
"""Values are kept where the relaxation keeps more than such a part of them."""


class Rounding:
    """Rounds relaxations of one graph, and remembers the best schedule.

    Parameters
    ----------
    free
        What may run again in any schedule within the budget.
    budget
        Bytes, static bytes included.
    best
        The best schedule known; None if there is none.
    """

    def __init__(
        self, pebbling: Pebbling, free: Freedom, budget: int, best: Plan | None
    ) -> None:
        self.best = best
        self._pebbling = pebbling
        self._free = free
        self._budget = budget
        self._known: set[bytes] = set()

    def look(
        self, relaxation: Relaxation, deadline: Deadline, margins: tuple[float, ...]
    ) -> None:
        """Round relaxations of smaller budgets, while there is time."""
        for margin in margins:
            outcome = relaxation.solve(deadline, less=margin)
            if not outcome.finished or not outcome.solutions:
                break
            self.round(relaxation.program.keeps(outcome.solutions[0]), deadline)

    def round(self, keep: Floats, deadline: Deadline) -> None:
        """Look at the schedules that keep values at least so far.

        Parameters
        ----------
        keep
            (n + 1, n): how far values are kept into each stage.
        """
        fastest = None
        for threshold in THRESHOLDS:
            again = rounded(self._pebbling, self._free, keep > threshold)
            token = np.packbits(again).tobytes()
            if token in self._known or deadline.passed:
                continue
            self._known.add(token)
            found = plan(self._pebbling, again)
            if found.peak <= self._budget and (
                fastest is None or found.makespan < fastest.makespan
            ):
                fastest = found
        if fastest is not None:
            self.polish(fastest, deadline)

    def polish(self, start: Plan, deadline: Deadline) -> None:
        """Look at schedules with as many runs as possible replaced by keeping.

        Each recomputation, the longest first, is left out if its value can be kept from
        the run before instead without passing the budget.
        """
        pebbling, found = self._pebbling, start
        improved = True
        while improved:
            improved = False
            stage, node = np.nonzero(np.tril(found.again, -1))
            order = np.argsort(-pebbling.time[node], kind="stable")
            for t, i in zip(stage[order].tolist(), node[order].tolist(), strict=True):
                if deadline.passed:
                    break
                if not found.again[t, i]:
                    continue
                shorter = self._without(found, t, i)
                if shorter is not None:
                    found, improved = shorter, True
            if self.best is None or found.makespan < self.best.makespan:
                self.best = found

    def _without(self, old: Plan, t: int, i: int) -> Plan | None:
        """Return a faster schedule that keeps value i up to stage t, if that fits."""
        wish = kept(self._pebbling, old.again)
        before = int(np.flatnonzero(old.again[:t, i])[-1])
        wish[before + 1 : t + 1, i] = True
        again = rounded(self._pebbling, self._free, wish)
        if int((again * self._pebbling.time).sum()) >= old.makespan:
            return None
        found = plan(self._pebbling, again)
        return found if found.peak <= self._budget else None


def rounded(pebbling: Pebbling, free: Freedom, keep: Flags) -> Flags:
    """Return what runs in each stage if values are kept where that is wished.

    Parameters
    ----------
    keep
        (n + 1, n): the values to keep into each stage where something needs them; row n
        is the end.

    Returns
    -------
    numpy.ndarray
        (n, n), by stage and node: the fewest runs that have everything there when it is
        read. What may not run again is kept instead.

    Notes
    -----
    Nodes are decided from the last to the first, for all stages at once: a value is
    needed in a stage if it is read there, or if it is kept into the next and needed
    there. O(n m).
    """
    n = len(pebbling)
    runs = np.eye(n, dtype=bool)
    stage = np.arange(n)
    stays = pebbling.stays > 0
    for i in range(n - 1, -1, -1):
        kept = keep[1:n, i] | ~free.may[1:, i]
        users = pebbling.after[pebbling.after_start[i] : pebbling.after_start[i + 1]]
        read = runs[:, users].any(axis=1)
        if stays[i]:
            continue
        # The next stage that reads it, and the next that it is not kept into.
        next_read = _next(np.where(read, stage, n))
        next_gap = np.full(n, n)
        next_gap[: n - 1] = _next(np.where(kept, n, stage[1:]))
        needed = next_read < next_gap
        needed[:i] = False
        runs[i + 1 :, i] = needed[i + 1 :] & ~kept[i:]
    return runs


def _next(place: Ints) -> Ints:
    """Return the least of each entry and those after it."""
    return np.minimum.accumulate(place[::-1])[::-1]
