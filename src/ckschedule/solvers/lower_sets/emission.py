"""From a sequence of lower sets to a sequence of computations of a training graph."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.cut_dp.emission import Computing
from ckschedule.solvers.cut_dp.training import Training
from ckschedule.solvers.lower_sets.model import LowerSet, members


def blocks(sequence: Sequence[LowerSet], n: int) -> Ints:
    """Return the number of the block, from 1, that each of n nodes lies in."""
    unit = np.zeros(n, np.int64)
    for i, (lower, upper) in enumerate(pairwise((0, *sequence)), start=1):
        unit[list(members(upper & ~lower))] = i
    return unit


def emit(training: Training, *, hold_late: bool) -> list[int]:
    """Return the sequence of nodes of the canonical strategy.

    Forward nodes run block by block, and only those that later blocks read stay. Going
    back, each block is computed again from what stays before its backward nodes run,
    except for the last one, which still lies there.

    Parameters
    ----------
    training
        The graph, its units being `blocks`.
    hold_late
        See `Computing`.
    """
    pebbling, unit = training.pebbling, training.unit
    computing = Computing(training=training, hold_late=hold_late)
    block = [np.flatnonzero(unit == i).tolist() for i in range(training.units + 1)]
    for i in range(1, training.units + 1):
        computing.forward(block[i])
        if i < training.units:
            computing.drop(
                [
                    v
                    for v in block[i]
                    if not any(
                        w < training.turn and unit[w] > i
                        for w in pebbling.successors[v]
                    )
                ],
                reached=0,
            )
    for i in range(training.units, -1, -1):
        nodes = training.backward_of(i)
        read = {u for w in nodes for u in pebbling.predecessors[w]}
        computing.make(read & set(block[i]))
        computing.backward(nodes)
        computing.drop(block[i], reached=nodes.stop)
    return computing.sequence
