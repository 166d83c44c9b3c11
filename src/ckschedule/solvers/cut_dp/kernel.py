"""The recurrence over pairs of cuts; compiled."""

from typing import Final

import numba
import numpy as np

UNREACHABLE: Final = 2**62
"""Ticks of what does not fit; a sum of two still fits into 64 bits."""


@numba.njit(cache=True, nogil=True, inline="always")
def _ticks(table, pair, memory):
    """Return the least ticks of a pair of cuts within ``memory``, which is enough."""
    start, least, full, pool = table
    return pool[start[pair] + min(memory, full[pair]) - least[pair]]


@numba.njit(cache=True, nogil=True)
def _offer(row, threshold, sweep, inside, outer, inner, table):
    """Lower a row by one choice: sweep, solve ``outer`` above ``inside``, ``inner``.

    ``inner`` is negative where nothing is left to do. Only memories up to which the
    choice improves are written: the row is made to fall afterwards.
    """
    start, least, full, pool = table
    most = len(row) - 1
    low = max(threshold, inside + least[outer])
    high = max(low, inside + full[outer])
    if inner >= 0:
        low = max(low, least[inner])
        high = max(high, low, full[inner])
    high = min(high, most)
    if low > most:
        return
    if inner >= 0:
        at, back = start[outer] - least[outer], start[inner] - least[inner]
        for m in range(low, high + 1):
            ticks = (
                sweep
                + pool[at + min(m - inside, full[outer])]
                + pool[back + min(m, full[inner])]
            )
            if ticks < row[m]:
                row[m] = ticks
    else:
        for m in range(low, high + 1):
            ticks = sweep + _ticks(table, outer, m - inside)
            if ticks < row[m]:
                row[m] = ticks


@numba.njit(cache=True, nogil=True)
def solve_pairs(
    length,
    first,
    pair_of,
    start,
    least,
    full,
    pool,
    rows,
    extent,
    remaining,
    known_time,
    known,
    within,
    time,
    level,
    prelude,
    rest,
    interior_size,
    interior_time,
):
    """Fill one row for each pair of cuts i, i + length.

    Parameters
    ----------
    length
        Units between the cuts, at least 1.
    first
        (k,): the i of each.
    pair_of
        (n_units + 1, n_units + 1): number of the pair (i, j).
    start, least, full, pool
        The table of all shorter pairs: pair q takes ``pool[start[q] + m - least[q]]``
        ticks within memory m, for ``least[q] <= m <= full[q]``, and no less beyond.
    rows
        (k, most + 1): overwritten with the least ticks by memory.
    extent ... interior_time
        `CutCosts`.
    """
    most = rows.shape[1] - 1
    table = (start, least, full, pool)
    for r in range(len(first)):
        i = first[r]
        j = i + length
        row = rows[r]
        row[:] = UNREACHABLE
        if length == 1:
            threshold = remaining[i, j] + interior_size[j] + max(rest[j], level[j])
            if interior_size[j] > 0:
                threshold = max(threshold, level[j] + within[j])
            for m in range(threshold, most + 1):
                row[m] = interior_time[j]
            continue
        sweep = np.int64(0)
        floor = level[j] + remaining[i, j]
        for k in range(i + 1, j):
            if known[k, j] == 0:
                running = remaining[k - 1, j] + extent[i, k - 1] + within[k]
                floor = max(floor, level[j] + running)
            if floor > most:
                break
            sweep += time[k] - known_time[k, j]
            kept = extent[i, k]
            threshold = max(floor, kept + prelude[k])
            _offer(row, threshold, sweep, kept, pair_of[k, j], pair_of[i, k], table)
            if k == i + 1 and interior_size[k] > 0:
                inside = interior_size[k]
                threshold = max(
                    floor,
                    kept + inside + prelude[k],
                    remaining[i, k] + inside + rest[k],
                )
                _offer(row, threshold, sweep, kept + inside, pair_of[k, j], -1, table)
        for m in range(1, most + 1):
            row[m] = min(row[m], row[m - 1])


@numba.njit(cache=True, nogil=True)
def choose(
    i,
    j,
    memory,
    pair_of,
    start,
    least,
    full,
    pool,
    extent,
    remaining,
    known_time,
    known,
    within,
    time,
    level,
    prelude,
    rest,
    interior_size,
):
    """Return (k, whether the interior of unit k stays) of a best choice for a pair."""
    table = (start, least, full, pool)
    best, chosen, records = np.int64(UNREACHABLE), -1, False
    sweep = np.int64(0)
    floor = level[j] + remaining[i, j]
    for k in range(i + 1, j):
        if known[k, j] == 0:
            running = remaining[k - 1, j] + extent[i, k - 1] + within[k]
            floor = max(floor, level[j] + running)
        sweep += time[k] - known_time[k, j]
        kept = extent[i, k]
        outer, inner = pair_of[k, j], pair_of[i, k]
        needed = max(floor, kept + prelude[k], kept + least[outer], least[inner])
        if needed <= memory:
            ticks = (
                sweep
                + _ticks(table, outer, memory - kept)
                + _ticks(table, inner, memory)
            )
            if ticks < best:
                best, chosen, records = ticks, k, False
        if k == i + 1 and interior_size[k] > 0:
            kept += interior_size[k]
            needed = max(
                floor,
                kept + prelude[k],
                remaining[i, k] + interior_size[k] + rest[k],
                kept + least[outer],
            )
            if needed <= memory:
                ticks = sweep + _ticks(table, outer, memory - kept)
                if ticks < best:
                    best, chosen, records = ticks, k, True
    return chosen, records


@numba.njit(cache=True, nogil=True)
def first_pass(
    most,
    pair_of,
    start,
    least,
    full,
    pool,
    extent,
    remaining,
    within,
    standing,
    prelude,
    rest,
    interior_size,
):
    """Return ticks by cut and memory of what remains when a cut is first reached.

    Units beyond the cut run for the first time, which costs nothing here. Row i,
    column m; the choice is in the second table: 2 k, plus 1 where the interior of unit
    k stays.
    """
    n_units = len(within) - 1
    table = (start, least, full, pool)
    ticks = np.full((n_units + 1, most + 1), UNREACHABLE, np.int64)
    choice = np.full((n_units + 1, most + 1), -1, np.int64)
    ticks[n_units] = 0
    for i in range(n_units - 1, -1, -1):
        floor = np.int64(0)
        for k in range(i + 1, n_units + 1):
            floor = max(floor, standing[k] + extent[i, k - 1] + within[k])
            if floor > most:
                break
            kept = extent[i, k]
            inner = pair_of[i, k]
            for m in range(max(floor, kept + prelude[k], least[inner]), most + 1):
                found = ticks[k, m - kept] + _ticks(table, inner, m)
                if found < ticks[i, m]:
                    ticks[i, m] = found
                    choice[i, m] = 2 * k
            if k == i + 1 and interior_size[k] > 0:
                kept += interior_size[k]
                needed = remaining[i, k] + interior_size[k] + rest[k]
                for m in range(max(floor, kept + prelude[k], needed), most + 1):
                    if ticks[k, m - kept] < ticks[i, m]:
                        ticks[i, m] = ticks[k, m - kept]
                        choice[i, m] = 2 * k + 1
    return ticks, choice
