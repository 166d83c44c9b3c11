"""What all baselines must get right on any chain, whatever its features."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from samples import equal, one_node, run
from strategies import chains

import ckschedule as ck
from ckschedule.costs import Chain
from ckschedule.errors import InvalidScheduleError, UnsupportedModelError
from ckschedule.operations import Free
from ckschedule.result import Scope
from ckschedule.schedule import Schedule
from ckschedule.simulation import simulate
from ckschedule.solvers.base import AbstractSolver
from ckschedule.solvers.baselines import (
    ChenBudget,
    ChenRecursion,
    EveryNth,
    FirstN,
    RecomputeAll,
    SqrtSegments,
    StoreAll,
    UniformSegments,
)

SEGMENTED: list[AbstractSolver] = [
    StoreAll(),
    RecomputeAll(),
    EveryNth(2),
    UniformSegments(2),
    FirstN(2),
    SqrtSegments(),
    ChenBudget(),
]
ALL: list[AbstractSolver] = [*SEGMENTED, ChenRecursion(), ChenRecursion(2)]


@pytest.mark.parametrize("solver", ALL, ids=repr)
def test_a_construction_speaks_of_itself_only(solver: AbstractSolver) -> None:
    """It proves nothing about other schedules."""
    assert solver.search(equal(4), 10).scope is Scope.CONSTRUCTION


@pytest.mark.parametrize("solver", ALL, ids=repr)
@settings(max_examples=40)
@given(chain=chains(max_stages=7))
def test_every_chain_is_reversed_and_left_empty(
    solver: AbstractSolver, chain: Chain
) -> None:
    """Targets are reached (the simulator checks) and only pinned values remain."""
    trace = run(solver, chain, 10)
    left = chain.input * (1 + chain.input_gradient) + chain.static.total
    left += sum(stage.parameter_gradient for stage in chain.sequence)
    assert trace.live_after[-1] == left
    n, frozen = len(chain.sequence), chain.frozen_prefix
    assert all(trace.computations[f"B{i}"] == 1 for i in range(frozen + 1, n + 1))


@pytest.mark.parametrize("solver", ALL, ids=repr)
@settings(max_examples=40)
@given(chain=chains(max_stages=7))
def test_frozen_prefix_and_last_segment_are_never_recomputed(
    solver: AbstractSolver, chain: Chain
) -> None:
    """Neither a frozen stage nor what is reversed at once gains from running twice."""
    computations = run(solver, chain, 10).computations
    n = len(chain.sequence)
    once = [*range(1, chain.frozen_prefix + 1), n]
    assert all(computations[f"F{i}"] == 1 for i in once)


@pytest.mark.parametrize("solver", SEGMENTED, ids=repr)
@settings(max_examples=25)
@given(chain=chains(max_stages=7))
def test_segments_run_each_forward_at_most_twice(
    solver: AbstractSolver, chain: Chain
) -> None:
    """Once in the forward pass and once when their segment's turn comes."""
    assert max(run(solver, chain, 10).computations.values()) <= 2


@pytest.mark.parametrize("solver", ALL, ids=repr)
@settings(max_examples=25)
@given(chain=chains(max_stages=7))
def test_outputs_are_freed_as_soon_as_they_may(
    solver: AbstractSolver, chain: Chain
) -> None:
    """A free that could stand before the computation ahead of it would lower levels."""
    operations = list(run(solver, chain, 10).schedule)
    for at, operation in enumerate(operations):
        if not isinstance(operation, Free):
            continue
        before = at - 1
        while isinstance(operations[before], Free):
            before -= 1
        moved = [*operations[:before], operation, *operations[before:at]]
        moved += operations[at + 1 :]
        with pytest.raises(InvalidScheduleError):
            simulate(chain, Schedule(moved))


@settings(max_examples=50)
@given(chain=chains(max_stages=7))
def test_store_all_takes_the_base_time(chain: Chain) -> None:
    """Other overheads are measured against it, so nothing may run twice."""
    trace = run(StoreAll(), chain)
    assert trace.makespan == chain.base_time
    assert trace.recomputations == {}


@settings(max_examples=50)
@given(chain=chains(max_stages=7))
def test_store_all_of_a_graph_runs_every_node_once(chain: Chain) -> None:
    """In the graph's order: its peak is what percentages of a graph refer to."""
    graph = chain.to_graph()
    trace = ck.solve(graph, 2**62, StoreAll()).raise_for_status()
    assert set(trace.computations.values()) == {1}
    recorded = run(StoreAll(), chain)
    if all(len(stage.variants) < 2 for stage in chain.sequence):
        assert trace.makespan == recorded.makespan


def test_store_all_of_a_graph_whose_order_is_illegal_says_so() -> None:
    """The nodes of a graph may stand in any order; this one has to be topological."""
    graph = ck.catalog.training_path(2)
    shuffled = replace(graph, nodes=graph.nodes[::-1])
    with pytest.raises(UnsupportedModelError, match="sort the nodes"):
        ck.solve(shuffled, 10, StoreAll())


@pytest.mark.parametrize("solver", [s for s in ALL if s != StoreAll()], ids=repr)
def test_graphs_are_refused(solver: AbstractSolver) -> None:
    """The constructions are defined on chains; a guess would mislead."""
    start = f"^{type(solver).__name__} takes chains only: 'graph' is a graph"
    with pytest.raises(UnsupportedModelError, match=start):
        solver.search(one_node(), 10)


@pytest.mark.parametrize("solver", ALL, ids=repr)
def test_five_thousand_stages_need_no_recursion(solver: AbstractSolver) -> None:
    """Recursive planners died on such chains in the field."""
    trace = run(solver, equal(5000, saved=1, gradient=None))
    assert trace.computations["B1"] == 1
