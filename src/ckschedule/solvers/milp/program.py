"""The staged rematerialisation program as sparse arrays."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.sparse.linalg import spsolve_triangular

from ckschedule.errors import ResourceLimitError
from ckschedule.solvers.milp.fixing import Flags, Freedom
from ckschedule.solvers.milp.layout import (
    CONSTANTS,
    Floats,
    Ints,
    Layout,
    make_layout,
)
from ckschedule.solvers.milp.rows import Rows, add_levels, add_reads, add_steps

if TYPE_CHECKING:
    from ckschedule.solvers.pebbling import Pebbling

DENSE_ENTRIES: Final = 300_000
"""Level rows are written out up to so many entries, and as differences beyond.

Written out they are knapsacks, from which HiGHS makes cuts: SegNet at half its peak is
proved in 5 seconds so and not in 30 otherwise. But they are long: at four hundred
thousand entries presolving takes most of a minute, and differences are better.
"""


@dataclass(frozen=True, kw_only=True)
class Program:
    """Minimise ``cost @ x`` with ``lower <= matrix @ x <= upper``, ``0 <= x <= top``.

    Bytes are divided by ``unit``, ticks by ``tick``; all numbers are integers.

    Attributes
    ----------
    pebbling
        What it was made from.
    runs
        (r, 2): stage and node of the first r columns, the binary recomputations.
    binary
        Columns from here on are levels; those before are 0 or 1.
    cost, top
        (columns,): extra time, and upper bounds.
    matrix
        (rows, columns), scipy CSR.
    lower, upper
        (rows,): infinite where there is none.
    is_level
        (rows,): rows in units of bytes.
    room, unit, tick
        Level that must not be passed, in units; bytes of a unit; ticks of a cost of 1.
    """

    pebbling: Pebbling
    runs: Ints
    binary: int
    cost: Floats
    top: Floats
    matrix: Any
    lower: Floats
    upper: Floats
    is_level: Flags
    room: int
    unit: int
    tick: int
    layout: Layout

    def again(self, x: Floats) -> Flags:
        """Return what runs where, (n, n) by stage and node, in a solution."""
        n = len(self.pebbling)
        matrix: Flags = np.eye(n, dtype=bool)
        chosen = self.runs[x[: len(self.runs)] > 0.5]
        matrix[chosen[:, 0], chosen[:, 1]] = True
        return matrix

    def keeps(self, x: Floats) -> Floats:
        """Return how far each value is kept, (n + 1, n) by stage and value."""
        full = np.concatenate([[0.0, 1.0], x])
        return full[self.layout.keep]

    def point(self, again: Flags) -> Floats | None:
        """Return the solution of a schedule that frees early.

        None if it runs something again that the program rules out.
        """
        rows, columns = np.nonzero(np.tril(again, -1))
        column = self.layout.run[rows, columns]
        if (column < CONSTANTS).any():
            return None
        x = np.zeros(len(self.cost) + CONSTANTS)
        x[column] = 1
        keep = kept(self.pebbling, again)
        where = self.layout.keep >= CONSTANTS
        x[self.layout.keep[where]] = keep[where]
        uses = self.layout.uses
        # Lies there before a use if that or a later one of the stage happens.
        used = np.where(again[uses.stage, uses.user], np.arange(len(uses.stage)), -1)
        last = np.maximum.reduceat(used, uses.begin) if len(used) else used
        lies = (np.arange(len(used)) <= last[uses.group]) | keep[
            uses.stage + 1, uses.value
        ]
        where = uses.before >= CONSTANTS
        x[uses.before[where]] = lies[where]
        return self._with_levels(x[CONSTANTS:])

    def _with_levels(self, x: Floats) -> Floats:
        """Fill in the levels, which follow from the rest one after the other."""
        if self.binary < len(x):
            steps = self.matrix[self.is_level]
            rest = (
                self.lower[self.is_level] - steps[:, : self.binary] @ x[: self.binary]
            )
            x[self.binary :] = spsolve_triangular(steps[:, self.binary :].tocsr(), rest)
        return x


def kept(pebbling: Pebbling, again: Flags) -> Flags:
    """Return which values lie there when each stage begins if all are freed early.

    Parameters
    ----------
    again
        (n, n): what runs in each stage, first computations included.

    Returns
    -------
    numpy.ndarray
        (n + 1, n), bool; row n is the end.
    """
    n = len(pebbling)
    keep = np.zeros((n + 1, n), bool)
    stays = pebbling.stays > 0
    reader = np.repeat(np.arange(n), np.diff(pebbling.before_start))
    keep[n] = stays
    for t in range(n - 1, -1, -1):
        read = np.zeros(n, bool)
        read[pebbling.before[again[t, reader]]] = True
        keep[t] = (read | keep[t + 1]) & ~again[t]
        keep[t, t:] = False
        keep[t, :t] |= stays[:t]
    return keep


def build(
    pebbling: Pebbling,
    room: int,
    free: Freedom,
    *,
    most: int,
    dense: int = DENSE_ENTRIES,
) -> Program:
    """Return the program; see `ckschedule.solvers.milp`.

    Parameters
    ----------
    room
        Bytes for values and transients.
    free
        What is left to decide.
    most
        Entries that the matrix may have.
    dense
        Entries up to which levels are written out.

    Raises
    ------
    ResourceLimitError
        If there would be more than ``most`` entries.
    """
    layout = make_layout(pebbling, free)
    able = free.may.any(axis=0)
    unit = max(gcd(*pebbling.size.tolist(), *pebbling.extra.tolist()), 1)
    tick = max(gcd(*pebbling.time[able].tolist()), 1)
    size, extra = pebbling.size // unit, pebbling.extra // unit
    rows = Rows()
    add_reads(rows, layout, free)
    stage, node = np.nonzero(free.may | np.eye(len(pebbling), dtype=bool))
    count = layout.count
    entries = int(stage.sum()) + len(stage)
    if entries <= min(dense, most):
        add_levels(rows, layout, stage, node, size, extra, room // unit)
    else:
        entries = 4 * len(layout.uses.stage) + 5 * len(stage)
        entries += len(pebbling) ** 2 // 2
        if entries > most:
            raise ResourceLimitError(
                f"the program of {pebbling.graph.name!r} would have {entries} entries, "
                f"more than the limit of {most}; raise max_entries, or give a faster "
                f"solver as one of the seeds: what takes longer than it is left out"
            )
        add_steps(rows, layout, stage, node, size, extra)
        count += len(stage)
    runs = np.argwhere(free.may)
    cost = np.zeros(count - CONSTANTS)
    cost[: len(runs)] = pebbling.time[runs[:, 1]] // tick
    top = np.ones(count - CONSTANTS)
    top[layout.count - CONSTANTS :] = room // unit
    matrix, lower, upper, is_level = rows.matrix(count, top)
    return Program(
        pebbling=pebbling,
        runs=runs,
        binary=layout.count - CONSTANTS,
        cost=cost,
        top=top,
        matrix=matrix,
        lower=lower,
        upper=upper,
        is_level=is_level,
        room=room // unit,
        unit=unit,
        tick=tick,
        layout=layout,
    )
