"""All solvers on the same chains: bound <= optimum <= baseline."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chains

import ckschedule as ck
from ckschedule import (
    AbstractSolver,
    AutoSolver,
    Chain,
    ChainDP,
    ChenBudget,
    ChenRecursion,
    EveryNth,
    Exhaustive,
    FirstN,
    Portfolio,
    RecomputeAll,
    Revolve,
    SlotDP,
    SqrtSegments,
    Stage,
    Status,
    StoreAll,
    UniformSegments,
    Variant,
)
from ckschedule.errors import UnsupportedModelError
from ckschedule.result import gap

COARSE = SlotDP(gap=1.0, slots=3, time_limit=0)
"""A few units of memory and no refinement: its bracket is as wide as it gets."""

BASELINES = [
    StoreAll(),
    RecomputeAll(),
    EveryNth(2),
    UniformSegments(2),
    FirstN(1),
    SqrtSegments(),
    ChenBudget(),
    ChenRecursion(),
]

AMPLE = 10**9
"""Bytes beyond any peak of the small chains here."""


@pytest.mark.parametrize("baseline", BASELINES, ids=repr)
@settings(max_examples=60)
@given(chains(max_stages=6))
def test_no_baseline_beats_the_optimum_at_its_own_peak(
    baseline: AbstractSolver, chain: Chain
) -> None:
    """The schedule is one of those that ChainDP ranges over.

    Its time is also an upper bound of the unrestricted optimum, hence of any bound.
    """
    result = ck.solve(chain, AMPLE, baseline)
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL)
    trace = result.raise_for_status()
    exact = ck.solve(chain, trace.peak, ChainDP())
    assert exact.status is Status.OPTIMAL
    assert exact.makespan is not None
    assert exact.makespan <= trace.makespan


@settings(max_examples=100)
@given(chains(max_stages=4, largest=4), st.integers(0, 60))
def test_the_unrestricted_optimum_is_a_bound_of_the_persistent_one(
    chain: Chain, budget: int
) -> None:
    """Whatever the budget; and what fits persistently fits at all."""
    exact = ck.solve(chain, budget, ChainDP())
    free = ck.solve(chain, budget, Exhaustive())
    if exact.status is Status.INFEASIBLE:
        assert exact.minimum_budget is not None
        if free.status is Status.INFEASIBLE:
            assert free.minimum_budget is not None
            assert budget < free.minimum_budget <= exact.minimum_budget
        return
    assert exact.makespan is not None
    assert free.makespan is not None
    assert free.makespan <= exact.makespan


@settings(max_examples=80)
@given(chains(max_stages=7))
def test_the_bracket_contains_the_optimum(chain: Chain) -> None:
    """At every breakpoint, and below the first one nothing is claimed to fit."""
    for point in ck.pareto(chain, ChainDP()):
        bracket = ck.solve(chain, point.peak, COARSE)
        assert bracket.lower_bound is not None
        assert bracket.makespan is not None
        assert bracket.lower_bound <= point.makespan <= bracket.makespan
    least = ck.pareto(chain, ChainDP()).minimum.peak
    if least:
        below = ck.solve(chain, least - 1, COARSE)
        assert (below.status, below.minimum_budget) == (Status.INFEASIBLE, least)


@settings(max_examples=80)
@given(chains(max_stages=7))
def test_the_bracketed_front_lies_above_the_exact_one(chain: Chain) -> None:
    """Each of its points is a schedule, and its bound is one."""
    exact = ck.pareto(chain, ChainDP())
    for point in ck.pareto(chain, COARSE):
        best = exact.at(point.peak).makespan
        assert point.lower_bound <= best <= point.makespan


@settings(max_examples=80)
@given(chains(max_stages=7))
def test_the_automatic_choice_for_chains_is_the_exact_solver(chain: Chain) -> None:
    """Same front, same answers, and its name in the result."""
    assert ck.pareto(chain) == ck.pareto(chain, ChainDP())
    peak = ck.pareto(chain).minimum.peak
    assert ck.solve(chain, peak) == ck.solve(chain, peak, ChainDP())


def test_the_automatic_choice_explains_itself() -> None:
    """Which solver, and why."""
    chain = ck.catalog.uniform(stages=4)
    solver, why = AutoSolver().choose(chain)
    assert solver == ChainDP()
    assert why.startswith("a chain: exact among persistent schedules")
    solver, why = AutoSolver().choose(chain.to_graph())
    assert solver == Portfolio(oracle=AutoSolver().oracle)
    assert why.endswith("and exhaustive search, as it is tiny")
    solver, why = AutoSolver().choose(ck.catalog.training_path(20))
    assert solver == Portfolio()
    assert why.startswith("a graph: constructions, local search and CP-SAT in turn")


def test_the_automatic_choice_keeps_the_settings_it_was_given() -> None:
    """They are the fields of the three."""
    auto = AutoSolver(exact=ChainDP(memory_limit=10**6))
    assert auto.choose(ck.catalog.uniform(stages=4))[0] == ChainDP(memory_limit=10**6)


UNEVEN = Chain(
    input=5,
    stages=[
        Stage(
            output=7919 * i % 1009,
            forward=104729 * i % 1013,
            variants=[Variant(saved=15485863 * i % 1019, backward=i)],
        )
        for i in range(1, 41)
    ],
)
"""Forty unlike stages, whose exact fronts pass a small memory limit."""


def test_where_exact_fronts_grow_too_long_the_bracket_takes_over() -> None:
    """The result says who answered, and its bound is one."""
    auto = AutoSolver(exact=ChainDP(memory_limit=1 << 20), bracket=COARSE)
    result = ck.solve(UNEVEN, "60%", auto)
    assert result.solver == repr(COARSE)
    best = ck.solve(UNEVEN, "60%", ChainDP()).makespan
    assert best is not None
    assert result.lower_bound is not None
    assert result.makespan is not None
    assert result.lower_bound <= best <= result.makespan


def test_where_exact_fronts_grow_too_long_the_front_is_bracketed() -> None:
    """It does not call itself exact."""
    auto = AutoSolver(exact=ChainDP(memory_limit=1 << 20), bracket=COARSE)
    front = ck.pareto(UNEVEN, auto)
    assert not front.exact
    assert front.solver == repr(COARSE)


def test_a_bracket_of_sixty_stages_says_how_wide_it_is() -> None:
    """64 KiB hold no exact fronts of sixty unlike stages."""
    numbers = np.random.default_rng(60).integers(1, 1000, (60, 4)).tolist()
    chain = Chain(
        input=9,
        stages=[
            Stage(output=x, forward=f, variants=[Variant(saved=s, backward=b)])
            for x, f, s, b in numbers
        ],
    )
    bracket = SlotDP(time_limit=1.0)
    auto = AutoSolver(exact=ChainDP(memory_limit=1 << 16), bracket=bracket)
    result = ck.solve(chain, "40%", auto)
    assert result.solver == repr(bracket)
    assert result.lower_bound is not None
    assert result.makespan is not None
    assert result.gap == gap(result.makespan, result.lower_bound)
    front = ck.pareto(chain, auto)
    assert front.solver == repr(bracket)
    assert all(point.gap >= 0.0 for point in front)


def test_a_graph_beyond_the_oracle_has_other_solvers() -> None:
    """Where exhaustive search gives up, the rest of the portfolio goes on."""
    chain = ck.catalog.uniform(stages=4, saved=2)
    auto = AutoSolver(oracle=Exhaustive(max_states=3), time_limit=5)
    result = ck.solve(chain.to_graph(), 8, auto)
    assert result.makespan == ck.solve(chain.to_graph(), 8, Exhaustive()).makespan
    with pytest.raises(UnsupportedModelError, match="points=16"):
        auto.front(chain.to_graph())


@settings(max_examples=60)
@given(st.integers(1, 7), st.integers(0, 3), st.integers(0, 3), st.integers(0, 40))
def test_revolve_never_beats_the_exact_solver(
    n: int, saved: int, gradient: int, budget: int
) -> None:
    """Its schedules, too, are persistent; where it finds one, so does ChainDP."""
    stage = Stage(
        output=2,
        forward=1,
        gradient=gradient,
        variants=[Variant(saved=saved, backward=1)],
    )
    chain = Chain(input=2, stages=[stage] * n, time_unit="step")
    revolve = ck.solve(chain, budget, Revolve())
    exact = ck.solve(chain, budget, ChainDP())
    if revolve.makespan is None:
        return
    assert exact.makespan is not None
    assert exact.makespan <= revolve.makespan


@settings(max_examples=50)
@given(chains(max_stages=6))
def test_at_the_store_all_peak_every_exact_solver_finds_no_recomputation(
    chain: Chain,
) -> None:
    """A model that fits as it is is left as it is, "100%" included."""
    # One variant a stage: a faster one that needs less could save a base time's ticks.
    stages = [replace(stage, variants=stage.variants[:1]) for stage in chain.sequence]
    chain = replace(chain, stages=stages[:-1], loss=stages[-1])
    peak = ck.solve(chain, AMPLE, StoreAll()).peak
    assert peak is not None
    for budget in ("100%", peak, peak + 1, 10**18):
        result = ck.solve(chain, budget, ChainDP())
        assert result.makespan is not None
        assert result.makespan <= chain.base_time
        assert result.raise_for_status().recomputations == {}
