"""Repairing and improving sequences, against the simulator."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from solvers.cut_dp.graphs import training_graphs

from ckschedule import Graph
from ckschedule.costs.encoding import encode
from ckschedule.simulation import measure
from ckschedule.solvers.completion import complete
from ckschedule.solvers.cut_dp import sequences
from ckschedule.solvers.cut_dp.candidates import Candidates
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.pebbling import Pebbling, pebbling_of


def known(graph: Graph) -> Pebbling:
    """Return the arrays of a graph that has them."""
    pebbling = pebbling_of(graph)
    assert pebbling is not None
    return pebbling


@settings(max_examples=80)
@given(training_graphs(forwards=6, special=True), st.randoms(use_true_random=False))
def test_a_sequences_peak_is_the_simulators(graph: Graph, random: object) -> None:
    """Of every node once with some repetitions wherever they are legal."""
    pebbling = known(graph)
    assert hasattr(random, "randrange")
    nodes = list(range(len(pebbling)))
    for v in range(len(pebbling)):
        if not pebbling.once[v] and not pebbling.stays[v] and random.randrange(2):
            nodes.insert(random.randrange(nodes.index(v) + 1, len(nodes) + 1), v)
    row = np.array(nodes, np.int64)
    arrays = (
        pebbling.time,
        pebbling.size,
        pebbling.extra,
        pebbling.stays,
        pebbling.before_start,
        pebbling.before,
    )
    steps = sequences.prune(row, len(row), arrays, np.zeros(len(pebbling), np.int64))
    peak, _, _ = sequences.profile(
        row,
        steps,
        0,
        arrays,
        np.empty(steps, np.int64),
        np.empty(len(pebbling), np.bool_),
    )
    codes = complete(encode(graph), pebbling.mode[row[:steps]])
    simulated, ticks, _ = measure(encode(graph), codes)
    assert peak + pebbling.base == simulated
    assert int(pebbling.time[row[:steps]].sum()) == ticks


@settings(max_examples=60)
@given(training_graphs(forwards=6), st.integers(4, 30))
def test_improving_never_makes_worse(graph: Graph, budget: int) -> None:
    """What fits still fits, in no more time."""
    pebbling = known(graph)
    found = Candidates(pebbling, budget, 10**6)
    twice = [v for v in range(len(pebbling)) for _ in range(2)]
    found.offer(twice)
    before = found.makespan
    with Deadline() as deadline:
        found.improve(deadline)
        found.polish(deadline)
    if before is not None:
        assert found.makespan is not None
        assert found.makespan <= before
    if found.sequence is not None:
        codes = complete(encode(graph), pebbling.mode[found.sequence])
        peak, ticks, _ = measure(encode(graph), codes)
        assert peak <= budget
        assert ticks == found.makespan
