"""Against exhaustive searches: of all schedules, and of those in the given order."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solvers.cp_sat.cases import Tight, graphs, pebblings, staged_optimum
from strategies import chains

import ckschedule as ck
from ckschedule import (
    ChainDP,
    Exhaustive,
    Graph,
    Scope,
    Status,
)
from ckschedule.solvers.cp_sat import RetentionCpSat
from ckschedule.solvers.order import Order


def check(graph: Graph, budget: int, order: Order, expected: int | None) -> None:
    result = ck.solve(graph, budget, RetentionCpSat(order=order, seeds=()))
    if expected is None:
        assert result.status is Status.INFEASIBLE
    else:
        assert (result.status, result.makespan) == (Status.OPTIMAL, expected)


@settings(max_examples=60)
@given(pebblings())
def test_the_given_order_of_a_pebbling(tight: Tight) -> None:
    """At any number of recomputations."""
    check(*tight, Order.GIVEN, staged_optimum(*tight))


@settings(max_examples=40)
@given(pebblings(most=6))
def test_any_order_of_a_pebbling(tight: Tight) -> None:
    """The scope is unrestricted."""
    check(*tight, Order.FREE, ck.solve(*tight, Exhaustive()).makespan)


@settings(max_examples=80)
@given(graphs())
def test_the_given_order_of_any_graph(tight: Tight) -> None:
    """With every feature that a graph can have."""
    check(*tight, Order.GIVEN, staged_optimum(*tight))


@settings(max_examples=60)
@given(graphs())
def test_any_order_of_any_graph(tight: Tight) -> None:
    """With every feature that a graph can have."""
    check(*tight, Order.FREE, ck.solve(*tight, Exhaustive()).makespan)


@settings(max_examples=60)
@given(chains(max_stages=4, largest=4), st.integers(0, 40))
def test_a_chain_is_at_most_as_slow_as_its_persistent_optimum(
    chain: ck.Chain, budget: int
) -> None:
    """Persistent schedules keep the given order; others may be faster, or smaller."""
    persistent = ck.solve(chain, budget, ChainDP())
    for order in Order:
        result = ck.solve(chain, budget, RetentionCpSat(order=order))
        if persistent.makespan is not None:
            assert result.status is Status.OPTIMAL
            assert result.makespan is not None
            assert result.makespan <= persistent.makespan


@pytest.mark.slow
@settings(max_examples=20)
@given(chains(max_stages=3, largest=4), st.integers(0, 40))
def test_any_order_of_a_chain(chain: ck.Chain, budget: int) -> None:
    """As the exhaustive search of the chain's graph."""
    check(
        chain.to_graph(),
        budget,
        Order.FREE,
        ck.solve(chain, budget, Exhaustive()).makespan,
    )


@settings(max_examples=20)
@given(pebblings(most=6), st.integers(2, 1000))
def test_units_change_nothing(tight: Tight, factor: int) -> None:
    """Bytes and ticks times a number: the same schedule, the ticks times it."""
    graph, budget = tight
    scaled = replace(
        graph,
        values=tuple(replace(v, size=v.size * factor) for v in graph.values),
        nodes=tuple(
            replace(
                node,
                modes=tuple(
                    replace(
                        mode,
                        time=mode.time * factor,
                        transient=(mode.transient or 0) * factor,
                    )
                    for mode in node.modes
                ),
            )
            for node in graph.nodes
        ),
    )
    solver = RetentionCpSat(seeds=())
    plain = ck.solve(graph, budget, solver)
    times = ck.solve(scaled, budget * factor, solver)
    assert plain.status is times.status
    assert plain.scope is Scope.GIVEN_ORDER
    if plain.makespan is not None:
        assert times.makespan == plain.makespan * factor
