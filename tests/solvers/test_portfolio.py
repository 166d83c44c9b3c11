"""The portfolio: what it takes from others, and what it claims for itself."""

from math import inf

import pytest
from hypothesis import given, settings
from pebblings import pebbling, training
from solvers.graph_bounds.drawn import pebbled, staged_optimum

import ckschedule as ck
from ckschedule.costs.encoding import encode
from ckschedule.errors import InvalidSettingError, SolverFaultError
from ckschedule.result import Scope, Status, Stop
from ckschedule.schedule import to_codes
from ckschedule.solvers.base import AbstractSolver
from ckschedule.solvers.given import Given
from ckschedule.solvers.order import keeps_order

GRAPH = pebbling(
    needs=[[], [], [0], [1], [2, 3], [0, 4]],
    sizes=[2, 3, 1, 1, 2, 1],
    times=[4, 1, 2, 3, 1, 1],
)


def sequence(result: ck.Result) -> list[int]:
    """Return the nodes of a result's schedule in running order."""
    trace = result.raise_for_status()
    encoding = encode(trace.graph)
    codes = to_codes(trace.schedule, encoding)
    return [int(k) for k in encoding.node[codes[codes >= 0]]]


@settings(max_examples=40)
@given(pebbled(largest_n=6))
def test_a_seed_of_another_order_is_no_answer_for_the_given_one(
    graph: ck.Graph,
) -> None:
    """A free optimum may be faster than anything that keeps the order."""
    naive = ck.solve(graph, 2**40, ck.StoreAll()).peak
    assert naive is not None
    budget = max(0, naive - 2)
    seeds = (ck.Exhaustive(max_states=200_000),)
    result = ck.solve(
        graph, budget, ck.Portfolio(order=ck.Order.GIVEN, seeds=seeds, time_limit=10)
    )
    optimum = staged_optimum(graph, budget)
    if result.makespan is not None:
        assert optimum is not None
        assert result.makespan >= optimum
        assert keeps_order(sequence(result))
    if result.status is Status.OPTIMAL:
        assert result.makespan == optimum
    if result.status is Status.INFEASIBLE:
        assert optimum is None


@pytest.mark.parametrize(
    ("nodes", "keeps"),
    [
        ([0, 1, 2], True),
        ([0, 1, 0, 2], True),
        ([0, 1, 0, 1, 2], True),
        ([1, 0, 2], False),  # a first computation out of order
        ([0, 1, 1, 0, 2], False),  # recomputations that fall
        ([0, 1, 0, 0, 2], False),  # the same one twice in a stage
        ([0, 1, 2, 0], False),  # after the last first computation
        ([], True),
    ],
)
def test_the_given_order_is_told_from_others(nodes: list[int], keeps: bool) -> None:
    """By the words of the scope."""
    assert keeps_order(nodes) is keeps


def test_a_seed_of_another_graph_is_a_fault() -> None:
    """Its schedule means nothing here; the message names whose it is."""
    foreign = ck.solve(ck.catalog.training_path(3), 10, ck.StoreAll()).schedule
    assert foreign is not None
    with pytest.raises(SolverFaultError, match="Given"):
        ck.solve(GRAPH, 9, ck.Portfolio(seeds=(Given(foreign),)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seeds": ("x",)}, "seeds"),
        ({"oracle": 3}, "oracle"),
        ({"order": "random"}, "order"),
        ({"time_limit": 10**400}, "time_limit"),
        ({"seed": -1}, "seed"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(
    given: dict[str, object], words: str
) -> None:
    """When they are set, not when they are used."""
    with pytest.raises(InvalidSettingError, match=words):
        ck.Portfolio(**given)  # type: ignore[arg-type]  # wrong on purpose


def test_without_a_limit_it_reports_and_ends() -> None:
    """Infinity is a limit that one may set."""
    reports: list[ck.Report] = []
    graph = training([3, 1, 2, 4, 1, 2], [2, 3, 1, 4, 2, 1])
    solver = ck.Portfolio(time_limit=inf)
    result = ck.solve(graph, 12, solver, progress=reports.append)
    assert result.status is Status.OPTIMAL
    assert result.stop is Stop.FINISHED
    assert reports
    assert all(report.total == 0 for report in reports)


def test_an_answer_names_who_found_it_without_what_that_one_knew() -> None:
    """Texts of settings go to documents and tables: schedules are no part of them."""
    graph = training([3, 1, 2, 4, 1, 2], [2, 3, 1, 4, 2, 1])
    result = ck.solve(graph, 10, ck.Portfolio(order=ck.Order.GIVEN, time_limit=10))
    assert "Given(" not in result.solver
    assert "<Order" not in result.solver


NOTHING_TO_RUN = ck.Graph(
    values=(ck.Value(name="a", size=3),),
    nodes=(),
    inputs=("a",),
    targets=("a",),
    time_unit="step",
)


@pytest.mark.parametrize(
    "solver",
    [
        ck.Milp(),
        ck.LpRounding(),
        ck.CutDP(),
        ck.LowerSetDP(),
        ck.RetentionCpSat(),
        ck.Portfolio(),
        ck.Exhaustive(),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_what_lies_there_throughout_may_be_too_much(solver: AbstractSolver) -> None:
    """Even if nothing has to run."""
    assert ck.solve(NOTHING_TO_RUN, 2, solver).status is Status.INFEASIBLE
    fits = ck.solve(NOTHING_TO_RUN, 3, solver)
    assert (fits.status, fits.makespan) == (Status.OPTIMAL, 0)


def test_an_optimum_of_no_time_is_proved() -> None:
    """Zero is a bound like any other."""
    graph = pebbling(needs=[[], [0]], sizes=[1, 1], times=[0, 0])
    front = ck.pareto(graph, ck.Portfolio(time_limit=1), points=3)
    for answer in front.answers:
        assert (answer.status is Status.OPTIMAL) == (answer.lower_bound is not None)


def test_seeds_that_cannot_are_passed_over_by_the_program() -> None:
    """A chain's solver, or one that gives up, is no error."""
    seeds = (ck.ChainDP(), ck.Exhaustive(max_states=1))
    result = ck.solve(GRAPH, 8, ck.Milp(seeds=seeds))
    assert result.status in (Status.OPTIMAL, Status.INFEASIBLE)
    assert result.scope is Scope.GIVEN_ORDER


def test_named_budgets_are_asked_first() -> None:
    """Who names a budget wants to know about that one."""
    graph = training([5, 3, 7, 2, 6], [3, 1, 4, 1, 5])
    least = ck.pareto(graph, ck.Exhaustive()).minimum
    front = ck.pareto(graph, ck.Portfolio(time_limit=5), points=1, budgets=[least.peak])
    assert [answer.budget for answer in front.answers] == [least.peak]
    assert front.at(least.peak).makespan == least.makespan
