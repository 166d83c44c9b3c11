"""The local search against the oracle, and the rules that its sequences obey."""

from collections import Counter
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solvers.local_search.pebbling_graphs import (
    in_given_order,
    pebbling_graphs,
    runs_of,
)

import ckschedule as ck
from ckschedule import Exhaustive, Graph, Mode, Node, Status, Value
from ckschedule.errors import InvalidSettingError, UnsupportedModelError
from ckschedule.result import Stop
from ckschedule.simulation import measure
from ckschedule.solvers.base import Report
from ckschedule.solvers.completion import complete
from ckschedule.solvers.greedy import GreedyEviction
from ckschedule.solvers.local_search import LocalSearch
from ckschedule.solvers.order import Order
from ckschedule.solvers.pebbling import as_pebbling

ORDERS = pytest.mark.parametrize("order", list(Order))


def naive_peak(graph: Graph) -> int:
    """Of every needed node once, in order, each value freed as early as possible."""
    pebbling = as_pebbling(graph, LocalSearch())
    return measure(pebbling.encoding, complete(pebbling.encoding, pebbling.mode))[0]


def path(n: int) -> Graph:
    """Forwards f0..f(n-1), then backwards, each of which reads its forward's output."""
    needs = [[v - 1] if v else [] for v in range(n)]
    needs += [[n + k - 1, n - 1 - k] if k else [n - 1] for k in range(n)]
    return Graph(
        values=tuple(Value(name=f"v{v}", size=1 + v % 3) for v in range(2 * n)),
        nodes=tuple(
            Node(
                name=f"n{v}",
                modes=(
                    Mode(
                        name="run",
                        time=1 + v % 5,
                        outputs=(f"v{v}",),
                        needs=tuple(f"v{u}" for u in before),
                    ),
                ),
            )
            for v, before in enumerate(needs)
        ),
        targets=(f"v{2 * n - 1}",),
        time_unit="step",
        name="path",
    )


@ORDERS
@settings(max_examples=80)
@given(pebbling_graphs(), st.data())
def test_it_keeps_the_budget_and_never_beats_the_optimum(
    order: Order, graph: Graph, data: st.DataObject
) -> None:
    """Whatever it finds is a schedule within its scope; `solve` has simulated it."""
    budget = data.draw(st.integers(0, naive_peak(graph)))
    result = ck.solve(graph, budget, LocalSearch(order=order, moves=2000, workers=1))
    assert result.scope is order.scope
    exact = ck.solve(graph, budget, Exhaustive())
    if result.makespan is None:
        assert result.status is Status.UNKNOWN
        return
    assert result.peak is not None
    assert result.peak <= budget
    assert exact.makespan is not None
    assert exact.makespan <= result.makespan
    schedule = result.raise_for_status().schedule
    if order is Order.GIVEN:
        assert in_given_order(graph, schedule)
    runs = Counter(runs_of(schedule))
    assert all(node.recomputable or runs[node.name] <= 1 for node in graph.nodes)


@settings(max_examples=60)
@given(pebbling_graphs(plain=True), st.data())
def test_on_tiny_graphs_it_finds_an_optimum(graph: Graph, data: st.DataObject) -> None:
    """Free order; seven nodes leave little to get lost in."""
    budget = data.draw(st.integers(0, naive_peak(graph)))
    exact = ck.solve(graph, budget, Exhaustive())
    result = ck.solve(graph, budget, LocalSearch(moves=20_000, workers=1))
    assert result.makespan == exact.makespan


@ORDERS
@settings(max_examples=60)
@given(pebbling_graphs(max_nodes=12), st.data())
def test_it_is_never_worse_than_the_greedy_start(
    order: Order, graph: Graph, data: st.DataObject
) -> None:
    """In the given order, from which it begins."""
    budget = data.draw(st.integers(0, naive_peak(graph)))
    start = ck.solve(graph, budget, GreedyEviction())
    result = ck.solve(graph, budget, LocalSearch(order=order, moves=500, workers=1))
    if start.makespan is not None and order is Order.GIVEN:
        assert result.makespan is not None
        assert result.makespan <= start.makespan


@ORDERS
@settings(max_examples=60)
@given(pebbling_graphs(max_nodes=12))
def test_what_fits_as_it_is_runs_every_node_once(order: Order, graph: Graph) -> None:
    """And is proved to be optimal at once: nothing takes less than the base time."""
    result = ck.solve(graph, naive_peak(graph), LocalSearch(order=order))
    assert result.status is Status.OPTIMAL
    assert result.stop is Stop.FINISHED


@ORDERS
@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_seed_and_moves_give_the_same_schedule(
    order: Order, workers: int
) -> None:
    """Whatever the machine does meanwhile; another seed may give another one."""
    graph = path(12)
    solver = LocalSearch(order=order, moves=30_000, workers=workers, time_limit=inf)
    one, two = (ck.solve(graph, 16, solver) for _ in range(2))
    assert one.trace == two.trace
    assert one.makespan is not None
    other = ck.solve(graph, 16, replace(solver, seed=7))
    assert other.makespan is not None


def test_time_limits_are_stop_reasons_and_prove_nothing() -> None:
    """Nothing fits two bytes; the search cannot know."""
    result = ck.solve(path(12), 2, LocalSearch(time_limit=0.2))
    assert result.status is Status.UNKNOWN
    assert result.stop is Stop.TIME_LIMIT
    assert result.minimum_budget is None


def test_it_reports_milliseconds_makespan_and_bound() -> None:
    """As it goes; the bound is the base time."""
    reports: list[Report] = []
    graph = path(12)
    result = ck.solve(graph, 16, LocalSearch(time_limit=0.4), progress=reports.append)
    assert reports
    assert all(r.done <= r.total == 400 for r in reports)
    assert all(r.lower_bound == graph.base_time for r in reports)
    assert reports[-1].makespan == result.makespan


def test_sizes_and_times_may_be_huge() -> None:
    """Sums stay within 64 bits: units become coarser, and what fits in them fits."""
    graph = path(8)
    factor = 10**15 + 37
    huge = replace(
        graph,
        values=tuple(replace(v, size=v.size * factor + 1) for v in graph.values),
        nodes=tuple(
            replace(n, modes=(replace(n.modes[0], time=n.modes[0].time * factor),))
            for n in (
                replace(node, modes=(replace(node.modes[0], transient=None),))
                for node in graph.nodes
            )
        ),
    )
    solver = LocalSearch(moves=20_000, workers=1)
    small = ck.solve(graph, 12, solver)
    large = ck.solve(huge, 12 * factor + 100, solver)
    assert small.makespan is not None
    assert large.makespan == small.makespan * factor


@ORDERS
def test_the_largest_budget_is_as_good_as_any_that_everything_fits(
    order: Order,
) -> None:
    """Differences of it stay within 64 bits."""
    graph = path(8)
    for solver in (LocalSearch(order=order), GreedyEviction(order=order)):
        assert ck.solve(graph, 2**63 - 1, solver).status is Status.OPTIMAL


def test_times_may_be_zero() -> None:
    """Then the base time is reached whatever runs again."""
    graph = path(8)
    idle = replace(
        graph,
        nodes=tuple(
            replace(n, modes=(replace(n.modes[0], time=0),)) for n in graph.nodes
        ),
    )
    result = ck.solve(idle, 10, LocalSearch(moves=20_000, workers=1))
    assert result.status is Status.OPTIMAL
    assert result.makespan == 0


def test_what_pebbling_cannot_say_is_refused_by_name() -> None:
    """Saved tensors hold their stage's input."""
    chain = ck.catalog.uniform(stages=3)
    for model in (chain, chain.to_graph()):
        with pytest.raises(UnsupportedModelError, match="LocalSearch takes graphs"):
            ck.solve(model, 5, LocalSearch())


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("order", "any"),
        ("time_limit", -1),
        ("seed", -1),
        ("moves", 1.5),
        ("workers", 0),
    ],
)
def test_settings_that_mean_nothing_are_refused(setting: str, value: object) -> None:
    """The message names the setting."""
    with pytest.raises(InvalidSettingError, match=f"LocalSearch: {setting}"):
        LocalSearch(**{setting: value})  # type: ignore[arg-type]  # that is the point
