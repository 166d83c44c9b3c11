"""Bounds against optima: of a search in stages, and of one among all schedules."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solvers.graph_bounds.drawn import any_graphs, pebbled, staged_optimum
from strategies import chains

import ckschedule as ck
from ckschedule import Chain, Exhaustive, Stage, Variant
from ckschedule.catalog import training_path
from ckschedule.costs import Graph, Mode, Node, Value
from ckschedule.solvers.graph_bounds import (
    combinatorial_bound,
    least_budget,
    proves_infeasible,
)
from ckschedule.solvers.order import Order


@settings(max_examples=400)
@given(pebbled(), st.integers(0, 30))
def test_no_schedule_in_the_given_order_undercuts_the_bound(
    graph: Graph, above: int
) -> None:
    """Nor is there one where the proof says that there is none."""
    budget = max(0, least_budget(graph).bytes - 2 + above)
    optimum = staged_optimum(graph, budget)
    if optimum is not None:
        assert proves_infeasible(graph, budget, Order.GIVEN) is None
        assert combinatorial_bound(graph, budget, Order.GIVEN).ticks <= optimum
    else:
        # Any number is true then; it must not fail.
        combinatorial_bound(graph, budget, Order.GIVEN)


@settings(max_examples=300)
@given(pebbled(), st.integers(0, 30))
def test_no_schedule_of_any_order_undercuts_the_free_bound(
    graph: Graph, above: int
) -> None:
    """Exhaustive searches among all."""
    budget = max(0, least_budget(graph).bytes - 2 + above)
    result = ck.solve(graph, budget, Exhaustive())
    if result.makespan is not None:
        assert proves_infeasible(graph, budget, Order.FREE) is None
        assert combinatorial_bound(graph, budget, Order.FREE).ticks <= result.makespan


@settings(max_examples=250)
@given(any_graphs(), st.integers(0, 12))
def test_the_time_of_what_must_run_is_a_bound_for_every_graph(
    graph: Graph, budget: int
) -> None:
    """With modes of which some are too large for the budget, in any order of nodes."""
    result = ck.solve(graph, budget, Exhaustive())
    if result.makespan is not None:
        for order in Order:
            assert combinatorial_bound(graph, budget, order).ticks <= result.makespan
            assert proves_infeasible(graph, budget, order) is None


@settings(max_examples=60)
@given(chains(max_stages=3, largest=3), st.integers(0, 30))
def test_the_bound_holds_for_the_graphs_of_chains(chain: Chain, budget: int) -> None:
    """Recorded modes, consumption and holding."""
    graph = chain.to_graph()
    result = ck.solve(graph, budget, Exhaustive())
    if result.makespan is not None:
        assert combinatorial_bound(graph, budget, Order.FREE).ticks <= result.makespan


def line(*sizes: int, kept: tuple[int, ...] = (), once: tuple[int, ...] = ()) -> Graph:
    """Nodes of one step in a row, and a last one that reads all values."""
    n = len(sizes)
    values = [Value(name=f"v{i}", size=size) for i, size in enumerate(sizes)]
    nodes = [
        Node(
            name=f"n{i}",
            modes=(
                Mode(
                    name="run",
                    time=1,
                    outputs=(f"v{i}",),
                    needs=(f"v{i - 1}",) if i else (),
                ),
            ),
            recomputable=i not in once,
        )
        for i in range(n)
    ]
    return Graph(
        values=tuple(values),
        nodes=tuple(nodes),
        targets=(f"v{n - 1}",),
        kept=tuple(f"v{i}" for i in kept),
        time_unit="step",
    )


def reading(graph: Graph, node: int, *values: int) -> Graph:
    """The graph with more needs of one node."""
    nodes = list(graph.nodes)
    mode = nodes[node].modes[0]
    more = (*mode.needs, *(f"v{i}" for i in values))
    nodes[node] = replace(nodes[node], modes=(replace(mode, needs=more),))
    return replace(graph, nodes=tuple(nodes))


@pytest.mark.parametrize("order", Order)
def test_what_does_not_fit_at_one_position_runs_again(order: Order) -> None:
    """v0 (5) is read by n3; while n2 runs, v1 and v2 take the 8 bytes.

    Level with v0: 5 + 4 + 4. Base 4 steps; n0 runs once more.
    """
    graph = reading(line(5, 4, 4, 1), 3, 0)
    bound = combinatorial_bound(graph, 12, order)
    assert bound.ticks == 5
    assert bound.ticks == ck.solve(graph, 12, Exhaustive()).makespan
    assert combinatorial_bound(graph, 13, order).ticks == 4


@pytest.mark.parametrize("order", Order)
def test_what_recomputing_needs_is_paid_for(order: Order) -> None:
    """v1 (6) is read by n5, v0 (6) by n1 only.

    While n3 runs, v2 and v3 take 10 of 12 bytes: v1 goes, and v0 is not there to
    compute it from, for it does not fit either. Both run again, after v3 has gone.
    """
    graph = reading(line(6, 6, 2, 8, 0, 0), 5, 1)
    bound = combinatorial_bound(graph, 12, order)
    assert bound.ticks == 8
    assert bound.ticks == ck.solve(graph, 12, Exhaustive()).makespan
    assert bound.source.endswith("with what recomputing needs")
    assert combinatorial_bound(graph, 16, order).ticks == 6


def test_a_value_that_runs_again_needs_room_then() -> None:
    """Some values fit at no moment at which they could be computed anew.

    By what lives while n6 runs first alone, the bound is 39.
    """
    needs = [[], [0], [1], [2], [3], [3, 4], [2, 5], [1, 4, 6]]
    sizes, times = (7, 5, 1, 1, 3, 3, 1, 1), (5, 1, 0, 3, 8, 3, 8, 5)
    graph = line(*sizes)
    nodes = tuple(
        replace(
            node,
            modes=(
                replace(
                    node.modes[0],
                    time=times[v],
                    needs=tuple(f"v{u}" for u in needs[v]),
                ),
            ),
        )
        for v, node in enumerate(graph.nodes)
    )
    graph = replace(graph, nodes=nodes)
    bound = combinatorial_bound(graph, 12, Order.GIVEN)
    assert bound.ticks == staged_optimum(graph, 12) == 41


def test_gaps_at_different_positions_add_up() -> None:
    """v0 (2) is read by n3 and n6, and fits neither beside v1, v2 nor beside v4, v5."""
    graph = reading(reading(line(2, 5, 5, 1, 5, 5, 1), 3, 0), 6, 0)
    bound = combinatorial_bound(graph, 10, Order.GIVEN)
    assert bound.ticks == 7 + 2
    assert bound.source == "cover of all first computations"
    assert combinatorial_bound(graph, 10, Order.FREE).ticks == 9


def test_what_must_live_and_cannot_run_again_is_a_proof() -> None:
    """n3 reads v0 (5), which runs once, and v2 (4), which was computed from v1 (4).

    In the given order v0 lives while n2 runs; elsewhere n0 may run after n2.
    """
    graph = reading(line(5, 4, 4, 1, once=(0,)), 3, 0)
    nodes = list(graph.nodes)
    nodes[1] = replace(nodes[1], modes=(replace(nodes[1].modes[0], needs=()),))
    graph = replace(graph, nodes=tuple(nodes))
    reason = proves_infeasible(graph, 12, Order.GIVEN)
    assert reason is not None
    assert "'n2'" in reason
    assert "13 bytes" in reason
    assert proves_infeasible(graph, 13, Order.GIVEN) is None
    assert proves_infeasible(graph, 12, Order.FREE) is None
    assert ck.solve(graph, 12, Exhaustive()).makespan == 4


def test_a_value_that_stays_is_counted_after_its_last_use() -> None:
    """v0 (5) stays to the end: n3 needs 5 + 4 + 4."""
    assert least_budget(line(5, 1, 4, 4, kept=(0,))).bytes == 13
    assert least_budget(line(5, 1, 4, 4)).bytes == 8


def test_the_search_backwards_sees_what_stood_beside_the_last_input() -> None:
    """n4 reads v1 (4) and v3 (4), both computed from values of 6 bytes.

    No working set has more than 10 bytes, but the last of the two to be computed had
    the other one beside it: 6 + 4 + 4.
    """
    graph = reading(line(6, 4, 6, 4, 1), 4, 1)
    nodes = list(graph.nodes)
    nodes[2] = replace(nodes[2], modes=(replace(nodes[2].modes[0], needs=()),))
    graph = replace(graph, nodes=tuple(nodes))
    assert least_budget(graph).bytes == 14
    assert ck.solve(graph, 0, Exhaustive()).minimum_budget == 14


@pytest.mark.parametrize("order", Order)
def test_empty_graphs_have_bounds_too(order: Order) -> None:
    """Nothing runs; the inputs lie there."""
    graph = Graph(values=(Value(name="x", size=4),), nodes=(), inputs=("x",))
    assert combinatorial_bound(graph, 4, order).ticks == 0
    assert least_budget(graph).bytes == 4
    assert proves_infeasible(graph, 3, order) is not None


def test_the_order_of_nodes_does_not_matter_to_a_free_bound() -> None:
    """Any order is any order; in the given one nothing could run."""
    graph = training_path(6)
    turned = replace(graph, nodes=graph.nodes[::-1])
    for budget in range(3, 9):
        free = combinatorial_bound(turned, budget, Order.FREE)
        assert free == combinatorial_bound(graph, budget, Order.FREE)
    assert least_budget(turned) == least_budget(graph)


def test_modes_that_do_not_fit_are_not_counted_on() -> None:
    """The fast one takes 9 bytes."""
    modes = (
        Mode(name="fast", time=1, outputs=("v",), transient=9),
        Mode(name="slow", time=5, outputs=("v",)),
    )
    graph = Graph(
        values=(Value(name="v", size=2),),
        nodes=(Node(name="n", modes=modes),),
        targets=("v",),
    )
    assert combinatorial_bound(graph, 8, Order.FREE).ticks == 5
    assert combinatorial_bound(graph, 9, Order.FREE).ticks == 1
    assert least_budget(graph).bytes == 2


def test_a_recording_forward_counts_with_its_own_time() -> None:
    """Every backward needs one, though the plain forward is faster."""
    chain = Chain(
        input=1,
        stages=(
            Stage(
                output=1,
                forward=2,
                variants=(Variant(saved=1, forward=5, backward=3),),
            ),
        )
        * 3,
    )
    bound = combinatorial_bound(chain.to_graph(), 100, Order.FREE)
    assert bound.ticks == 3 * (5 + 3)
