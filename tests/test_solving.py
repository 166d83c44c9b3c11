"""`solve`: what results say, and that no claim goes unchecked."""

import re
from dataclasses import dataclass, replace
from math import inf

import pytest

import ckschedule as ck
from ckschedule import (
    AbstractSolver,
    Chain,
    ChainDP,
    Compute,
    Free,
    Proposal,
    RecomputeAll,
    Result,
    Schedule,
    Scope,
    Stage,
    StaticMemory,
    Status,
    StoreAll,
    UniformSegments,
    Variant,
    simulate,
)
from ckschedule.errors import InvalidBudgetError, NoScheduleError, SolverFaultError
from ckschedule.result import gap
from ckschedule.simulation import Model
from ckschedule.solvers.base import Progress

STAGE = Stage(output=10, forward=2, variants=[Variant(saved=20, backward=3)])
CHAIN = Chain(
    input=10,
    stages=[STAGE] * 4,
    static=StaticMemory(parameters=2048),
    time_unit="step",
)
"""Four equal stages; storing everything takes 20 ticks."""


@dataclass(frozen=True, slots=True)
class Claims(AbstractSolver):
    """A solver that says what it was told to say."""

    proposal: Proposal

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        return self.proposal


def store_all() -> Schedule:
    schedule = StoreAll().search(CHAIN, 0).schedule
    assert schedule is not None
    return schedule


TRACE = simulate(CHAIN, store_all())

HONEST = Proposal(
    scope=Scope.PERSISTENT,
    schedule=store_all(),
    makespan=TRACE.makespan,
    peak=TRACE.peak,
    lower_bound=TRACE.makespan,
)


def claim(budget: int = TRACE.peak, **changes: object) -> Result:
    """Solve with an honest proposal of which some parts are changed."""
    proposal = replace(HONEST, **changes)  # type: ignore[arg-type]  # fields of Proposal
    return ck.solve(CHAIN, budget, Claims(proposal))


def test_an_honest_claim_is_optimal() -> None:
    """Bound and makespan meet."""
    result = claim()
    assert (result.status, result.makespan, result.peak) == (
        Status.OPTIMAL,
        TRACE.makespan,
        TRACE.peak,
    )
    assert (result.gap, result.overhead) == (0.0, 0)


def test_claims_may_be_left_out() -> None:
    """Then nothing is proved, and the numbers are the simulator's all the same."""
    result = claim(makespan=None, peak=None, lower_bound=None)
    assert result.status is Status.FEASIBLE
    assert (result.makespan, result.peak) == (TRACE.makespan, TRACE.peak)
    assert (result.lower_bound, result.gap) == (None, None)


def test_a_bound_below_the_makespan_leaves_a_gap() -> None:
    """(20 - 16) / 16."""
    result = claim(lower_bound=16)
    assert (TRACE.makespan, result.status, result.gap) == (20, Status.FEASIBLE, 0.25)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"makespan": 19}, "claims a makespan of 19, but its schedule simulates to 20"),
        ({"peak": 1}, "claims a peak of 1, but its schedule simulates to"),
        ({"lower_bound": 21}, "claims the lower bound 21 for a schedule that takes 20"),
        (
            {"schedule": Schedule([Free("x0")])},
            "wrote an illegal schedule: operation 0",
        ),
        ({"schedule": Schedule([])}, "wrote an illegal schedule: the schedule's end"),
        (
            {"schedule": Schedule([Compute("F9", "plain")])},
            "wrote an illegal schedule: operation 0: .* names something",
        ),
        ({"infeasible": True}, "claims that nothing fits .* a schedule that does"),
        (
            {"minimum_budget": TRACE.peak + 1},
            "claims that nothing fits below .* proposes a peak of",
        ),
        (
            {"schedule": None, "infeasible": True, "minimum_budget": TRACE.peak},
            "claims that nothing fits the budget of .*, and that .* is enough",
        ),
    ],
    ids=[
        "makespan",
        "peak",
        "bound",
        "illegal",
        "empty",
        "unknown",
        "fits",
        "minimum",
        "enough",
    ],
)
def test_a_lie_is_a_fault_of_the_solver(
    changes: dict[str, object], message: str
) -> None:
    """No number that a user sees comes from a solver alone."""
    with pytest.raises(SolverFaultError, match=f"^Claims.*{message}"):
        claim(**changes)  # type: ignore[arg-type]  # fields of Proposal


@pytest.mark.parametrize(
    "scope", [Scope.UNRESTRICTED, Scope.PERSISTENT, Scope.SINGLE_TAPE], ids=str
)
def test_a_schedule_over_the_budget_is_a_fault(scope: Scope) -> None:
    """A budget is a promise, not a hint."""
    with pytest.raises(SolverFaultError, match=f"a peak of {TRACE.peak} bytes for the"):
        claim(TRACE.peak - 1, scope=scope)


def test_a_construction_over_the_budget_is_infeasible() -> None:
    """Constructions ignore the budget; that theirs does not fit is a proof of that."""
    result = claim(TRACE.peak - 1, scope=Scope.CONSTRUCTION, lower_bound=None)
    assert (result.status, result.trace) == (Status.INFEASIBLE, None)
    assert result.minimum_budget == TRACE.peak


def test_the_answer_may_name_another_solver() -> None:
    """As the automatic one does."""
    assert claim(solver="Somebody()").solver == "Somebody()"
    with pytest.raises(SolverFaultError, match=r"^Somebody"):
        claim(solver="Somebody()", makespan=1)


@pytest.mark.parametrize("scope", list(Scope), ids=str)
def test_every_scope_is_said_in_words(scope: Scope) -> None:
    """What "optimal" means without it, nobody knows; and no two say the same."""
    assert claim(3072, scope=scope).explanation == (
        f"optimal within 3.00 KiB among {scope.sentence}"
    )
    assert [scope.sentence == other.sentence for other in Scope].count(True) == 1


@pytest.mark.parametrize(
    ("bound", "above"),
    [(16, "25.000%"), (19, "5.264%"), (1, "1900.000%")],
    ids=str,
)
def test_a_feasible_result_says_how_far_it_may_be_from_the_optimum(
    bound: int, above: str
) -> None:
    """Rounded up, for "at most" has to be true: 1 / 19 is 5.2631...%."""
    assert claim(3072, lower_bound=bound).explanation == (
        f"feasible within 3.00 KiB, at most {above} above the optimum "
        f"among {Scope.PERSISTENT.sentence}"
    )


@pytest.mark.parametrize("bound", [None, 0])
def test_a_feasible_result_without_a_useful_bound_says_so(bound: int | None) -> None:
    """Nothing is a percentage of zero."""
    assert claim(3072, lower_bound=bound).explanation == (
        "feasible within 3.00 KiB, with no bound to compare it with"
    )


def test_an_unknown_result_says_so() -> None:
    """Neither a schedule nor a proof."""
    result = claim(3072, schedule=None)
    assert (result.status, result.lower_bound) == (Status.UNKNOWN, None)
    assert result.explanation == (
        "no schedule found within 3.00 KiB, and no proof that there is none"
    )


def test_an_infeasible_result_names_the_smallest_budget_that_works() -> None:
    """With the static part apart: no schedule can change that."""
    result = claim(2048, schedule=None, infeasible=True, minimum_budget=2560)
    assert result.status is Status.INFEASIBLE
    assert result.explanation == (
        f"nothing fits within 2.00 KiB among {Scope.PERSISTENT.sentence}; the smallest "
        f"budget that works is 2560 bytes (2.50 KiB), of which 2.00 KiB are static"
    )


def test_an_infeasible_result_without_a_minimum_says_less() -> None:
    """What is not known is not said."""
    bare = replace(CHAIN, static=StaticMemory())
    proposal = Proposal(scope=Scope.UNRESTRICTED, infeasible=True)
    assert ck.solve(bare, 7, Claims(proposal)).explanation == (
        "nothing fits within 7 B among all schedules that the simulator accepts"
    )


def test_raise_for_status_returns_the_trace() -> None:
    """For those who want an exception or an answer."""
    assert claim().raise_for_status() == TRACE


def test_raise_for_status_raises_the_explanation() -> None:
    """Infeasible or unknown."""
    infeasible = claim(2048, schedule=None, infeasible=True, minimum_budget=2560)
    unknown = claim(schedule=None)
    for result in (infeasible, unknown):
        assert (result.trace, result.schedule, result.peak) == (None, None, None)
        assert (result.makespan, result.overhead, result.gap) == (None, None, None)
        with pytest.raises(NoScheduleError, match=re.escape(result.explanation)):
            result.raise_for_status()


def test_the_message_of_a_real_solver_names_what_would_work() -> None:
    """And what it names does work, while one byte less does not."""
    result = ck.solve(CHAIN, 0, ChainDP())
    least = result.minimum_budget
    assert least is not None
    with pytest.raises(NoScheduleError, match=f"works is {least} bytes .*2.00 KiB are"):
        result.raise_for_status()
    assert ck.solve(CHAIN, least, ChainDP()).status is Status.OPTIMAL
    below = ck.solve(CHAIN, least - 1, ChainDP())
    assert (below.status, below.minimum_budget) == (Status.INFEASIBLE, least)


@pytest.mark.parametrize(
    "budget",
    [TRACE.peak, float(TRACE.peak), str(TRACE.peak), f"{TRACE.peak} B", "100%"],
    ids=repr,
)
def test_a_budget_may_be_written_in_any_way(budget: float | str) -> None:
    """All of the store-all peak is "100%", static bytes included."""
    result = ck.solve(CHAIN, budget)
    assert (result.budget, result.makespan) == (TRACE.peak, TRACE.makespan)
    assert result.raise_for_status().recomputations == {}


def test_a_percentage_is_of_the_store_all_peak() -> None:
    """Rounded down."""
    assert ck.solve(CHAIN, "99.9%").budget == TRACE.peak * 999 // 1000


def test_a_bound_of_nothing_leaves_no_finite_gap() -> None:
    """Unless nothing is what the schedule takes."""
    assert (gap(0, 0), gap(5, 5), gap(5, 4), gap(5, 0)) == (0.0, 0.0, 0.25, inf)


def test_a_chain_and_its_graph_give_one_overhead() -> None:
    """Recorded forwards of 5 ticks where plain ones take 1: storing costs nothing."""
    recorded = Variant(saved=1, backward=1, forward=5)
    chain = Chain(input=1, stages=[Stage(output=1, forward=1, variants=[recorded])] * 3)
    schedule = StoreAll().schedule(chain)
    assert simulate(chain, schedule).overhead == 0
    assert simulate(chain.to_graph(), schedule).overhead == 0


def test_a_percentage_of_a_graph_is_of_running_it_once() -> None:
    """In its order; see `tests/test_budgets.py`."""
    result = ck.solve(CHAIN.to_graph(), "100%", ck.Exhaustive())
    assert result.raise_for_status().recomputations == {}


@pytest.mark.parametrize("budget", [-1, 0.5, float("nan"), "10 gigs", True], ids=repr)
def test_a_budget_that_cannot_be_meant_is_refused(budget: float) -> None:
    """Before any search."""
    with pytest.raises(InvalidBudgetError):
        ck.solve(CHAIN, budget)


def test_a_budget_of_nothing_is_infeasible() -> None:
    """Legal, and the same as any other budget that is too small."""
    assert ck.solve(CHAIN, "0").status is Status.INFEASIBLE


def test_one_segment_saves_nothing_and_is_said_not_to() -> None:
    """Eight equal stages as one segment peak as high as without checkpointing.

    Eight segments of one stage peak lower.
    """
    chain = replace(CHAIN, stages=[STAGE] * 8)
    one, none, eight = (
        ck.solve(chain, 10**6, solver).raise_for_status()
        for solver in (UniformSegments(1), StoreAll(), RecomputeAll())
    )
    assert one.peak >= none.peak
    assert eight.peak < none.peak
    refused = ck.solve(chain, none.peak - 1, UniformSegments(1))
    assert refused.status is Status.INFEASIBLE
    assert refused.minimum_budget == one.peak
