"""Compiled loops: the binomial schedule as arrays, and the mixed recurrence."""

import numba
import numpy as np

from ckschedule.solvers.revolve.rule import ADVANCE, REVERSE, STORE, split

_split = numba.njit(cache=True, nogil=True)(split)


@numba.njit(cache=True, nogil=True)
def revolve(n, slots, table, kind, start, stop):
    """Write the schedule and return the number of actions.

    Parameters
    ----------
    n, slots
        Steps, and slots of which none is useless.
    table
        (slots + 1, t + 1): beta(s, t), capped at n.
    kind, start, stop
        (3 n,): overwritten with the actions.
    """
    kept = np.empty(slots, np.int64)
    kept[0] = 0
    used = 1
    at = 0
    end = n
    while end > 0:
        top = kept[used - 1]
        while used < slots and end - top > 1:
            left = slots - used + 1
            last = np.searchsorted(table[left], end - top) - 1
            following = top + _split(
                end - top, table[left, last], table[left - 1, last]
            )
            kind[at], start[at], stop[at] = ADVANCE, top, following
            at += 1
            top = following
            if end - top == 1:
                break
            kind[at], start[at], stop[at] = STORE, top, top
            at += 1
            kept[used] = top
            used += 1
        if end - top > 1:
            kind[at], start[at], stop[at] = ADVANCE, top, end - 1
            at += 1
        kind[at], start[at], stop[at] = REVERSE, end - 1, end
        at += 1
        end -= 1
        if kept[used - 1] == end:
            used -= 1
    return at


@numba.njit(cache=True, nogil=True)
def mixed(n, slots):
    """Return O(n, slots); the recurrence stands in `counts.mixed_forwards`."""
    below = np.empty(n + 1, np.int64)
    row = np.empty(n + 1, np.int64)
    for m in range(n + 1):
        row[m] = m if m <= 2 else m * (m + 1) // 2 - 1
    for s in range(2, slots + 1):
        below, row = row, below
        for m in range(n + 1):
            if m <= s + 1:
                row[m] = m
                continue
            best = 1 + below[m - 1]
            for i in range(2, m):
                best = min(best, i + row[i] + below[m - i])
            row[m] = best
    return row[n]
