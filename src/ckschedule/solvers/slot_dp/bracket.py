"""Brackets of the optimum, refined until the gap is small."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Final

import numpy as np

from ckschedule.costs.encoding import Ints
from ckschedule.errors import ResourceLimitError
from ckschedule.result import gap as gap_of
from ckschedule.solvers.base import Progress
from ckschedule.solvers.slot_dp.emission import emit
from ckschedule.solvers.slot_dp.grid import (
    VALUE_BYTES,
    Frame,
    Grid,
    Layout,
    fill,
    fixed_bytes,
    lay_out,
    useful_memory,
    with_room,
    worker_count,
)
from ckschedule.units import format_bytes

_LAGS: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""By how much the rows are tried to be too optimistic; see `kernel.descend`."""

_FINE_LAGS: Final = (-0.375, -0.25, -0.125, -0.0625, 0.0625, 0.125, 0.25, 0.375)
"""Tried around the best of these."""

_STEP: Final = (1.5, 10.0)
"""The least and the largest factor between the slots of two grids."""

_SAFETY: Final = 1.2
"""The gap falls about as the slots rise; aim this much below the wanted one."""


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """What is known of the least time within one budget, among persistent schedules.

    Attributes
    ----------
    codes
        Schedule codes of the best schedule found; None if none fits, which is proved.
    makespan, lower_bound
        Ticks: of that schedule, and what none undercuts; None if none fits.
    """

    codes: Ints | None
    makespan: int | None
    lower_bound: int | None


@dataclass(kw_only=True)
class _Known:
    """What a run knows of one budget so far; cost in ticks of `ChainArrays.tick`."""

    room: int
    cost: int
    bound: int
    choices: list[int]


def bracket_optimum(
    frame: Frame,
    rooms: Sequence[int],
    *,
    gap: float,
    slots: int,
    memory_limit: int,
    deadline: float,
    progress: Progress | None = None,
) -> tuple[Bracket, ...]:
    """Return a bracket of the least time for each budget, from one run.

    Parameters
    ----------
    frame
        Of any chain, as `make_frame` returns it.
    rooms
        The budgets, as bytes above the chain's input and static memory.
    gap
        Refine until (makespan - lower bound) / lower bound is no more, for each budget.
        A ratio, not an amount: hence a float.
    slots
        Units in the largest budget on the first grid.
    memory_limit
        Bytes that a grid may take.
    deadline
        Seconds on `time.perf_counter`: no finer grid is begun that would probably end
        later.
    progress
        Told of the work on each grid as it proceeds.

    Raises
    ------
    ResourceLimitError
        If the first grid would pass ``memory_limit``.
    """
    arrays = frame.arrays
    feasible = sorted({room for room in rooms if room >= frame.minimum})
    known: dict[int, _Known] = {}
    if feasible:
        known = _refine(
            with_room(frame, feasible[-1]),
            feasible,
            gap,
            slots,
            memory_limit,
            deadline,
            progress,
        )
    brackets = []
    for room in rooms:
        found = known.get(room)
        brackets.append(
            Bracket(
                codes=emit(arrays, found.choices) if found else None,
                makespan=found.cost * arrays.tick if found else None,
                lower_bound=found.bound * arrays.tick if found else None,
            )
        )
    return tuple(brackets)


def _refine(
    frame: Frame,
    rooms: list[int],
    gap: float,
    slots: int,
    memory_limit: int,
    deadline: float,
    progress: Progress | None,
) -> dict[int, _Known]:
    """Return what grids of rising fineness tell of each room (ascending)."""
    n = frame.arrays.n
    everything = int(frame.cheapest[n])
    # More than any persistent schedule takes.
    worst = frame.arrays.worst + 1
    known = {
        room: _Known(room=room, cost=worst, bound=everything, choices=[])
        for room in rooms
    }
    useful = frame.least
    # A guess, to start with: beyond it costs are not told apart.
    highest = min(worst, 2 * everything + 1)
    unit = max(frame.room // slots, 1)
    layout = lay_out(frame, unit, useful)
    _check_size(frame, layout, slots, memory_limit)
    while True:
        started = perf_counter()
        grid = fill(frame, layout, highest, progress)
        _learn(grid, known)
        took = perf_counter() - started
        guess, highest = highest, max(found.cost for found in known.values())
        widest = max(gap_of(found.cost, found.bound) for found in known.values())
        unit = layout.unit
        left = (deadline - perf_counter()) / max(took, 1e-3)
        # The guess was too low to learn much, or so high that entries were rounded.
        again = any(guess <= found.bound < found.cost for found in known.values())
        if unit == 1:
            again = highest > guess or (highest < guess and grid.rounded)
        if widest <= gap or left < 1 or (unit == 1 and not again):
            break
        useful = useful_memory(grid, useful, highest)
        del grid
        wanted = _SAFETY * widest / gap if gap > 0 else _STEP[1]
        factor = min(max(wanted, _STEP[0]), _STEP[1])
        factor = min(factor, left)
        if again:
            layout = lay_out(frame, unit, useful)
            continue
        finer = _finer_layout(frame, unit, factor, useful, memory_limit)
        if finer is None:
            break
        layout = finer
    return known


def _finer_layout(
    frame: Frame, unit: int, factor: float, useful: Ints, memory_limit: int
) -> Layout | None:
    """Return the places of rows about ``factor`` finer, if time and memory allow."""
    rows = memory_limit - fixed_bytes(frame.arrays.n)
    while factor >= _STEP[0]:
        finer = max(int(unit / factor), 1)
        layout = lay_out(frame, finer, useful)
        size = layout.entries * VALUE_BYTES
        if size <= rows:
            return layout if finer < unit else None
        factor = min(factor * rows / size * 0.99, factor * 0.95)
    return None


def _check_size(frame: Frame, layout: Layout, slots: int, memory_limit: int) -> None:
    size = layout.entries * VALUE_BYTES + fixed_bytes(frame.arrays.n)
    if size > memory_limit:
        raise ResourceLimitError(
            f"{slots} slots for {frame.arrays.n} stages take {format_bytes(size)} "
            f"({size} bytes), over {format_bytes(memory_limit)}; set "
            f"SlotDP(memory_limit=...) to that, or fewer slots"
        )


def _learn(grid: Grid, known: dict[int, _Known]) -> None:
    """Improve bound and schedule of each room by what a grid tells."""
    best: _Known | None = None
    for found in known.values():
        _descend(grid, found)
        if best is not None and best.cost < found.cost:
            # More room allows every schedule that less does.
            found.cost, found.choices = best.cost, best.choices
        best = found
    for found in known.values():
        bound = grid.bound(found.room)
        # Rows leave out what no schedule better than the best can use.
        found.bound = max(
            found.bound, found.cost if bound is None else min(bound, found.cost)
        )


def _descend(grid: Grid, found: _Known) -> None:
    """Improve the schedule of one room by descents at several lags."""
    best = _best_descent(grid, found, _LAGS)
    _best_descent(grid, found, [best + lag * max(best, 1.0) for lag in _FINE_LAGS])


def _best_descent(grid: Grid, found: _Known, lags: Sequence[float]) -> float:
    """Return the best of some lags, of equals the first; keep a better schedule."""
    from ckschedule.solvers.slot_dp import kernel

    frame = grid.frame

    def descend(lag: float) -> tuple[int, list[int]]:
        choices = np.empty(2 * frame.arrays.n + 1, np.int64)
        written, cost = kernel.descend(
            frame.chain, grid.rows, frame.least, lag, found.room, choices
        )
        return int(cost), choices[:written].tolist()

    with ThreadPoolExecutor(worker_count()) as threads:
        descents = list(threads.map(descend, lags))
    for cost, choices in descents:
        if cost < found.cost:
            found.cost, found.choices = cost, choices
    costs = [cost for cost, _ in descents]
    return lags[costs.index(min(costs))]
