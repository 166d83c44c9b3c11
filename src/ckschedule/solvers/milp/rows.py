"""Rows of a program, added whole kinds at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array

from ckschedule.solvers.milp.fixing import Flags, Freedom
from ckschedule.solvers.milp.layout import CONSTANTS, ONE, ZERO, Floats, Ints, Layout


class Rows:
    """Rows as they are collected."""

    def __init__(self) -> None:
        self.count = 0
        self._row: list[Ints] = []
        self._column: list[Ints] = []
        self._entry: list[Ints] = []
        self._lower: list[Floats] = []
        self._upper: list[Floats] = []
        self._level: list[Flags] = []

    def add(
        self, number: int, *, upper: float, equal: bool = False, level: bool = False
    ) -> Ints:
        """Return the numbers of so many new rows."""
        self._upper.append(np.full(number, upper, np.float64))
        self._lower.append(np.full(number, upper if equal else -np.inf, np.float64))
        self._level.append(np.full(number, level))
        self.count += number
        return np.arange(self.count - number, self.count)

    def put(self, row: Ints, column: Ints, entry: Ints | int) -> None:
        """Add entries; several in one place add up."""
        worth = np.broadcast_to(np.asarray(entry, np.int64), row.shape)
        real = (column != ZERO) & (worth != 0)
        self._row.append(row[real])
        self._column.append(column[real])
        self._entry.append(worth[real])

    def matrix(self, columns: int, top: Floats) -> tuple[Any, Floats, Floats, Flags]:
        """Return the rows that can bind, with constants on the right-hand side."""
        entry = np.concatenate(self._entry).astype(np.float64)
        where = (np.concatenate(self._row), np.concatenate(self._column))
        whole = coo_array((entry, where), shape=(self.count, columns)).tocsc()
        constant = whole[:, [ONE]].toarray().ravel()
        matrix = whole[:, CONSTANTS:].tocsr()
        matrix.eliminate_zeros()
        lower = np.concatenate(self._lower) - constant
        upper = np.concatenate(self._upper) - constant
        level = np.concatenate(self._level)
        most = matrix.maximum(0) @ top
        binds = (most > upper) | (lower > -np.inf) & (np.diff(matrix.indptr) > 0)
        return matrix[binds], lower[binds], upper[binds], level[binds]


def add_reads(rows: Rows, layout: Layout, free: Freedom) -> None:
    """Values lie there where they are read, and nowhere before they have come."""
    uses, run, keep = layout.uses, layout.run, layout.keep
    read = rows.add(len(uses.stage), upper=0)
    rows.put(read, run[uses.stage, uses.user], 1)
    _put_before(rows, read, layout, -1)
    after = rows.add(len(uses.stage), upper=0)
    rows.put(after, _after(layout), 1)
    _put_before(rows, after, layout, -1)
    idle = np.tri(len(run), k=-1, dtype=bool)
    idle[uses.stage, uses.value] = False
    idle &= free.may | (keep[1:] != keep[:-1])
    stage, value = np.nonzero(idle)
    through = rows.add(len(stage), upper=0, equal=True)
    rows.put(through, keep[stage + 1, value], 1)
    rows.put(through, keep[stage, value], -1)
    rows.put(through, run[stage, value], -1)
    stage, value = np.nonzero(free.may)
    single = rows.add(len(stage), upper=1)
    rows.put(single, keep[stage, value], 1)
    rows.put(single, run[stage, value], 1)


def _put_before(rows: Rows, row: Ints, layout: Layout, sign: Ints | int) -> None:
    """Add whether each value lies there before its use, one use a row."""
    uses = layout.uses
    worth = np.broadcast_to(np.asarray(sign, np.int64), row.shape)
    _put_before_some(rows, row, layout, np.arange(len(uses.stage)), worth)


def _put_before_some(
    rows: Rows, row: Ints, layout: Layout, use: Ints, worth: Ints
) -> None:
    uses = layout.uses
    stage, value, first = uses.stage[use], uses.value[use], uses.first[use]
    rows.put(row[~first], uses.before[use][~first], worth[~first])
    rows.put(row[first], layout.run[stage, value][first], worth[first])
    rows.put(row[first], layout.keep[stage, value][first], worth[first])


def _after(layout: Layout) -> Ints:
    """Return the columns that tell whether each value lies there after its use."""
    uses = layout.uses
    following = np.append(uses.before[1:], -1)[: len(uses.before)]
    return np.where(uses.final, layout.keep[uses.stage + 1, uses.value], following)


def add_levels(
    rows: Rows,
    layout: Layout,
    stage: Ints,
    node: Ints,
    size: Ints,
    extra: Ints,
    room: int,
) -> None:
    """Add a row for each run: what lies there meanwhile."""
    n = len(size)
    uses, run, keep = layout.uses, layout.run, layout.keep
    level = rows.add(len(stage), upper=room, level=True)
    rows.put(level, run[stage, node], size[node] + extra[node])
    # The values before the stage's own: entry j of row r is value j.
    row = np.repeat(level, stage)
    value = np.arange(len(row)) - np.repeat(np.cumsum(stage) - stage, stage)
    t, k = np.repeat(stage, stage), np.repeat(node, stage)
    later = value >= k
    rows.put(row[later], keep[t, value][later], size[value][later])
    row, value, t, k = (array[~later] for array in (row, value, t, k))
    key = (uses.stage * n + uses.value) * n + uses.user
    use = np.searchsorted(key, (t * n + value) * n + k)
    group = np.append(key // n, -1)[use]
    unread = group != t * n + value
    rows.put(row[unread], keep[t + 1, value][unread], size[value][unread])
    read = ~unread
    _put_before_some(rows, row[read], layout, use[read], size[value][read])


def add_steps(
    rows: Rows, layout: Layout, stage: Ints, node: Ints, size: Ints, extra: Ints
) -> None:
    """Add levels as columns of their own, and rows for their differences."""
    n = len(size)
    uses, run, keep = layout.uses, layout.run, layout.keep
    level = np.arange(layout.count, layout.count + len(stage))
    step = rows.add(len(stage), upper=0, equal=True, level=True)
    rows.put(step, level, 1)
    rows.put(step, run[stage, node], -(size[node] + extra[node]))
    opens = np.ones(len(stage), bool)
    opens[1:] = stage[1:] != stage[:-1]
    # The first of a stage: what was kept into it.
    row = np.repeat(step[opens], stage[opens])
    ends = np.cumsum(stage[opens])
    value = np.arange(len(row)) - np.repeat(ends - stage[opens], stage[opens])
    rows.put(row, keep[np.repeat(stage[opens], stage[opens]), value], -size[value])
    # From one run to the next: its transient ends, its arguments may be freed.
    next_one = step[1:][~opens[1:]]
    ended = np.flatnonzero(~opens[1:])
    rows.put(next_one, level[ended], -1)
    rows.put(next_one, run[stage[ended], node[ended]], extra[node[ended]])
    position = np.full((n, n), -1, np.int64)
    position[stage[ended], node[ended]] = next_one
    row = position[uses.stage, uses.user]
    use = np.flatnonzero(row >= 0)
    row, worth = row[use], size[uses.value[use]]
    _put_before_some(rows, row, layout, use, worth)
    rows.put(row, _after(layout)[use], -worth)
