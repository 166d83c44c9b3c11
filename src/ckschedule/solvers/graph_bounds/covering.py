"""The cheapest gaps to break so that every position keeps the budget: bounds on it.

Each position demands that gaps over it of at least its excess in bytes be broken, and
a gap costs the time of its value once. With x = 1 for a broken gap::

    min sum time x   subject to, at each position,   sum over its gaps size x >= excess

Of this 0/1 covering problem, two relaxations: of all positions at once with fractions,
which is a flow along the line; and of one position alone in whole numbers, a knapsack.
"""

from bisect import bisect_left
from heapq import heappop, heappush
from itertools import accumulate
from math import gcd
from typing import Final

import numpy as np

from ckschedule.costs.encoding import Ints

_POPS: Final = 500
"""Nodes of a knapsack's search tree, unless said otherwise."""

_LARGEST: Final = 2**60
"""Costs and their sums stay below it, with room to spare in 64 bits."""


def line_cover(
    excess: Ints, room: Ints, first: Ints, last: Ints, size: Ints, time: Ints
) -> int:
    """Return ticks that breaking gaps costs at least, over all positions at once.

    Parameters
    ----------
    excess
        (n_positions,), bytes: what has to be freed; negative for nothing.
    room
        (n_positions,), bytes that may stay, zero or more: larger gaps are broken.
    first, last, size, time
        (n_gaps,): positions, bytes, ticks. Excess and room together are the bytes of
        all gaps over a position.

    Returns
    -------
    int
        The optimum with fractions, rounded up; a little less where costs per byte do
        not fit into 64 bits.
    """
    # Positions without excess demand nothing: gaps over the others only count.
    demanding = np.flatnonzero(excess > 0)
    first = np.searchsorted(demanding, first)
    last = np.searchsorted(demanding, last, side="right") - 1
    used = np.flatnonzero((first <= last) & (size > 0))
    if not len(used):
        return 0
    first, last, size, time = first[used], last[used], size[used], time[used]
    broken = size > -_highest(-room[demanding], first, last)
    freed = np.zeros(len(demanding) + 1, np.int64)
    np.add.at(freed, first[broken], size[broken])
    np.add.at(freed, last[broken] + 1, -size[broken])
    rest = ~broken
    return int(time[broken].sum()) + _flow(
        excess[demanding] - np.cumsum(freed[:-1]),
        first[rest],
        last[rest],
        size[rest],
        time[rest],
    )


def _flow(excess: Ints, first: Ints, last: Ints, size: Ints, time: Ints) -> int:
    """Return the optimum with fractions, rounded up.

    Gaps are intervals: a minimum-cost flow of the largest excess from the line's start
    to its end, in which a gap leads over its positions for its cost, and what a
    position does not need to free passes for nothing. No gap counts for more bytes than
    the largest excess below it. Exact in integers: costs per byte are rounded down.
    """
    # Imported here: the extension takes longer to load than most bounds to compute.
    from ortools.graph.python import min_cost_flow

    n, largest = len(excess), int(excess.max(initial=0))
    if largest <= 0 or not len(first):
        return 0
    size = np.minimum(size, _highest(excess, first, last))
    used = size > 0
    first, last, size, time = first[used], last[used], size[used], time[used]
    costs = list(zip(time.tolist(), size.tolist(), strict=True))
    dearest = max(-(-t // s) for t, s in costs)
    scale: int = min(
        _LARGEST // (int(time.sum()) + 1), _LARGEST // ((n + 2) * (dearest + 1))
    )
    if scale == 0:
        return 0
    unit = np.array([t * scale // s for t, s in costs], np.int64)
    flow = min_cost_flow.SimpleMinCostFlow()
    flow.add_arcs_with_capacity_and_unit_cost(first, last + 1, size, unit)
    positions = np.arange(n, dtype=np.int64)
    free = np.zeros(n, np.int64)
    flow.add_arcs_with_capacity_and_unit_cost(
        positions, positions + 1, largest - np.maximum(excess, 0), free
    )
    # Two gaps that are needed at different places may overlap where less is needed.
    flow.add_arcs_with_capacity_and_unit_cost(
        positions + 1, positions, free + int(size.sum()), free
    )
    flow.set_node_supply(0, largest)
    flow.set_node_supply(n, -largest)
    if flow.solve() != flow.OPTIMAL:
        return 0
    cost = int(flow.optimal_cost())
    return -(-cost // scale)


def position_cover(excess: int, size: Ints, time: Ints, *, pops: int = _POPS) -> int:
    """Return ticks that freeing ``excess`` bytes costs at least.

    Parameters
    ----------
    excess
        Bytes, one or more.
    size, time
        (n_values,): bytes and ticks of what may be freed, together enough.
    pops
        Nodes of the search tree; when they are used up the bound is weaker.

    Returns
    -------
    int
        The optimum in whole values, or less if the search passes its limit.

    Notes
    -----
    Best first by the fractional bound, which is rounded up. Values without time cost
    nothing and are taken at once.
    """
    free = time == 0
    excess -= int(size[free].sum())
    if excess <= 0:
        return 0
    keep = ~free & (size > 0)
    pairs = sorted(
        zip(time[keep].tolist(), size[keep].tolist(), strict=True),
        # Ratios of such integers differ by more than 2^-126: this orders them exactly.
        key=lambda pair: (pair[0] << 128) // pair[1],
    )
    unit = gcd(*(t for t, _ in pairs))
    times: list[int] = [t // unit for t, _ in pairs]
    sizes: list[int] = [s for _, s in pairs]
    upto = [0, *accumulate(sizes)]
    spent = [0, *accumulate(times)]

    def bound(i: int, need: int) -> int | None:
        """Ticks for ``need`` bytes from the values i, i + 1, ...; None if too few."""
        k = bisect_left(upto, upto[i] + need) - 1
        if k >= len(sizes):
            return None
        rest = upto[i] + need - upto[k]
        return spent[k] - spent[i] - (-rest * times[k] // sizes[k])

    start = bound(0, excess)
    assert start is not None, "checked before: all values together are enough"
    queue = [(start, 0, 0, excess)]
    for _ in range(pops):
        least, i, cost, need = queue[0]
        if need <= 0:
            return least * unit
        heappop(queue)
        # Taken or not, the next value; the order makes fractions of one value only.
        taken = need - sizes[i]
        more = 0 if taken <= 0 else bound(i + 1, taken)
        if more is not None:
            heappush(queue, (cost + times[i] + more, i + 1, cost + times[i], taken))
        rest = bound(i + 1, need)
        if rest is not None:
            heappush(queue, (cost + rest, i + 1, cost, need))
    return queue[0][0] * unit


def _highest(excess: Ints, first: Ints, last: Ints) -> Ints:
    """Return the highest excess below each gap; a sparse table of powers of two."""
    table = [excess]
    while 2 ** len(table) <= len(excess):
        half = 2 ** (len(table) - 1)
        table.append(np.maximum(table[-1][:-half], table[-1][half:]))
    found = np.empty(len(first), np.int64)
    length = last - first + 1
    power = np.frexp(length)[1] - 1
    for k, row in enumerate(table):
        at = np.flatnonzero(power == k)
        found[at] = np.maximum(row[first[at]], row[last[at] + 1 - 2**k])
    return found
