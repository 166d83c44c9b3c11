"""Orders of small memory, and evictions with known future, compiled."""

from typing import Final

import numba
import numpy as np

NEVER: Final = 2**62
"""Beyond every stage: the next use of a value that nothing will read."""


@numba.njit(cache=True, nogil=True)
def evict(
    time,
    size,
    extra,
    fixed,
    stays,
    before_start,
    before,
    after_start,
    after,
    budget,
    bytes_power,
    distance_power,
    exact_fit,
    sequence,
):
    """Run all nodes in order; on overflow free what is cheap to have again.

    Parameters
    ----------
    time
        (n,), float64.
    size ... after
        As in `Pebbling`; ``fixed`` flags nodes that run only once.
    budget
        Bytes, without those that lie there throughout.
    bytes_power, distance_power
        A value's score is the time of having it again, over the powers of its bytes and
        of the stages until its next use; the least goes first.
    exact_fit
        Whether bytes beyond those wanted do not count.
    sequence
        Overwritten with the nodes in running order, as far as it reaches.

    Returns
    -------
    tuple
        (computations, cost, bytes by which the budget is passed at worst). More
        computations than the sequence has room for: it was given up.

    Notes
    -----
    Stage w computes node w for the first time. What it misses, and what that misses in
    turn, runs before it in rising order, each once: so the sequence lies in the scope
    `Scope.GIVEN_ORDER`. Values that the rest of the stage reads are not freed, which
    bounds the work; each eviction takes O(n + m).
    """
    n = len(time)
    live = np.zeros(n, np.bool_)
    marked = np.full(n, -1, np.int64)
    pinned = np.zeros(n, np.int64)
    next_use = np.empty(n, np.int64)
    again = np.empty(n, np.float64)
    stack = np.empty(n, np.int64)
    run = np.empty(n, np.int64)
    level = np.int64(0)
    worst = np.int64(0)
    length = 0
    cost = 0.0
    for w in range(n):
        top = 0
        stack[0] = w
        marked[w] = w
        first = w
        while top >= 0:
            v = stack[top]
            top -= 1
            first = min(first, v)
            for e in range(before_start[v], before_start[v + 1]):
                u = before[e]
                pinned[u] += 1
                if not live[u] and marked[u] < w:
                    marked[u] = w
                    top += 1
                    stack[top] = u
        todo = 0
        for v in range(first, w + 1):
            if marked[v] == w:
                run[todo] = v
                todo += 1
        for k in range(todo):
            v = run[k]
            while level + size[v] + extra[v] > budget:
                wanted = level + size[v] + extra[v] - budget
                _look_ahead(
                    time,
                    fixed,
                    before_start,
                    before,
                    after_start,
                    after,
                    live,
                    w,
                    next_use,
                    again,
                )
                victim = -1
                least = np.inf
                for u in range(w):
                    if not live[u] or pinned[u] > 0 or stays[u] or size[u] == 0:
                        continue
                    if next_use[u] == NEVER:
                        score = -float(size[u])
                    elif fixed[u]:
                        continue
                    else:
                        price = time[u] + 1e-6
                        for e in range(before_start[u], before_start[u + 1]):
                            price += again[before[e]]
                        bytes_ = min(size[u], wanted) if exact_fit else size[u]
                        score = price / (
                            float(bytes_) ** bytes_power
                            * float(next_use[u] - w + 1) ** distance_power
                        )
                    if score < least:
                        least = score
                        victim = u
                if victim < 0:
                    worst = max(worst, wanted)
                    break
                live[victim] = False
                level -= size[victim]
            if length == len(sequence):
                return length + 1, cost, worst
            sequence[length] = v
            length += 1
            cost += time[v]
            live[v] = True
            level += size[v]
            for e in range(before_start[v], before_start[v + 1]):
                pinned[before[e]] -= 1
    return length, cost, worst


@numba.njit(cache=True, nogil=True)
def _look_ahead(
    time,
    fixed,
    before_start,
    before,
    after_start,
    after,
    live,
    w,
    next_use,
    again,
):
    """Write each value's next use, and the time of having it if it is not live.

    A value that is not live and will be read has its predecessors read then, too.
    """
    n = len(time)
    for v in range(n - 1, -1, -1):
        soonest = NEVER
        for e in range(after_start[v], after_start[v + 1]):
            c = after[e]
            if c >= w:
                soonest = min(soonest, c)
            elif not live[c]:
                soonest = min(soonest, next_use[c])
        next_use[v] = soonest
    for v in range(w + 1):
        if live[v]:
            again[v] = 0.0
            continue
        total = np.inf if fixed[v] else time[v]
        for e in range(before_start[v], before_start[v + 1]):
            total += again[before[e]]
        again[v] = total


@numba.njit(cache=True, nogil=True)
def frugal_order(size, extra, before_start, before, after_start, after, rule, order):
    """Write a running order of all nodes that keeps few bytes live.

    Parameters
    ----------
    size ... after
        As in `Pebbling`.
    rule
        Bit 0: of equals, whether the node that could run last comes first. Bit 1:
        whether the node of the least level while it runs comes first, among those that
        leave no more bytes than there were.
    order
        (n,): overwritten.

    Notes
    -----
    Always runs the node that leaves the fewest bytes live. O(n^2 + n m) time.
    """
    n = len(size)
    waiting = np.empty(n, np.int64)
    readers = np.empty(n, np.int64)
    since = np.zeros(n, np.int64)
    for v in range(n):
        waiting[v] = before_start[v + 1] - before_start[v]
        readers[v] = after_start[v + 1] - after_start[v]
    for k in range(n):
        best = -1
        least, tie = np.int64(0), np.int64(0)
        for v in range(n):
            if waiting[v] != 0:
                continue
            key = size[v] if readers[v] else np.int64(0)
            for e in range(before_start[v], before_start[v + 1]):
                if readers[before[e]] == 1:
                    key -= size[before[e]]
            second = -since[v] if rule & 1 else since[v]
            if rule & 2 and key <= 0:
                key = -NEVER + size[v] + extra[v]
            if best < 0 or key < least or (key == least and second < tie):
                best, least, tie = v, key, second
        order[k] = best
        waiting[best] = -1
        for e in range(before_start[best], before_start[best + 1]):
            readers[before[e]] -= 1
        for e in range(after_start[best], after_start[best + 1]):
            waiting[after[e]] -= 1
            since[after[e]] = k


@numba.njit(cache=True, nogil=True)
def frugal_order_from_the_end(
    size, before_start, before, after_start, after, rule, order
):
    """Write a running order that is built from its end, and keeps few bytes live.

    Parameters
    ----------
    size ... after
        As in `Pebbling`.
    rule
        Of equals, whether the node that could stand here last comes first (1) or not.
    order
        (n,): overwritten.

    Notes
    -----
    Before the part that stands, those values are live that it reads and does not
    compute. Always takes the node before which the fewest bytes are live.
    """
    n = len(size)
    waiting = np.empty(n, np.int64)
    needed = np.zeros(n, np.bool_)
    since = np.zeros(n, np.int64)
    for v in range(n):
        waiting[v] = after_start[v + 1] - after_start[v]
    for k in range(n):
        best = -1
        least, tie = np.int64(0), np.int64(0)
        for v in range(n - 1, -1, -1):
            if waiting[v] != 0:
                continue
            key = -size[v] if needed[v] else np.int64(0)
            for e in range(before_start[v], before_start[v + 1]):
                if not needed[before[e]]:
                    key += size[before[e]]
            second = -since[v] if rule else since[v]
            if best < 0 or key < least or (key == least and second < tie):
                best, least, tie = v, key, second
        order[n - 1 - k] = best
        waiting[best] = -1
        for e in range(before_start[best], before_start[best + 1]):
            needed[before[e]] = True
            waiting[before[e]] -= 1
            since[before[e]] = k
