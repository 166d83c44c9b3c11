"""LowerSetDP's schedules against the oracle's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import equal
from solvers.cut_dp.graphs import training_graphs
from solvers.cut_dp.linear import linear_optimum

import ckschedule as ck
from ckschedule import Exhaustive, Graph, Scope, Status
from ckschedule.errors import (
    InvalidSettingError,
    ResourceLimitError,
    UnsupportedModelError,
)
from ckschedule.solvers.base import Report
from ckschedule.solvers.lower_sets import LowerSetDP

SOLVERS = [LowerSetDP(), LowerSetDP(exact=True), LowerSetDP(exact=True, work=0)]


def check(graph: Graph, budget: int, solver: LowerSetDP) -> None:
    """Legal and within the budget (or `solve` raises), and never below the optimum."""
    result = ck.solve(graph, budget, solver)
    if result.makespan is None:
        assert result.status is Status.UNKNOWN
        return
    exact = ck.solve(graph, budget, Exhaustive())
    assert exact.makespan is not None
    assert result.makespan >= exact.makespan
    assert result.scope is Scope.UNRESTRICTED
    assert result.lower_bound == graph.base_time


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@settings(max_examples=40)
@given(training_graphs(), st.integers(4, 30))
def test_no_schedule_beats_the_oracle(
    solver: LowerSetDP, graph: Graph, budget: int
) -> None:
    """On graphs with skips and reads out of turn."""
    check(graph, budget, solver)


@settings(max_examples=30)
@given(training_graphs(once=True, special=True), st.integers(4, 40))
def test_nodes_that_run_once_do(graph: Graph, budget: int) -> None:
    """Transients, values that stay and static bytes as well."""
    check(graph, budget, LowerSetDP())


@settings(max_examples=30)
@given(training_graphs(backwards=False), st.integers(2, 20))
def test_a_graph_without_backward_part_is_answered(graph: Graph, budget: int) -> None:
    """Most of its values lie somewhere: there it is taken to turn."""
    check(graph, budget, LowerSetDP())


def test_each_block_is_computed_again_once() -> None:
    """Sixteen forwards in 10 bytes: blocks take one more forward each, at most."""
    result = ck.solve(ck.catalog.training_path(16), 11, LowerSetDP(work=0))
    assert result.trace is not None
    assert max(result.trace.computations.values()) == 2


def test_improving_goes_beyond_blocks() -> None:
    """Within few bytes a forward has to run more than twice."""
    plain = ck.solve(ck.catalog.training_path(16), 6, LowerSetDP(work=0))
    assert plain.status is Status.UNKNOWN
    improved = ck.solve(ck.catalog.training_path(16), 6, LowerSetDP())
    assert improved.makespan is not None
    assert improved.makespan >= linear_optimum(16, 6)


def test_equal_questions_have_equal_answers() -> None:
    """The schedule is the same one, operation by operation."""
    assert ck.solve(ck.catalog.training_path(12), 7, LowerSetDP()) == ck.solve(
        ck.catalog.training_path(12), 7, LowerSetDP()
    )


def test_progress_comes_with_the_best_so_far() -> None:
    """One report a turn."""
    reports: list[Report] = []
    result = ck.solve(
        ck.catalog.training_path(8), 8, LowerSetDP(), progress=reports.append
    )
    assert [(report.done, report.total) for report in reports] == [(1, 1)]
    assert reports[-1].makespan == result.makespan


def test_without_time_there_is_still_an_answer() -> None:
    """Only every node once is tried; that the time is over is said."""
    result = ck.solve(ck.catalog.training_path(8), 4, LowerSetDP(time_limit=0))
    assert (result.status, result.stop) == (Status.UNKNOWN, ck.Stop.TIME_LIMIT)
    assert (
        ck.solve(ck.catalog.training_path(8), 10, LowerSetDP(time_limit=0)).makespan
        == 17
    )


def test_too_many_lower_sets_are_refused() -> None:
    """The exact family has n + 1 of them on a path."""
    with pytest.raises(ResourceLimitError, match=r"more than 8 .*max_lower_sets"):
        ck.solve(
            ck.catalog.training_path(8), 4, LowerSetDP(exact=True, max_lower_sets=8)
        )


def test_a_chain_is_refused_with_the_solver_for_it() -> None:
    """What its stages save holds their inputs."""
    with pytest.raises(UnsupportedModelError, match=r"LowerSetDP .* or ChainDP"):
        ck.solve(equal(3, saved=1), 10, LowerSetDP())


def test_settings_that_mean_nothing_are_refused() -> None:
    """By name, with the value."""
    with pytest.raises(InvalidSettingError, match=r"max_lower_sets is 1; give"):
        LowerSetDP(max_lower_sets=1)
    with pytest.raises(InvalidSettingError, match=r"exact is 1; give True or False"):
        LowerSetDP(exact=1)  # type: ignore[arg-type]  # that is refused
    with pytest.raises(InvalidSettingError, match=r"tries is 0"):
        LowerSetDP(tries=0)
    with pytest.raises(InvalidSettingError, match=r"time_limit is -1"):
        LowerSetDP(time_limit=-1)
