"""`pareto` and its front: questions to the whole trade-off."""

from collections.abc import Sequence
from dataclasses import FrozenInstanceError, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chains

import ckschedule as ck
from ckschedule import (
    AutoSolver,
    Chain,
    ChainDP,
    Exhaustive,
    ParetoFront,
    ParetoPoint,
    Proposal,
    Scope,
    SlotDP,
    StaticMemory,
    simulate,
)
from ckschedule.errors import (
    InvalidBudgetError,
    InvalidSettingError,
    NoScheduleError,
    SolverFaultError,
)
from ckschedule.result import gap
from ckschedule.simulation import Model
from ckschedule.solvers.base import (
    AbstractFrontSolver,
    FrontProposal,
    PointProposal,
    Progress,
)

CHAIN = replace(
    ck.catalog.uniform(stages=6, saved=3), static=StaticMemory(parameters=2048)
)
FRONT = ck.pareto(CHAIN, ChainDP())
SOLVERS = [ChainDP(), SlotDP(points=5), AutoSolver(), Exhaustive()]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
@settings(max_examples=25)
@given(chains(max_stages=4, largest=4))
def test_points_rise_in_peak_and_fall_in_time(
    solver: AbstractFrontSolver, chain: Chain
) -> None:
    """None dominates another, and each simulates to its numbers."""
    front = ck.pareto(chain, solver)
    assert len(front) >= 1
    for before, after in pairwise(front):
        assert before.peak < after.peak
        assert before.makespan > after.makespan
    for point in front:
        trace = simulate(chain, point.schedule)
        assert (point.peak, point.makespan) == (trace.peak, trace.makespan)
        assert point.trace == trace
        assert point.executions == trace.executions
        assert point.recomputations == sum(trace.recomputations.values())
        assert point.activation_peak == trace.activation_peak
        assert point.overhead == point.makespan - chain.base_time == trace.overhead
        assert point.gap == gap(point.makespan, point.lower_bound)
        assert point.lower_bound <= point.makespan


def test_a_front_is_a_sequence_of_points() -> None:
    """It has ends, a length, and can be run through."""
    assert FRONT.minimum == next(iter(FRONT))
    assert FRONT.fastest == list(FRONT)[-1]
    assert len(FRONT) == len(list(FRONT)) > 2
    assert (FRONT.exact, FRONT.scope) == (True, Scope.PERSISTENT)
    assert FRONT.solver == repr(ChainDP())


@settings(max_examples=60)
@given(st.integers(0, 3000))
def test_an_exact_front_answers_every_budget_as_a_search_does(budget: int) -> None:
    """The fastest point within it, or the minimum that would work."""
    result = ck.solve(CHAIN, budget, ChainDP())
    if result.makespan is None:
        assert result.minimum_budget == FRONT.minimum.peak
        with pytest.raises(NoScheduleError):
            FRONT.at(budget)
        return
    point = FRONT.at(budget)
    assert (point.peak, point.makespan) == (result.peak, result.makespan)
    assert point.peak <= budget


def test_below_the_minimum_the_message_names_it() -> None:
    """With the static bytes apart."""
    least = FRONT.minimum.peak
    expected = (
        f"the smallest budget that works is {least} bytes .*, of which 2.00 KiB are"
    )
    with pytest.raises(NoScheduleError, match=expected):
        FRONT.at(least - 1)
    assert FRONT.at(least) == FRONT.minimum


def test_budgets_of_a_front_may_be_written_in_any_way() -> None:
    """As for `solve`: whole numbers, digits, units, percentages."""
    peak = FRONT.fastest.peak
    budgets: list[Any] = [peak, float(peak), np.int64(peak), str(peak), "1TB", "100%"]
    for budget in budgets:
        assert FRONT.at(budget) == FRONT.fastest


@pytest.mark.parametrize("budget", [-1, 0.5, float("nan"), "1 gig", None], ids=repr)
def test_budgets_that_cannot_be_meant_are_refused(budget: float) -> None:
    """As for `solve`."""
    with pytest.raises(InvalidBudgetError):
        FRONT.at(budget)


def test_the_least_memory_within_a_time() -> None:
    """The other way round; None if no point is that fast."""
    for point in FRONT:
        assert FRONT.within_time(point.makespan) == point
    for before, after in pairwise(FRONT):
        assert FRONT.within_time(before.makespan - 1) == after
    assert FRONT.within_time(10**9) == FRONT.minimum
    assert FRONT.within_time(FRONT.fastest.makespan - 1) is None


def front_of(numbers: Sequence[tuple[int, int]]) -> ParetoFront:
    codes = FRONT.minimum.codes
    points = [
        ParetoPoint(
            model=CHAIN,
            codes=codes,
            peak=peak,
            makespan=makespan,
            executions=1,
            lower_bound=makespan,
        )
        for peak, makespan in numbers
    ]
    return replace(FRONT, points=points)


@pytest.mark.parametrize(
    ("numbers", "knee"),
    [
        ([(5, 9)], 5),
        ([(5, 9), (7, 3)], 7),
        ([(0, 100), (10, 20), (50, 10), (100, 0)], 10),
        ([(0, 100), (50, 90), (90, 20), (100, 0)], 0),
    ],
    ids=["one", "two", "bend", "bulge"],
)
def test_the_knee_is_farthest_below_the_line(
    numbers: list[tuple[int, int]], knee: int
) -> None:
    """Scaled to the front's ranges: 10 + 20 of 100 is the least; a bulge has none."""
    assert front_of(numbers).knee.peak == knee


def test_points_cannot_be_changed() -> None:
    """Neither their numbers nor the codes of their schedule."""
    point = FRONT.minimum
    with pytest.raises(FrozenInstanceError):
        point.peak = 1  # type: ignore[misc]  # that is the test
    with pytest.raises(ValueError, match="read-only"):
        point.codes[0] = 1
    assert isinstance(FRONT.points, tuple)


def test_the_callers_array_stays_as_it_is() -> None:
    """A point keeps a view that cannot be written through."""
    codes = FRONT.minimum.codes.copy()
    replace(FRONT.minimum, codes=codes)
    codes[0] = codes[0]
    assert codes.flags.writeable


def test_equal_fronts_are_equal() -> None:
    """Whoever computed them."""
    assert ck.pareto(CHAIN, ChainDP()) == FRONT
    assert FRONT.minimum != FRONT.fastest
    assert FRONT.minimum != 5
    assert replace(FRONT, points=FRONT.points[1:]) != FRONT


# --- Claims --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claims(AbstractFrontSolver):
    """A solver that says what it was told to say."""

    points: tuple[PointProposal, ...]
    exact: bool = True

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        raise NotImplementedError  # `pareto` asks for fronts only

    def front(self, model: Model, progress: Progress | None = None) -> FrontProposal:
        return FrontProposal(
            scope=Scope.PERSISTENT,
            exact=self.exact,
            points=self.points,
            solver="Claims()",
        )


def honest() -> list[PointProposal]:
    return [
        PointProposal(
            codes=point.codes,
            peak=point.peak,
            makespan=point.makespan,
            lower_bound=point.lower_bound,
        )
        for point in FRONT
    ]


def claimed(points: Sequence[PointProposal], *, exact: bool = True) -> ParetoFront:
    return ck.pareto(CHAIN, Claims(tuple(points), exact))


def test_honest_points_make_a_front() -> None:
    """The same as the solver's they were taken from."""
    assert claimed(honest()).points == FRONT.points


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"peak": 1}, "claims peak 1 and makespan"),
        ({"makespan": 1, "lower_bound": 1}, "and makespan 1, but its schedule"),
        ({"lower_bound": 10**6}, "claims the lower bound 1000000"),
        ({"codes": np.array([0, 0], np.int64)}, "wrote an illegal schedule"),
        ({"codes": np.array([10**6], np.int64)}, "wrote an illegal schedule"),
    ],
    ids=["peak", "makespan", "bound", "illegal", "outside"],
)
def test_a_lie_about_a_point_is_a_fault(
    change: dict[str, object], message: str
) -> None:
    """Every point is simulated."""
    first, *rest = honest()
    lie = replace(first, **change)  # type: ignore[arg-type]  # fields of PointProposal
    with pytest.raises(SolverFaultError, match=message):
        claimed([lie, *rest], exact=False)


def test_an_exact_front_has_no_dominated_point() -> None:
    """The same point twice is one too many."""
    with pytest.raises(SolverFaultError, match="another one dominates"):
        claimed([*honest(), honest()[0]])


def test_an_exact_front_proves_each_point() -> None:
    """A breakpoint of the optimum has its makespan as a bound."""
    first, *rest = honest()
    with pytest.raises(SolverFaultError, match="lower bound is below its makespan"):
        claimed([replace(first, lower_bound=0), *rest])


def test_dominated_points_of_a_bracket_are_left_out() -> None:
    """In whatever order they come, of equal peak too."""
    front = claimed([*reversed(honest()), *honest()], exact=False)
    assert front.points == FRONT.points
    assert not front.exact


def test_a_front_without_points_is_refused() -> None:
    """It would have no minimum."""
    with pytest.raises(NoScheduleError, match="no schedule, whatever the budget"):
        claimed([])


def test_a_construction_gives_no_front() -> None:
    """It has one schedule; the message says what to call instead."""
    with pytest.raises(
        InvalidSettingError, match=r"StoreAll\(\) has one schedule.*call solve"
    ):
        ck.pareto(CHAIN, ck.StoreAll())
    with pytest.raises(InvalidSettingError, match="solver is 'auto'"):
        ck.pareto(CHAIN, "auto")  # type: ignore[arg-type]  # the mistake


def test_the_first_point_of_a_bracket_is_not_called_the_smallest_budget() -> None:
    """Nothing is proved below it, and the message does not say so."""
    front = claimed(honest(), exact=False)
    assert not front.minimum_proved
    assert FRONT.minimum_proved
    least = front.minimum.peak
    with pytest.raises(NoScheduleError, match="no proof that there is none") as caught:
        front.at(least - 1)
    assert str(least) in str(caught.value)
    proved = replace(front, infeasible=least - 1)
    with pytest.raises(NoScheduleError, match=f"that works is {least} bytes"):
        proved.at(least - 1)


def test_a_whole_front_is_told_once() -> None:
    """So that a caller has one way to keep it."""
    told: list[ParetoFront] = []
    front = ck.pareto(CHAIN, ChainDP(), on_point=told.append)
    assert told == [front]
    assert front.infeasible == front.minimum.peak - 1
