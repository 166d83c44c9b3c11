"""The greedy solver against the oracle, and the rules that its sequences obey."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solvers.local_search.pebbling_graphs import in_given_order, pebbling_graphs

import ckschedule as ck
from ckschedule import Exhaustive, Graph, Scope, Status
from ckschedule.errors import InvalidSettingError, UnsupportedModelError
from ckschedule.simulation import Trace, simulate
from ckschedule.solvers.completion import complete
from ckschedule.solvers.greedy import GreedyEviction
from ckschedule.solvers.order import Order
from ckschedule.solvers.pebbling import as_pebbling

ORDERS = pytest.mark.parametrize("order", list(Order))


def naive(graph: Graph) -> Trace:
    """Every needed node once, in order, each value freed as early as possible."""
    pebbling = as_pebbling(graph, GreedyEviction())
    codes = complete(pebbling.encoding, pebbling.mode)
    return simulate(graph, ck.schedule.from_codes(codes, pebbling.encoding))


@ORDERS
@settings(max_examples=150)
@given(pebbling_graphs(), st.data())
def test_it_keeps_the_budget_and_never_beats_the_optimum(
    order: Order, graph: Graph, data: st.DataObject
) -> None:
    """Whatever it finds is a schedule within its scope; `solve` has simulated it."""
    budget = data.draw(st.integers(0, naive(graph).peak))
    result = ck.solve(graph, budget, GreedyEviction(order=order))
    assert result.scope is order.scope
    exact = ck.solve(graph, budget, Exhaustive())
    if result.makespan is None:
        assert result.status is Status.UNKNOWN
        return
    assert result.peak is not None
    assert result.peak <= budget
    assert exact.makespan is not None
    assert exact.makespan <= result.makespan
    if order is Order.GIVEN:
        assert in_given_order(graph, result.raise_for_status().schedule)


@ORDERS
@settings(max_examples=100)
@given(pebbling_graphs(max_nodes=12))
def test_what_fits_as_it_is_runs_every_node_once(order: Order, graph: Graph) -> None:
    """And is proved to be optimal: no schedule takes less than the base time."""
    trace = naive(graph)
    result = ck.solve(graph, trace.peak, GreedyEviction(order=order))
    assert result.status is Status.OPTIMAL
    assert result.makespan == trace.makespan


def test_a_budget_below_what_lies_there_is_never_called_infeasible() -> None:
    """It has proved nothing."""
    graph = ck.catalog.uniform(stages=3).to_graph()
    pebbled = Graph(values=graph.values[:1], nodes=(), inputs=graph.inputs)
    result = ck.solve(pebbled, 0, GreedyEviction())
    assert result.status is Status.UNKNOWN
    assert result.scope is Scope.GIVEN_ORDER


def test_what_pebbling_cannot_say_is_refused_by_name() -> None:
    """A chain's saved tensors hold their input, and its forwards have variants."""
    chain = ck.catalog.uniform(stages=3)
    with pytest.raises(UnsupportedModelError, match="GreedyEviction takes graphs"):
        ck.solve(chain, 5, GreedyEviction())


def test_an_order_that_is_none_is_refused() -> None:
    """With what may be given."""
    with pytest.raises(InvalidSettingError, match="'given' or 'free'"):
        GreedyEviction(order="any")  # type: ignore[arg-type]  # that is the point
    assert GreedyEviction(order="free").order is Order.FREE  # type: ignore[arg-type]
