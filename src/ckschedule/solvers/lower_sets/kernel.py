"""Kusumoto's recurrence over pairs of lower sets; compiled."""

from typing import Final

import numba
import numpy as np

UNREACHABLE: Final = 2**62
"""Bytes of what cannot be reached within the budget."""


@numba.njit(cache=True, nogil=True)
def _within(words, a, b):
    """Return whether lower set a is part of b."""
    outside = np.uint64(0)
    for w in range(words.shape[1]):
        outside |= words[a, w] & ~words[b, w]
    return outside == 0


@numba.njit(cache=True, nogil=True)
def _step(a, b, words, weight, bytes_of, ticks_of, border_start, border):
    """Return the ticks computed again, and the bytes cached, by a block b - a."""
    ticks, kept = ticks_of[b] - ticks_of[a], np.int64(0)
    for e in range(border_start[b], border_start[b + 1]):
        v = border[e]
        if not (words[a, v >> 6] >> np.uint64(v & 63)) & np.uint64(1):
            ticks -= weight[v]
            kept += bytes_of[v]
    return ticks, kept


@numba.njit(cache=True, nogil=True)
def fill(
    cached,
    budget,
    over,
    words,
    weight,
    bytes_of,
    ticks_of,
    size_of,
    ahead,
    border_start,
    border,
):
    """Fill the least bytes cached, by lower set and overhead.

    Parameters
    ----------
    cached
        (n_sets, most + 1): overwritten; `UNREACHABLE` where nothing fits.
    budget
        Bytes.
    over
        (1,): ends the work when it is set.
    words
        (n_sets, n_words), uint64: members by bit; sets by rising number of members,
        the first empty.
    weight, bytes_of
        (n,): ticks and bytes of each node.
    ticks_of, size_of
        (n_sets,): ticks and bytes of the members of each.
    ahead
        (n_sets,): bytes that each block's backward needs from beyond its lower set.
    border_start, border
        Boundary of each lower set.
    """
    n_sets, columns = cached.shape
    cached[:] = UNREACHABLE
    cached[0, 0] = 0
    low = np.zeros(n_sets, np.int64)
    high = np.full(n_sets, -1, np.int64)
    least = np.full(n_sets, UNREACHABLE, np.int64)
    high[0], least[0] = 0, 0
    for b in range(1, n_sets):
        low[b] = columns
        if over[0]:
            break
        for a in range(b):
            block = 2 * (size_of[b] - size_of[a]) + ahead[b]
            if least[a] + block > budget or not _within(words, a, b):
                continue
            ticks, kept = _step(
                a, b, words, weight, bytes_of, ticks_of, border_start, border
            )
            for t in range(low[a], high[a] + 1):
                held = cached[a, t]
                if held + block <= budget and held + kept < cached[b, t + ticks]:
                    cached[b, t + ticks] = held + kept
                    low[b] = min(low[b], t + ticks)
                    high[b] = max(high[b], t + ticks)
                    least[b] = min(least[b], held + kept)


@numba.njit(cache=True, nogil=True)
def previous(
    cached,
    b,
    t,
    budget,
    words,
    weight,
    bytes_of,
    ticks_of,
    size_of,
    ahead,
    border_start,
    border,
):
    """Return the lower set and the overhead before b on the way to (b, t)."""
    for a in range(b):
        block = 2 * (size_of[b] - size_of[a]) + ahead[b]
        if not _within(words, a, b):
            continue
        ticks, kept = _step(
            a, b, words, weight, bytes_of, ticks_of, border_start, border
        )
        before = t - ticks
        if (
            before >= 0
            and cached[a, before] + block <= budget
            and cached[a, before] + kept == cached[b, t]
        ):
            return a, before
    return -1, -1
