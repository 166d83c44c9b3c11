"""Arrays that the annealing kernel works on, made from a graph and a budget."""

from typing import Final

import numpy as np

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.local_search import kernel
from ckschedule.solvers.pebbling import Pebbling

LARGEST: Final = 2**40
"""Total bytes up to which the kernel's sums stay exact; beyond, the unit is coarser."""

LEAST_SLOTS: Final = 64
"""Slots that a row has beside those for its computations."""

SPREAD: Final = 2
"""Slots for each computation: with fewer, nodes get in each other's way; with more,
ranges of levels are longer."""

MOST: Final = 64
"""Computations of one node that a state has room for."""


def instance_of(pebbling: Pebbling) -> tuple[kernel.Instance, int]:
    """Return a graph as the kernel takes it, and the bytes of its unit of memory.

    The unit divides all sizes where they have a common divisor that leaves them small
    enough. Otherwise sizes are rounded up, so that what fits in units fits in bytes.
    """
    p = pebbling
    unit = int(np.gcd.reduce(np.concatenate([p.size, p.extra]), initial=0)) or 1
    total = int(p.size.sum()) + int(p.extra.max(initial=0))
    if total // unit > LARGEST:
        unit = -(-total // LARGEST)
    mean = max(float(p.time.astype(np.float64).mean()), 1e-300) if len(p) else 1.0
    graph = kernel.Instance(
        time=p.time.astype(np.float64) / mean,
        size=-(-p.size // unit),
        extra=-(-p.extra // unit),
        fixed=p.once | p.stays,
        stays=p.stays,
        before_start=p.before_start,
        before=p.before,
        after_start=p.after_start,
        after=p.after,
    )
    return graph, unit


def row_of(
    graph: kernel.Instance,
    sequence: Ints,
    budget: int,
    seed: int,
    before: kernel.Row | None = None,
) -> kernel.Row:
    """Return the state of a sequence, evenly spread.

    Parameters
    ----------
    graph
        As from `instance_of`.
    sequence
        (n_computations,): nodes, each at most `MOST` times.
    budget
        In units of memory.
    seed
        Of the generator.
    before
        A state of the same graph that may be overwritten, where its slots are neither
        too few nor too many; its generator, counters and costs go on.
    """
    slots = LEAST_SLOTS + SPREAD * len(sequence)
    if before is None or not 3 * slots <= 4 * len(before.at) <= 8 * slots:
        row = _empty(len(graph.time), slots, seed)
        if before is not None:
            row.real[:] = before.real
            row.random[:] = before.random
    else:
        row = before
    kernel.place(graph, row, sequence, budget)
    return row


def _empty(n: int, slots: int, seed: int) -> kernel.Row:
    row = kernel.Row(
        at=np.full(slots, -1, np.int64),
        level=np.zeros(slots, np.int64),
        occurs=np.zeros((n, MOST), np.int64),
        dies=np.zeros((n, MOST), np.int64),
        count=np.zeros(n, np.int64),
        repeated=np.zeros(n, np.int64),
        where=np.zeros(n, np.int64),
        over=np.zeros(slots, np.int64),
        best=np.full(slots, -1, np.int64),
        mark=np.zeros(n, np.int64),
        group=np.zeros((2, kernel.GROUP), np.int64),
        log=np.zeros((8 * kernel.DEPTH, 4), np.int64),
        number=np.zeros(kernel.NUMBERS, np.int64),
        real=np.zeros(kernel.REALS, np.float64),
        random=np.array([(2 * seed + 1) * 0x9E3779B97F4A7C15 % 2**64], np.uint64),
    )
    row.real[kernel.BEST] = np.inf
    return row


def sequence_of(slots: Ints) -> Ints:
    """Return the nodes of a row of slots in running order."""
    return slots[slots >= 0]
