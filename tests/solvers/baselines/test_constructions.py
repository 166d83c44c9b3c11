"""What all baselines must get right on any chain, whatever its features."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckschedule.costs import Chain, Graph, Node, Stage, StaticMemory, Value, Variant
from ckschedule.costs.graph import Mode
from ckschedule.errors import InvalidScheduleError, UnsupportedModelError
from ckschedule.operations import Free
from ckschedule.result import Scope
from ckschedule.schedule import Schedule
from ckschedule.simulation import Trace, simulate
from ckschedule.solvers.base import AbstractSolver
from ckschedule.solvers.baselines import (
    ChenBudget,
    ChenRecursion,
    EveryNth,
    FirstN,
    RecomputeAll,
    SqrtSegments,
    StoreAll,
    UniformSegments,
)

SEGMENTED: list[AbstractSolver] = [
    StoreAll(),
    RecomputeAll(),
    EveryNth(2),
    UniformSegments(2),
    FirstN(2),
    SqrtSegments(),
    ChenBudget(),
]
ALL: list[AbstractSolver] = [*SEGMENTED, ChenRecursion(), ChenRecursion(2)]

small = st.integers(0, 5)


@st.composite
def variants(draw: st.DrawFn, output: int, name: str) -> Variant:
    """One way to record a stage, with a transient of at least what it leaves."""
    saved = draw(small)
    return Variant(
        saved=saved,
        backward=draw(small),
        forward=draw(st.none() | small),
        needs_input=draw(st.booleans()),
        needs_output=draw(st.booleans()),
        forward_transient=output + saved + draw(small),
        backward_transient=draw(st.none() | st.integers(15, 20)),
        name=name,
    )


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """Chains with flags, variants, parameter gradients, frozen prefix, own loss."""
    n = draw(st.integers(1, 6))
    frozen = draw(st.integers(0, n))
    stages = []
    for i in range(n):
        output = draw(small)
        own = [
            draw(variants(output, name))
            for name in ["all", "some"][: draw(st.integers(1, 2))]
        ]
        stages.append(
            Stage(
                output=output,
                forward=draw(small),
                variants=() if i < frozen else tuple(own),
                gradient=draw(st.none() | small),
                parameter_gradient=0 if i < frozen else draw(small),
            )
        )
    output = draw(small)
    loss = Stage(output=output, forward=1, variants=(draw(variants(output, "all")),))
    return Chain(
        input=draw(small),
        stages=stages,
        loss=draw(st.none() | st.just(loss)),
        static=StaticMemory(parameters=draw(small)),
        input_gradient=frozen == 0 and draw(st.booleans()),
    )


def run(solver: AbstractSolver, chain: Chain) -> Trace:
    """Simulate what a baseline proposes."""
    proposal = solver.search(chain, 10)
    assert proposal.scope is Scope.CONSTRUCTION
    assert proposal.schedule is not None
    return simulate(chain, proposal.schedule)


@pytest.mark.parametrize("solver", ALL, ids=repr)
@settings(max_examples=40, deadline=None)
@given(chain=chains())
def test_every_chain_is_reversed_and_left_empty(
    solver: AbstractSolver, chain: Chain
) -> None:
    """Targets are reached (the simulator checks) and only pinned values remain."""
    trace = run(solver, chain)
    left = chain.input * (1 + chain.input_gradient) + chain.static.total
    left += sum(stage.parameter_gradient for stage in chain.sequence)
    assert trace.live_after[-1] == left
    n, frozen = len(chain.sequence), chain.frozen_prefix
    assert all(trace.computations[f"B{i}"] == 1 for i in range(frozen + 1, n + 1))


@pytest.mark.parametrize("solver", ALL, ids=repr)
@settings(max_examples=40, deadline=None)
@given(chain=chains())
def test_frozen_prefix_and_last_segment_are_never_recomputed(
    solver: AbstractSolver, chain: Chain
) -> None:
    """Neither a frozen stage nor what is reversed at once gains from running twice."""
    computations = run(solver, chain).computations
    n = len(chain.sequence)
    once = [*range(1, chain.frozen_prefix + 1), n]
    assert all(computations[f"F{i}"] == 1 for i in once)


@pytest.mark.parametrize("solver", SEGMENTED, ids=repr)
@settings(max_examples=25, deadline=None)
@given(chain=chains())
def test_segments_run_each_forward_at_most_twice(
    solver: AbstractSolver, chain: Chain
) -> None:
    """Once in the forward pass and once when their segment's turn comes."""
    assert max(run(solver, chain).computations.values()) <= 2


@pytest.mark.parametrize("solver", ALL, ids=repr)
@settings(max_examples=25, deadline=None)
@given(chain=chains())
def test_outputs_are_freed_as_soon_as_they_may(
    solver: AbstractSolver, chain: Chain
) -> None:
    """A free that could stand before the computation ahead of it would lower levels."""
    operations = list(run(solver, chain).schedule)
    for at, operation in enumerate(operations):
        if not isinstance(operation, Free):
            continue
        before = at - 1
        while isinstance(operations[before], Free):
            before -= 1
        moved = [*operations[:before], operation, *operations[before:at]]
        moved += operations[at + 1 :]
        with pytest.raises(InvalidScheduleError):
            simulate(chain, Schedule(moved))


@settings(max_examples=50, deadline=None)
@given(chain=chains())
def test_store_all_takes_the_base_time(chain: Chain) -> None:
    """Other overheads are measured against it, so nothing may run twice."""
    trace = run(StoreAll(), chain)
    assert trace.makespan == chain.base_time
    assert trace.recomputations == {}


@pytest.mark.parametrize("solver", ALL, ids=repr)
def test_graphs_are_refused(solver: AbstractSolver) -> None:
    """The constructions are defined on chains; a guess would mislead."""
    mode = Mode(name="run", time=1, outputs=("v",))
    graph = Graph(
        values=(Value(name="v", size=1),), nodes=(Node(name="N", modes=(mode,)),)
    )
    with pytest.raises(UnsupportedModelError, match="'graph' is a graph"):
        solver.search(graph, 10)


@pytest.mark.parametrize("solver", ALL, ids=repr)
def test_five_thousand_stages_need_no_recursion(solver: AbstractSolver) -> None:
    """Recursive planners died on such chains in the field."""
    stage = Stage(output=1, forward=1, variants=(Variant(saved=1, backward=1),))
    trace = run(solver, Chain(input=1, stages=[stage] * 5000))
    assert trace.computations["B1"] == 1
