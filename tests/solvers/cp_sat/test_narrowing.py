"""Bounds that shrink the model, without the search that they serve."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from solvers.cp_sat.cases import Tight, graphs, pebblings, staged_optimum

import ckschedule as ck
from ckschedule import Exhaustive, Graph, Mode, Node, Value
from ckschedule.costs.encoding import encode
from ckschedule.solvers.cp_sat.copies import copies_of
from ckschedule.solvers.cp_sat.model import RetentionModel
from ckschedule.solvers.cp_sat.narrowing import NEVER, Narrowing
from ckschedule.solvers.cp_sat.pricing import Relaxation
from ckschedule.solvers.cp_sat.problem import Problem, problem_of
from ckschedule.solvers.cp_sat.rounds import Rounds
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.order import Order


def ample(graph: Graph) -> Problem:
    """Return the problem without a budget."""
    found = problem_of(encode(graph), 10**9)
    assert found is not None
    return found


@settings(max_examples=150)
@given(pebblings(), st.booleans())
def test_the_crossings_bound_no_optimum_from_above(tight: Tight, known: bool) -> None:
    """With a ceiling just above the optimum, and without one."""
    graph, budget = tight
    problem = problem_of(encode(graph), budget)
    optimum = staged_optimum(graph, budget)
    if problem is None:
        assert optimum is None
        return
    ceiling = optimum + 1 if known and optimum is not None else None
    with Deadline() as deadline:
        bound = Narrowing(problem, Order.GIVEN).bound(ceiling, deadline, 1)
    if optimum is not None:
        assert problem.floor <= bound <= optimum
    elif ceiling is None:
        assert bound == NEVER or bound >= problem.floor


@settings(max_examples=60)
@given(pebblings())
def test_the_copies_that_are_left_suffice_for_an_optimum(tight: Tight) -> None:
    """The model of all schedules below a ceiling has one if there is one."""
    graph, budget = tight
    optimum = staged_optimum(graph, budget)
    problem = problem_of(encode(graph), budget)
    if optimum is None or problem is None:
        return
    narrowing = Narrowing(problem, Order.GIVEN)
    with Deadline() as deadline:
        narrowing.bound(optimum + 1, deadline, 1)
        copies = narrowing.copies(optimum + 1)
        model = RetentionModel(problem, Order.GIVEN, copies, optimum + 1)
        outcome = model.solve(
            deadline, 60.0, 1, on_solution=lambda _: False, on_bound=lambda _: None
        )
    assert outcome.closed
    assert outcome.modes is not None
    assert outcome.bound == optimum


@settings(max_examples=60)
@given(pebblings(most=8))
def test_rounds_alone_find_the_staged_optimum(tight: Tight) -> None:
    """No bound and no schedule from elsewhere, not even of every node once."""
    graph, budget = tight
    problem = problem_of(encode(graph), budget)
    if problem is None:
        return
    with Deadline() as deadline:
        rounds = Rounds(problem, Order.GIVEN, budget, deadline, 2, None)
        rounds.run()
    assert rounds.proved
    assert rounds.ceiling == staged_optimum(graph, budget)


@settings(max_examples=40)
@given(graphs())
def test_rounds_alone_find_any_graph_s_optima(tight: Tight) -> None:
    """In both orders, with every feature."""
    graph, budget = tight
    problem = problem_of(encode(graph), budget)
    if problem is None:
        return
    optima = {
        Order.GIVEN: staged_optimum(graph, budget),
        Order.FREE: ck.solve(graph, budget, Exhaustive()).makespan,
    }
    for order, optimum in optima.items():
        with Deadline() as deadline:
            rounds = Rounds(problem, order, budget, deadline, 2, None)
            rounds.run()
        assert rounds.proved
        assert rounds.ceiling == optimum


@settings(max_examples=100)
@given(
    pebblings(), st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=8), st.integers(0)
)
def test_any_multipliers_prove_something_true(
    tight: Tight, drawn: list[float], seed: int
) -> None:
    """A solver's rounding errors cost strength, never truth."""
    graph, budget = tight
    problem = problem_of(encode(graph), budget)
    optimum = staged_optimum(graph, budget)
    if problem is None or optimum is None:
        return
    relaxation = Relaxation(problem, copies_of(problem, Order.GIVEN, None))

    n = len(relaxation.right)
    multipliers = np.resize(np.array(drawn), n)
    prices = relaxation.prices(np.roll(multipliers, seed % max(1, n)))
    assert problem.floor + prices.ticks <= optimum


def test_a_kept_value_is_not_dropped_when_it_comes_along_with_another() -> None:
    """Second copies are; p takes its three bytes while C runs: eight in all."""
    both = Mode(name="run", time=1, outputs=("g", "p"))
    then = Mode(name="run", time=1, outputs=("t",), needs=("g",))
    graph = Graph(
        values=tuple(
            Value(name=name, size=size) for name, size in [("g", 2), ("p", 3), ("t", 3)]
        ),
        nodes=(Node(name="B", modes=(both,)), Node(name="C", modes=(then,))),
        targets=("p", "t"),
        kept=("p",),
    )
    for budget, ticks in ((7, None), (8, 2)):
        problem = problem_of(encode(graph), budget)
        assert problem is not None
        with Deadline() as deadline:
            rounds = Rounds(problem, Order.GIVEN, budget, deadline, 1, None)
            rounds.run()
        assert (rounds.proved, rounds.ceiling) == (True, ticks)


def test_fewer_copies_do_below_a_lower_ceiling() -> None:
    """Each computation beyond the first costs its time."""
    chain = ck.catalog.uniform(stages=6)
    problem = ample(chain.to_graph())
    counts = [
        copies_of(problem, Order.GIVEN, problem.floor + more).total
        for more in (1, 2, 5, 10, 100)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
