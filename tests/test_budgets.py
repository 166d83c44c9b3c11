"""What a percentage of a model's memory is."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pebblings import pebbling, pebblings, training
from strategies import chains

import ckschedule as ck
from ckschedule import Chain, Graph, Mode, Node, StaticMemory, Value
from ckschedule.budgets import budget_bytes, store_all
from ckschedule.errors import InvalidBudgetError


def test_all_of_a_graphs_memory_is_what_running_it_once_takes() -> None:
    """Each value lies there until its last use: 1, 1 + 2, 2 + 4, 4 + 8 bytes."""
    graph = pebbling([[], [0], [1], [2]], [1, 2, 4, 8], [1] * 4)
    assert budget_bytes(graph, "100%") == 12
    assert budget_bytes(graph, "50%") == 6
    static = replace(graph, static=StaticMemory(buffers=100))
    assert budget_bytes(static, "100%") == 112


@settings(max_examples=100)
@given(pebblings())
def test_nothing_is_recomputed_within_all_of_a_graphs_memory(graph: Graph) -> None:
    """What the percentages refer to runs every node once, needed or not."""
    trace = store_all(graph)
    assert trace.makespan == graph.base_time
    assert trace.recomputations == {}
    assert budget_bytes(graph, "100%") == trace.peak
    found = ck.solve(graph, "100%", ck.Exhaustive()).raise_for_status()
    assert found.recomputations == {}


@settings(max_examples=100)
@given(chains(max_stages=4, variants=1))
def test_a_chain_and_its_graph_agree_but_for_what_a_chain_keeps(chain: Chain) -> None:
    """The graph frees what nothing needs; both take the base time."""
    graph = chain.to_graph()
    assert budget_bytes(graph, "100%") <= budget_bytes(chain, "100%")
    assert store_all(graph).makespan == chain.base_time


@given(pebblings(), st.integers(0, 300))
def test_percentages_of_graphs_are_rounded_down(graph: Graph, percent: int) -> None:
    """As for chains."""
    full = budget_bytes(graph, "100%")
    assert budget_bytes(graph, f" {percent} % ") == full * percent // 100


def test_a_graph_that_does_not_run_in_order_has_no_percentages() -> None:
    """The message names the node, what it needs, and the way out."""
    graph = pebbling([[1], []], [1, 1], [1, 1])
    with pytest.raises(InvalidBudgetError, match=r"'60%' .* 'n0' .* 'v1'.*write bytes"):
        budget_bytes(graph, "60%")
    assert budget_bytes(graph, "2 B") == 2


def test_a_graph_whose_order_is_illegal_has_no_percentages() -> None:
    """Consuming what is pinned is only found out by simulating."""
    values = (Value(name="x", size=1), Value(name="y", size=1))
    mode = Mode(name="run", time=1, outputs=("y",), needs=("x",), consumes=("x",))
    graph = Graph(
        values=values,
        nodes=(Node(name="N", modes=(mode,)),),
        inputs=("x",),
        targets=("y",),
    )
    with pytest.raises(InvalidBudgetError, match=r"no legal schedule: .* write bytes"):
        budget_bytes(graph, "60%")


def test_the_percentage_of_a_graph_does_not_change_with_the_front() -> None:
    """A front answers it as a search does."""
    graph = training([5, 3, 7], [1, 1, 1])
    front = ck.pareto(graph, ck.Exhaustive())
    assert front.at("90%").makespan == ck.solve(graph, "90%", ck.Exhaustive()).makespan


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("n100", 46319),
        ("n250", 146840),
    ],
)
def test_published_budgets_are_fractions_of_that_peak(name: str, peak: int) -> None:
    """The tables of Moccasin (Bartan et al. 2023, arXiv:2304.14463) count so."""
    folder = os.environ.get("CKSCHEDULE_DATA")
    if not folder:
        pytest.skip("CKSCHEDULE_DATA names no folder of published graphs")
    from ckschedule.importers.node_link import import_node_link

    path = Path(folder, "random_layered", f"{name}.json")
    graph = import_node_link(path, recompute_backward=True)
    assert budget_bytes(graph, "100%") == peak
