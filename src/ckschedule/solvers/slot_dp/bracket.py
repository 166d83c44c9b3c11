"""Brackets of the optimum, refined until the gap is small."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Final

import numpy as np
import numpy.typing as npt

from ckschedule.costs.chain import Chain
from ckschedule.errors import ResourceLimitError
from ckschedule.solvers.base import Progress
from ckschedule.solvers.chain_dp.arrays import chain_arrays
from ckschedule.solvers.slot_dp.emission import emit
from ckschedule.solvers.slot_dp.grid import (
    VALUE_BYTES,
    Frame,
    Grid,
    Ints,
    Layout,
    fill,
    fixed_bytes,
    lay_out,
    make_frame,
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
    budget
        Bytes, static bytes included.
    codes
        Schedule codes of the best schedule found; None if none fits, which is proved.
    makespan, lower_bound
        Ticks: of that schedule, and what none undercuts; None if none fits.
    minimum_budget
        The smallest budget that works, exactly, in bytes.
    slots
        Units in the budget on the finest grid.
    """

    budget: int
    codes: npt.NDArray[np.int64] | None
    makespan: int | None
    lower_bound: int | None
    minimum_budget: int
    slots: int

    @property
    def gap(self) -> float:
        """(makespan - lower bound) / lower bound; 0.0 when they are equal."""
        if self.makespan is None or self.lower_bound is None:
            return 0.0
        return _gap(self.makespan, self.lower_bound)


@dataclass(kw_only=True)
class _Known:
    """What a run knows of one budget so far; cost in ticks of `ChainArrays.tick`."""

    room: int
    cost: int
    bound: int
    choices: list[int]


def bracket_optimum(
    chain: Chain,
    budgets: Sequence[int],
    *,
    gap: float,
    slots: int,
    memory_limit: int,
    time_limit: float,
    progress: Progress | None = None,
) -> tuple[Bracket, ...]:
    """Return a bracket of the least time for each budget, from one run.

    Parameters
    ----------
    chain
        Any chain.
    budgets
        Bytes, static bytes included.
    gap
        Refine until (makespan - lower bound) / lower bound is no more, for each budget.
        A ratio, not an amount: hence a float.
    slots
        Units in the largest budget on the first grid.
    memory_limit
        Bytes that a grid may take.
    time_limit
        Seconds: no finer grid is begun that would probably end later.
    progress
        Told of the work on each grid as it proceeds.

    Raises
    ------
    ResourceLimitError
        If the first grid would pass ``memory_limit``, or the chain's times are too
        fine.
    """
    begin = perf_counter()
    arrays = chain_arrays(chain)
    whole = make_frame(arrays, memory_limit)
    outside = chain.input + chain.static.total
    least = int(whole.least[0, 1, arrays.n])
    rooms = [budget - outside for budget in budgets]
    feasible = sorted({room for room in rooms if room >= least})
    known: dict[int, _Known] = {}
    used = 0
    if feasible:
        frame = with_room(whole, feasible[-1])
        known, used = _refine(
            frame, feasible, gap, slots, memory_limit, begin + time_limit, progress
        )
    brackets = []
    for budget, room in zip(budgets, rooms, strict=True):
        found = known.get(room)
        brackets.append(
            Bracket(
                budget=budget,
                codes=emit(arrays, found.choices) if found else None,
                makespan=found.cost * arrays.tick if found else None,
                lower_bound=found.bound * arrays.tick if found else None,
                minimum_budget=least + outside,
                slots=used,
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
) -> tuple[dict[int, _Known], int]:
    """Return what grids of rising fineness tell of each room (ascending)."""
    n = frame.arrays.n
    everything = int(frame.cheapest[n])
    worst = _worst_cost(frame)
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
        widest = max(_gap(found.cost, found.bound) for found in known.values())
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
    return known, frame.room // unit


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


def _worst_cost(frame: Frame) -> int:
    """Return a cost above that of any persistent schedule."""
    n, chain = frame.arrays.n, frame.chain
    most = chain.plain * np.arange(n + 1, 0, -1)
    return int(most.sum()) + int(chain.cost.sum()) + 1


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


def _gap(cost: int, bound: int) -> float:
    if cost == bound:
        return 0.0
    return (cost - bound) / bound if bound else float("inf")
