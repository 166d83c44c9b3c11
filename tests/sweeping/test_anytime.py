"""Fronts by one budget after the other: exact in the end, useful before."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pebblings import (
    OneBudget,
    Through,
    numbers,
    pebbling,
    pebblings,
    training,
    without_proof,
)

import ckschedule as ck
from ckschedule import (
    Exhaustive,
    Graph,
    Proposal,
    Scope,
    Status,
    Stop,
)
from ckschedule.errors import (
    InvalidSettingError,
    NoScheduleError,
    ResourceLimitError,
    SolverFaultError,
    UnsupportedModelError,
)
from ckschedule.simulation import Model
from ckschedule.solvers.base import AbstractSolver, Progress

GRAPH = training([5, 3, 7, 2, 6], [3, 1, 4, 1, 5])
EXACT = ck.pareto(GRAPH, Exhaustive())

# --- What comes out ------------------------------------------------------------------


@settings(max_examples=60)
@given(pebblings())
def test_asked_long_enough_the_front_is_that_of_the_exhaustive_search(
    graph: Graph,
) -> None:
    """Every breakpoint, and the proof that there are no others."""
    front = ck.pareto(graph, OneBudget(), points=1000)
    expected = ck.pareto(graph, Exhaustive())
    assert numbers(front) == numbers(expected)
    assert front.exact
    assert front.infeasible == expected.infeasible
    assert front.scope is Scope.UNRESTRICTED


@settings(max_examples=40)
@given(pebblings(largest=10**6), st.integers(1, 6))
def test_asked_a_few_times_the_front_is_already_one(graph: Graph, points: int) -> None:
    """No point dominates another, each keeps its peak, and its bound is true."""
    front = ck.pareto(graph, OneBudget(), points=points)
    assert len(front.answers) <= points
    for before, after in pairwise(front):
        assert before.peak < after.peak
        assert before.makespan > after.makespan
    exact = ck.pareto(graph, Exhaustive())
    for point in front:
        trace = ck.simulate(graph, point.schedule)
        assert (trace.peak, trace.makespan) == (point.peak, point.makespan)
        assert point.lower_bound <= exact.at(point.peak).makespan <= point.makespan
    assert front.fastest.makespan == exact.fastest.makespan
    if front.infeasible is not None:
        assert front.infeasible < exact.minimum.peak
    if front.minimum_proved:
        assert front.minimum.peak == exact.minimum.peak


def test_a_chain_given_to_a_solver_of_single_budgets_has_its_front() -> None:
    """The stages' modes leave "once in order" unproved: it asks without a limit."""
    chain = ck.catalog.uniform(stages=4, saved=1)
    front = ck.pareto(chain, OneBudget(), points=1000)
    assert front.exact
    assert numbers(front) == numbers(ck.pareto(chain, Exhaustive()))


def test_a_graph_of_modes_has_its_front() -> None:
    """As above, with "once in order" to start from."""
    graph = ck.catalog.uniform(stages=4, saved=1).to_graph()
    front = ck.pareto(graph, OneBudget(), points=1000)
    assert front.exact
    assert numbers(front) == numbers(ck.pareto(graph, Exhaustive()))


def test_what_is_known_is_not_asked() -> None:
    """A dozen breakpoints take no more questions than twice and a bisection."""
    solver = Through()
    front = ck.pareto(GRAPH, solver, points=1000)
    assert front.exact
    assert len(set(solver.asked)) == len(solver.asked) <= 2 * len(EXACT) + 8
    # More memory than once in order needs is of no use.
    full = ck.solve(GRAPH, "100%", Exhaustive()).budget
    assert max(solver.asked) < full


def test_a_larger_budget_never_takes_longer() -> None:
    """A sweep of twelve budgets survives those that nothing fits."""
    front = ck.pareto(GRAPH, OneBudget(), points=6)
    assert front.infeasible is not None
    top = front.fastest.peak
    before = None
    for k in range(1, 13):
        try:
            point = front.at(top * k // 12)
        except NoScheduleError:
            assert before is None
            continue
        assert point.peak <= top * k // 12
        assert before is None or point.makespan <= before
        before = point.makespan
    assert before == GRAPH.base_time


def test_the_ends_of_the_front_are_true() -> None:
    """All of the memory recomputes nothing; a byte below the least nothing fits."""
    front = ck.pareto(GRAPH, OneBudget(), points=1000)
    assert front.at("100%").recomputations == 0
    assert front.at("100%").makespan == GRAPH.base_time
    least = front.minimum.peak
    assert ck.solve(GRAPH, least, Exhaustive()).status is Status.OPTIMAL
    assert ck.solve(GRAPH, least - 1, Exhaustive()).status is Status.INFEASIBLE
    assert front.minimum_proved
    with pytest.raises(NoScheduleError, match=f"budget that works is {least} bytes"):
        front.at(least - 1)


def test_below_an_unproved_minimum_nothing_is_claimed() -> None:
    """Neither that nothing fits, nor that this is the smallest budget."""
    front = ck.pareto(GRAPH, OneBudget(), points=1)
    assert not front.minimum_proved
    with pytest.raises(NoScheduleError, match="no proof that there is none") as caught:
        front.at(front.minimum.peak - 1)
    assert str(front.minimum.peak) in str(caught.value)
    with pytest.raises(NoScheduleError, match=r"nothing fits .* the least peak found"):
        front.at(0)


def test_a_circle_has_no_front() -> None:
    """Nor does it go on asking."""
    circle = pebbling([[1], [0]], [1, 1], [1, 1])
    with pytest.raises(NoScheduleError, match="no schedule, whatever the budget"):
        ck.pareto(circle, OneBudget())


# --- Solvers without proofs, and other scopes ----------------------------------------


def test_without_proofs_the_points_have_gaps() -> None:
    """The same schedules, bounded from outside."""
    front = ck.pareto(GRAPH, Through(without_proof), points=20)
    assert not front.exact
    assert all(GRAPH.base_time <= p.lower_bound <= p.makespan for p in front)
    assert max(point.gap for point in front) > 0
    for point in front:
        assert point.makespan >= EXACT.at(point.peak).makespan
        assert point.lower_bound <= EXACT.at(point.peak).makespan


def test_a_budget_that_failed_refutes_none() -> None:
    """Those below it are asked, too, when all else is known."""

    def fails(proposal: Proposal, budget: int) -> Proposal:
        return Proposal(scope=proposal.scope) if budget <= 18 else proposal

    solver = Through(fails)
    front = ck.pareto(GRAPH, solver, points=1000)
    assert {16, 17, 18} <= {*solver.asked}
    assert numbers(front) == [point for point in numbers(EXACT) if point[0] > 18]
    unknown = {a.budget for a in front.answers if a.status is Status.UNKNOWN}
    assert unknown == {16, 17, 18}
    assert not front.exact


def given_order(proposal: Proposal, budget: int) -> Proposal:
    return replace(proposal, scope=Scope.GIVEN_ORDER)


def test_the_scope_is_the_solvers() -> None:
    """Its first schedule, every node once in order, belongs to both."""
    front = ck.pareto(GRAPH, Through(given_order), points=1000)
    assert (front.scope, front.exact) == (Scope.GIVEN_ORDER, True)


def test_bounds_about_fewer_schedules_do_not_bound_a_wider_front() -> None:
    """The front is about all schedules as soon as one answer is."""

    def change(proposal: Proposal, budget: int) -> Proposal:
        if len(solver.asked) > 3:
            return without_proof(proposal, budget)
        # True among the orders given, for all that anybody knows here.
        return Proposal(scope=Scope.GIVEN_ORDER, lower_bound=10**6)

    solver = Through(change)
    narrow = ck.pareto(GRAPH, solver, points=3)
    assert narrow.scope is Scope.GIVEN_ORDER
    assert 10**6 in {answer.lower_bound for answer in narrow.answers}
    solver = Through(change)
    front = ck.pareto(GRAPH, solver, points=8)
    assert front.scope is Scope.UNRESTRICTED
    assert len(front) > 1
    for point in front:
        assert point.lower_bound <= EXACT.at(point.peak).makespan
    assert 10**6 not in {answer.lower_bound for answer in front.answers}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda p, b: Proposal(scope=p.scope, lower_bound=10**6),
            "lower bound 1000000 within",
        ),
        (
            lambda p, b: Proposal(scope=p.scope, minimum_budget=10**6),
            "nothing fits within 999999",
        ),
    ],
    ids=["bound", "minimum"],
)
def test_answers_that_contradict_each_other_are_a_fault(
    change: Callable[[Proposal, int], Proposal], message: str
) -> None:
    """What one budget proves, the schedule of another one refutes."""
    solver = Through()

    def lie(proposal: Proposal, budget: int) -> Proposal:
        return change(proposal, budget) if len(solver.asked) > 2 else proposal

    solver = Through(lie)
    # Asked near the naive peak, whose schedule everybody knows.
    with pytest.raises(SolverFaultError, match=message):
        ck.pareto(GRAPH, solver, points=1000)


# --- Limits --------------------------------------------------------------------------


def test_a_resource_limit_at_one_budget_costs_only_that(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is a warning, and the others are asked."""

    def limited(proposal: Proposal, budget: int) -> Proposal:
        if budget % 2:
            raise ResourceLimitError("too large; raise Through(limit=...)")
        return proposal

    with caplog.at_level(logging.WARNING, "ckschedule"):
        front = ck.pareto(GRAPH, Through(limited), points=12)
    assert "too large" in caplog.text
    assert {a.budget % 2 for a in front.answers} == {0, 1}
    assert any(a.status is Status.OPTIMAL for a in front.answers)


def test_a_limit_at_every_budget_is_an_error_if_nothing_is_known() -> None:
    """With the message that names the way out."""

    def limited(proposal: Proposal, budget: int) -> Proposal:
        raise ResourceLimitError("too large; raise Through(limit=...)")

    chain = ck.catalog.uniform(stages=2, saved=1)
    with pytest.raises(ResourceLimitError, match="raise Through"):
        ck.pareto(chain, Through(limited))


def test_a_model_that_the_solver_cannot_take_is_refused() -> None:
    """At the first question."""

    def refuse(proposal: Proposal, budget: int) -> Proposal:
        raise UnsupportedModelError("no graphs here")

    with pytest.raises(UnsupportedModelError, match="no graphs here"):
        ck.pareto(GRAPH, Through(refuse))


def test_without_time_the_front_is_what_everybody_knows() -> None:
    """Every node once in order; nothing was asked."""
    front = ck.pareto(GRAPH, OneBudget(), time_limit=0)
    assert front.stop is Stop.TIME_LIMIT
    assert front.answers == ()
    assert (len(front), front.minimum.makespan) == (1, GRAPH.base_time)
    assert front.minimum.gap == 0
    assert not front.exact


@dataclass(frozen=True, slots=True)
class Timed(AbstractSolver):
    """Notes the limits that it is given."""

    time_limit: float = 60.0
    limits: list[float] = field(default_factory=list, compare=False, repr=False)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        self.limits.append(self.time_limit)
        return Exhaustive().search(model, budget, progress)


def test_each_budget_gets_its_share_of_the_time() -> None:
    """What one leaves is there for the others; the solver's own limit still holds."""
    solver = Timed()
    ck.pareto(GRAPH, solver, points=5, time_limit=100)
    assert len(solver.limits) == 5
    assert solver.limits[0] == pytest.approx(20, abs=1)
    assert 55 < solver.limits[-1] <= 60
    alone = Timed()
    ck.pareto(GRAPH, alone, points=2)
    assert alone.limits == [60.0, 60.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": 0}, "pareto: points is 0"),
        ({"points": 2.5}, "pareto: points is 2.5"),
        ({"time_limit": -1}, "pareto: time_limit is -1"),
        ({"start": ck.pareto(ck.catalog.uniform(stages=2))}, "another model"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(
    arguments: dict[str, object], message: str
) -> None:
    """Before any work."""
    with pytest.raises(InvalidSettingError, match=message):
        ck.pareto(GRAPH, OneBudget(), **arguments)  # type: ignore[arg-type]  # mistakes


def test_progress_runs_over_all_budgets() -> None:
    """Each budget's own progress is a part of the whole."""

    @dataclass(frozen=True, slots=True)
    class Telling(AbstractSolver):
        def search(
            self, model: Model, budget: int, progress: Progress | None = None
        ) -> Proposal:
            assert progress is not None
            progress(ck.Report(done=1, total=2, makespan=7))
            return Exhaustive().search(model, budget)

    told: list[ck.Report] = []
    ck.pareto(GRAPH, Telling(), points=4, progress=told.append)
    assert [report.done / report.total for report in told] == [
        0.125,
        0.375,
        0.625,
        0.875,
    ]
    assert told[0].makespan == 7
