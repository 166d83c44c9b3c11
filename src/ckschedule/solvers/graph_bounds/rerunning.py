"""What else has to go when a value runs again: a bound for each gap that is broken.

Let v not live at the first computation of t, and y be the reader that ends the gap.
Then v runs again between the two. At that moment its inputs live; any value that was
computed before t and is read at or after y lives, too, or runs again later still. So
breaking the gap costs the time of v and a knapsack of its own.
"""

import numpy as np

from ckschedule.solvers.graph_bounds.closure import closure_cover
from ckschedule.solvers.graph_bounds.covering import position_cover
from ckschedule.solvers.graph_bounds.line import Line
from ckschedule.solvers.pebbling import Pebbling


def rerunning_cover(
    pebbling: Pebbling, line: Line, at: int, budget: int, known: int
) -> int:
    """Return ticks that recomputation costs at least, ``known`` or more.

    Parameters
    ----------
    pebbling, line, at, budget
        As for `closure_cover`.
    known
        A bound from that position.

    Notes
    -----
    A schedule that costs no more than ``known`` breaks no gap that costs more alone.
    Either it breaks one, or it finds its bytes among the others.
    """
    costs = _costs(pebbling, line, at, budget)
    while True:
        dear = [v for v, cost in costs.items() if cost is None or cost > known]
        if not dear:
            return known
        alone = [cost for v in dear if (cost := costs[v]) is not None]
        rest = closure_cover(pebbling, line, at, budget, search=True, never=dear)
        if rest is not None:
            alone.append(rest)
        # Where nothing is left nothing fits, and every number is true.
        if not alone or min(alone) <= known:
            return known
        known = min(alone)


def _costs(
    pebbling: Pebbling, line: Line, at: int, budget: int
) -> dict[int, int | None]:
    """Return the least ticks of breaking each gap over a position; None if none do."""
    before = pebbling.predecessors
    over = np.flatnonzero((line.first <= at) & (at <= line.last))
    value = line.value[over]
    size, time = pebbling.size, pebbling.time
    costs: dict[int, int | None] = {}
    for v, due in zip(value.tolist(), line.before[over].tolist(), strict=True):
        inputs = before[v]
        others = value[(line.after[over] >= due) & (value != v)]
        others = others[~np.isin(others, inputs)]
        level = pebbling.base + int(size[v] + pebbling.extra[v] + size[inputs].sum())
        excess = level + int(size[others].sum()) - budget
        if excess <= 0:
            costs[v] = int(time[v])
        elif excess > int(size[others].sum()):
            costs[v] = None
        else:
            more = position_cover(excess, size[others], time[others], pops=50)
            costs[v] = int(time[v]) + more
    return costs
