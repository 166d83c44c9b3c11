"""All solvers for graphs on the same graphs: every claim holds against the rest."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solvers.graph_bounds.drawn import any_graphs, pebbled, staged_optimum
from strategies import chains

import ckschedule as ck
from ckschedule.costs import Chain, Graph
from ckschedule.errors import UnsupportedModelError
from ckschedule.result import Scope, Status
from ckschedule.solvers.base import AbstractSolver
from ckschedule.solvers.exhaustive import Exhaustive
from ckschedule.solvers.graph_bounds import (
    combinatorial_bound,
    least_budget,
    proves_infeasible,
)
from ckschedule.solvers.milp import lp_bound
from ckschedule.solvers.order import Order
from ckschedule.solvers.pebbling import pebbling_of

ORACLE = Exhaustive(max_states=400_000)

SOLVERS: tuple[AbstractSolver, ...] = (
    ck.RetentionCpSat(time_limit=20),
    ck.RetentionCpSat(order=Order.FREE, time_limit=20),
    ck.Milp(time_limit=20),
    ck.LpRounding(time_limit=20),
    ck.CutDP(),
    ck.LowerSetDP(),
    ck.GreedyEviction(),
    ck.GreedyEviction(order=Order.FREE),
    ck.LocalSearch(order=Order.GIVEN, moves=20_000),
    ck.LocalSearch(order=Order.FREE, moves=20_000),
    ck.Portfolio(time_limit=20),
    ck.Portfolio(order=Order.GIVEN, time_limit=20),
)

PROVING = (
    ck.RetentionCpSat(time_limit=20),
    ck.Milp(time_limit=20),
)
"""Those that end with a proof about the given order."""


def _optima(graph: Graph, budget: int) -> dict[Scope, int | None]:
    """Return the least ticks by scope, by searches that know no solver."""
    free = ck.solve(graph, budget, ORACLE)
    return {
        Scope.UNRESTRICTED: free.makespan,
        Scope.GIVEN_ORDER: staged_optimum(graph, budget),
    }


@settings(max_examples=25)
@given(pebbled(largest_n=6), st.data())
def test_every_claim_holds_within_its_scope(graph: Graph, data: st.DataObject) -> None:
    """Proofs are of the scope's optimum, bounds below it, schedules above it."""
    least, naive = least_budget(graph).bytes, ck.solve(graph, 2**40, ck.StoreAll())
    budget = data.draw(st.integers(max(0, least - 1), max(least, naive.peak or 0)))
    optima = _optima(graph, budget)
    for solver in SOLVERS:
        result = ck.solve(graph, budget, solver)
        optimum = optima[result.scope]
        if result.status is Status.OPTIMAL:
            assert result.makespan == optimum
        elif result.status is Status.INFEASIBLE:
            assert optimum is None
        elif result.status is Status.FEASIBLE:
            best = optima[Scope.UNRESTRICTED]
            assert best is not None
            assert result.makespan is not None
            assert result.makespan >= best
            assert optimum is not None
            assert (result.lower_bound or 0) <= optimum
    for solver in PROVING:
        result = ck.solve(graph, budget, solver)
        assert result.status in (Status.OPTIMAL, Status.INFEASIBLE)
        assert result.makespan == optima[Scope.GIVEN_ORDER]


@settings(max_examples=60)
@given(pebbled(largest_n=6), st.data())
def test_every_bound_is_below_the_optimum(graph: Graph, data: st.DataObject) -> None:
    """Whatever a bound claims, some schedule may be that good, and none better."""
    naive = ck.solve(graph, 2**40, ck.StoreAll()).peak or 0
    budget = data.draw(st.integers(0, naive))
    optima = _optima(graph, budget)
    for order in Order:
        optimum = optima[order.scope]
        if optimum is None:
            continue
        assert proves_infeasible(graph, budget, order) is None
        assert combinatorial_bound(graph, budget, order).ticks <= optimum
    pebbling = pebbling_of(graph)
    staged = optima[Scope.GIVEN_ORDER]
    if pebbling is not None and staged is not None:
        bound = lp_bound(pebbling, budget, 10.0)
        assert bound is not None
        assert bound <= staged
    if optima[Scope.UNRESTRICTED] is not None:
        assert least_budget(graph).bytes <= budget


@settings(max_examples=20)
@given(any_graphs(), st.integers(0, 40))
def test_features_are_solved_or_refused_by_name(graph: Graph, budget: int) -> None:
    """A solver that knows no modes, holds or consumption does not pretend to."""
    optimum = ck.solve(graph, budget, ORACLE).makespan
    for solver in SOLVERS:
        try:
            result = ck.solve(graph, budget, solver)
        except UnsupportedModelError as error:
            refusal = str(error)
            assert "RetentionCpSat" in refusal
            assert not isinstance(solver, ck.RetentionCpSat | ck.Portfolio)
            continue
        if result.scope is Scope.UNRESTRICTED:
            if result.status is Status.OPTIMAL:
                assert result.makespan == optimum
            if result.status is Status.INFEASIBLE:
                assert optimum is None
        if result.makespan is not None:
            assert optimum is not None
            assert result.makespan >= optimum


@pytest.mark.parametrize(
    "build",
    [
        partial(ck.RetentionCpSat, time_limit=20),
        partial(ck.RetentionCpSat, order=Order.FREE, time_limit=20),
        partial(ck.Portfolio, time_limit=20),
    ],
    ids=["given", "free", "portfolio"],
)
@settings(max_examples=15)
@given(chain=chains(max_stages=4), data=st.data())
def test_graph_solvers_are_never_worse_than_the_chain_solver(
    build: partial[AbstractSolver], chain: Chain, data: st.DataObject
) -> None:
    """A persistent schedule is one of theirs."""
    front = ck.pareto(chain, ck.ChainDP())
    point = data.draw(st.sampled_from(list(front)))
    for model in (chain, chain.to_graph()):
        result = ck.solve(model, point.peak, build())
        assert result.makespan is not None
        assert result.makespan <= point.makespan


def test_the_portfolio_ends_when_a_bound_is_met() -> None:
    """Nothing is searched once a construction reaches a bound; its source is named."""
    result = ck.solve(ck.catalog.training_path(8), 5, ck.Portfolio())
    assert (result.status, result.scope) == (Status.OPTIMAL, Scope.UNRESTRICTED)
    assert "Griewank" in result.bound_source
    assert result.makespan == 22


def test_the_portfolio_names_the_least_budget() -> None:
    """What a bound excludes and a construction reaches is the smallest that works."""
    result = ck.solve(ck.catalog.training_path(8), 2, ck.Portfolio())
    assert (result.status, result.minimum_budget) == (Status.INFEASIBLE, 3)
