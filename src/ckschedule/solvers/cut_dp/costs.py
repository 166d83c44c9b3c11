"""Bytes and times of the cuts of a training graph, in units of the search's memory.

X_c, what a cut after unit c has to keep, are the values of the units up to c that a
forward node beyond reads, or a backward node anchored beyond; and those of unit c
itself that a node anchored at c reads. For i < k < j the values of X_j from units up to
k all lie in X_k, so that nested cuts share what both keep: keeping X_k inside X_i costs
D(i, k) = bytes of X_k from units beyond i, and keeping X_i, X_k and X_j together
D(i, k) + D(k, j) beyond X_i.

Of the nodes anchored at c, the *prelude* needs no more than X_c; what of X_c is needed
after it, by others or to compute its unit's neighbours again, is X'_c with its bytes
D'(i, c).
"""

from dataclasses import dataclass
from math import gcd

import numpy as np
import numpy.typing as npt

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.cut_dp.training import Training


@dataclass(frozen=True, kw_only=True)
class CutCosts:
    """What the recurrence reads; memory in multiples of ``grain`` bytes.

    Attributes
    ----------
    training
        The graph.
    grain
        Bytes a unit of memory.
    most
        Largest memory that the tables have, beside what lies there throughout.
    kept
        (n_units + 1, turn): flags of X_c.
    lasting
        (n_units + 1, turn): flags of X'_c.
    preluded
        (n_units + 1,): how many of the nodes anchored at c the prelude has.
    interior
        (turn,): values that their unit's own backward nodes read and that lie in no
        cut.
    extent, remaining
        (n_units + 1, n_units + 1): D(i, c) and D'(i, c).
    known_time
        (n_units + 1, n_units + 1): ticks of those nodes of unit c whose values are in
        X'_j, at [c, j].
    known
        (n_units + 1, n_units + 1): 1 where X'_j has all that unit c yields.
    within, time
        (n_units + 1,): of unit c, the most memory that running it adds to X_{c-1}, and
        the ticks of running it again.
    standing
        (n_units + 1,): memory of standing values while unit c runs for the first time.
    level
        (n_units + 1,): memory of gradients, standing and late values once the prelude
        of c has run.
    prelude, rest
        (n_units + 1,): the most memory that the prelude of c, and the other nodes
        anchored there, take beside forward values.
    interior_size, interior_time
        (n_units + 1,): of the interior values of unit c, and of computing them.
    """

    training: Training
    grain: int
    most: int
    kept: npt.NDArray[np.bool_]
    lasting: npt.NDArray[np.bool_]
    preluded: Ints
    interior: npt.NDArray[np.bool_]
    extent: Ints
    remaining: Ints
    known_time: Ints
    known: Ints
    within: Ints
    time: Ints
    standing: Ints
    level: Ints
    prelude: Ints
    rest: Ints
    interior_size: Ints
    interior_time: Ints


def cut_costs(
    training: Training, budget: int, *, slots: int, hold_late: bool
) -> CutCosts:
    """Return the costs of a training graph's cuts.

    Parameters
    ----------
    training
        The graph.
    budget
        Bytes beside what lies there throughout; memory is counted up to it.
    slots
        Most multiples that the budget is divided into.
    hold_late
        Whether values that are read late stay until then; else reading them is taken
        to cost nothing.
    """
    pebbling = training.pebbling
    kept, interior = _kept(training)
    preluded, left = _preludes(training, kept)
    lasting = _lasting(training, kept, left)
    size = np.where(training.standing, 0, pebbling.size[: training.turn])
    again = np.where(training.standing, 0, pebbling.time[: training.turn])
    grain = _grain(pebbling.size, pebbling.extra, budget, slots)
    extent = _by_left_edge(training, kept, size)
    # Rounding the running total keeps errors from adding up from unit to unit.
    total = np.concatenate(([0], np.cumsum(np.diag(extent, 1))))[:, None]
    unit_time = _sums(training, again)
    known_time = np.array([_sums(training, again * row) for row in lasting]).T
    inside = _sums(training, size * interior)
    level, prelude, rest = _backward(training, preluded, hold_late=hold_late)

    def rounded(memory: Ints) -> Ints:
        return (memory + grain // 2) // grain

    return CutCosts(
        training=training,
        grain=grain,
        most=budget // grain,
        kept=kept,
        lasting=lasting,
        preluded=preluded,
        interior=interior,
        extent=rounded(total + extent) - rounded(total),
        remaining=rounded(total + _by_left_edge(training, lasting, size))
        - rounded(total),
        known_time=known_time,
        known=_known(training, lasting).astype(np.int64),
        within=rounded(_within(training, kept)),
        time=unit_time,
        standing=rounded(_standing(training)),
        level=rounded(level),
        prelude=rounded(prelude),
        rest=rounded(rest),
        interior_size=rounded(inside),
        interior_time=np.where(
            _sums(training, interior) > 0, unit_time - np.diag(known_time), 0
        ),
    )


def _grain(size: Ints, extra: Ints, budget: int, slots: int) -> int:
    common = max(1, gcd(*size.tolist(), *extra.tolist()))
    return max(common, -(-budget // (slots * common)) * common)


def _kept(
    training: Training,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return X_c by c, and which values are interior."""
    units, turn = training.units, training.turn
    kept = np.zeros((units + 1, turn), bool)
    interior = np.zeros(turn, bool)
    anchor, unit = training.anchor.tolist(), training.unit.tolist()
    for u in range(turn):
        if training.standing[u]:
            continue
        home = unit[u]
        readers = training.pebbling.successors[u]
        beyond = max((unit[v] for v in readers if v < turn), default=0)
        anchored = max((anchor[w - turn] for w in readers if w >= turn), default=-1)
        kept[home : max(beyond, anchored), u] = True
        if anchored == home and not kept[home, u]:
            # A unit of several nodes keeps only the last one's value beside those
            # that leave it.
            last = u == training.edge[home] - 1
            kept[home, u] = last
            interior[u] = not last
    return kept, interior


def _preludes(
    training: Training, kept: npt.NDArray[np.bool_]
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return the preludes' lengths, and which values backward nodes read after each."""
    units, turn = training.units, training.turn
    preluded = np.zeros(units + 1, np.int64)
    left = np.zeros((units + 1, turn), bool)
    later = np.zeros(turn, bool)
    for c in range(units + 1):
        nodes = training.backward_of(c)
        reads = [
            [u for u in training.pebbling.predecessors[w] if u < turn] for w in nodes
        ]
        count = 0
        for row in reads:
            if not all(
                kept[c, u] or training.standing[u] or training.unit[u] > c for u in row
            ):
                break
            count += 1
        preluded[c] = count
        left[c] = later
        for row in reads[count:]:
            left[c, row] = True
        for row in reads:
            later[row] = True
    return preluded, left


def _lasting(
    training: Training, kept: npt.NDArray[np.bool_], left: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Return X'_c by c: read after the prelude, or by a forward node up to c."""
    first = np.full(training.turn, training.units + 1)
    for u in range(training.turn):
        readers = training.pebbling.successors[u]
        if readers and readers[0] < training.turn:
            first[u] = training.unit[readers[0]]
    inner = first[None, :] <= np.arange(training.units + 1)[:, None]
    return kept & (left | inner)


def _by_left_edge(training: Training, kept: npt.NDArray[np.bool_], size: Ints) -> Ints:
    """Return bytes of each cut's values from units beyond i, at [i, c]."""
    table = np.zeros((training.units + 1, training.units + 1), np.int64)
    for c, row in enumerate(kept):
        by_unit = _sums(training, size * row)
        # Units beyond i: from i + 1 to the end.
        table[:, c] = by_unit[::-1].cumsum()[::-1] - by_unit
    return table


def _sums(training: Training, amounts: npt.NDArray[np.generic]) -> Ints:
    """Return the sum over each unit's nodes; index 0 is none."""
    table = np.zeros(training.units + 1, np.int64)
    np.add.at(table, training.unit, amounts.astype(np.int64))
    return table


def _known(training: Training, lasting: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return whether X'_j has all that unit c yields, at [c, j]."""
    moving = ~training.standing
    missing = np.array([_sums(training, moving & ~row) for row in lasting], np.int64)
    return np.equal(missing.T, 0)


def _within(training: Training, kept: npt.NDArray[np.bool_]) -> Ints:
    """Return the most bytes that running each unit adds to the cut before it."""
    pebbling, turn = training.pebbling, training.turn
    table = np.zeros(training.units + 1, np.int64)
    for c in range(1, training.units + 1):
        first, end = int(training.edge[c - 1]), int(training.edge[c])
        live: dict[int, int] = {}
        for v in range(first, end):
            own = int(pebbling.size[v])
            table[c] = max(table[c], sum(live.values()) + own + pebbling.extra[v])
            last = max((w for w in pebbling.successors[v] if w < turn), default=v)
            if not training.standing[v] and (last > v or kept[c, v]):
                live[v] = own
            for u in list(live):
                inner = [w for w in pebbling.successors[u] if v < w < end]
                if not inner and not kept[c, u]:
                    del live[u]
    return table


def _standing(training: Training) -> Ints:
    """Return the bytes of standing values while each unit first runs."""
    size = np.where(training.standing, training.pebbling.size[: training.turn], 0)
    by_unit = _sums(training, size)
    return np.cumsum(by_unit) - by_unit


def _backward(
    training: Training, preluded: Ints, *, hold_late: bool
) -> tuple[Ints, Ints, Ints]:
    """Return levels after each prelude, and the most bytes in it and after it."""
    pebbling, turn = training.pebbling, training.turn
    n = len(pebbling)
    change = np.zeros(n - turn + 2, np.int64)

    def lies(amount: int, first: int, last: int) -> None:
        # Lies there when each of the backward nodes first..last begins.
        if last >= first:
            change[first - turn] += amount
            change[last + 1 - turn] -= amount

    for v in range(n):
        readers = pebbling.successors[v]
        last = n if pebbling.stays[v] else max(readers, default=-1)
        size = int(pebbling.size[v])
        if v >= turn:
            lies(size, v + 1, last)
        elif training.standing[v]:
            lies(size, turn, last)
        elif training.late[v] >= 0 and hold_late:
            below = int(np.searchsorted(-training.anchor, 1 - training.unit[v]))
            lies(size, turn + below, int(training.late[v]))
    before = np.cumsum(change)[: n - turn + 1]
    during = before[:-1] + pebbling.size[turn:] + pebbling.extra[turn:]
    level, prelude, rest = np.zeros((3, training.units + 1), np.int64)
    for c in range(training.units + 1):
        nodes = training.backward_of(c)
        middle = nodes.start + int(preluded[c]) - turn
        level[c] = before[middle]
        prelude[c] = during[nodes.start - turn : middle].max(initial=0)
        rest[c] = during[middle : nodes.stop - turn].max(initial=0)
    return level, prelude, rest
