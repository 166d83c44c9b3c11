"""The annealing kernel's running sums against a fresh evaluation."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solvers.local_search.pebbling_graphs import pebbling_graphs

from ckschedule import Graph, Mode, Node, Value
from ckschedule.simulation import measure
from ckschedule.solvers.completion import complete
from ckschedule.solvers.local_search import LocalSearch, kernel
from ckschedule.solvers.local_search.state import instance_of, row_of, sequence_of
from ckschedule.solvers.pebbling import Pebbling, as_pebbling

Ints = npt.NDArray[np.int64]


def levels(pebbling: Pebbling, sequence: list[int]) -> list[int]:
    """Bytes while each computation runs, straight from the definition.

    A value lives from a computation to its last use before the next one of the same
    node, and to the end if it stays.
    """
    lives: list[set[int]] = [set() for _ in sequence]
    for i, v in enumerate(sequence):
        uses = [i]
        for j in range(i + 1, len(sequence)):
            if sequence[j] == v:
                break
            if v in pebbling.predecessors[sequence[j]] or pebbling.stays[v]:
                uses.append(j)
        for j in range(i, uses[-1] + 1):
            lives[j].add(v)
    return [
        sum(int(pebbling.size[v]) for v in live) + int(pebbling.extra[w])
        for live, w in zip(lives, sequence, strict=True)
    ]


def check(pebbling: Pebbling, row: kernel.Row, budget: int, unit: int) -> None:
    """Compare every running sum with what the sequence alone says."""
    sequence = sequence_of(row.at).tolist()
    fresh = levels(pebbling, sequence)
    held = row.level[row.at >= 0].tolist()
    assert [(level + budget) * unit for level in held] == fresh
    excess = sum(max(0, level - budget * unit) for level in fresh)
    assert int(row.number[kernel.EXCESS]) * unit == excess
    assert int(row.number[kernel.LENGTH]) == len(sequence)
    runs = np.bincount(sequence, minlength=len(pebbling))
    assert row.count.tolist() == runs.tolist()
    again = sorted(row.repeated[: row.number[kernel.REPEATED]].tolist())
    assert again == np.flatnonzero(runs > 1).tolist()


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("hot", [0.1, 30.0])
@settings(max_examples=60)
@given(pebbling_graphs(max_nodes=14), st.integers(0, 5), st.integers(0, 40))
def test_running_sums_equal_a_fresh_evaluation_after_any_moves(
    staged: bool, hot: float, graph: Graph, seed: int, budget: int
) -> None:
    """Levels, excess, counts: whatever was taken, and whatever was taken back."""
    pebbling = as_pebbling(graph, LocalSearch())
    instance, unit = instance_of(pebbling)
    row = row_of(instance, np.arange(len(pebbling)), budget, seed)
    row.real[kernel.PRICE] = 1.0
    check(pebbling, row, budget, unit)
    for moves in (1, 2, 5, 20, 100, 300):
        kernel.anneal(instance, row, staged, True, moves, hot, hot, 1.02, 0.1, 10.0)
        check(pebbling, row, budget, unit)


@pytest.mark.parametrize("staged", [False, True])
@settings(max_examples=60)
@given(pebbling_graphs(max_nodes=14), st.integers(0, 5))
def test_every_state_is_a_legal_schedule(staged: bool, graph: Graph, seed: int) -> None:
    """However hot it is: the simulator takes the sequence, with frees added."""
    pebbling = as_pebbling(graph, LocalSearch())
    instance, _ = instance_of(pebbling)
    row = row_of(instance, np.arange(len(pebbling)), 0, seed)
    for _ in range(10):
        kernel.anneal(instance, row, staged, True, 20, 1e9, 1e9, 1.0, 0.0, 0.0)
        sequence = sequence_of(row.at)
        codes = complete(pebbling.encoding, pebbling.mode[sequence])
        _, makespan, _ = measure(pebbling.encoding, codes)
        # What is superfluous is left out of the schedule.
        assert makespan <= int(pebbling.time[sequence].sum())
        assert np.bincount(sequence, minlength=len(pebbling)).min() >= 1


def test_without_repetitions_every_node_runs_once() -> None:
    """As in the search for an order of few bytes."""
    rng = np.random.default_rng(3)
    n = 30
    before = [
        sorted({*rng.integers(0, max(v, 1), min(v, 2)).tolist()}) for v in range(n)
    ]
    graph = Graph(
        values=tuple(
            Value(name=f"v{v}", size=int(rng.integers(1, 9))) for v in range(n)
        ),
        nodes=tuple(
            Node(
                name=f"n{v}",
                modes=(
                    Mode(
                        name="run",
                        time=1,
                        outputs=(f"v{v}",),
                        needs=tuple(f"v{u}" for u in before[v]),
                    ),
                ),
            )
            for v in range(n)
        ),
        targets=(f"v{n - 1}",),
    )
    pebbling = as_pebbling(graph, LocalSearch())
    instance, _ = instance_of(pebbling)
    row = row_of(instance, np.arange(len(pebbling)), 0, 1)
    row.real[kernel.PRICE] = 1.0
    start = int(row.number[kernel.EXCESS])
    kernel.anneal(instance, row, False, False, 20_000, 1.0, 0.01, 1.0, 0.0, 9.0)
    assert sorted(sequence_of(row.at).tolist()) == list(range(len(pebbling)))
    assert int(row.number[kernel.EXCESS]) < start
