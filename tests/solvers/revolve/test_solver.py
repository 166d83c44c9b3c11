"""Revolve as a solver: bytes to slots, schedules to simulate, proofs to search."""

import heapq
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import equal, one_node, run

import ckschedule as ck
from ckschedule.costs import Chain, Stage, StaticMemory, Variant
from ckschedule.errors import InvalidSettingError, UnsupportedModelError
from ckschedule.result import Scope
from ckschedule.solvers.revolve import Revolve, advances, slots_for

small = st.integers(0, 4)


@st.composite
def uniform_chains(draw: st.DrawFn, *, most: int = 5, plain: bool = False) -> Chain:
    """Uniform chains; ``plain`` ones have nothing that makes the last step differ."""
    output, saved = draw(small), draw(small)
    gradient, parameter = draw(small), 0 if plain else draw(small)
    variant = Variant(
        saved=saved,
        backward=draw(small),
        forward=None if plain else draw(st.none() | small),
        needs_input=plain or draw(st.booleans()),
        needs_output=draw(st.booleans()),
        forward_transient=None if plain else output + saved + draw(small),
    )
    stage = Stage(
        output=output,
        forward=draw(st.integers(1, 3)),
        variants=(variant,),
        gradient=gradient,
        parameter_gradient=parameter,
        transient=None if plain else output + draw(st.integers(0, 12)),
    )
    stages = [stage] * draw(st.integers(1, most))
    given = draw(small)
    if not plain and draw(st.booleans()):
        # One transient for all stages: the first yields the input's gradient.
        yielded = max(gradient, given) + parameter
        least = max(0, yielded - saved - gradient)
        own = replace(variant, backward_transient=draw(st.integers(least, least + 9)))
        stages = [replace(stage, variants=(own,))] * len(stages)
    reads = plain or draw(st.booleans())
    tape = Variant(saved=0, backward=draw(small), needs_input=reads)
    return Chain(
        input=given,
        stages=stages,
        loss=Stage(output=0, forward=draw(small), variants=(tape,)),
        static=StaticMemory(parameters=draw(small)),
        input_gradient=draw(st.booleans()),
    )


def fewest(chain: Chain, budget: int) -> int | None:
    """Return the least ticks of a single-tape schedule, by Dijkstra; None if none.

    A state is (steps left, kept states). The last step may be recorded with the loss.
    """
    stage = chain.stages[0]
    variant = chain.stages[-1].variants[0]
    loss = chain.sequence[-1].variants[0]
    n, x, g = len(chain.stages), stage.output, stage.gradient or 0

    def room(left: int, kept: frozenset[int]) -> int:
        used = sum(x if state else chain.input for state in kept)
        return (
            budget - chain.static.total - used - (n - left) * stage.parameter_gradient
        )

    def reversal(i: int, kept: frozenset[int]) -> bool:
        space = room(i, kept)
        ahead = g if i < n else 0
        freed = x if i > 1 and not variant.needs_input else 0
        tape = (variant.saved if variant else 0) - freed
        own = chain.stages[i - 1].variants[0]
        needs = [
            ahead + (variant.forward_transient or 0),
            g + tape + x * variant.needs_output + (own.backward_transient or 0),
        ]
        if i == n:
            held = x * (variant.needs_output or loss.needs_input)
            needs.append(tape + held + (loss.backward_transient or 0))
        return max(needs) <= space

    best = {(n, frozenset({0})): 0}
    queue: list[tuple[int, int, tuple[int, ...]]] = [(0, n, (0,))]
    while queue:
        time, left, order = heapq.heappop(queue)
        kept = frozenset(order)
        if left == 0:
            return time + chain.base_time
        if best[left, kept] < time:
            continue
        following = [(time, left, kept - {state}) for state in kept if state]
        if left - 1 in kept and reversal(left, kept):
            following.append((time, left - 1, kept - ({left - 1} - {0})))
        ahead = g if left < n else 0
        for state in kept:
            if state + 1 in kept or state + 1 > left - 1:
                continue
            for forward, transient in (
                (stage.forward, stage.transient),
                (variant.forward, variant.forward_transient),
            ):
                if ahead + (transient or 0) <= room(left, kept):
                    cost = time + (forward or 0)
                    following.append((cost, left, kept | {state + 1}))
        for cost, remaining, states in following:
            if cost < best.get((remaining, states), cost + 1):
                best[remaining, states] = cost
                heapq.heappush(queue, (cost, remaining, tuple(sorted(states))))
    return None


@settings(max_examples=150)
@given(chain=uniform_chains(plain=True), extra=st.integers(0, 40))
def test_claims_equal_an_exhaustive_search(chain: Chain, extra: int) -> None:
    """Default transients, inputs held, no parameter gradients: a complete proof."""
    budget = chain.static.total + chain.input + extra
    proposal = Revolve().search(chain, budget)
    optimum = fewest(chain, budget)
    assert proposal.infeasible == (optimum is None)
    if optimum is not None:
        assert proposal.lower_bound == proposal.makespan == optimum
        trace = run(Revolve(), chain, budget)
        assert trace.makespan == optimum
        assert trace.peak <= budget


@settings(max_examples=250)
@given(chain=uniform_chains(), extra=st.integers(0, 60))
def test_bounds_hold_where_slots_change(chain: Chain, extra: int) -> None:
    """Parameter gradients and odd transients may cost the proof, never its truth."""
    budget = chain.static.total + chain.input + extra
    proposal = Revolve().search(chain, budget)
    optimum = fewest(chain, budget)
    if proposal.infeasible:
        assert optimum is None
        return
    if proposal.schedule is None:
        assert not slots_for(chain, budget)
        return
    trace = run(Revolve(), chain, budget)
    assert trace.makespan == proposal.makespan
    if optimum is not None:
        assert proposal.lower_bound is not None
        assert proposal.lower_bound <= optimum
    if slots_for(chain, budget):
        assert trace.peak <= budget
        assert optimum is not None


@settings(max_examples=100)
@given(chain=uniform_chains())
def test_minimum_budget_is_the_smallest_that_works(chain: Chain) -> None:
    """One byte below it nothing fits, and at it the schedule does."""
    least = Revolve().search(chain, 10**6).minimum_budget
    if least is not None:
        assert run(Revolve(), chain, least).peak <= least
        assert fewest(chain, least) is not None
        below = Revolve().search(chain, least - 1)
        assert below.infeasible
        assert below.minimum_budget == least
        assert fewest(chain, least - 1) is None


@settings(max_examples=60)
@given(chain=uniform_chains(most=30, plain=True), slots=st.integers(1, 30))
def test_forwards_are_the_steps_and_their_advances(chain: Chain, slots: int) -> None:
    """The loss runs once, with the last step; scope and claims say what was proved."""
    proposal = Revolve(slots).search(chain, 10**9)
    assert proposal.scope is Scope.SINGLE_TAPE
    counts = run(Revolve(slots), chain, 10**9).computations
    n = len(chain.stages)
    forwards = sum(counts[f"F{i}"] for i in range(1, n + 1))
    assert forwards == n + advances(n, slots)
    assert counts[f"F{n + 1}"] == 1


def test_a_slot_costs_one_output() -> None:
    """Input, current state, output in the making; each output more is a slot more."""
    chain = equal(10)
    assert [slots_for(chain, budget) for budget in range(2, 7)] == [0, 1, 2, 3, 4]
    assert slots_for(chain, 10**6) == 9
    assert slots_for(equal(1), 2) == 1


def test_a_thousand_stages_in_twenty_slots() -> None:
    """2747 advances (Griewank and Walther 2000), within the bytes of 20 slots."""
    trace = run(Revolve(), equal(1000), 22)
    assert trace.peak == 22
    assert trace.makespan == 1000 + 1000 + 2747


def test_five_thousand_stages_need_no_recursion() -> None:
    """Recursive planners died on such chains in the field."""
    trace = run(Revolve(), equal(5000), 100)
    assert trace.computations["B1"] == 1


STAGE = Stage(output=2, forward=1, variants=(Variant(saved=1, backward=1),))


@pytest.mark.parametrize(
    ("chain", "reason"),
    [
        (
            Chain(input=2, stages=[STAGE, STAGE, replace(STAGE, forward=3), STAGE]),
            r"stage 3 \('stage 3'\) has forward 3, but stage 'stage 2' has 1",
        ),
        (
            Chain(
                input=2,
                stages=[
                    STAGE,
                    replace(STAGE, variants=(Variant(saved=4, backward=1),)),
                ],
            ),
            "stage 2 .* has saved 4, but stage 'stage 1' has 1",
        ),
        (
            Chain(input=2, stages=[replace(STAGE, variants=()), STAGE]),
            "stage 1 .* has 0 variants, not 1",
        ),
        (
            Chain(input=2, stages=[STAGE], loss=replace(STAGE, output=5)),
            "the loss .* has output 5, but must have 0",
        ),
    ],
)
def test_other_chains_are_refused(chain: Chain, reason: str) -> None:
    """A count for equal stages says nothing of others; the first culprit is named."""
    message = f"^Revolve takes chains of equal stages only: {reason}.*ChainDP"
    with pytest.raises(UnsupportedModelError, match=message):
        Revolve().search(chain, 100)


def test_graphs_and_missing_slots_are_refused() -> None:
    """A slot is a chain's state, and the initial one takes the first."""
    with pytest.raises(UnsupportedModelError, match="'graph' is a graph"):
        Revolve().search(one_node(), 10)
    with pytest.raises(InvalidSettingError, match="slots is 0"):
        Revolve(0)


@pytest.mark.parametrize("budget", range(7, 12))
def test_slots_that_do_not_fit_give_no_schedule_and_prove_nothing(budget: int) -> None:
    """Other schedules of the scope may fit where the asked slots do not."""
    chain = ck.catalog.uniform(stages=8, saved=2)
    result = ck.solve(chain, budget, ck.Revolve(6))
    assert result.status is ck.Status.UNKNOWN


def test_a_budget_between_any_schedule_and_one_slot_gives_no_schedule() -> None:
    """The least peak of the scope may be below what one slot needs."""
    chain = ck.catalog.uniform(stages=6, transient=9)
    for budget in range(8, 12):
        assert ck.solve(chain, budget, ck.Revolve()).trace is None
