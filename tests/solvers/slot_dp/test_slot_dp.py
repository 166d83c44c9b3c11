"""SlotDP against the exact fronts, and against its own promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckschedule.costs.chain import Chain, Stage, Variant
from ckschedule.costs.static import StaticMemory
from ckschedule.errors import ResourceLimitError, UnsupportedModelError
from ckschedule.result import Scope, gap
from ckschedule.simulation import simulate
from ckschedule.solvers.base import Proposal
from ckschedule.solvers.chain_dp.arrays import chain_arrays
from ckschedule.solvers.chain_dp.solver import ChainDP
from ckschedule.solvers.slot_dp import SlotDP, bracket_optimum
from ckschedule.solvers.slot_dp.grid import make_frame

COARSE = SlotDP(gap=1.0, slots=3, time_limit=0)
"""A few units of memory and no refinement: rounding is as bad as it gets."""

ENDLESS = float("inf")
"""No limit of time: what a test asserts may not depend on the machine's speed."""


def random_chain(rng: np.random.Generator, n: int, most: int) -> Chain:
    """Return a chain with every feature, transients at their least or above."""

    def size(low: int = 0) -> int:
        return int(rng.integers(low, low + most))

    def maybe(low: int = 0) -> int | None:
        return size(low) if rng.random() < 0.5 else None

    frozen = int(rng.integers(0, n)) if rng.random() < 0.3 else 0
    own_loss = rng.random() < 0.5
    start = size()
    input_gradient = not frozen and rng.random() < 0.3
    upstream = start if input_gradient else 0
    stages = []
    for i in range(n + own_loss):
        output, gradient = size(), None if i == n else maybe()
        parameters = size() if i >= frozen and rng.random() < 0.5 else 0
        here = output if gradient is None else gradient
        here = 0 if i == n else here
        variants = []
        for v in range(int(rng.integers(1, 4)) if i >= frozen else 0):
            saved = size()
            variants.append(
                Variant(
                    saved=saved,
                    backward=size(),
                    forward=maybe(),
                    needs_input=bool(rng.random() < 0.7),
                    needs_output=bool(rng.random() < 0.7),
                    forward_transient=maybe(output + saved),
                    backward_transient=maybe(
                        max(0, upstream + parameters - saved - here)
                    ),
                    name=f"v{v}",
                )
            )
        stages.append(
            Stage(
                output=output,
                forward=size(),
                gradient=gradient,
                parameter_gradient=parameters,
                transient=maybe(output),
                variants=tuple(variants),
            )
        )
        upstream = here if i >= frozen else 0
    return Chain(
        input=start,
        stages=stages[:n],
        loss=stages[n] if own_loss else None,
        static=StaticMemory(parameters=size()),
        input_gradient=input_gradient,
    )


def plain_chain(rng: np.random.Generator, n: int, most: int = 1000) -> Chain:
    """Return a chain of one variant a stage, everything random."""
    numbers = rng.integers(1, most + 1, (n, 4)).tolist()
    return Chain(
        input=most // 2,
        stages=[
            Stage(output=x, forward=f, variants=(Variant(saved=s, backward=b),))
            for x, f, s, b in numbers
        ],
    )


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    seed = draw(st.integers(0, 2**32 - 1))
    n = draw(st.integers(1, 6))
    most = draw(st.sampled_from((2, 4, 30, 1000)))
    return random_chain(np.random.default_rng(seed), n, most)


def front(chain: Chain) -> list[tuple[int, int]]:
    """Return the exact front as (budget, ticks), budgets ascending."""
    tables = ChainDP().tables(chain)
    memory, cost = tables.root()
    outside = chain.input + chain.static.total
    return [
        (m + outside, tables.arrays.ticks(c))
        for m, c in zip(memory.tolist(), cost.tolist(), strict=True)
    ]


def optimum(points: list[tuple[int, int]], budget: int) -> int:
    return min(ticks for memory, ticks in points if memory <= budget)


def check(chain: Chain, budget: int, proposal: Proposal, best: int) -> None:
    """Check everything that a proposal for a budget that works promises."""
    assert proposal.schedule is not None
    assert proposal.lower_bound is not None
    trace = simulate(chain, proposal.schedule)
    assert trace.peak <= budget
    assert trace.peak == proposal.peak
    assert trace.makespan == proposal.makespan
    assert proposal.lower_bound <= best <= trace.makespan
    assert proposal.scope is Scope.PERSISTENT
    assert not proposal.infeasible


@settings(max_examples=150)
@given(chain=chains(), slots=st.integers(1, 40), data=st.data())
def test_the_bracket_holds_the_optimum(
    chain: Chain, slots: int, data: st.DataObject
) -> None:
    """However coarse the grid: the schedule fits, and the bound is one."""
    points = front(chain)
    at = data.draw(st.integers(0, len(points) - 1))
    budget = points[at][0] + data.draw(st.integers(0, 3))
    solver = SlotDP(gap=1.0, slots=slots, time_limit=0)
    check(chain, budget, solver.search(chain, budget), optimum(points, budget))


@settings(max_examples=100)
@given(chain=chains(), data=st.data())
def test_refinement_reaches_the_optimum(chain: Chain, data: st.DataObject) -> None:
    """Units of one byte lose nothing, and cut-off rows lose no better schedule."""
    points = front(chain)
    budget, best = points[data.draw(st.integers(0, len(points) - 1))]
    proposal = SlotDP(gap=0.0, slots=2, time_limit=ENDLESS).search(chain, budget)
    check(chain, budget, proposal, best)
    assert proposal.makespan == proposal.lower_bound == best


@settings(max_examples=50)
@given(chain=chains())
def test_infeasible_means_below_the_least_budget(chain: Chain) -> None:
    """The least memory is computed exactly, not on the grid."""
    least = front(chain)[0][0]
    proposal = COARSE.search(chain, least - 1)
    assert proposal.infeasible
    assert proposal.schedule is None
    assert proposal.minimum_budget == least
    assert COARSE.search(chain, least).schedule is not None


@pytest.mark.parametrize("seed", range(12))
def test_longer_chains_use_several_blocks(seed: int) -> None:
    """Rows are solved in blocks of stages; short chains fill only one."""
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, int(rng.integers(17, 50)), 40)
    points = front(chain)
    for budget, best in points[:: max(len(points) // 4, 1)]:
        check(chain, budget, COARSE.search(chain, budget), best)
        fine = SlotDP(gap=0.0, slots=8, time_limit=ENDLESS).search(chain, budget)
        check(chain, budget, fine, best)
        assert fine.lower_bound == best


def test_units_that_do_not_divide_sizes_keep_the_budget() -> None:
    """Ten stages of 1.4 slots each: rounding them down would pass the budget."""
    variant = Variant(saved=0, backward=1)
    chain = Chain(
        input=14, stages=[Stage(output=14, forward=1, variants=(variant,))] * 10
    )
    for budget, best in front(chain):
        slots = max((budget - chain.input) // 10, 1)
        solver = SlotDP(gap=1.0, slots=slots, time_limit=0)
        check(chain, budget, solver.search(chain, budget), best)


def test_times_beyond_32_bits_are_bounded_as_well() -> None:
    """Rows hold 32-bit costs: large times are rounded down in them, never up."""
    rng = np.random.default_rng(5)
    small = plain_chain(rng, 24)
    large = Chain(
        input=small.input,
        stages=[
            Stage(
                output=stage.output,
                forward=stage.forward * 10**9 + int(rng.integers(10**9)),
                variants=(
                    Variant(
                        saved=stage.variants[0].saved,
                        backward=stage.variants[0].backward * 10**9 + 1,
                    ),
                ),
            )
            for stage in small.stages
        ],
    )
    points = front(large)
    for budget, best in points[::30]:
        proposal = SlotDP(gap=1e-5, time_limit=ENDLESS).search(large, budget)
        check(large, budget, proposal, best)
        assert proposal.lower_bound is not None
        assert best - proposal.lower_bound <= 1e-5 * best


def test_many_budgets_share_one_run() -> None:
    """One grid holds every smaller budget; time falls as the budget grows."""
    chain = plain_chain(np.random.default_rng(7), 30)
    points = front(chain)
    budgets = [points[0][0] - 1, *(memory for memory, _ in points[::20])]
    frame = make_frame(chain_arrays(chain), 2**30)
    outside = chain.input + chain.static.total
    brackets = bracket_optimum(
        frame,
        [budget - outside for budget in budgets],
        gap=0.01,
        slots=200,
        memory_limit=2**30,
        deadline=ENDLESS,
    )
    assert brackets[0].codes is None
    assert frame.minimum + outside == points[0][0]
    times = []
    for budget, bracket in zip(budgets[1:], brackets[1:], strict=True):
        assert bracket.lower_bound is not None
        assert bracket.makespan is not None
        best = optimum(points, budget)
        assert bracket.lower_bound <= best <= bracket.makespan
        assert gap(bracket.makespan, bracket.lower_bound) <= 0.01
        times.append(bracket.makespan)
    assert times == sorted(times, reverse=True)


def test_a_front_brackets_every_budget() -> None:
    """Its points are schedules with a bound each, from the least budget on."""
    chain = plain_chain(np.random.default_rng(9), 25)
    points = front(chain)
    proposal = SlotDP(gap=0.01, points=9, time_limit=ENDLESS).front(chain)
    assert not proposal.exact
    claimed = list(proposal.points)
    assert claimed[0].peak == points[0][0]
    for point in claimed:
        best = optimum(points, point.peak)
        assert point.lower_bound <= best <= point.makespan
        assert point.makespan <= point.lower_bound * 1.01
    assert claimed[-1].makespan == points[-1][1]


def test_the_gap_asked_for_is_reached() -> None:
    """Grids get finer until it is, without a proof of optimality."""
    chain = plain_chain(np.random.default_rng(11), 100)
    top = front(plain_chain(np.random.default_rng(11), 20))[-1][0]
    proposal = SlotDP(gap=0.003, slots=50, time_limit=ENDLESS).search(chain, 2 * top)
    assert proposal.makespan is not None
    assert proposal.lower_bound is not None
    excess = proposal.makespan - proposal.lower_bound
    assert excess <= 0.003 * proposal.lower_bound


def test_a_limit_of_memory_names_what_it_would_take() -> None:
    """The message says which setting to raise, and to what."""
    chain = plain_chain(np.random.default_rng(3), 60)
    with pytest.raises(ResourceLimitError, match=r"memory_limit=\.\.\.\) to that"):
        SlotDP(memory_limit=600_000).search(chain, 30_000)
    with pytest.raises(ResourceLimitError, match="61 stages alone"):
        SlotDP(memory_limit=1000).search(chain, 30_000)


def test_a_graph_is_refused() -> None:
    """The recurrence is that of chains."""
    chain = plain_chain(np.random.default_rng(3), 3)
    with pytest.raises(UnsupportedModelError, match="takes chains only"):
        SlotDP().search(chain.to_graph(), 10)


@pytest.mark.parametrize(
    "wrong",
    [
        {"gap": -1.0},
        {"gap": float("nan")},
        {"slots": 0},
        {"time_limit": -1.0},
        {"points": 0},
    ],
)
def test_settings_without_meaning_are_refused(wrong: dict[str, float]) -> None:
    """The message names the setting and its value."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SlotDP(**wrong)  # type: ignore[arg-type]  # wrong on purpose
