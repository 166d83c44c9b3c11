"""Grids of memory: what they are laid out from, and one run over one of them."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ckschedule.costs.encoding import Ints
from ckschedule.errors import ResourceLimitError
from ckschedule.solvers.base import Progress, Report
from ckschedule.solvers.chain_dp.arrays import ChainArrays
from ckschedule.solvers.slot_dp.columns import Columns, Rows, columns
from ckschedule.units import format_bytes

VALUE_BYTES: Final = 2
"""Bytes of one entry of a row."""

_INTERVAL_BYTES: Final = 128
"""Bytes kept for one pair (s, t) besides its row: a few numbers for either table."""

_BLOCK: Final = 16
"""Stages to a side of a block of rows, the piece of work that a thread takes."""

_CACHE_BYTES: Final = 2**19
"""Bytes of rows that are worked on at once: half of a usual level-two cache."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What all grids of one chain and one largest budget share.

    Attributes
    ----------
    arrays, chain
        The chain.
    room
        Bytes above the chain's input at the largest budget.
    least, enough
        (2, n + 2, n + 1), bytes, by table and interval: the least memory, exactly; and
        one at which the interval costs the least it ever can.
    fastest
        (n + 1,): the variant of each stage that costs least.
    theta
        (n + 2,), bytes: where the grids of the intervals that start at a stage lie.
    cheapest
        (n + 1,): prefix sums of the least cost of the stages, each run once.
    """

    arrays: ChainArrays
    chain: Columns
    room: int
    least: Ints
    enough: Ints
    fastest: Ints
    theta: Ints
    cheapest: Ints

    @property
    def minimum(self) -> int:
        """The least bytes above the chain's input that run all of it, exactly."""
        return int(self.least[0, 1, self.arrays.n])


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Rows of all intervals over memory in multiples of some bytes.

    Attributes
    ----------
    frame, rows
        What it is for, and the rows.
    """

    frame: Frame
    rows: Rows

    @property
    def rounded(self) -> bool:
        """Whether costs are told apart less finely than the chain's times are."""
        return self.rows.scale > 1 or bool(self.rows.step.max() > 1)

    def bound(self, room: int) -> int | None:
        """Return ticks that no schedule within ``room`` bytes undercuts.

        None if the row holds nothing there: then no schedule is below the cost at which
        the rows were cut off.
        """
        from ckschedule.solvers.slot_dp import kernel

        rows, n = self.rows, self.frame.arrays.n
        origin = int(rows.theta[1]) + int(self.frame.chain.parameters[n])
        k = -((origin - room) // rows.unit)
        low, high = int(rows.low[0, 1, n]), int(rows.high[0, 1, n])
        if k < low or high < low:
            return None
        value = int(kernel.entry(rows, 0, 1, n, min(k, high)))
        return max(value * rows.scale, int(self.frame.cheapest[n]))


def make_frame(arrays: ChainArrays, memory_limit: int) -> Frame:
    """Return the frame of a chain, with as much room as any interval can use.

    O(n^3) for the least memory, a few times n^2 numbers.

    Raises
    ------
    ResourceLimitError
        If these alone pass ``memory_limit``.
    """
    from ckschedule.solvers.slot_dp import kernel

    n = arrays.n
    if fixed_bytes(n) > memory_limit:
        raise ResourceLimitError(
            f"the intervals of {n} stages alone take {format_bytes(fixed_bytes(n))} "
            f"({fixed_bytes(n)} bytes), over {format_bytes(memory_limit)}; set "
            f"SlotDP(memory_limit=...) to twice that"
        )
    chain = columns(arrays)
    least = np.zeros((2, n + 2, n + 1), np.int64)
    enough = np.zeros_like(least)
    fastest = np.zeros(n + 1, np.int64)
    cheapest = np.zeros(n + 1, np.int64)
    theta = np.zeros(n + 2, np.int64)
    for s in range(1, n + 1):
        first, end = int(chain.first_variant[s]), int(chain.first_variant[s + 1])
        if first == end:
            cheapest[s] = chain.plain[s]
            kept = chain.x[s] - (chain.x[s - 1] if s > 1 else 0)
        else:
            fastest[s] = first + int(np.argmin(chain.cost[first:end]))
            cheapest[s] = chain.cost[fastest[s]]
            kept = chain.saved[first] + chain.x[s]
        theta[s + 1] = theta[s] - kept
    kernel.least_memory(chain, least, np.zeros((n + 1, n + 2), np.int64))
    kernel.fastest_memory(chain, fastest, enough)
    room = int(max(enough[0, 1, n], least[0, 1, n]))
    return Frame(
        arrays=arrays,
        chain=chain,
        room=room,
        least=least,
        enough=enough,
        fastest=fastest,
        theta=theta + room - chain.parameters[n],
        cheapest=np.cumsum(cheapest),
    )


def with_room(frame: Frame, room: int) -> Frame:
    """Return the frame for another largest budget, ``room`` bytes above the input.

    The whole chain's grid lies such that ``room`` is on it.
    """
    room = min(room, frame.room)
    return replace(frame, room=room, theta=frame.theta + room - frame.room)


def fixed_bytes(n: int) -> int:
    """Return the bytes that a grid of n stages takes besides its rows."""
    return _INTERVAL_BYTES * (n + 1) * (n + 2)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where the rows of a grid will stand; ``entries`` is the length of the pool."""

    unit: int
    low: Ints
    high: Ints
    base: Ints
    entries: int


def lay_out(frame: Frame, unit: int, useful: Ints) -> Layout:
    """Return the places of all rows.

    Parameters
    ----------
    frame
        What the grid is for.
    unit
        Bytes.
    useful
        (2, n + 2, n + 1), bytes: what is below need not be looked at; at least
        ``frame.least``.
    """
    from ckschedule.solvers.slot_dp import kernel

    low, high, base = (np.zeros(useful.shape, np.int64) for _ in range(3))
    entries = kernel.lay_out(
        frame.chain, unit, frame.theta, useful, frame.enough, low, high, base
    )
    return Layout(unit=unit, low=low, high=high, base=base, entries=int(entries))


def fill(
    frame: Frame,
    layout: Layout,
    cost: int,
    progress: Progress | None = None,
) -> Grid:
    """Return the rows of a layout, solved on all cores.

    Blocks of rows at the same distance from the diagonal do not need each other.

    Parameters
    ----------
    frame, layout
        What the rows are for, and their places.
    cost
        Ticks: schedules that cost as much or more are not told apart.
    progress
        Told of finished work.
    """
    from ckschedule.solvers.slot_dp import kernel

    n = frame.arrays.n
    rows = Rows(
        unit=layout.unit,
        scale=max(-(-cost // kernel.CEILING), 1),
        theta=frame.theta,
        low=layout.low,
        high=layout.high,
        base=layout.base,
        origin=np.zeros(layout.low.shape, np.int32),
        step=np.ones(layout.low.shape, np.int32),
        pool=np.empty(layout.entries, np.uint16),
    )
    blocks = [(i, min(i + _BLOCK, n + 1)) for i in range(1, n + 1, _BLOCK)]
    mean = max(VALUE_BYTES * layout.entries // (n * (n + 1) // 2), 1)
    tile = min(max(int((_CACHE_BYTES / mean) ** 0.5), 2), _BLOCK)

    def solve_block(row: int, column: int) -> None:
        kernel.fill_block(
            frame.chain,
            rows,
            frame.fastest,
            frame.cheapest,
            cost,
            *blocks[row],
            *blocks[column],
            tile,
        )

    with ThreadPoolExecutor(worker_count()) as threads:
        for distance in range(len(blocks)):
            first = range(len(blocks) - distance)
            second = range(distance, len(blocks))
            for _ in threads.map(solve_block, first, second):
                pass
            if progress is not None:
                progress(Report(distance + 1, len(blocks)))
    return Grid(frame=frame, rows=rows)


def worker_count() -> int:
    """Return how many threads share the work; kernels hold no lock."""
    return min(os.cpu_count() or 1, 8)


def useful_memory(grid: Grid, known: Ints, cost: int) -> Ints:
    """Return memory below which an interval is in no schedule cheaper than ``cost``.

    A schedule that runs [s, t] within some memory costs at least the interval's row
    there, and outside of it at least every other stage once.

    Parameters
    ----------
    grid
        Any grid of the same frame.
    known
        (2, n + 2, n + 1), bytes: the same from earlier grids.
    cost
        Ticks.
    """
    from ckschedule.solvers.slot_dp import kernel

    useful = known.copy()
    frame = grid.frame
    kernel.raise_useful(frame.chain, grid.rows, frame.cheapest, cost, useful)
    return useful
