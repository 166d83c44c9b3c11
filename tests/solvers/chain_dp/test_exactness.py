"""ChainDP against searches that do not know its recurrence."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from oracles.rule_based import persistent_front
from oracles.trees import tree_front
from strategies import chains

import ckschedule as ck
from ckschedule import Chain, ChainDP, Status


def exact_front(chain: Chain) -> list[tuple[int, int, int]]:
    """Peak without static bytes, makespan and forward executions of every point."""
    front = ck.pareto(chain, ChainDP())
    backwards = len(chain.sequence) - chain.frozen_prefix
    return [
        (point.activation_peak, point.makespan, point.executions - backwards)
        for point in front
    ]


def rules_front(chain: Chain) -> list[tuple[int, int, int]]:
    """What the rules allow, without points that only save executions."""
    points = persistent_front(chain)
    return [
        point
        for before, point in pairwise([(0, -1, 0), *points])
        if point[1] != before[1]
    ]


@settings(max_examples=3000)
@given(chains(max_stages=3))
def test_the_front_is_that_of_the_rules_on_three_stages(chain: Chain) -> None:
    """Every breakpoint, its time and its fewest executions."""
    assert exact_front(chain) == rules_front(chain)


@settings(max_examples=400)
@given(chains(min_stages=4, max_stages=4))
def test_the_front_is_that_of_the_rules_on_four_stages(chain: Chain) -> None:
    """Four stages are the fewest on which cuts nest."""
    assert exact_front(chain) == rules_front(chain)


@pytest.mark.slow
@settings(max_examples=4000)
@given(chains(min_stages=4, max_stages=4, variants=1))
def test_the_front_is_that_of_the_rules_on_many_chains_of_four(chain: Chain) -> None:
    """More of the same."""
    assert exact_front(chain) == rules_front(chain)


@pytest.mark.slow
@settings(max_examples=150)
@given(chains(min_stages=5, max_stages=5, variants=1, largest=4))
def test_the_front_is_that_of_the_rules_on_five_stages(chain: Chain) -> None:
    """A sweep may now keep two outputs below the loss."""
    assert exact_front(chain) == rules_front(chain)


@settings(max_examples=150)
@given(chains(min_stages=4, max_stages=5))
def test_the_front_is_that_of_all_nestings(chain: Chain) -> None:
    """Each nesting of cuts and records goes through the simulator."""
    static = chain.static.total
    found = [(peak + static, ticks) for peak, ticks, _ in exact_front(chain)]
    assert found == tree_front(chain)


@settings(max_examples=150)
@given(chains(max_stages=6))
def test_one_byte_below_a_breakpoint_the_one_before_is_best(chain: Chain) -> None:
    """A run for one budget agrees with the front at every step's two sides."""
    before: int | None = None
    for point in ck.pareto(chain, ChainDP()):
        below = ck.solve(chain, point.peak - 1, ChainDP()) if point.peak else None
        if below is not None:
            assert below.makespan == before
            assert (below.status is Status.INFEASIBLE) == (before is None)
            if before is None:
                assert below.minimum_budget == point.peak
        at = ck.solve(chain, point.peak, ChainDP())
        assert (at.status, at.peak, at.makespan) == (
            Status.OPTIMAL,
            point.peak,
            point.makespan,
        )
        before = point.makespan


@settings(max_examples=60)
@given(chains(min_stages=9, max_stages=30, largest=40))
def test_every_point_of_a_longer_front_simulates_to_its_claim(chain: Chain) -> None:
    """`pareto` raises SolverFaultError otherwise; points rise in peak, fall in time."""
    front = ck.pareto(chain, ChainDP())
    assert front.exact
    for before, after in pairwise(front):
        assert before.peak < after.peak
        assert before.makespan > after.makespan
