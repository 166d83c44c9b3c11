"""Annealing of computation sequences, compiled.

A state is a row of *slots*, most of them empty, in which nodes stand. Everything else
follows from it: production i of value v, at slot ``occurs[v, i]``, serves the uses from
there to the next production and lives to the last of them, ``dies[v, i]``; the level of
an occupied slot is the bytes of all productions that live across it, and what its node
needs besides. Inserting or removing a node changes a few lifetimes, each of which adds
to a range of levels.

Levels are kept relative to the budget, so that the *excess*, the sum of all positive
ones, is zero just when the schedule fits. It tells good moves from bad ones where the
peak alone stays the same. Levels of empty slots are lowered by `EMPTY` and never
count. A plain pass over the range beats a segment tree here: compilers turn it into
vector instructions, and ranges are a few hundred slots long.

Longer than 400 lines because numba's cache notices changes of the file that a compiled
function stands in, but not of files that it imports from.
"""

from typing import Final, NamedTuple

import numba
import numpy as np

from ckschedule.costs.encoding import Ints

INNER: Final = {
    "nogil": True,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
"""Options of functions that only kernels call. Nothing here allocates, and counting
references of two dozen arrays in every call takes time; so does compiling a way into
each function from Python."""

EMPTY: Final = 2**60
"""By how much the levels of empty slots are lowered."""

DEPTH: Final = 60
"""Computations that one move may insert or remove."""

GROUP: Final = 16
"""Nodes that one move may take along."""

GROUPS: Final = 15
"""Percent of the moves that move several nodes."""

TRIES: Final = 12
"""Random looks for a node that a move can use, before the move is given up."""

MOST_JAMS: Final = 200
"""Moves without an empty slot where one was wanted, before nodes are spread anew."""

# Positions in `Row.number`.
EXCESS: Final = 0
LENGTH: Final = 1
REPEATED: Final = 2
JAMS: Final = 3
LOGGED: Final = 4
OVERS: Final = 5
MADE: Final = 6
TAKEN: Final = 7
STAMP: Final = 8
NUMBERS: Final = 9

# Positions in `Row.real`.
COST: Final = 0
BEST: Final = 1
PRICE: Final = 2
REALS: Final = 3

# What is logged: kind, node, slot, and the slot before if it was moved; for what was
# inserted, the slot where it stands now.
REMOVED: Final = 0
INSERTED: Final = 1
MOVED: Final = 2


class Instance(NamedTuple):
    """A graph as the kernel takes it.

    Attributes
    ----------
    time
        (n,), float64: multiples of the mean.
    size, extra
        (n,): as in `Pebbling`, possibly in a coarser unit, rounded up.
    fixed
        (n,), 0 or 1: whether it runs only once.
    stays, before_start, before, after_start, after
        As in `Pebbling`.
    """

    time: np.ndarray
    size: Ints
    extra: Ints
    fixed: Ints
    stays: Ints
    before_start: Ints
    before: Ints
    after_start: Ints
    after: Ints


class Row(NamedTuple):
    """A state.

    Attributes
    ----------
    at
        (n_slots,): node at each slot, or -1.
    level
        (n_slots,): bytes above the budget.
    occurs, dies
        (n, most): slots of each value's productions, rising, and of their last uses.
    count
        (n,): productions of each value.
    repeated, where
        (n,): the first ``number[REPEATED]`` of the former are the nodes with more than
        one; the latter says where each stands there.
    over
        (n_slots,): the first ``number[OVERS]`` were above the budget not long ago.
    best
        (n_slots,): ``at`` of the cheapest state that fit.
    mark
        (n,): the nodes with ``number[STAMP]`` go along with the move.
    group
        (2, GROUP): slots that nodes move from, and to.
    log
        (8 * DEPTH, 4): what the move has done so far.
    number, real
        Counters and costs, see the constants.
    random
        (1,), uint64: state of the generator.
    """

    at: Ints
    level: Ints
    occurs: Ints
    dies: Ints
    count: Ints
    repeated: Ints
    where: Ints
    over: Ints
    best: Ints
    mark: Ints
    group: Ints
    log: Ints
    number: Ints
    real: np.ndarray
    random: np.ndarray


@numba.njit(**INNER)
def _below(row, n):
    """Return a random integer from 0 to n - 1 (xorshift64*, multiply and shift)."""
    x = row.random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    row.random[0] = x
    high = (x * np.uint64(2685821657736338717)) >> np.uint64(32)
    return np.int64((high * np.uint64(n)) >> np.uint64(32))


@numba.njit(**INNER)
def _unit(row):
    """Return a random number above 0, at most 1."""
    return (_below(row, 1 << 31) + 1) * 4.656612873077393e-10


@numba.njit(**INNER)
def _add(level, first, last, bytes_):
    """Add bytes to the levels from ``first`` to ``last``; return what excess gains."""
    gain = np.int64(0)
    # Unsigned: compiled code need not ask whether positions count from the end, and
    # turns this into vector instructions.
    start = np.uint64(first)
    for k in range(np.uint64(max(last + 1 - first, 0))):
        old = level[start + k]
        new = old + bytes_
        level[start + k] = new
        gain += max(new, 0) - max(old, 0)
    return gain


@numba.njit(**INNER)
def _last_use(graph, row, v, low, high):
    """Return the last slot between ``low`` and ``high`` that reads v, or ``low``."""
    for e in range(graph.after_start[v], graph.after_start[v + 1]):
        c = graph.after[e]
        k = row.count[c] - 1
        while k >= 0 and row.occurs[c, k] >= high:
            k -= 1
        if k >= 0 and row.occurs[c, k] > low:
            low = row.occurs[c, k]
    return low


@numba.njit(**INNER)
def _next_use(graph, row, v, low, high):
    """Return the first slot between ``low`` and ``high`` that reads v, or ``high``."""
    for e in range(graph.after_start[v], graph.after_start[v + 1]):
        c = graph.after[e]
        for k in range(row.count[c]):
            t = row.occurs[c, k]
            if t > low:
                if t < high:
                    high = t
                break
    return high


@numba.njit(**INNER)
def insert(graph, row, v, t):
    """Put node v into the empty slot t."""
    n_slots = len(row.at)
    count = row.count[v]
    i = count
    while i > 0 and row.occurs[v, i - 1] > t:
        row.occurs[v, i] = row.occurs[v, i - 1]
        row.dies[v, i] = row.dies[v, i - 1]
        i -= 1
    excess = row.number[EXCESS]
    size = graph.size[v]
    death = t
    if graph.stays[v]:
        death = n_slots - 1
        excess += _add(row.level, t, death, size)
    elif i == 0:
        high = row.occurs[v, 1] if count else n_slots
        death = _last_use(graph, row, v, t, high)
        excess += _add(row.level, t, death, size)
    elif row.dies[v, i - 1] > t:
        death = row.dies[v, i - 1]
        last = _last_use(graph, row, v, row.occurs[v, i - 1], t)
        row.dies[v, i - 1] = last
        excess += _add(row.level, last + 1, t - 1, -size)
    else:
        excess += _add(row.level, t, t, size)
    row.occurs[v, i] = t
    row.dies[v, i] = death
    row.count[v] = count + 1
    for e in range(graph.before_start[v], graph.before_start[v + 1]):
        u = graph.before[e]
        j = row.count[u] - 1
        while j >= 0 and row.occurs[u, j] > t:
            j -= 1
        if j >= 0 and row.dies[u, j] < t:
            excess += _add(row.level, row.dies[u, j] + 1, t, graph.size[u])
            row.dies[u, j] = t
    row.at[t] = v
    row.level[t] += EMPTY + graph.extra[v]
    row.number[EXCESS] = excess + max(row.level[t], 0)
    row.number[LENGTH] += 1
    row.real[COST] += graph.time[v]
    if count == 1:
        row.where[v] = row.number[REPEATED]
        row.repeated[row.number[REPEATED]] = v
        row.number[REPEATED] += 1


@numba.njit(**INNER)
def remove(graph, row, v, i):
    """Take production i of node v away; uses that nothing serves are passed over."""
    n_slots = len(row.at)
    t = row.occurs[v, i]
    death = row.dies[v, i]
    size = graph.size[v]
    excess = row.number[EXCESS] - max(row.level[t], 0)
    row.level[t] -= EMPTY + graph.extra[v]
    row.at[t] = -1
    if graph.stays[v]:
        excess += _add(row.level, t, n_slots - 1, -size)
    elif i == 0:
        excess += _add(row.level, t, death, -size)
    elif death > t:
        excess += _add(row.level, row.dies[v, i - 1] + 1, t - 1, size)
        row.dies[v, i - 1] = death
    else:
        excess += _add(row.level, t, t, -size)
    count = row.count[v] - 1
    for k in range(i, count):
        row.occurs[v, k] = row.occurs[v, k + 1]
        row.dies[v, k] = row.dies[v, k + 1]
    row.count[v] = count
    for e in range(graph.before_start[v], graph.before_start[v + 1]):
        u = graph.before[e]
        j = row.count[u] - 1
        while j >= 0 and row.occurs[u, j] > t:
            j -= 1
        if j >= 0 and row.dies[u, j] == t and not graph.stays[u]:
            last = _last_use(graph, row, u, row.occurs[u, j], t)
            row.dies[u, j] = last
            excess += _add(row.level, last + 1, t, -graph.size[u])
    row.number[EXCESS] = excess
    row.number[LENGTH] -= 1
    row.real[COST] -= graph.time[v]
    if count == 1:
        row.number[REPEATED] -= 1
        moved = row.repeated[row.number[REPEATED]]
        row.repeated[row.where[v]] = moved
        row.where[moved] = row.where[v]


@numba.njit(**INNER)
def shift(graph, row, v, t):
    """Move the first production of v to the empty slot t, in legal bounds.

    The same as `remove` and `insert`, at half the price.
    """
    s = row.occurs[v, 0]
    size = graph.size[v]
    excess = row.number[EXCESS] - max(row.level[s], 0)
    row.level[s] -= EMPTY + graph.extra[v]
    row.at[s] = -1
    row.occurs[v, 0] = t
    if row.dies[v, 0] == s and not graph.stays[v]:
        row.dies[v, 0] = t
        excess += _add(row.level, s, s, -size)
        excess += _add(row.level, t, t, size)
    elif t < s:
        excess += _add(row.level, t, s - 1, size)
    else:
        excess += _add(row.level, s, t - 1, -size)
    for e in range(graph.before_start[v], graph.before_start[v + 1]):
        u = graph.before[e]
        if graph.stays[u]:
            continue
        # The productions that serve it before and afterwards.
        j = row.count[u] - 1
        while row.occurs[u, j] > s:
            j -= 1
        k = j
        if t < s:
            while row.occurs[u, k] > t:
                k -= 1
        else:
            while k + 1 < row.count[u] and row.occurs[u, k + 1] < t:
                k += 1
        death = row.dies[u, j]
        if death == s:
            if k == j and t > s:
                last = t
            else:
                # Any slot between s and the next production would do as the end.
                last = _last_use(graph, row, u, row.occurs[u, j], s)
            row.dies[u, j] = last
            if last < s:
                excess += _add(row.level, last + 1, s, -graph.size[u])
            else:
                excess += _add(row.level, s + 1, last, graph.size[u])
        if row.dies[u, k] < t:
            excess += _add(row.level, row.dies[u, k] + 1, t, graph.size[u])
            row.dies[u, k] = t
    row.at[t] = v
    row.level[t] += EMPTY + graph.extra[v]
    row.number[EXCESS] = excess + max(row.level[t], 0)


@numba.njit(cache=True, nogil=True, _nrt=False)
def place(graph, row, sequence, budget):
    """Make ``row`` the state of a sequence, spread evenly over the slots.

    Parameters
    ----------
    sequence
        (n_computations,): nodes in running order; fewer than slots.
    budget
        Bytes, in the unit of ``graph.size``.
    """
    n_slots = len(row.at)
    row.at[:] = -1
    row.count[:] = 0
    row.number[EXCESS] = 0
    row.number[LENGTH] = len(sequence)
    row.number[REPEATED] = 0
    row.number[JAMS] = 0
    row.number[OVERS] = 0
    row.real[COST] = 0.0
    # First by how much the level of each slot exceeds that of the one before.
    row.level[:] = 0
    row.level[0] = -budget
    for k in range(len(sequence)):
        v = sequence[k]
        t = ((2 * k + 1) * n_slots) // (2 * len(sequence))
        row.at[t] = v
        i = row.count[v]
        row.occurs[v, i] = t
        row.dies[v, i] = n_slots - 1 if graph.stays[v] else t
        row.count[v] = i + 1
        row.real[COST] += graph.time[v]
        for e in range(graph.before_start[v], graph.before_start[v + 1]):
            u = graph.before[e]
            if not graph.stays[u] and row.count[u]:
                row.dies[u, row.count[u] - 1] = t
    for v in range(len(row.count)):
        for i in range(row.count[v]):
            row.level[row.occurs[v, i]] += graph.size[v]
            if row.dies[v, i] + 1 < n_slots:
                row.level[row.dies[v, i] + 1] -= graph.size[v]
        if row.count[v] > 1:
            row.where[v] = row.number[REPEATED]
            row.repeated[row.number[REPEATED]] = v
            row.number[REPEATED] += 1
    level = np.int64(0)
    for t in range(n_slots):
        level += row.level[t]
        if row.at[t] < 0:
            row.level[t] = level - EMPTY
        else:
            row.level[t] = level + graph.extra[row.at[t]]
            row.number[EXCESS] += max(row.level[t], 0)


@numba.njit(**INNER)
def _do_insert(graph, row, v, t):
    k = row.number[LOGGED]
    row.log[k, 0] = INSERTED
    row.log[k, 1] = v
    row.log[k, 2] = t
    row.log[k, 3] = t
    row.number[LOGGED] = k + 1
    insert(graph, row, v, t)


@numba.njit(**INNER)
def _do_remove(graph, row, v, i):
    k = row.number[LOGGED]
    row.log[k, 0] = REMOVED
    row.log[k, 1] = v
    row.log[k, 2] = row.occurs[v, i]
    row.number[LOGGED] = k + 1
    remove(graph, row, v, i)


@numba.njit(**INNER)
def _do_move(graph, row, v, i, t):
    s = row.occurs[v, i]
    k = row.number[LOGGED]
    row.log[k, 0] = MOVED
    row.log[k, 1] = v
    row.log[k, 2] = t
    row.log[k, 3] = s
    row.number[LOGGED] = k + 1
    _slide(graph, row, v, s, t)


@numba.njit(**INNER)
def _slide(graph, row, v, s, t):
    """Move the production of v at slot s to the empty slot t."""
    if row.occurs[v, 0] == s:
        shift(graph, row, v, t)
    else:
        remove(graph, row, v, _index(row, v, s))
        insert(graph, row, v, t)


@numba.njit(**INNER)
def _index(row, v, t):
    i = 0
    while row.occurs[v, i] != t:
        i += 1
    return i


@numba.njit(**INNER)
def _empty_at(graph, row, t):
    """Slide nodes to the left until slot t is empty; return whether that went."""
    gap = t
    while gap >= 0 and row.at[gap] >= 0:
        gap -= 1
    if gap < 0 or row.number[LOGGED] + t - gap >= len(row.log) - 2 * DEPTH:
        row.number[JAMS] += 1
        return False
    for s in range(gap + 1, t + 1):
        v = row.at[s]
        for k in range(row.number[LOGGED]):
            if row.log[k, 0] == INSERTED and row.log[k, 3] == s:
                row.log[k, 3] = s - 1
        _do_move(graph, row, v, _index(row, v, s), s - 1)
    return True


@numba.njit(**INNER)
def _undo(graph, row, mark):
    """Take back what was logged since ``mark``."""
    for k in range(row.number[LOGGED] - 1, mark - 1, -1):
        v, t = row.log[k, 1], row.log[k, 2]
        if row.log[k, 0] == MOVED:
            _slide(graph, row, v, t, row.log[k, 3])
        elif row.log[k, 0] == INSERTED:
            remove(graph, row, v, _index(row, v, t))
        else:
            insert(graph, row, v, t)
    row.number[LOGGED] = mark


@numba.njit(**INNER)
def _free_before(row, low, high):
    """Return the last empty slot between ``low`` and ``high``, or -1."""
    for t in range(high - 1, low, -1):
        if row.at[t] < 0:
            return t
    return -1


@numba.njit(**INNER)
def _free_near(row, low, high, t):
    """Return an empty slot between ``low`` and ``high`` near t, or -1."""
    up = t
    while up < high and row.at[up] >= 0:
        up += 1
    if up < high:
        return up
    return _free_before(row, low, t)


@numba.njit(**INNER)
def _staged_slot(graph, row, v, t):
    """Return the slot for recomputing v in the stage that t lies in, or -1.

    The first computations part the row into stages, which end with them; in a stage
    nodes stand in rising order. Slot t may be the end of its stage itself.
    """
    n_slots = len(row.at)
    high = t
    while high < n_slots:
        w = row.at[high]
        if w >= 0 and (row.occurs[w, 0] == high or w > v):
            break
        if w == v:
            return -1
        high += 1
    if high == n_slots:
        # Nothing is computed after the last first computation.
        return -1
    low = high - 1
    while low >= 0:
        w = row.at[low]
        if w >= 0:
            if row.occurs[w, 0] == low or w < v:
                break
            if w == v:
                return -1
            high = low
        low -= 1
    if high - low > 1:
        return (low + high) // 2
    return low if low >= 0 and _empty_at(graph, row, low) else np.int64(-1)


@numba.njit(**INNER)
def _recompute(graph, row, staged, v, low, use):
    """Insert v between ``low`` and ``use``, which reads it, or maybe earlier ones too.

    Returns
    -------
    bool
        Whether it was possible.
    """
    if graph.fixed[v] or row.count[v] == row.occurs.shape[1]:
        return False
    if row.number[LENGTH] * 10 > len(row.at) * 7 or use - low < 2:
        return False
    late = _below(row, 2) == 0
    if staged:
        t = use if late else low + 1 + _below(row, use - low - 1)
        t = _staged_slot(graph, row, v, t)
        if t <= row.occurs[v, 0]:
            return False
    elif late:
        t = _free_before(row, low, use)
    else:
        t = _free_near(row, low, use, low + 1 + _below(row, use - low - 1))
    if t < 0:
        row.number[JAMS] += 1
        return False
    start = row.number[LOGGED]
    _do_insert(graph, row, v, t)
    # Its predecessors may be dead there: keeping each to here, or running it again,
    # too, is tossed up.
    deep = _below(row, 4)
    if deep == 0:
        return True
    k = start
    while k < row.number[LOGGED] and row.number[LOGGED] < DEPTH:
        w, at = row.log[k, 1], row.log[k, 3]
        k += 1
        if row.log[k - 1, 0] != INSERTED:
            continue
        for e in range(graph.before_start[w + 1] - 1, graph.before_start[w] - 1, -1):
            u = graph.before[e]
            if graph.fixed[u] or row.number[LOGGED] >= DEPTH:
                continue
            if row.count[u] == row.occurs.shape[1]:
                continue
            j = row.count[u] - 1
            while row.occurs[u, j] > at:
                j -= 1
            if row.dies[u, j] > at:
                continue
            last = _last_use(graph, row, u, row.occurs[u, j], at)
            if at - last < 3 or _below(row, 4) >= deep:
                continue
            s = (
                _staged_slot(graph, row, u, at)
                if staged
                else _free_before(row, last, at)
            )
            if s <= last:
                continue
            at = row.log[k - 1, 3]
            before = _objective(row)
            mark = row.number[LOGGED]
            _do_insert(graph, row, u, s)
            if deep == 2 and _objective(row) > before:
                _undo(graph, row, mark)
    return True


@numba.njit(**INNER)
def _objective(row):
    return row.real[COST] + row.real[PRICE] * row.number[EXCESS]


@numba.njit(**INNER)
def _live_at(graph, row, t):
    """Return a random production (v, i) that lives across slot t; (-1, 0) if none."""
    n = len(row.count)
    for _ in range(TRIES):
        v = _below(row, n)
        for i in range(row.count[v]):
            if row.occurs[v, i] < t < row.dies[v, i]:
                return v, i
    return np.int64(-1), 0


@numba.njit(**INNER)
def _occupied(row):
    """Return a random occupied slot, or -1."""
    for _ in range(TRIES):
        t = _below(row, len(row.at))
        if row.at[t] >= 0:
            return t
    return np.int64(-1)


@numba.njit(**INNER)
def _bounds(graph, row, v, i):
    """Return between which slots production i of v can be moved."""
    n_slots = len(row.at)
    high = row.occurs[v, i + 1] if i + 1 < row.count[v] else n_slots
    if i > 0:
        return row.occurs[v, i - 1], high
    low = np.int64(-1)
    for e in range(graph.before_start[v], graph.before_start[v + 1]):
        low = max(low, row.occurs[graph.before[e], 0])
    for e in range(graph.after_start[v], graph.after_start[v + 1]):
        high = min(high, row.occurs[graph.after[e], 0])
    return low, high


@numba.njit(**INNER)
def _shift(graph, row, v, i, low, high, near):
    """Move production i of v to a random slot between ``low`` and ``high``."""
    s = row.occurs[v, i]
    if near:
        reach = 2 << _below(row, 7)
        low = max(low, s - reach)
        high = min(high, s + reach)
    if high - low < 3:
        return False
    t = _free_near(row, low, high, low + 1 + _below(row, high - low - 1))
    if t < 0:
        return False
    _do_move(graph, row, v, i, t)
    return True


@numba.njit(**INNER)
def _move_somewhere(graph, row):
    s = _occupied(row)
    if s < 0:
        return False
    v = row.at[s]
    i = _index(row, v, s)
    low, high = _bounds(graph, row, v, i)
    return _shift(graph, row, v, i, low, high, _below(row, 2) == 0)


@numba.njit(**INNER)
def _move_group(graph, row):
    """Move a node across others, and what has to stay on its far side with it.

    Later: across what reads it, which moves along, and so on. Earlier: across what it
    reads.
    """
    n_slots = len(row.at)
    s = _occupied(row)
    if s < 0 or row.occurs[row.at[s], 0] != s:
        return False
    step = 1 if _below(row, 2) else -1
    t = s + step * (2 + _below(row, 4 << _below(row, 7)))
    if t < 1 or t > n_slots - 2:
        return False
    stamp = row.number[STAMP] + 1
    row.number[STAMP] = stamp
    row.mark[row.at[s]] = stamp
    k = 0
    for x in range(s, t + step, step):
        w = row.at[x]
        if w < 0 or row.mark[w] != stamp or (step < 0 and row.occurs[w, 0] != x):
            continue
        if k == GROUP:
            return False
        row.group[0, k] = x
        k += 1
        if row.occurs[w, 0] != x:
            continue
        if step > 0:
            for e in range(graph.after_start[w], graph.after_start[w + 1]):
                row.mark[graph.after[e]] = stamp
        else:
            for e in range(graph.before_start[w], graph.before_start[w + 1]):
                row.mark[graph.before[e]] = stamp
    free = 0
    x = t + step
    while free < k:
        if x < 0 or x >= n_slots:
            return False
        if row.at[x] < 0:
            row.group[1, free] = x
            free += 1
        x += step
    for j in range(k - 1, -1, -1):
        x, y = row.group[0, j], row.group[1, j]
        w = row.at[x]
        i = _index(row, w, x)
        low, high = _bounds(graph, row, w, i)
        if y <= low or y >= high:
            return False
        _do_move(graph, row, w, i, y)
    return True


@numba.njit(**INNER)
def _move_off(graph, row, peak):
    """Make a value that lives across ``peak`` end before it, or begin after it."""
    v, i = _live_at(graph, row, peak)
    if v < 0:
        return False
    if _below(row, 2) == 0:
        low, high = _bounds(graph, row, v, i)
        low = max(low, peak)
        if high - low < 2:
            return False
        return _shift(graph, row, v, i, low, high, False)
    t = row.dies[v, i]
    if t >= len(row.at) or row.at[t] < 0:
        return False
    w = row.at[t]
    j = _index(row, w, t)
    low, high = _bounds(graph, row, w, j)
    high = min(high, peak)
    if high - low < 2:
        return False
    return _shift(graph, row, w, j, low, high, False)


@numba.njit(**INNER)
def _recompute_over(graph, row, staged, peak):
    """End a value that lives across ``peak``, and compute it again before its use."""
    v, i = _live_at(graph, row, peak)
    if v < 0 or graph.fixed[v]:
        return False
    use = _next_use(graph, row, v, peak - 1, row.dies[v, i] + 1)
    if use <= peak or use > row.dies[v, i]:
        return False
    return _recompute(graph, row, staged, v, peak, use)


@numba.njit(**INNER)
def _recompute_somewhere(graph, row, staged):
    """Compute the value that some node reads again before it."""
    s = _occupied(row)
    if s < 0:
        return False
    w = row.at[s]
    width = graph.before_start[w + 1] - graph.before_start[w]
    if width == 0:
        return False
    v = graph.before[graph.before_start[w] + _below(row, width)]
    j = row.count[v] - 1
    while row.occurs[v, j] > s:
        j -= 1
    low = _last_use(graph, row, v, row.occurs[v, j], s)
    return _recompute(graph, row, staged, v, low, s)


@numba.njit(**INNER)
def _drop(graph, row, staged, v, i):
    """Remove production i of v, and then what was computed again for it alone."""
    start = row.number[LOGGED]
    _do_remove(graph, row, v, i)
    k = start
    while k < row.number[LOGGED]:
        w, t = row.log[k, 1], row.log[k, 2]
        k += 1
        for e in range(graph.before_start[w], graph.before_start[w + 1]):
            u = graph.before[e]
            if row.count[u] < 2 or row.number[LOGGED] >= DEPTH:
                continue
            j = row.count[u] - 1
            while j > 0 and row.occurs[u, j] > t:
                j -= 1
            if (j or not staged) and row.dies[u, j] == row.occurs[u, j]:
                _do_remove(graph, row, u, j)


@numba.njit(**INNER)
def _pick_repeated(graph, row, staged):
    """Return a production (v, i) that is not needed for legality; (-1, 0) if none."""
    if row.number[REPEATED] == 0:
        return np.int64(-1), np.int64(0)
    v = row.repeated[_below(row, row.number[REPEATED])]
    i = _below(row, row.count[v])
    if i == 0 and (staged or row.dies[v, 0] > row.occurs[v, 0]):
        i = 1 + _below(row, row.count[v] - 1)
    return v, i


@numba.njit(**INNER)
def _replace(graph, row, staged):
    """Keep a value that was computed again, and compute another one again instead."""
    v, i = _pick_repeated(graph, row, staged)
    if v < 0 or i == 0:
        return False
    low, high = row.dies[v, i - 1], row.occurs[v, i]
    if high - low < 3:
        return False
    _drop(graph, row, staged, v, i)
    for _ in range(3):
        peak = low + 1 + _below(row, high - low - 1)
        if row.level[peak] > 0:
            break
    return _recompute_over(graph, row, staged, peak)


@numba.njit(**INNER)
def _move_recomputation(graph, row, staged):
    """Compute a value again at another place than now."""
    v, i = _pick_repeated(graph, row, staged)
    if v < 0 or i == 0:
        return False
    low, high = _bounds(graph, row, v, i)
    if not staged:
        return _shift(graph, row, v, i, low, high, _below(row, 2) == 0)
    high = min(high, _next_use(graph, row, v, row.occurs[v, i], len(row.at)) + 1)
    if high - low < 3:
        return False
    s = row.occurs[v, i]
    _do_remove(graph, row, v, i)
    t = _staged_slot(graph, row, v, low + 1 + _below(row, high - low - 1))
    if t <= low or t == s:
        return False
    _do_insert(graph, row, v, t)
    return True


@numba.njit(**INNER)
def _try(graph, row, staged, repeats):
    """Change the row at random; return whether there is anything to judge."""
    kind = _below(row, 100)
    over = row.number[OVERS]
    peak = row.over[_below(row, over)] if over else np.int64(-1)
    if peak >= 0 and row.level[peak] <= 0:
        peak = np.int64(-1)
    if not staged and kind >= 100 - GROUPS:
        return _move_group(graph, row)
    if not repeats:
        if peak >= 0 and kind < 35:
            return _move_off(graph, row, peak)
        return _move_somewhere(graph, row)
    if kind < 50 and not staged:
        if peak >= 0 and kind < 15:
            return _move_off(graph, row, peak)
        return _move_somewhere(graph, row)
    kind = _below(row, 100)
    if kind < 35:
        if peak >= 0 and kind < 25:
            return _recompute_over(graph, row, staged, peak)
        return _recompute_somewhere(graph, row, staged)
    if kind < 60:
        v, i = _pick_repeated(graph, row, staged)
        if v < 0:
            return False
        _drop(graph, row, staged, v, i)
        return True
    if kind < 80:
        return _replace(graph, row, staged)
    return _move_recomputation(graph, row, staged)


@numba.njit(cache=True, nogil=True, _nrt=False)
def anneal(graph, row, staged, repeats, moves, hot, cold, adapt, least, most):
    """Make random moves, and take each with the probability of its temperature.

    Parameters
    ----------
    graph, row
        The instance, and the state, which is changed.
    staged
        Whether first computations stay in their order, and recomputations in stages.
    repeats
        Whether nodes may be computed again.
    moves
        How many to make.
    hot, cold
        Temperatures at the beginning and at the end, in units of cost.
    adapt
        Factor above 1 by which the price of excess rises while there is some, and
        falls while there is none; 1 for a fixed price.
    least, most
        Bounds of the price.

    Returns
    -------
    int
        Moves that were made: fewer when nothing is left to gain, or when nodes stand
        too close together for many of them, so that `place` has to spread them anew.
    """
    temperature = hot
    every = max(64, len(row.count) // 4)
    cool = (cold / hot) ** (every / max(moves, every))
    for m in range(moves):
        if m % every == 0:
            temperature = max(cold, temperature * cool) if m else hot
            found = 0
            if row.number[EXCESS] > 0:
                for t in range(len(row.level)):
                    if row.level[t] > 0:
                        row.over[found] = t
                        found += 1
                row.real[PRICE] = min(most, row.real[PRICE] * adapt)
            else:
                row.real[PRICE] = max(least, row.real[PRICE] / adapt)
            row.number[OVERS] = found
        before = _objective(row)
        excess = row.number[EXCESS]
        cost = row.real[COST]
        row.number[LOGGED] = 0
        worth = _try(graph, row, staged, repeats)
        if worth:
            row.number[MADE] += 1
            worth = _objective(row) - before < -temperature * np.log(_unit(row))
        if not worth:
            if row.number[LOGGED]:
                _undo(graph, row, 0)
                # Sums of floats do not come back by themselves.
                row.real[COST] = cost
                row.number[EXCESS] = excess
            continue
        row.number[TAKEN] += 1
        if row.number[EXCESS] == 0 and row.real[COST] < row.real[BEST] - 1e-9:
            row.real[BEST] = row.real[COST]
            for t in range(len(row.at)):
                row.best[t] = row.at[t]
            if row.number[REPEATED] == 0:
                return m + 1
        if row.number[JAMS] > MOST_JAMS:
            return m + 1
    return moves
