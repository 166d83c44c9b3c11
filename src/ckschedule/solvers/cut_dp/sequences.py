"""Sequences of computations: measured, repaired and improved; compiled.

A sequence is legal as long as each node's first computation stands after the first ones
of its predecessors: a value that is computed again later is freed in between, any other
one is kept as long as something reads it. Hence any computation but the first of its
node may be taken out, and any may be added after the first: only times and levels
change.
"""

from typing import Final

import numba
import numpy as np

FAR: Final = 2**62
"""Ticks beyond all sums."""

NOWHERE: Final = -1
"""Next use of a value that does not lie at a place."""

HERE: Final = -2
"""Next use of a value that is read or born at a place."""

CHAIN: Final = 8
"""Computations that are added at once, at most."""


@numba.njit(cache=True, nogil=True)
def profile(sequence, steps, room, graph, during, wanted):  # type: ignore[no-untyped-def]  # compiled
    """Return (peak, excess, place of the peak) when values are freed at once.

    Parameters
    ----------
    sequence, steps
        Nodes in running order, and how many of the array's entries count.
    room
        Bytes beside what lies there throughout; the excess is the sum over all
        computations of what their levels have beyond it.
    graph
        (time, size, extra, fixed, before_start, before): arrays of the `Pebbling`, and
        which values stay.
    during, wanted
        Scratch for steps and nodes; ``during`` is overwritten with the levels.
    """
    _, size, extra, stays, before_start, before = graph
    wanted[:] = False
    for t in range(steps - 1, -1, -1):
        v = sequence[t]
        released = np.int64(0)
        if not wanted[v] and not stays[v]:
            released += size[v]
        wanted[v] = False
        for e in range(before_start[v], before_start[v + 1]):
            u = before[e]
            if not wanted[u]:
                wanted[u] = True
                if not stays[u]:
                    released += size[u]
        during[t] = released
    level, peak, excess, place = np.int64(0), np.int64(-1), np.int64(0), 0
    for t in range(steps):
        v = sequence[t]
        after = level + size[v] - during[t]
        during[t] = level + size[v] + extra[v]
        level = after
        if during[t] > peak:
            peak, place = during[t], t
        if during[t] > room:
            excess += during[t] - room
    return peak, excess, place


@numba.njit(cache=True, nogil=True)
def over(work):  # type: ignore[no-untyped-def]  # compiled
    """Return whether work has to end: all is used up, or somebody says so."""
    return work[0] <= 0 or work[1] != 0


@numba.njit(cache=True, nogil=True)
def _look(sequence, steps, place, graph, next_use, next_run):  # type: ignore[no-untyped-def]  # compiled
    """Overwrite ``next_use`` and ``next_run`` with what comes after a place, by node.

    Where a value that lies there is read next: `NOWHERE` for one that does not lie
    there, `HERE` for one that is read or born there. And where its node runs next: as
    far as the sequence is long if it does not.
    """
    before_start, before = graph[4], graph[5]
    next_use[:] = NOWHERE
    next_run[:] = steps
    for t in range(steps - 1, place, -1):
        v = sequence[t]
        next_use[v] = NOWHERE
        next_run[v] = t
        for e in range(before_start[v], before_start[v + 1]):
            next_use[before[e]] = t
    v = sequence[place]
    next_use[v] = HERE
    for e in range(before_start[v], before_start[v + 1]):
        next_use[before[e]] = HERE


@numba.njit(cache=True, nogil=True)
def _splice(sequence, steps, u, chained, graph, once, next_use, next_run, added, trial):  # type: ignore[no-untyped-def]  # compiled
    """Copy a sequence with u computed again just before its next use.

    If ``chained``, so are its predecessors that do not lie at the place that `_look`
    looked from, nor are computed on the way from there: they have to lie there
    otherwise. Where they are computed later, they are no more.

    Returns
    -------
    tuple
        (steps, ticks added); zero steps if there are no such predecessors, or that
        would take too many computations.
    """
    time, before_start, before = graph[0], graph[4], graph[5]
    t = next_use[u]
    added[0] = u
    count, looked = 1, 0
    while chained and looked < count:
        v = added[looked]
        looked += 1
        for e in range(before_start[v], before_start[v + 1]):
            p = before[e]
            if next_use[p] != NOWHERE or next_run[p] < t or once[p]:
                continue
            present = False
            for k in range(count):
                if added[k] == p:
                    present = True
            if present:
                continue
            if count == len(added):
                return 0, np.int64(0)
            added[count] = p
            count += 1
    if chained and count == 1:
        return 0, np.int64(0)
    added[:count].sort()
    trial[:t] = sequence[:t]
    ticks = np.int64(0)
    for k in range(count):
        trial[t + k] = added[k]
        ticks += time[added[k]]
    to = t + count
    for k in range(t, steps):
        v = sequence[k]
        moved = False
        if count > 1 and next_run[v] == k:
            for e in range(count):
                if added[e] == v and v != u:
                    moved = True
        if moved:
            ticks -= time[v]
        else:
            trial[to] = v
            to += 1
    return to, ticks


@numba.njit(cache=True, nogil=True)
def prune(sequence, steps, graph, seen):  # type: ignore[no-untyped-def]  # compiled
    """Take out computations whose value nothing reads, and return how many are left.

    First computations stay.
    """
    before_start, before = graph[4], graph[5]
    seen[:] = 0
    for t in range(steps):
        seen[sequence[t]] += 1
    wanted = np.zeros(len(seen), np.bool_)
    to = len(sequence)
    for t in range(steps - 1, -1, -1):
        v = sequence[t]
        seen[v] -= 1
        if not wanted[v] and seen[v] > 0:
            continue
        wanted[v] = False
        for e in range(before_start[v], before_start[v + 1]):
            wanted[before[e]] = True
        to -= 1
        sequence[to] = v
    left = len(sequence) - to
    for t in range(left):
        sequence[t] = sequence[to + t]
    return left


@numba.njit(cache=True, nogil=True)
def repair(sequence, steps, room, limit, work, graph, once):  # type: ignore[no-untyped-def]  # compiled
    """Add computations until a sequence keeps a budget.

    Parameters
    ----------
    sequence, steps
        Overwritten; the array has room for more.
    room
        See `profile`.
    limit
        Most ticks to add.
    work
        (2,): steps that may still be looked at, counted down; and a flag that another
        thread sets to end the work.
    graph, once
        See `profile`; nodes that run once.

    Returns
    -------
    tuple
        (steps, ticks added, whether the budget is kept).

    Notes
    -----
    At the place of the peak, each value that only lies there may be freed and computed
    again just before its next use (`_splice`). The one with most excess taken away per
    tick is; the cheapest that ends the excess at once is remembered, in case what
    follows costs more.
    """
    size, stays = graph[1], graph[3]
    n = len(size)
    during, wanted = np.empty(len(sequence), np.int64), np.empty(n, np.bool_)
    next_use, next_run = np.empty(n, np.int64), np.empty(n, np.int64)
    added = np.empty(CHAIN, np.int64)
    trial = np.empty_like(sequence)
    better, finish = np.empty_like(sequence), np.empty_like(sequence)
    finish_steps, finish_ticks = 0, np.int64(FAR)
    notes = (graph, once, next_use, next_run, added)
    spent = np.int64(0)
    _, excess, place = profile(sequence, steps, room, graph, during, wanted)
    while excess > 0 and steps + CHAIN <= len(sequence):
        _look(sequence, steps, place, graph, next_use, next_run)
        best_steps, best_gain, best_excess, best_place = 0, 0.0, excess, 0
        best_ticks = np.int64(0)
        for u in range(n):
            if next_use[u] < 0 or size[u] == 0 or once[u] or stays[u]:
                continue
            for chained in (False, True):
                tried, ticks = _splice(sequence, steps, u, chained, *notes, trial)
                if tried == 0 or spent + ticks > min(limit, finish_ticks - 1):
                    continue
                work[0] -= steps
                _, left, peak_at = profile(trial, tried, room, graph, during, wanted)
                if left == 0:
                    finish[:tried] = trial[:tried]
                    finish_steps, finish_ticks = tried, spent + ticks
                gain = (excess - left) / (max(ticks, 0) + 1e-9)
                if left < excess and gain > best_gain:
                    best_steps, best_ticks, best_gain = tried, ticks, gain
                    best_excess, best_place = left, peak_at
                    better[:tried] = trial[:tried]
        if best_steps == 0 or over(work) or spent + best_ticks >= finish_ticks:
            break
        steps = best_steps
        sequence[:steps] = better[:steps]
        spent += best_ticks
        excess, place = best_excess, best_place
    if excess > 0 and finish_steps > 0:
        sequence[:finish_steps] = finish[:finish_steps]
        return finish_steps, finish_ticks, True
    return steps, spent, excess == 0


@numba.njit(cache=True, nogil=True)
def _without(sequence, steps, first, count, seen, trial):  # type: ignore[no-untyped-def]  # compiled
    """Copy a sequence without ``count`` repetitions from ``first`` on.

    Returns how many steps are left, and whether ``first`` itself and all others were
    there.
    """
    seen[:] = 0
    left, to = count, 0
    for t in range(steps):
        v = sequence[t]
        if t == first and not seen[v]:
            return steps, False
        if seen[v] and t >= first and left > 0:
            left -= 1
        else:
            trial[to] = v
            to += 1
        seen[v] = 1
    return to, left == 0


@numba.njit(cache=True, nogil=True)
def _replace(trial, steps, room, limit, deep, work, graph, once):  # type: ignore[no-untyped-def]  # compiled
    """Repair ``trial``; if ``deep``, with each first addition until one is enough."""
    if not deep:
        return repair(trial, steps, room, limit, work, graph, once)
    size, stays = graph[1], graph[3]
    n = len(size)
    during, wanted = np.empty(len(trial), np.int64), np.empty(n, np.bool_)
    next_use, next_run = np.empty(n, np.int64), np.empty(n, np.int64)
    added = np.empty(CHAIN, np.int64)
    _, excess, place = profile(trial, steps, room, graph, during, wanted)
    if excess == 0 or steps + 2 * CHAIN > len(trial):
        return steps, np.int64(0), excess == 0
    _look(trial, steps, place, graph, next_use, next_run)
    start = trial[:steps].copy()
    notes = (graph, once, next_use, next_run, added)
    for u in range(n):
        if next_use[u] < 0 or size[u] == 0 or once[u] or stays[u]:
            continue
        for chained in (False, True):
            tried, ticks = _splice(start, steps, u, chained, *notes, trial)
            if tried == 0 or ticks > limit:
                continue
            left = limit - ticks
            tried, more, fits = repair(trial, tried, room, left, work, graph, once)
            if fits:
                return tried, ticks + more, True
        if over(work):
            break
    return steps, np.int64(0), False


@numba.njit(cache=True, nogil=True)
def improve(sequence, steps, room, longest, deep, work, graph, once):  # type: ignore[no-untyped-def]  # compiled
    """Take repetitions out and repair what that breaks, as long as it saves ticks.

    Parameters
    ----------
    sequence, steps
        A sequence that keeps the budget; overwritten.
    room, work, graph, once
        See `repair`.
    longest
        How many repetitions that follow each other are taken out at once, at most.
    deep
        Whether a repair tries everything for its first addition.

    Returns
    -------
    int
        Steps of the sequence.
    """
    time = graph[0]
    trial = np.empty_like(sequence)
    seen = np.zeros(len(time), np.int64)
    count = 1
    while count <= longest and not over(work):
        improved = False
        # From the end: where a repetition is gone, the ones before are tried next.
        t = steps - 1
        while t > 0 and not over(work):
            tried, whole = _without(sequence, steps, t, count, seen, trial)
            if whole:
                saved = _ticks(sequence, steps, time)
                tried = prune(trial, tried, graph, seen)
                saved -= _ticks(trial, tried, time)
                work[0] -= steps
                fits = saved > 0
                if fits:
                    tried, _, fits = _replace(
                        trial, tried, room, saved - 1, deep, work, graph, once
                    )
                if fits:
                    improved = True
                    steps = prune(trial, tried, graph, seen)
                    sequence[:steps] = trial[:steps]
                    t = min(t, steps)
            t -= 1
        count = 1 if improved else count + 1
    return steps


@numba.njit(cache=True, nogil=True)
def _ticks(sequence, steps, time):  # type: ignore[no-untyped-def]  # compiled
    total = np.int64(0)
    for t in range(steps):
        total += time[sequence[t]]
    return total
