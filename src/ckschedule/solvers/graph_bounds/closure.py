"""One position with all that recomputing needs: a bound by cuts and a knapsack.

A value that does not live at the first computation of t and is needed later runs again
after it. Each of its inputs then lives at that moment too, or runs again as well. So at
one position, with D what runs again, N what is needed and L what lives::

    min sum of time over D   such that   N contains each value that is wanted later,
                                         N contains the inputs of D,
                                         L contains N without D,
                                         the bytes of L fit.

Two relaxations in turn. A price l of a byte in place of the last line leaves a minimum
cut; its maximum flow says how much of the price of each input every value in D should
bear. These shares in place of the second line leave a knapsack in whole values, which
takes account of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.graph_bounds.covering import position_cover
from ckschedule.solvers.graph_bounds.line import Line
from ckschedule.solvers.pebbling import Pebbling

_CUTS: Final = 8
"""Prices that are tried at most for one node of the search."""

_WORK: Final = 20_000
"""Nodes of the search, times values and pairs of the region."""

_BITS: Final = 60
"""The sum of all capacities has no more."""

Flags: TypeAlias = npt.NDArray[np.bool_]
"""One truth a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Region:
    """Values that may run again after a position, and those that these read.

    Attributes
    ----------
    nodes, size, time
        (n,): values, bytes and ticks.
    wanted
        (n,), bool: needed after the position in any case.
    user, read
        (n_pairs,): a value, and an input of it that is not wanted itself.
    room
        Bytes for those that live.
    """

    nodes: Ints
    size: Ints
    time: Ints
    wanted: Flags
    user: Ints
    read: Ints
    room: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """A cheapest choice if a byte costs ``byte`` and a tick ``tick``.

    ``value`` is its cost, ``bytes`` and ``time`` what it keeps and runs, ``again`` what
    runs; ``shares`` are the flows from users to what they read.
    """

    byte: int
    tick: int
    value: int
    bytes: int
    time: int
    again: Flags
    shares: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """A part of the choices: some values run again, others do not.

    ``least`` is a bound on its ticks, ``found`` the ticks of one that fits, and
    ``open`` the values in which two choices differ, one that fits and one that does
    not.
    """

    again: Flags
    never: Flags
    least: int
    found: int | None
    open: Flags


def closure_cover(
    pebbling: Pebbling,
    line: Line,
    at: int,
    budget: int,
    *,
    search: bool = False,
    never: Sequence[int] = (),
) -> int | None:
    """Return ticks that recomputation costs at least, by one position of a line.

    Parameters
    ----------
    pebbling
        The graph.
    line
        A line in which the forced bytes fit the budget.
    at
        Position.
    budget
        Bytes.
    search
        Whether to branch, too: on what runs again, best first, as far as a limit of
        the work allows.
    never
        Values that must not run again.

    Returns
    -------
    int or None
        Zero if all that is wanted fits; None if nothing does.

    Notes
    -----
    Any price and any shares give a bound, in integers; the price is looked for where
    the lines of two cuts meet, one that fits and one that does not. A maximum flow for
    each of a few prices, and one knapsack.
    """
    region = _region(pebbling, line, at, budget)
    if int(region.size[region.wanted].sum()) <= region.room:
        return 0
    none = np.zeros(len(region.size), bool)
    root = _evaluate(region, none, np.isin(region.nodes, list(never)), 0)
    if root is None:
        return None
    limit = _WORK // (len(region.size) + len(region.user)) if search else 0
    return _branch(region, root, limit)


def _branch(region: _Region, root: _Node, limit: int) -> int | None:
    """Return the least bound of all parts after ``limit`` of them were divided.

    None if nothing fits in any.
    """
    best = root.found
    queue = [(root.least, 0, root)]
    for number in range(limit):
        if not queue:
            break
        least, _, node = queue[0]
        if best is not None and least >= best:
            return best
        if not node.open.any():
            return least
        heappop(queue)
        # The largest value first: it decides most.
        v = int(np.where(node.open, region.size, -1).argmax())
        for runs in (False, True):
            again, never = node.again.copy(), node.never.copy()
            (again if runs else never)[v] = True
            part = _evaluate(region, again, never, least)
            if part is None:
                continue
            if part.found is not None and (best is None or part.found < best):
                best = part.found
            heappush(queue, (part.least, 2 * number + runs + 1, part))
    ends = [queue[0][0]] if queue else []
    return min(ends if best is None else [*ends, best], default=None)


def _region(pebbling: Pebbling, line: Line, at: int, budget: int) -> _Region:
    before = pebbling.predecessors
    wanted = line.value[(line.first <= at) & (at <= line.last)].tolist()
    # Not charged for: inputs of the position's node live there in any case; nodes that
    # run once, and values that stay, may.
    lying = set(before[int(line.nodes[at])])
    lying.update(np.flatnonzero((pebbling.once > 0) | (pebbling.stays > 0)).tolist())
    lying.update(wanted)
    place = {v: i for i, v in enumerate(wanted)}
    stack = list(wanted)
    pairs: list[tuple[int, int]] = []
    while stack:
        v = stack.pop()
        for u in before[v]:
            if u not in lying:
                if u not in place:
                    place[u] = len(place)
                    stack.append(u)
                pairs.append((place[v], place[u]))
    nodes = np.array(list(place), np.int64)
    table = np.array(pairs, np.int64).reshape(len(pairs), 2)
    return _Region(
        nodes=nodes,
        size=pebbling.size[nodes],
        time=pebbling.time[nodes],
        wanted=np.arange(len(nodes)) < len(wanted),
        user=table[:, 0],
        read=table[:, 1],
        room=budget - int(line.forced[at]),
    )


def _evaluate(region: _Region, again: Flags, never: Flags, least: int) -> _Node | None:
    """Return a part of the choices, its bound ``least`` or more; None if nothing fits.

    Two choices bracket the room: as little runs again as may, or as much.
    """
    low, high = _choice(region, again), _choice(region, ~never)
    fewer, more = again, ~never
    if low[0] <= region.room:
        # Nothing takes less time.
        least = max(least, low[1])
        return _Node(again=again, never=never, least=least, found=low[1], open=again)
    if high[0] > region.room:
        # What does not run again may be read by what does: the fewest bytes instead.
        cut = _cut(region, again, never, byte=int(region.time.sum()) + 1, tick=1)
        if cut is not None and cut.bytes > region.room:
            return None
        if cut is not None:
            high, more = (cut.bytes, cut.time), cut.again
    found: int | None = high[1] if high[0] <= region.room else None
    chosen: _Cut | None = None
    for _ in range(_CUTS):
        if low[0] <= high[0] or low[1] >= high[1]:
            break
        byte, tick = high[1] - low[1], low[0] - high[0]
        cut = _cut(region, again, never, byte=byte, tick=tick)
        if cut is None:
            break
        bound = -(-(cut.value - cut.byte * region.room) // cut.tick)
        if chosen is None or bound >= least:
            chosen = cut
        least = max(least, bound)
        choice = (cut.bytes, cut.time)
        if choice in (low, high):
            break
        if cut.bytes > region.room:
            low, fewer = choice, cut.again
        else:
            high, more = choice, cut.again
            found = cut.time if found is None else min(found, cut.time)
    if chosen is not None:
        whole = _knapsack(region, chosen, again, never)
        if whole is None:
            return None
        least = max(least, whole)
    return _Node(
        again=again,
        never=never,
        least=least,
        found=found,
        open=(fewer != more) & ~again & ~never,
    )


def _choice(region: _Region, again: Flags) -> tuple[int, int]:
    """Return the bytes that live and the ticks if just these values run again."""
    needed = region.wanted.copy()
    needed[region.read[again[region.user]]] = True
    return int(region.size[needed & ~again].sum()), int(region.time[again].sum())


def _cut(
    region: _Region, again: Flags, never: Flags, *, byte: int, tick: int
) -> _Cut | None:
    """Return the cheapest choice at about these prices; None if they are too far apart.

    The source's side holds what is needed and what runs again. An arc from the need of
    a value to its recomputation costs its bytes, one from there to the sink its time;
    one from a recomputation to the need of an input is not cut.
    """
    # Imported here: the extension takes longer to load than most bounds to compute.
    from ortools.graph.python import max_flow

    size, time = region.size, region.time
    n = len(size)
    most = int(time.sum()) * tick + int(size.sum()) * byte
    shift = max(0, most.bit_length() - _BITS)
    byte, tick = byte >> shift, tick >> shift
    if byte == 0 or tick == 0:
        return None
    uncut = 1 << (_BITS + 1)
    source, sink = 0, 1
    runs = np.arange(2, 2 + n, dtype=np.int32)
    need = runs + n
    flow = max_flow.SimpleMaxFlow()
    flow.add_arcs_with_capacity(
        np.where(region.wanted | again, source, need).astype(np.int32),
        runs,
        np.where(again, uncut, size * byte),
    )
    flow.add_arcs_with_capacity(
        runs, np.full(n, sink, np.int32), np.where(never, uncut, time * tick)
    )
    shares = flow.add_arcs_with_capacity(
        runs[region.user],
        need[region.read],
        np.full(len(region.user), uncut, np.int64),
    )
    if flow.solve(source, sink) != flow.OPTIMAL:
        return None
    side = np.zeros(2 + 2 * n, bool)
    side[flow.get_source_side_min_cut()] = True
    chosen = side[runs]
    kept = (region.wanted | side[need]) & ~chosen
    return _Cut(
        byte=byte,
        tick=tick,
        value=int(flow.optimal_flow()),
        bytes=int(size[kept].sum()),
        time=int(time[chosen].sum()),
        again=chosen,
        shares=np.asarray(flow.flows(shares), np.int64).reshape(len(region.user)),
    )


def _knapsack(region: _Region, cut: _Cut, again: Flags, never: Flags) -> int | None:
    """Return ticks that freeing enough costs if users bear shares of what they read.

    None if not enough can be freed.

    A value in D pays its time and its shares; a value that is not wanted earns the
    shares of its users where it is needed. To free it, do without them or run it again,
    whichever is less.
    """
    n = len(region.size)
    paid = region.time * cut.tick
    earned = np.zeros(n, np.int64)
    np.add.at(paid, region.user, cut.shares)
    np.add.at(earned, region.read, cut.shares)
    other = ~region.wanted
    cost = np.where(other, np.where(never, earned, np.minimum(paid, earned)), paid)
    lives = (region.wanted | (earned > 0)) & ~again
    frees = lives & (other | ~never)
    excess = int(region.size[lives].sum()) - region.room
    if int(region.size[frees].sum()) < excess:
        return None
    least = position_cover(excess, region.size[frees], cost[frees])
    total = least + int(paid[again].sum()) - int(earned.sum())
    return -(-total // cut.tick)
