"""CutDP's schedules against the oracle's, on small training graphs of every kind."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import equal, one_node
from solvers.cut_dp.graphs import training_graphs

import ckschedule as ck
from ckschedule import Exhaustive, Graph, Mode, Node, Scope, Status, Value
from ckschedule.errors import InvalidSettingError, UnsupportedModelError
from ckschedule.solvers.base import Report
from ckschedule.solvers.cut_dp import CutDP


def check(graph: Graph, budget: int, solver: CutDP) -> None:
    """Legal and within the budget (or `solve` raises), and never below the optimum."""
    result = ck.solve(graph, budget, solver)
    exact = ck.solve(graph, budget, Exhaustive())
    if result.makespan is None:
        assert result.status is Status.UNKNOWN
        return
    assert exact.makespan is not None
    assert result.makespan >= exact.makespan
    assert result.lower_bound is not None
    assert result.lower_bound <= exact.makespan


@settings(max_examples=60)
@given(training_graphs(), st.integers(4, 30))
def test_no_schedule_beats_the_oracle(graph: Graph, budget: int) -> None:
    """On graphs with skips and reads out of turn."""
    check(graph, budget, CutDP())


@settings(max_examples=40)
@given(training_graphs(once=True, special=True), st.integers(4, 40))
def test_nodes_that_run_once_do(graph: Graph, budget: int) -> None:
    """Transients, values that stay and static bytes as well."""
    check(graph, budget, CutDP())


@settings(max_examples=30)
@given(training_graphs(forwards=8), st.integers(4, 40), st.integers(2, 4))
def test_merged_units_give_legal_schedules(
    graph: Graph, budget: int, units: int
) -> None:
    """As few units as it takes, and nothing improved afterwards."""
    ck.solve(graph, budget, CutDP(units=units, work=0))


@settings(max_examples=40)
@given(training_graphs(backwards=False), st.integers(2, 20))
def test_a_graph_without_backward_part_is_answered(graph: Graph, budget: int) -> None:
    """Most of its values lie somewhere: there it is taken to turn."""
    check(graph, budget, CutDP())


@settings(max_examples=40)
@given(training_graphs(forwards=5))
def test_what_fits_without_repetition_is_optimal(graph: Graph) -> None:
    """The time of every node once is the bound."""
    result = ck.solve(graph, 10**6, CutDP())
    assert result.status is Status.OPTIMAL
    assert result.makespan == graph.base_time


def test_a_single_node_is_scheduled() -> None:
    """It turns nowhere."""
    assert ck.solve(targeted(), 1, CutDP()).status is Status.OPTIMAL
    assert ck.solve(targeted(), 0, CutDP()).status is Status.UNKNOWN


def targeted() -> Graph:
    """Return a graph of one node whose value is a target."""
    graph = one_node()
    return Graph(values=graph.values, nodes=graph.nodes, targets=("v",))


def test_bounds_are_about_all_schedules() -> None:
    """No more than the time of every node once is claimed."""
    result = ck.solve(ck.catalog.training_path(8), 4, CutDP())
    assert result.scope is Scope.UNRESTRICTED
    assert result.lower_bound == 17
    assert result.bound_source == "every node runs once"


def test_equal_questions_have_equal_answers() -> None:
    """The schedule is the same one, operation by operation."""
    first = ck.solve(ck.catalog.training_path(12), 5, CutDP())
    again = ck.solve(ck.catalog.training_path(12), 5, CutDP())
    assert first == again


def test_progress_comes_with_the_best_so_far() -> None:
    """One report a reading of the graph."""
    reports: list[Report] = []
    ck.solve(ck.catalog.training_path(8), 4, CutDP(), progress=reports.append)
    assert [report.done for report in reports] == list(range(1, len(reports) + 1))
    assert reports[-1].done == reports[-1].total
    assert reports[-1].makespan == 26


def test_without_time_there_is_still_an_answer() -> None:
    """Only every node once is tried; that the time is over is said."""
    result = ck.solve(ck.catalog.training_path(8), 4, CutDP(time_limit=0))
    assert result.status is Status.UNKNOWN
    assert result.stop is ck.Stop.TIME_LIMIT
    assert ck.solve(ck.catalog.training_path(8), 10, CutDP(time_limit=0)).makespan == 17


def test_a_chain_is_refused_with_the_solver_for_it() -> None:
    """What its stages save holds their inputs."""
    with pytest.raises(UnsupportedModelError, match=r"CutDP .* holds .*, or ChainDP"):
        ck.solve(equal(3, saved=1), 10, CutDP())


def test_values_that_hold_others_are_refused_by_name() -> None:
    """Freeing them is not free."""
    mode = Mode(name="run", time=1, outputs=("a", "b"))
    graph = Graph(
        values=(Value(name="a", size=1), Value(name="b", size=1, holds=("a",))),
        nodes=(Node(name="N", modes=(mode,)),),
        targets=("b",),
    )
    with pytest.raises(UnsupportedModelError, match=r"CutDP .* 'b' holds 'a'"):
        ck.solve(graph, 10, CutDP())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"units": 1}, r"CutDP: units is 1; give an integer of at least 2"),
        ({"slots": 0}, r"CutDP: slots is 0"),
        ({"tries": 0}, r"CutDP: tries is 0"),
        ({"work": -1}, r"CutDP: work is -1"),
        ({"time_limit": -1}, r"CutDP: time_limit is -1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    settings: dict[str, int], message: str
) -> None:
    """By name, with the value."""
    with pytest.raises(InvalidSettingError, match=message):
        CutDP(**settings)
