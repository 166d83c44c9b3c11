"""What can be told about a graph's staged schedules before any program is solved.

Stage t of a staged schedule ends with the first computation of node t; within it other
nodes i < t may run again. Here run (t, i) means that, and *keeping* (t, i) that value i
lies there when stage t begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ckschedule.solvers.pebbling import Pebbling

Flags = npt.NDArray[np.bool_]
"""Boolean arrays."""


@dataclass(frozen=True, kw_only=True)
class Freedom:
    """What is left to decide.

    Attributes
    ----------
    may
        (n, n), by stage and node: whether the node may run again there; false on and
        above the diagonal.
    last
        (n,): the last stage that can read the value; -1 if none does.
    forced
        (n,): the value lies there when the stages from its own to this one begin, in
        every schedule; -1 if nothing is known.
    """

    may: Flags
    last: npt.NDArray[np.int64]
    forced: npt.NDArray[np.int64]


def freedom(
    pebbling: Pebbling, room: int, spare: int | None, may: Flags | None = None
) -> Freedom | None:
    """Return what is left to decide; None if no schedule keeps the budget.

    Parameters
    ----------
    pebbling
        n nodes.
    room
        Bytes for values and transients.
    spare
        Ticks that a schedule may take beyond running every node once; None if any
        number. A schedule that takes more is not looked for.
    may
        (n, n): what else is known about what may run again; it is left as it is.

    Notes
    -----
    All in integers, hence exact. To a fixed point:

    - Node i runs again at most if it may at all, if its value can be freed, and if
      ``time[i] <= spare``: the extra time of a schedule is at least that of each of its
      recomputations.
    - It runs again in stage t only if a stage from t on can read its value: if a user
      runs first there, or may run again there. Otherwise leave that run out.
    - If i cannot run again in any stage up to that of a user's first computation, then
      its value lies there from its own computation to that stage.
    - A run needs all of that, its predecessors and itself at once; where this passes
      the room it does not happen. If it is a first computation: nothing fits.

    Nothing follows from the places where running everything once passes the budget:
    a value kept for later, beyond its last use there, may crowd out another in a stage
    long before the first such place.

    O(n (n + m)) a round; there are few rounds.
    """
    if room < 0:
        return None  # what lies there throughout passes the budget
    n = len(pebbling)
    able = (pebbling.once == 0) & (pebbling.stays == 0)
    if spare is not None:
        able &= pebbling.time <= spare
    may = np.tri(n, k=-1, dtype=bool) & able & (True if may is None else may)
    while True:
        last = _last_reads(pebbling, may)
        may &= np.arange(n)[:, None] <= last
        forced = _forced(pebbling, may)
        fits = _fits(pebbling, room, forced)
        if not fits.diagonal().all():
            return None
        if (fits | ~may).all():
            return Freedom(may=may, last=last, forced=forced)
        may &= fits


def _last_reads(pebbling: Pebbling, may: Flags) -> npt.NDArray[np.int64]:
    """Return the last stage in which each value can be read; -1 for none."""
    n = len(pebbling)
    last = np.full(n, -1, np.int64)
    # Last stage in which each node can run, its own included.
    runs = np.arange(n)
    for i in range(n - 1, -1, -1):
        users = pebbling.after[pebbling.after_start[i] : pebbling.after_start[i + 1]]
        if len(users):
            last[i] = runs[users].max()
        again = np.flatnonzero(may[: last[i] + 1, i])
        if len(again):
            runs[i] = again[-1]
    return last


def _forced(pebbling: Pebbling, may: Flags) -> npt.NDArray[np.int64]:
    """Return the stage up to which each value has to stay; -1 for none."""
    n = len(pebbling)
    first_again = np.where(may.any(axis=0), may.argmax(axis=0), n)
    user = pebbling.after
    value = np.repeat(np.arange(n), np.diff(pebbling.after_start))
    forced = np.full(n, -1, np.int64)
    before = user < first_again[value]
    np.maximum.at(forced, value[before], user[before])
    forced[pebbling.stays > 0] = n
    return forced


def _fits(pebbling: Pebbling, room: int, forced: npt.NDArray[np.int64]) -> Flags:
    """Return whether each run (t, i) fits beside what lies there in any case."""
    n = len(pebbling)
    stage = np.arange(n)
    lies: Flags = (stage < stage[:, None]) & (stage[:, None] <= forced)
    level = (lies * pebbling.size).sum(axis=1)
    # What node i needs besides: itself, and predecessors that may be elsewhere.
    needs = (pebbling.size + pebbling.extra) - lies * pebbling.size
    reader = np.repeat(stage, np.diff(pebbling.before_start))
    for p, i in zip(pebbling.before.tolist(), reader.tolist(), strict=True):
        needs[:, i] += np.where(lies[:, p], 0, pebbling.size[p])
    fits: Flags = level[:, None] + needs <= room
    return fits
