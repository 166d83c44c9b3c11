"""The least budget against the smallest one that works."""

from hypothesis import given, settings
from solvers.graph_bounds.drawn import any_graphs, pebbled
from strategies import chains

import ckschedule as ck
from ckschedule import Chain, Exhaustive, Status
from ckschedule.costs import Graph
from ckschedule.solvers.graph_bounds import least_budget


def smallest(graph: Graph) -> int | None:
    """The smallest budget that works; None if none does."""
    result = ck.solve(graph, 0, Exhaustive())
    if result.status is Status.OPTIMAL:
        return 0
    return result.minimum_budget


@settings(max_examples=250)
@given(any_graphs())
def test_nothing_fits_below_the_least_budget(graph: Graph) -> None:
    """Whatever modes, holders, consumption and kept values there are."""
    found = smallest(graph)
    if found is not None:
        assert least_budget(graph).bytes <= found


@settings(max_examples=250)
@given(pebbled())
def test_the_search_backwards_finds_nothing_that_is_false(graph: Graph) -> None:
    """It knows about values that stay and nodes that run once."""
    found = smallest(graph)
    if found is not None:
        assert least_budget(graph).bytes <= found


@settings(max_examples=40)
@given(chains(max_stages=3, largest=3))
def test_nothing_fits_below_the_least_budget_of_a_chain(chain: Chain) -> None:
    """Parameter gradients stay; gradients and saved tensors are consumed."""
    graph = chain.to_graph()
    found = smallest(graph)
    assert found is not None
    assert least_budget(graph).bytes <= found
