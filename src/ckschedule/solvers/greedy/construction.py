"""Sequences of computations from several orders, under several weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.greedy import kernel
from ckschedule.solvers.greedy.kernel import NEVER
from ckschedule.solvers.order import Order
from ckschedule.solvers.pebbling import Pebbling

WEIGHTS: Final = (
    (1.0, 1.0, True),
    (1.0, 1.0, False),
    (1.0, 0.5, True),
    (0.5, 1.0, True),
    (1.0, 2.0, True),
    (0.0, 1.0, True),
    (1.0, 0.0, True),
)
"""Powers of bytes and of distance, and whether bytes beyond those wanted count not."""

FINALISTS: Final = 2
"""Orders on which all weights are tried."""

LONGEST: Final = 40
"""Computations per node after which a construction is given up."""


@dataclass(frozen=True, slots=True)
class Construction:
    """A sequence that runs every node, and every node after its predecessors.

    Attributes
    ----------
    sequence
        (n_computations,): nodes.
    time
        Ticks.
    over
        Bytes by which it passes the budget.
    """

    sequence: Ints
    time: int
    over: int


def constructions(
    pebbling: Pebbling, budget: int, order: Order
) -> Iterator[Construction]:
    """Yield sequences within a budget or near it, those of the given order first.

    Parameters
    ----------
    pebbling
        The graph.
    budget
        Bytes, those that lie there throughout included.
    order
        Whose scope they shall lie in.
    """
    if len(pebbling) == 0:
        nothing = np.empty(0, np.int64)
        yield Construction(nothing, 0, max(0, pebbling.base - budget))
        return
    orders = [np.arange(len(pebbling))]
    if order is Order.FREE:
        orders += frugal_orders(pebbling)
    firsts: list[tuple[int, int, int]] = []
    for running in orders:
        built = next(evictions(pebbling, budget, running, WEIGHTS[:1]))
        yield built
        firsts.append((built.over, built.time, len(firsts)))
    for _, _, k in sorted(firsts)[:FINALISTS]:
        yield from evictions(pebbling, budget, orders[k], WEIGHTS[1:])


def frugal_orders(pebbling: Pebbling) -> Iterator[Ints]:
    """Yield running orders (n,) of all nodes that keep few bytes live."""
    p = pebbling
    edges = p.before_start, p.before, p.after_start, p.after
    for rule in range(4):
        order = np.empty(len(p), np.int64)
        kernel.frugal_order(p.size, p.extra, *edges, rule, order)
        yield order
    for rule in range(2):
        order = np.empty(len(p), np.int64)
        kernel.frugal_order_from_the_end(p.size, *edges, rule, order)
        yield order


def evictions(
    pebbling: Pebbling,
    budget: int,
    order: Ints,
    weights: Sequence[tuple[float, float, bool]] = WEIGHTS,
) -> Iterator[Construction]:
    """Yield what evictions make of one order, under each of some weights."""
    p = pebbling
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    before_start, before = _renumbered(p.before_start, p.before, order, rank)
    after_start, after = _renumbered(p.after_start, p.after, order, rank)
    mean = max(float(p.time.mean()), 1.0)
    room = np.empty(LONGEST * len(p) + 100, np.int64)
    for bytes_power, distance_power, exact_fit in weights:
        length, _, over = kernel.evict(
            p.time[order] / mean,
            p.size[order],
            p.extra[order],
            (p.once | p.stays)[order],
            p.stays[order],
            before_start,
            before,
            after_start,
            after,
            min(budget - p.base, NEVER),
            bytes_power,
            distance_power,
            exact_fit,
            room,
        )
        if length > len(room):
            # Given up: the order alone, far over the budget.
            yield Construction(order, pebbling.base_time, NEVER)
            continue
        sequence = order[room[:length]]
        yield Construction(sequence, ticks(p, sequence), int(over))
        if length == len(p) and over == 0:
            # Nothing runs again: no weights do better.
            return


def ticks(pebbling: Pebbling, sequence: Ints) -> int:
    """Return the time of a sequence of nodes, exactly."""
    runs = np.bincount(sequence, minlength=len(pebbling)).tolist()
    return sum(t * k for t, k in zip(pebbling.time.tolist(), runs, strict=True))


def _renumbered(start: Ints, items: Ints, order: Ints, rank: Ints) -> tuple[Ints, Ints]:
    """Return flat lists of nodes with rows and nodes numbered by their rank."""
    rows = [np.sort(rank[items[start[v] : start[v + 1]]]) for v in order.tolist()]
    new = np.zeros(len(rows) + 1, np.int64)
    new[1:] = np.cumsum([len(row) for row in rows], dtype=np.int64)
    return new, np.concatenate(rows)
