"""Chen's planner and recursion: published numbers, bounds and exact counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import equal, run

from ckschedule.solvers.baselines import (
    ChenBudget,
    ChenRecursion,
    RecomputeAll,
    StoreAll,
    budget_plan,
    recursion_checkpoints,
    recursion_forwards,
)


@pytest.mark.parametrize(("n", "cost"), [(100, 20), (1000, 63)])
def test_best_plan_of_the_unit_chain_is_two_roots(n: int, cost: int) -> None:
    """x + y over all segment budgets; 2 sqrt(1000) = 63.2 (arXiv 1604.06174)."""
    plans = [budget_plan([1] * n, budget) for budget in range(n + 1)]
    assert min(plan.stored + plan.largest for plan in plans) == cost


def test_the_last_open_segment_counts() -> None:
    """The paper's listing forgets it: here it is the largest."""
    plan = budget_plan([3, 1, 1, 1], 3)
    assert (plan.lengths, plan.largest, plan.stored) == ((2, 2), 4, 1)
    plan = budget_plan([1, 1, 1], 5)
    assert (plan.lengths, plan.largest, plan.stored) == ((3,), 3, 0)


def test_budget_search_approaches_two_roots() -> None:
    """Unit chain of 100 steps: 2 sqrt(100) and the input, simulated."""
    chain = equal(100)
    assert run(ChenBudget(), chain).peak <= 22
    assert run(StoreAll(), chain).peak == 101


def test_budget_search_prefers_the_fastest_plan_that_fits() -> None:
    """More memory must not be left unused for a slower plan."""
    chain = equal(100)
    lowest = run(ChenBudget(), chain)
    wide = run(ChenBudget(), chain, budget=40)
    assert lowest.peak <= wide.peak <= 40
    assert wide.makespan <= lowest.makespan


def test_first_plan_of_the_search_recomputes_all() -> None:
    """Segment budget 0 closes a segment after each step that takes bytes."""
    chain = equal(9, saved=40)
    assert (
        run(ChenBudget(rounds=1, trials=1), chain).peak
        <= run(RecomputeAll(), chain).peak
    )


def test_recursion_keeps_a_logarithm_of_outputs() -> None:
    """g(n) = k log_{k+1} n: 10 for n = 1024 and k = 1 (arXiv 1604.06174)."""
    assert recursion_checkpoints(1024) == 10
    assert recursion_checkpoints(1025) == 11
    assert recursion_checkpoints(81, 2) == 8
    assert recursion_checkpoints(1) == 0


def test_recursion_forwards_of_powers_of_two() -> None:
    """k = 1: half of each level is swept, n / 2 log2 n, and n are recorded."""
    assert recursion_forwards(1024) == 1024 + 512 * 10


@settings(max_examples=60)
@given(n=st.integers(1, 70), k=st.integers(1, 5))
def test_recursion_runs_what_its_formulas_say(n: int, k: int) -> None:
    """Outputs of one byte, nothing saved: the peak counts outputs, times forwards.

    Besides the checkpoints there are the input and the output being made.
    """
    trace = run(ChenRecursion(k), equal(n))
    forwards = sum(trace.computations[f"F{i}"] for i in range(1, n + 1))
    assert forwards == recursion_forwards(n, k)
    assert trace.peak <= 1 + recursion_checkpoints(n, k) + 1
