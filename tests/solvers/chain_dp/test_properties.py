"""What must hold of any exact front."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chains

import ckschedule as ck
from ckschedule import (
    Chain,
    ChainDP,
    Exhaustive,
    Stage,
    StaticMemory,
    Status,
    StoreAll,
    Variant,
)
from ckschedule.errors import ResourceLimitError, UnsupportedModelError
from ckschedule.solvers.revolve import advances, slots_for


def scaled(chain: Chain, sizes: int, times: int) -> Chain:
    """The chain with all bytes and all ticks multiplied."""

    def stage(s: Stage) -> Stage:
        return Stage(
            name=s.name,
            output=s.output * sizes,
            forward=s.forward * times,
            gradient=(s.gradient or 0) * sizes,
            parameter_gradient=s.parameter_gradient * sizes,
            transient=(s.transient or 0) * sizes,
            variants=tuple(
                replace(
                    v,
                    saved=v.saved * sizes,
                    backward=v.backward * times,
                    forward=(v.forward or 0) * times,
                    forward_transient=(v.forward_transient or 0) * sizes,
                    backward_transient=(v.backward_transient or 0) * sizes,
                )
                for v in s.variants
            ),
        )

    assert chain.loss is not None
    return replace(
        chain,
        input=chain.input * sizes,
        stages=[stage(s) for s in chain.stages],
        loss=stage(chain.loss),
        static=replace(chain.static, parameters=chain.static.parameters * sizes),
    )


def numbers(chain: Chain) -> list[tuple[int, int]]:
    return [(point.peak, point.makespan) for point in ck.pareto(chain, ChainDP())]


@settings(max_examples=80)
@given(chains(), st.integers(2, 10**9), st.integers(2, 10**6))
def test_units_do_not_matter(chain: Chain, sizes: int, times: int) -> None:
    """Bytes or blocks, nanoseconds or ticks: the same schedule is best."""
    expected = [(peak * sizes, ticks * times) for peak, ticks in numbers(chain)]
    assert numbers(scaled(chain, sizes, times)) == expected


@settings(max_examples=80)
@given(chains())
def test_a_stage_without_cost_changes_nothing(chain: Chain) -> None:
    """A first stage of no time and no bytes only passes the pinned input on."""
    if chain.input_gradient:
        chain = replace(chain, input=0)
    record = Variant(saved=0, backward=0, needs_input=False, needs_output=False)
    trained = () if chain.frozen_prefix else (record,)
    empty = Stage(output=0, gradient=0, forward=0, variants=trained, name="empty")
    assert numbers(replace(chain, stages=[empty, *chain.stages])) == numbers(chain)


@settings(max_examples=200)
@given(chains(max_stages=4, largest=4, variants=1))
def test_unrestricted_search_is_never_slower(chain: Chain) -> None:
    """The persistent optimum is an upper bound of the unrestricted one."""
    for point in ck.pareto(chain, ChainDP()):
        free = ck.solve(chain, point.peak, Exhaustive())
        assert free.status is Status.OPTIMAL
        assert free.makespan is not None
        assert free.makespan <= point.makespan


@settings(max_examples=100)
@given(chains(max_stages=12, largest=30, variants=1))
def test_at_the_peak_of_storing_everything_nothing_is_recomputed(chain: Chain) -> None:
    """A model that fits as it is costs no recomputation, also in 10^18 bytes."""
    peak = ck.simulate(chain, StoreAll().schedule(chain)).peak
    for budget in (peak, peak + 1, 10**18):
        result = ck.solve(chain, budget, ChainDP())
        assert result.status is Status.OPTIMAL
        assert result.trace is not None
        assert result.trace.makespan <= chain.base_time
        assert result.trace.recomputations == {}


def test_ten_stages_that_round_badly_keep_every_budget() -> None:
    """Stages of 1.4 slots: a discretised plan would hold ten of them in fourteen."""
    stage = Stage(output=7, forward=1, variants=[Variant(saved=7, backward=1)])
    chain = Chain(input=7, stages=[stage] * 10, time_unit="step")
    front = ck.pareto(chain, ChainDP())
    for budget in range(front.minimum.peak, front.fastest.peak + 1):
        result = ck.solve(chain, budget, ChainDP())
        assert result.peak is not None
        assert result.peak <= budget
        assert result.makespan == front.at(budget).makespan


@settings(max_examples=50)
@given(chains(min_stages=6, max_stages=12, largest=50))
def test_a_sweep_of_budgets_falls_and_survives_infeasible_ones(chain: Chain) -> None:
    """Twelve budgets from nothing to everything."""
    front = ck.pareto(chain, ChainDP())
    top = front.fastest.peak
    before: int | None = None
    for k in range(12):
        budget = top * k // 11
        result = ck.solve(chain, budget, ChainDP())
        if result.status is Status.INFEASIBLE:
            assert before is None
            assert result.minimum_budget == front.minimum.peak
            assert budget < front.minimum.peak
            continue
        assert result.peak is not None
        assert result.peak <= budget
        assert result.makespan is not None
        assert before is None or result.makespan <= before
        before = result.makespan


def test_a_thousand_equal_stages_in_twenty_slots() -> None:
    """Revolve's 2747 advances, through bytes: nothing recorded but the stage at hand.

    A tape larger than all outputs together cannot be kept beside another, so that
    ChainDP has to do what Revolve does.
    """
    tape = 10_000
    stage = Stage(
        output=1, gradient=0, forward=1, variants=[Variant(saved=tape, backward=0)]
    )
    chain = Chain(input=1, stages=[stage] * 1000, time_unit="step")
    # Twenty slots, the state that is being advanced or reversed, its output, its tape.
    budget = 20 + 2 + tape
    assert slots_for(chain, budget) == 20
    result = ck.solve(chain, budget, ChainDP())
    assert result.status is Status.OPTIMAL
    assert result.makespan == 1000 + advances(1000, 20)
    assert advances(1000, 20) == 2747


def test_a_terabyte_and_a_byte_are_told_apart() -> None:
    """Sizes are integers; nothing is divided by a tolerance."""
    tera = 10**12
    stage = Stage(output=tera, forward=1, variants=[Variant(saved=1, backward=1)])
    chain = Chain(input=1, stages=[stage] * 4)
    peaks = [point.peak for point in ck.pareto(chain, ChainDP())]
    for peak in peaks[1:]:
        below = ck.solve(chain, peak - 1, ChainDP()).makespan
        at = ck.solve(chain, peak, ChainDP()).makespan
        assert below is not None
        assert at is not None
        assert below > at


@pytest.mark.parametrize("budget", [2**61, 2**62, 2**63 - 1])
def test_sizes_beyond_the_kernels_are_refused_with_the_way_out(budget: int) -> None:
    """A legal chain; once an IndexError in `solve`, and an empty front."""
    chain = Chain(
        input=1,
        stages=[
            Stage(output=2**61, forward=1, variants=[Variant(saved=1, backward=1)])
        ],
    )
    with pytest.raises(ResourceLimitError, match="coarser unit, such as KiB"):
        ck.solve(chain, budget, ChainDP())
    with pytest.raises(ResourceLimitError, match="coarser unit, such as KiB"):
        ck.pareto(chain, ChainDP())


def test_sizes_that_just_fit_the_kernels_are_solved() -> None:
    """x_1, g_1, s_1 and a transient of x_1 + s_1: three times 2^60, and 2^61."""
    chain = Chain(
        input=0,
        stages=[
            Stage(
                output=2**60,
                forward=1,
                gradient=0,
                variants=[Variant(saved=2**60, backward=1)],
            )
        ],
        static=StaticMemory(parameters=2**61),
    )
    assert chain.worst_peak - chain.static.total == 2**62
    with pytest.raises(ResourceLimitError, match="coarser unit"):
        ck.pareto(chain, ChainDP())
    fits = replace(
        chain,
        stages=[
            Stage(
                output=2**60,
                forward=1,
                gradient=0,
                variants=[Variant(saved=2**60 - 1, backward=1)],
            )
        ],
    )
    front = ck.pareto(fits, ChainDP())
    assert front.minimum.peak == 2**62 - 1
    assert ck.solve(fits, 2**63 - 1, ChainDP()).status is Status.OPTIMAL
    assert ck.solve(fits, 0, ChainDP()).minimum_budget == 2**62 - 1


def test_a_graph_is_refused_with_the_way_out() -> None:
    """ChainDP reads chains."""
    graph = ck.catalog.uniform(stages=2).to_graph()
    with pytest.raises(UnsupportedModelError, match="takes chains only"):
        ck.solve(graph, 10, ChainDP())


def test_fronts_past_the_limit_say_what_to_set() -> None:
    """Random stages give long fronts."""
    stages = [
        Stage(
            output=7919 * i % 1009,
            forward=104729 * i % 1013,
            variants=[Variant(saved=15485863 * i % 1019, backward=i)],
        )
        for i in range(1, 60)
    ]
    chain = Chain(input=5, stages=stages)
    with pytest.raises(ResourceLimitError, match="memory_limit"):
        ck.pareto(chain, ChainDP(memory_limit=1 << 20))


def test_times_too_fine_to_count_executions_beside_them_still_solve() -> None:
    """Time alone decides then: here seconds in picoseconds, over hundreds of stages."""
    stage = Stage(
        output=4, forward=10**12 + 1, variants=(Variant(saved=9, backward=10**12),)
    )
    chain = Chain(input=4, stages=[stage] * 300)
    coarse = replace(stage, forward=1, variants=(Variant(saved=9, backward=1),))
    front = ck.pareto(chain, ChainDP())
    alike = ck.pareto(Chain(input=4, stages=[coarse] * 300), ChainDP())
    assert [p.peak for p in front] == [p.peak for p in alike]
    assert [p.recomputations for p in front] == [p.recomputations for p in alike]


def test_times_past_64_bits_are_refused_with_the_remedy() -> None:
    """A sum of two costs must not wrap."""
    stage = Stage(output=1, forward=2**55 + 1, variants=(Variant(saved=1, backward=1),))
    with pytest.raises(ResourceLimitError, match="coarser unit"):
        ck.pareto(Chain(input=1, stages=[stage] * 15), ChainDP())
