"""Sizes and times that floating point does not hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solvers.milp.oracle import graph_of, staged_optimum

import ckschedule as ck
from ckschedule import Status
from ckschedule.costs import Graph
from ckschedule.solvers.milp import LpRounding, Milp, lp_bound
from ckschedule.solvers.pebbling import as_pebbling

TERA = 10**12
"""Bytes of a large tensor."""


def _unit_chain(layers: int, size: int, time: int = 1) -> Graph:
    """Return Checkmate's linear chain with equal sizes and times."""
    n = 2 * layers + 1
    edges = {(i, i + 1) for i in range(n - 1)}
    edges |= {(layers - 1 - j, layers + 1 + j) for j in range(layers)}
    return graph_of([time] * n, [size] * n, sorted(edges))


@pytest.mark.parametrize("size", [1, 1000003, TERA, TERA + 1])
def test_the_unit_of_sizes_changes_nothing(size: int) -> None:
    """Bytes of a terabyte tensor are no numbers for tolerances of 1e-6.

    The optima are 5 + p(5, budget - 2) of Revolve.
    """
    graph = _unit_chain(4, size)
    for budget, makespan in ((3, 15), (4, 11), (5, 10), (6, 9)):
        for spare in (0, size - 1):
            result = ck.solve(graph, budget * size + spare, Milp())
            assert result.status is Status.OPTIMAL
            assert result.makespan == staged_optimum(graph, budget * size) == makespan


@pytest.mark.parametrize("size", [1, TERA])
def test_a_byte_too_few_is_infeasible(size: int) -> None:
    """Integers prove it: no tolerance of floats is asked."""
    graph = _unit_chain(4, size)
    for solver in (Milp(), LpRounding()):
        result = ck.solve(graph, 3 * size - 1, solver)
        assert result.status is Status.INFEASIBLE


def test_a_plan_never_passes_the_budget_by_its_rounding() -> None:
    """Ten equal layers of 1.4 slots: in slots rounded down, more would fit."""
    graph = _unit_chain(5, 14)
    for budget in range(42, 120, 7):
        result = ck.solve(graph, budget, Milp())
        assert result.peak is not None
        assert result.peak <= budget
        assert result.makespan == staged_optimum(graph, budget // 14 * 14)


def test_a_value_of_one_byte_counts_beside_terabytes() -> None:
    """HiGHS cannot see it: what it finds passes the budget, and is dropped."""
    times, sizes = [5, 1, 1, 1], [TERA, TERA + 1, 1, TERA]
    graph = graph_of(times, sizes, [(0, 1), (0, 3), (1, 2), (2, 3)])
    for budget in range(2 * TERA - 2, 2 * TERA + 6):
        optimum = staged_optimum(graph, budget)
        for solver in (Milp(), Milp(seeds=()), LpRounding()):
            result = ck.solve(graph, budget, solver)
            if optimum is None:
                assert result.trace is None
                continue
            assert result.status is not Status.INFEASIBLE
            if result.makespan is not None:
                assert result.peak is not None
                assert result.peak <= budget
                assert result.lower_bound is not None
                assert result.lower_bound <= optimum <= result.makespan


@settings(max_examples=40)
@given(
    st.lists(st.integers(TERA, TERA + 3), min_size=6, max_size=6),
    st.lists(st.integers(10**9, 10**9 + 5), min_size=6, max_size=6),
    st.integers(2 * TERA, 5 * TERA + 15),
)
def test_large_numbers_never_make_a_wrong_claim(
    sizes: list[int], times: list[int], budget: int
) -> None:
    """Proofs may fail where floats do not tell one byte or tick; none is wrong."""
    edges = [(0, 1), (1, 2), (2, 3), (1, 4), (3, 4), (0, 5), (4, 5)]
    graph = graph_of(times, sizes, edges)
    optimum = staged_optimum(graph, budget)
    bound = lp_bound(as_pebbling(graph, Milp()), budget, 10.0)
    assert optimum is None or (bound is not None and bound <= optimum)
    for seeds in ((), None):
        result = ck.solve(graph, budget, Milp(seeds=seeds))
        if optimum is None:
            assert result.trace is None
        else:
            assert result.status in (Status.OPTIMAL, Status.FEASIBLE)
            assert result.makespan is not None
            assert result.lower_bound is not None
            assert result.lower_bound <= optimum <= result.makespan


def test_what_fits_without_recomputing_is_not_recomputed() -> None:
    """At the peak of running everything once, a byte more, and far more."""
    graph = _unit_chain(4, 7)
    peak = ck.solve(graph, TERA, Milp()).peak
    assert peak is not None
    for budget in (peak, peak + 1, 10**18):
        for solver in (Milp(), LpRounding()):
            result = ck.solve(graph, budget, solver)
            assert result.status is Status.OPTIMAL
            assert result.overhead == 0


@pytest.mark.parametrize("time", [10**6 + 3, 10**12 + 39])
def test_times_scale_the_optimum(time: int) -> None:
    """Costs are divided by what they have in common."""
    result = ck.solve(_unit_chain(4, 1, time), 4, Milp())
    assert result.status is Status.OPTIMAL
    assert result.makespan == 11 * time
