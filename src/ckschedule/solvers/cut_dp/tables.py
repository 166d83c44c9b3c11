"""Tables of all pairs of cuts, each class of equal pairs solved once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.cut_dp import kernel
from ckschedule.solvers.cut_dp.costs import CutCosts


@dataclass(frozen=True, kw_only=True)
class CutTables:
    """Least ticks of recomputation by pair of cuts and memory.

    Attributes
    ----------
    costs
        Of the cuts.
    pair_of
        (n_units + 1, n_units + 1): number of the pair (i, j), i < j.
    start, least, full, pool
        See `ckschedule.solvers.cut_dp.kernel.solve_pairs`.
    first, choice
        (n_units + 1, most + 1): see `ckschedule.solvers.cut_dp.kernel.first_pass`.
    """

    costs: CutCosts
    pair_of: Ints
    start: Ints
    least: Ints
    full: Ints
    pool: Ints
    first: Ints
    choice: Ints

    def breakpoints(self) -> list[int]:
        """Return the memories at which the whole takes fewer ticks than below."""
        # Nodes that run after all forward values' last uses need theirs in any case.
        least = int(self.costs.prelude[0])
        row = self.first[0, least:]
        reached = row < kernel.UNREACHABLE
        falls = np.concatenate(([True], row[1:] < row[:-1]))[: len(row)]
        return (least + np.flatnonzero(reached & falls)).tolist()

    def choose(self, i: int, j: int, memory: int) -> tuple[int, bool]:
        """Return the next cut between i and j, and if its unit's interior stays."""
        costs = self.costs
        cut, records = kernel.choose(
            i,
            j,
            memory,
            self.pair_of,
            self.start,
            self.least,
            self.full,
            self.pool,
            costs.extent,
            costs.remaining,
            costs.known_time,
            costs.known,
            costs.within,
            costs.time,
            costs.level,
            costs.prelude,
            costs.rest,
            costs.interior_size,
        )
        return int(cut), bool(records)


@dataclass(frozen=True, kw_only=True)
class PairClasses:
    """A number for every pair of cuts; equal numbers mean equal rows of the table.

    Attributes
    ----------
    of
        (n_units + 1, n_units + 1): number of the pair (i, j), i < j; else -1.
    first
        By units between the cuts, from 1: an i of each class, in the classes' order.
    """

    of: Ints
    first: tuple[Ints, ...]

    @property
    def choices(self) -> int:
        """How many choices all classes have together."""
        return sum(length * len(row) for length, row in enumerate(self.first))


def pair_classes(costs: CutCosts) -> PairClasses:
    """Return the classes of all pairs of cuts; O(n_units^2 log n_units)."""
    units = costs.training.units
    of = np.full((units + 1, units + 1), -1, np.int64)
    first: list[Ints] = []
    count = 0
    for length in range(1, units + 1):
        first.append(_classes(costs, of, length, count))
        count += len(first[-1])
    return PairClasses(of=of, first=tuple(first))


def repeats(costs: CutCosts) -> bool:
    """Return whether pairs of neighbouring cuts are of few classes only."""
    units = costs.training.units
    of = np.full((units + 1, units + 1), -1, np.int64)
    return len(_classes(costs, of, 1, 0)) <= 8


def solve_tables(
    costs: CutCosts, classes: PairClasses, passed: Callable[[], bool]
) -> CutTables | None:
    """Return the tables; None if ``passed`` says that the time is over.

    Notes
    -----
    O(choices memory): up to ``n_units^3 memory / 6``, and ``n_units^2 memory / 2``
    where all units are alike.
    """
    pair_of = classes.of
    room = sum(len(row) for row in classes.first)
    start, least, full = np.zeros((3, room), np.int64)
    pool = np.empty(1024, np.int64)
    count = used = 0
    for length, first in enumerate(classes.first, start=1):
        if passed():
            return None
        rows = np.empty((len(first), costs.most + 1), np.int64)
        kernel.solve_pairs(
            length,
            first,
            pair_of,
            start,
            least,
            full,
            pool,
            rows,
            costs.extent,
            costs.remaining,
            costs.known_time,
            costs.known,
            costs.within,
            costs.time,
            costs.level,
            costs.prelude,
            costs.rest,
            costs.interior_size,
            costs.interior_time,
        )
        # Of each row, the part that falls is stored.
        lows = (rows == kernel.UNREACHABLE).sum(axis=1)
        highs = (rows != rows[:, -1:]).sum(axis=1)
        for q, (row, low, high) in enumerate(
            zip(rows, lows.tolist(), highs.tolist(), strict=True), start=count
        ):
            start[q], least[q], full[q] = used, low, high
            part = row[low : high + 1]
            if used + len(part) > len(pool):
                pool = np.concatenate((pool, np.empty(len(pool) + len(part), np.int64)))
            pool[used : used + len(part)] = part
            used += len(part)
        count += len(first)
    ticks, choice = kernel.first_pass(
        costs.most,
        pair_of,
        start,
        least,
        full,
        pool,
        costs.extent,
        costs.remaining,
        costs.within,
        costs.standing,
        costs.prelude,
        costs.rest,
        costs.interior_size,
    )
    return CutTables(
        costs=costs,
        pair_of=pair_of,
        start=start,
        least=least,
        full=full,
        pool=pool,
        first=ticks,
        choice=choice,
    )


def _classes(costs: CutCosts, pair_of: Ints, length: int, count: int) -> Ints:
    """Write numbers of the pairs of one length, and return an i of each class.

    Numbers begin at ``count``. Pairs are equal when the pairs without their first and
    without their last unit are, and what only the two cuts together say.
    """
    i = np.arange(costs.training.units + 1 - length)
    j = i + length
    columns = [costs.extent[i, j], costs.remaining[i, j]]
    columns += [costs.known_time[i + 1, j], costs.known[i + 1, j]]
    if length == 1:
        by_unit = (costs.within, costs.time, costs.level, costs.prelude, costs.rest)
        columns += [column[j] for column in by_unit]
        columns += [costs.interior_size[j], costs.interior_time[j]]
    else:
        columns += [pair_of[i, j - 1], pair_of[i + 1, j]]
    _, first, label = np.unique(
        np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True
    )
    pair_of[i, j] = label.reshape(-1) + count
    return first.astype(np.int64)
