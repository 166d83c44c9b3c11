"""Bounds on the makespan, and proofs that nothing fits, without a search."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ckschedule.costs.encoding import encode
from ckschedule.costs.graph import Graph
from ckschedule.solvers.graph_bounds import binomial
from ckschedule.solvers.graph_bounds.closure import closure_cover
from ckschedule.solvers.graph_bounds.covering import line_cover, position_cover
from ckschedule.solvers.graph_bounds.line import line_of
from ckschedule.solvers.graph_bounds.memory import least_budget
from ckschedule.solvers.graph_bounds.necessary import necessities
from ckschedule.solvers.graph_bounds.rerunning import rerunning_cover
from ckschedule.solvers.graph_bounds.sorting import sorted_pebbling
from ckschedule.solvers.order import Order
from ckschedule.solvers.pebbling import Pebbling, pebbling_of

_LOOKED_AT: Final = 200
"""Positions of the highest levels, at which a knapsack is solved with fractions."""

_CLOSED: Final = 6
"""The best of them, at which it is solved in whole values, without and with what
recomputing needs."""

_POPS: Final = 500
"""Nodes of the search for whole values."""

_SEARCHED: Final = 2
"""The best of those, at which a search goes on from there."""

_WITH: Final = ", with what recomputing needs"
"""End of the source of their bounds."""

BASE: Final = "every node once"
"""Source of a bound that counts no recomputation."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Ticks that no schedule undercuts.

    Attributes
    ----------
    ticks
        The bound.
    source
        Where it comes from, in words: "knapsack at 'conv4'".
    """

    ticks: int
    source: str


def combinatorial_bound(graph: Graph, budget: int, order: Order) -> Bound:
    """Return ticks that no schedule of a scope within a budget undercuts.

    Parameters
    ----------
    graph
        Any.
    budget
        Bytes, static bytes included.
    order
        Whose scope (`Order.scope`) the bound is about.

    Returns
    -------
    Bound
        The best of those below; where nothing fits, some true number.

    Notes
    -----
    All graphs: the time of what must run, in modes that fit. Graphs under weighted
    pebbling: beside that, what has to run again so that first computations in a line
    (`ckschedule.solvers.graph_bounds.line`) keep the budget, at all of them with
    fractions or at one of them in whole values, there also with what recomputing needs
    itself. Training paths: the closed form of
    `ckschedule.solvers.graph_bounds.binomial`. Fractions of a second for a thousand
    nodes.
    """
    pebbling = _pebbling(graph, order)
    if pebbling is None:
        ticks = necessities(encode(graph)).time(budget - graph.static.total)
        return Bound(ticks=ticks, source=BASE)
    best = Bound(ticks=pebbling.base_time, source=BASE)
    if not len(pebbling):
        return best
    repeated = binomial.repeated(pebbling, budget)
    if repeated:
        ticks = best.ticks + repeated * int(pebbling.time.min())
        best = Bound(
            ticks=ticks,
            source="Griewank and Walther 2000, doi:10.1145/347837.347846",
        )
    for found in _covers(pebbling, budget, order):
        if found.ticks > best.ticks:
            best = found
    return best


def proves_infeasible(graph: Graph, budget: int, order: Order) -> str | None:
    """Return why no schedule of a scope keeps a budget; None if that is not proved.

    Parameters
    ----------
    graph, budget, order
        As for `combinatorial_bound`.

    Returns
    -------
    str or None
        The reason in words, with the bytes that are missing.
    """
    least = least_budget(graph)
    if budget < least.bytes:
        return f"{least.source} needs {least.bytes} bytes whatever the order"
    pebbling = _pebbling(graph, order)
    if pebbling is None or not len(pebbling):
        return None
    room = binomial.slots(pebbling, budget)
    if binomial.turn(pebbling) is not None and room is not None and room < 3:
        return "a training path needs room for three values"
    line = line_of(pebbling, budget, order)
    at = int(line.forced.argmax())
    if line.forced[at] > budget:
        name = pebbling.names[int(line.nodes[at])]
        return (
            f"node {name!r} needs {int(line.forced[at])} bytes when it runs first, for "
            f"what must live then and cannot be recomputed"
        )
    return None


def _pebbling(graph: Graph, order: Order) -> Pebbling | None:
    return pebbling_of(graph) if order is Order.GIVEN else sorted_pebbling(graph)


def _covers(pebbling: Pebbling, budget: int, order: Order) -> list[Bound]:
    line = line_of(pebbling, budget, order)
    excess = line.full - budget
    # Where too much is forced nothing fits, and no bound means anything.
    if excess.max(initial=0) <= 0 or line.forced.max() > budget:
        return []
    size, time = pebbling.size[line.value], pebbling.time[line.value]
    base = pebbling.base_time
    room = budget - line.forced
    cover = line_cover(excess, room, line.first, line.last, size, time)
    found = [Bound(ticks=base + cover, source="cover of all first computations")]

    def knapsack(at: int, pops: int) -> tuple[int, int]:
        over = np.flatnonzero((line.first <= at) & (at <= line.last))
        ticks = position_cover(int(excess[at]), size[over], time[over], pops=pops)
        return ticks, at

    highest = np.argsort(-excess, kind="stable")[:_LOOKED_AT].tolist()
    rough = sorted((knapsack(at, 1) for at in highest if excess[at] > 0), reverse=True)
    ranked = sorted((knapsack(at, _POPS) for _, at in rough[:_CLOSED]), reverse=True)
    closed = sorted(
        ((closure_cover(pebbling, line, at, budget) or 0, at) for _, at in ranked),
        reverse=True,
    )
    searched = []
    for known, at in closed[:_SEARCHED]:
        more = closure_cover(pebbling, line, at, budget, search=True) or known
        searched.append((rerunning_cover(pebbling, line, at, budget, more), at))
    # The simplest of equal ones stands first, and that is the one that is named.
    for points, with_ in ((ranked, ""), ([*searched, *closed], _WITH)):
        for ticks, at in points:
            name = pebbling.names[int(line.nodes[at])]
            source = f"knapsack at {name!r}{with_}"
            found.append(Bound(ticks=base + ticks, source=source))
    return found
