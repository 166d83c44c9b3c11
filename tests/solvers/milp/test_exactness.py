"""Optima and bounds against brute force over staged schedules."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solvers.milp.oracle import graph_of, graphs, staged_optimum

import ckschedule as ck
from ckschedule import Exhaustive, Status
from ckschedule.costs import Graph
from ckschedule.result import Scope
from ckschedule.solvers.milp import LpRounding, Milp, lp_bound
from ckschedule.solvers.pebbling import as_pebbling


def _budget(graph: Graph, less: int) -> int:
    """Return a budget so many bytes below the peak of running everything once."""
    peak = ck.solve(graph, 10**6, Milp()).peak
    assert peak is not None
    return max(0, peak - less)


@pytest.mark.parametrize("seeds", [(), None], ids=["unseeded", "seeded"])
@settings(max_examples=120)
@given(graphs(), st.integers(0, 8))
def test_the_optimum_is_that_of_all_staged_schedules(
    seeds: tuple[()] | None, graph: Graph, less: int
) -> None:
    """With transients, nodes that run once, values that stay and static bytes."""
    budget = _budget(graph, less)
    result = ck.solve(graph, budget, Milp(seeds=seeds))
    expected = staged_optimum(graph, budget)
    assert result.scope is Scope.GIVEN_ORDER
    assert result.makespan == expected
    assert result.status is (Status.INFEASIBLE if expected is None else Status.OPTIMAL)


@settings(max_examples=120)
@given(graphs(), st.integers(0, 8))
def test_bound_optimum_and_rounding_stand_in_this_order(
    graph: Graph, less: int
) -> None:
    """The relaxation admits more than schedules, rounding fewer."""
    budget = _budget(graph, less)
    optimum = staged_optimum(graph, budget)
    pebbling = as_pebbling(graph, Milp())
    bound = lp_bound(pebbling, budget, 10.0)
    rounding = ck.solve(graph, budget, LpRounding())
    if optimum is None:
        assert rounding.status in (Status.INFEASIBLE, Status.UNKNOWN)
        return
    assert bound is not None
    assert pebbling.base_time <= bound <= optimum
    assert lp_bound(pebbling, budget, 10.0, makespan=optimum) is not None
    assert rounding.status is not Status.INFEASIBLE
    if rounding.makespan is not None:
        assert rounding.lower_bound is not None
        assert rounding.lower_bound <= optimum <= rounding.makespan


@settings(max_examples=60)
@given(graphs(), st.integers(0, 8))
def test_a_known_makespan_leaves_the_bound_a_bound(graph: Graph, less: int) -> None:
    """What takes longer is left out of the program; no optimum is."""
    budget = _budget(graph, less)
    optimum = staged_optimum(graph, budget)
    if optimum is None:
        return
    pebbling = as_pebbling(graph, Milp())
    for makespan in (optimum, optimum + 1, optimum + 7):
        bound = lp_bound(pebbling, budget, 10.0, makespan=makespan)
        assert bound is not None
        assert bound <= optimum


def _late_overflow() -> Graph:
    """A graph whose best schedule recomputes before running once would overflow.

    'n0' takes long; its value is needed to run 'n1' again after the overflow at 'n5'.
    Keeping it through 'n3', whose value is large, means to drop the cheap 'v2' there
    and run 'n2' again for 'n4'.
    """
    return graph_of(
        [100, 1, 1, 1, 1, 1, 1],
        [1, 6, 3, 3, 0, 9, 0],
        [(0, 1), (1, 4), (2, 4), (1, 6), (3, 4), (5, 6)],
    )


def test_recomputing_before_the_first_overflow_can_be_best() -> None:
    """No stage may be left out because running everything once fits there."""
    graph = _late_overflow()
    for budget in range(10, 20):
        expected = staged_optimum(graph, budget)
        assert ck.solve(graph, budget, Milp()).makespan == expected


@pytest.mark.parametrize(
    ("budget", "makespan"),
    [(3, 45), (4, 26), (5, 22), (6, 21), (7, 20), (8, 19), (9, 18), (10, 17)],
)
def test_checkmates_unit_chain(budget: int, makespan: int) -> None:
    """Eight layers, unit sizes and times: 9 + p(9, budget - 2) of Revolve."""
    k = 8
    edges = [(i, i + 1) for i in range(2 * k)]
    edges += [(k - 1 - j, k + 1 + j) for j in range(k)]
    graph = graph_of([1] * (2 * k + 1), [1] * (2 * k + 1), sorted(set(edges)))
    result = ck.solve(graph, budget, Milp())
    assert result.status is Status.OPTIMAL
    assert result.makespan == makespan


def test_two_bytes_are_too_few_for_the_unit_chain() -> None:
    """A backward needs two values beside its own."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (1, 3), (0, 4)]
    graph = graph_of([1] * 5, [1] * 5, edges)
    assert ck.solve(graph, 2, Milp()).status is Status.INFEASIBLE
    assert ck.solve(graph, 3, Milp()).status is Status.OPTIMAL


@settings(max_examples=40)
@given(graphs(nodes=5), st.integers(0, 8))
def test_no_staged_optimum_undercuts_the_unrestricted_one(
    graph: Graph, less: int
) -> None:
    """Staged schedules are some of those that the oracle ranges over."""
    budget = _budget(graph, less)
    staged = ck.solve(graph, budget, Milp())
    free = ck.solve(graph, budget, Exhaustive())
    if staged.makespan is not None:
        assert free.makespan is not None
        assert free.makespan <= staged.makespan
