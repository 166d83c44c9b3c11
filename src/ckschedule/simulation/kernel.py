"""The replay loop, compiled.

Rules, for an operation on the live set L with ``level`` = the bytes of L:

- a computation needs its needs in L, at least one output outside L, a node that may run
  again if it has run, and consumed values that are neither pinned nor held by a value
  that survives it. While it runs the level is ``level + transient``; afterwards L gains
  the outputs and loses what was consumed. A second copy of a live output is charged in
  the transient and dropped.
- a free needs its value in L, not pinned, and held by no live value.
- at the end every target has been produced at some time.
"""

from typing import Final

import numba
import numpy as np

LEGAL: Final = 0
MISSING: Final = 1
"""A computation needs a value that is not live."""
POINTLESS: Final = 2
"""All outputs of a computation are live already."""
REPEATED: Final = 3
"""A node that must not run again runs again."""
PINNED: Final = 4
"""A value that stays to the end would be freed or consumed."""
HELD: Final = 5
"""A value that a live one holds would be freed or consumed."""
DEAD: Final = 6
"""A value that is not live would be freed."""
OVER_BUDGET: Final = 7
"""The level passes the budget."""
UNREACHED: Final = 8
"""A target was never produced."""


@numba.njit(cache=True, nogil=True)
def replay(
    codes,
    budget,
    size,
    held_start,
    held,
    live,
    pinned,
    target,
    time,
    transient,
    node,
    once,
    needs_start,
    needs,
    outputs_start,
    outputs,
    consumes_start,
    consumes,
    during,
    after,
    counts,
):
    """Replay ``codes`` and return how it went.

    Parameters
    ----------
    codes
        (n_operations,): mode index, or -1 - v to free value v.
    budget
        Bytes that the level may not pass; negative for no limit.
    size ... consumes
        The graph's `Encoding`; ``live`` is overwritten with the live set at the end.
    during, after
        (n_operations,), bytes: overwritten with the level while and after each one.
    counts
        (n_nodes,): overwritten with the number of computations of each node.

    Returns
    -------
    tuple of int
        (verdict, operation, value, earlier operation, makespan, peak, peak operation);
        -1 where there is none. The makespan is right if it fits into 64 bits.
    """
    n_values = len(size)
    born = np.full(n_values, -1, np.int64)
    died = np.full(n_values, -1, np.int64)
    ran = np.full(len(once), -1, np.int64)
    holders = np.zeros(n_values, np.int64)
    produced = live.copy()
    level = np.int64(0)
    for v in range(n_values):
        if live[v]:
            level += size[v]
            for h in range(held_start[v], held_start[v + 1]):
                holders[held[h]] += 1
    counts[:] = 0
    makespan = np.int64(0)
    peak, peak_at = level, np.int64(-1)
    if budget >= 0 and level > budget:
        return OVER_BUDGET, -1, -1, -1, makespan, level, -1
    for i in range(len(codes)):
        code = codes[i]
        if code >= 0:
            k = node[code]
            for j in range(needs_start[code], needs_start[code + 1]):
                v = needs[j]
                if not live[v]:
                    return MISSING, i, v, died[v], makespan, peak, peak_at
            fresh = outputs_start[code] == outputs_start[code + 1]
            last = np.int64(-1)
            for j in range(outputs_start[code], outputs_start[code + 1]):
                if live[outputs[j]]:
                    last = outputs[j]
                else:
                    fresh = True
            if not fresh:
                return POINTLESS, i, last, born[last], makespan, peak, peak_at
            if once[k] and counts[k] > 0:
                return REPEATED, i, -1, ran[k], makespan, peak, peak_at
            during[i] = level + transient[code]
            # All at once: what is consumed may hold what is consumed with it.
            for j in range(consumes_start[code], consumes_start[code + 1]):
                v = consumes[j]
                if pinned[v]:
                    return PINNED, i, v, born[v], makespan, peak, peak_at
                live[v] = 0
                died[v] = i
                level -= size[v]
                for h in range(held_start[v], held_start[v + 1]):
                    holders[held[h]] -= 1
            for j in range(consumes_start[code], consumes_start[code + 1]):
                v = consumes[j]
                if holders[v] > 0:
                    since = _held_since(v, live, born, held_start, held)
                    return HELD, i, v, since, makespan, peak, peak_at
            for j in range(outputs_start[code], outputs_start[code + 1]):
                v = outputs[j]
                if not live[v]:
                    live[v] = 1
                    born[v] = i
                    produced[v] = 1
                    level += size[v]
                    for h in range(held_start[v], held_start[v + 1]):
                        holders[held[h]] += 1
            counts[k] += 1
            ran[k] = i
            makespan += time[code]
        else:
            v = -1 - code
            if not live[v]:
                return DEAD, i, v, died[v], makespan, peak, peak_at
            if pinned[v]:
                return PINNED, i, v, born[v], makespan, peak, peak_at
            if holders[v] > 0:
                since = _held_since(v, live, born, held_start, held)
                return HELD, i, v, since, makespan, peak, peak_at
            live[v] = 0
            died[v] = i
            for h in range(held_start[v], held_start[v + 1]):
                holders[held[h]] -= 1
            during[i] = level
            level -= size[v]
        after[i] = level
        highest = max(during[i], level)
        if highest > peak:
            peak, peak_at = highest, i
        if budget >= 0 and highest > budget:
            return OVER_BUDGET, i, -1, -1, makespan, highest, i
    for v in range(n_values):
        if target[v] and not produced[v]:
            return UNREACHED, len(codes), v, -1, makespan, peak, peak_at
    return LEGAL, -1, -1, -1, makespan, peak, peak_at


@numba.njit(cache=True, nogil=True)
def _held_since(v, live, born, held_start, held):
    """Return the last operation that made a live holder of v; -1 if all are inputs."""
    since = np.int64(-1)
    for holder in range(len(live)):
        if live[holder]:
            for h in range(held_start[holder], held_start[holder + 1]):
                if held[h] == v:
                    since = max(since, born[holder])
    return since
