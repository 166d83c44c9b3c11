"""First computations in a line, and what lives or must run again between them.

Let t_1, t_2, ... be nodes of a pebbling whose first computations follow each other in
every schedule of a scope: all nodes, where the order is given; a path of the graph,
where it is free. At the first computation of t_i its inputs live. A value v that was
computed before and that some node y reads whose own first computation is not before,
either lives then, too, or v runs again between the two. Such *gaps* of one value, each
from one first computation of a reader to the next, do not overlap in time: what breaks
several of them runs as often.
"""

from dataclasses import dataclass

import numpy as np

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.order import Order
from ckschedule.solvers.pebbling import Pebbling


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Positions in a line, and the gaps over them.

    Attributes
    ----------
    nodes
        (n_positions,): the nodes t_i.
    forced
        (n_positions,), bytes: the level while t_i runs first, base included, if all
        gaps are broken.
    full
        (n_positions,), bytes: the same if none is.
    value, first, last
        (n_gaps,): the gap's value, and its first and last position. If the value does
        not live at one of them, then it runs again before the next gap of that value.
    after, before
        (n_gaps,): positions at or after, and at or before, whose first computation the
        reader of the gap's end first runs.
    """

    nodes: Ints
    forced: Ints
    full: Ints
    value: Ints
    first: Ints
    last: Ints
    after: Ints
    before: Ints


def line_of(pebbling: Pebbling, budget: int, order: Order) -> Line:
    """Return a line that holds in every schedule of an order.

    Where the order is free, a path of the graph along which most bytes pass the budget
    if nothing runs again. O(n + m), and O(n^2 / 64) words for a free order.
    """
    if order is Order.GIVEN:
        return _line(pebbling, list(range(len(pebbling))))
    return _line(pebbling, _path(pebbling, budget))


def _line(pebbling: Pebbling, nodes: list[int]) -> Line:
    n, end = len(pebbling), len(nodes)
    before, after = pebbling.predecessors, pebbling.successors
    size = pebbling.size.tolist()
    once, stays = pebbling.once.tolist(), pebbling.stays.tolist()
    place = [-1] * n
    for i, v in enumerate(nodes):
        place[v] = i
    # reached[y]: the first position that y stands at or before; passed[y]: the last one
    # that it stands at or after.
    reached, passed = [end] * n, [-1] * n
    for v in range(n):
        passed[v] = max((passed[u] for u in before[v]), default=-1)
        if place[v] >= 0:
            passed[v] = place[v]
    for v in range(n - 1, -1, -1):
        reached[v] = min((reached[y] for y in after[v]), default=end)
        if place[v] >= 0:
            reached[v] = place[v]
    forced = np.zeros(end + 1, np.int64)
    rows: list[tuple[int, int, int, int, int]] = []
    for v in range(n):
        born = place[v] + 1 if place[v] >= 0 else reached[v]
        if stays[v]:
            forced[born:] += size[v]
            continue
        if once[v]:
            # Until its last reader it cannot be missed.
            last = max((passed[y] for y in after[v]), default=-1)
            forced[born : last + 1] += size[v]
            continue
        for y in after[v]:
            if place[y] >= 0:
                forced[place[y]] += size[v]
        start = born
        for y in sorted(after[v], key=lambda y: (reached[y], passed[y])):
            on = place[y] >= 0
            stop = place[y] - 1 if on else passed[y]
            if stop >= start:
                rows.append((v, start, stop, passed[y], reached[y]))
            elif not on:
                continue
            start = max(start, reached[y] + on)
    line = np.array(nodes, np.int64)
    forced = forced[:end] + pebbling.size[line] + pebbling.extra[line] + pebbling.base
    table = np.array(rows, np.int64).reshape(len(rows), 5)
    value, first, stop_at, earliest, latest = np.ascontiguousarray(table.T)
    steps = np.zeros(end + 1, np.int64)
    np.add.at(steps, first, pebbling.size[value])
    np.add.at(steps, stop_at + 1, -pebbling.size[value])
    return Line(
        nodes=line,
        forced=forced,
        full=forced + np.cumsum(steps[:end]),
        value=value,
        first=first,
        last=stop_at,
        after=earliest,
        before=latest,
    )


def _path(pebbling: Pebbling, budget: int) -> list[int]:
    """Return a path of the graph that passes the highest sum of excesses.

    Of two with the same sum, the longer one. The excess of v: bytes beyond the budget
    while v runs first, if everything lives that was computed before, whatever the
    order, and is needed by then or later.
    """
    n = len(pebbling)
    before, after = pebbling.predecessors, pebbling.successors
    ancestors: list[int] = []
    for row in before:
        mask = 0
        for u in row:
            mask |= ancestors[u] | 1 << u
        ancestors.append(mask)
    descendants = [0] * n
    for v in range(n - 1, -1, -1):
        for y in after[v]:
            descendants[v] |= descendants[y] | 1 << y
    level = pebbling.size + pebbling.extra + pebbling.base
    width = (n + 7) // 8
    for u in range(n):
        mask = 0
        for y in after[u]:
            mask |= ancestors[y] | 1 << y
        mask &= descendants[u]
        flags = np.frombuffer(mask.to_bytes(width, "little"), np.uint8)
        crossed = np.unpackbits(flags, count=n, bitorder="little")
        level += crossed * pebbling.size[u]
    weight = [excess * (n + 1) + 1 for excess in np.maximum(level - budget, 0).tolist()]
    best, came = [0] * n, [-1] * n
    for v in range(n):
        for u in before[v]:
            if best[u] > best[v]:
                best[v], came[v] = best[u], u
        best[v] += weight[v]
    path = []
    v = max(range(n), key=best.__getitem__, default=-1)
    while v >= 0:
        path.append(v)
        v = came[v]
    return path[::-1]
