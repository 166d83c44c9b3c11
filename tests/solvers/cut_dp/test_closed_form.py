"""CutDP on Checkmate's linear training graph, whose optimum is known."""

import pytest
from solvers.cut_dp.linear import linear_optimum

import ckschedule as ck
from ckschedule import Exhaustive, Status
from ckschedule.solvers.cut_dp import CutDP

PUBLISHED = [
    *(
        (8, b, t)
        for b, t in zip(range(3, 11), (45, 26, 22, 21, 20, 19, 18, 17), strict=True)
    ),
    (16, 4, 67),
    (16, 6, 47),
    (32, 6, 111),
    (64, 8, 224),
    (100, 12, 326),
]


@pytest.mark.parametrize(("k", "budget", "ticks"), PUBLISHED)
def test_the_closed_form_has_the_known_values(k: int, budget: int, ticks: int) -> None:
    """9.4 hours of Gurobi for k = 8 within 4 bytes: Checkmate (arXiv 1910.02653)."""
    assert linear_optimum(k, budget) == ticks


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_the_closed_form_is_the_oracles_optimum(k: int) -> None:
    """Among all schedules, at every budget from the least one on."""
    graph = ck.catalog.training_path(k)
    for budget in range(3, k + 4):
        exact = ck.solve(graph, budget, Exhaustive())
        assert exact.makespan == linear_optimum(k, budget)
    assert ck.solve(graph, 2, Exhaustive()).status is Status.INFEASIBLE


@pytest.mark.parametrize(("k", "budget", "ticks"), PUBLISHED)
def test_the_optimum_is_found(k: int, budget: int, ticks: int) -> None:
    """The recurrence of a path's cuts is that of binomial checkpointing."""
    assert ck.solve(ck.catalog.training_path(k), budget, CutDP()).makespan == ticks


@pytest.mark.parametrize(("k", "budget"), [(8, 3), (8, 4), (16, 5), (40, 7)])
def test_the_tables_alone_find_the_optimum(k: int, budget: int) -> None:
    """Nothing is left to improve: ``work=0`` takes what they propose."""
    result = ck.solve(ck.catalog.training_path(k), budget, CutDP(work=0))
    assert result.makespan == linear_optimum(k, budget)


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "ticks"), [(12, 4641), (52, 2951)])
def test_a_long_graph_of_equal_nodes_keeps_a_unit_for_each(
    budget: int, ticks: int
) -> None:
    """2001 nodes: equal pairs of cuts are solved once, so that none are merged."""
    assert linear_optimum(1000, budget) == ticks
    assert ck.solve(ck.catalog.training_path(1000), budget, CutDP()).makespan == ticks


def test_units_of_several_nodes_still_give_schedules() -> None:
    """Forty forwards in ten units: inner values stay or are computed again."""
    graph = ck.catalog.training_path(40)
    few = CutDP(units=10, work=0)
    for budget in (20, 25, 30, 35):
        # Unequal sizes and times, so that the nodes are not taken to be alike.
        result = ck.solve(uneven(graph), 20 * budget, few)
        assert result.trace is not None
        assert result.trace.peak <= 20 * budget


def uneven(graph: ck.Graph) -> ck.Graph:
    """Return a graph with other sizes and times."""
    from dataclasses import replace

    return replace(
        graph,
        values=tuple(
            replace(value, size=10 + 7 * i % 11) for i, value in enumerate(graph.values)
        ),
        nodes=tuple(
            replace(
                node,
                modes=(replace(node.modes[0], time=1 + 5 * i % 7, transient=None),),
            )
            for i, node in enumerate(graph.nodes)
        ),
    )
