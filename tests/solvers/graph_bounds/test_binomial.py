"""Training paths: the closed form, where it is recognised and where it is not."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from solvers.graph_bounds.drawn import staged_optimum

import ckschedule as ck
from ckschedule import Exhaustive
from ckschedule.catalog import training_path
from ckschedule.costs import Graph, Mode, StaticMemory
from ckschedule.solvers.graph_bounds import (
    combinatorial_bound,
    least_budget,
    proves_infeasible,
)
from ckschedule.solvers.order import Order


def changed(graph: Graph, name: str, change: Callable[[Mode], Mode]) -> Graph:
    """The graph with another mode of one node."""
    nodes = tuple(
        replace(node, modes=(change(node.modes[0]),)) if node.name == name else node
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("k", range(1, 7))
def test_the_bound_is_the_optimum_at_every_budget(k: int, order: Order) -> None:
    """Among all schedules; and staged ones reach it, too."""
    graph = training_path(k)
    for budget in range(3, k + 5):
        bound = combinatorial_bound(graph, budget, order)
        assert bound.ticks == ck.solve(graph, budget, Exhaustive()).makespan
        if k < 5:
            assert bound.ticks == staged_optimum(graph, budget)


@pytest.mark.parametrize(
    ("k", "budget", "ticks"),
    [
        # Checkmate, section 4.6: the optimum of hours.
        (8, 4, 26),
        (16, 4, 67),
        (64, 8, 224),
        (100, 12, 326),
        (1000, 12, 4641),
        (1000, 52, 2951),
    ],
)
def test_optima_of_long_paths(k: int, budget: int, ticks: int) -> None:
    """Known from Revolve's numbers; at once for two thousand nodes."""
    bound = combinatorial_bound(training_path(k), budget, Order.FREE)
    assert bound.ticks == ticks
    assert "Griewank and Walther 2000, doi:10.1145/347837.347846" in bound.source


@pytest.mark.parametrize("order", Order)
def test_nothing_fits_below_three_values(order: Order) -> None:
    """A backward, the one before it, and a forward."""
    graph = training_path(40)
    assert least_budget(graph).bytes == 3
    assert proves_infeasible(graph, 2, order) is not None
    assert proves_infeasible(graph, 3, order) is None


def test_equal_sizes_and_times_scale_the_bound() -> None:
    """Bytes that are no whole value are of no use; static ones count first."""
    graph = training_path(8)
    graph = replace(
        graph,
        values=tuple(replace(value, size=10) for value in graph.values),
        nodes=tuple(
            replace(node, modes=(replace(node.modes[0], time=7, transient=None),))
            for node in graph.nodes
        ),
        static=StaticMemory(buffers=5),
    )
    for budget, ticks in [(44, 45 * 7), (45, 26 * 7), (54, 26 * 7), (55, 22 * 7)]:
        assert combinatorial_bound(graph, budget, Order.FREE).ticks == ticks


def test_unequal_paths_are_bounded_by_their_least() -> None:
    """More bytes, more time and more edges only make it harder."""
    draw = random.Random(3)
    for _ in range(30):
        graph = training_path(draw.randint(2, 4))
        graph = replace(
            graph,
            values=tuple(
                replace(value, size=draw.randint(2, 4)) for value in graph.values
            ),
            nodes=tuple(
                replace(
                    node,
                    modes=(
                        replace(node.modes[0], time=draw.randint(1, 3), transient=None),
                    ),
                )
                for node in graph.nodes
            ),
        )
        graph = changed(graph, "b0", lambda m: replace(m, needs=(*m.needs, "f1")))
        least = least_budget(graph).bytes
        for budget in range(least, least + 8):
            found = ck.solve(graph, budget, Exhaustive()).makespan
            if found is not None:
                bound = combinatorial_bound(graph, budget, Order.FREE)
                assert bound.ticks <= found


def test_a_path_without_one_edge_is_no_training_path() -> None:
    """b0 that does not read f0 lets f0 go: the closed form would be too high."""
    graph = changed(training_path(4), "b0", lambda m: replace(m, needs=("b1",)))
    found = ck.solve(graph, 3, Exhaustive()).makespan
    assert found is not None
    assert combinatorial_bound(graph, 3, Order.FREE).ticks <= found
