"""The simulator against derived numbers, and against a replay written anew."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chains

import ckschedule as ck
from ckschedule import (
    Chain,
    Compute,
    Free,
    Graph,
    Mode,
    Node,
    Operation,
    Schedule,
    Stage,
    StaticMemory,
    StoreAll,
    Value,
    Variant,
    simulate,
)
from ckschedule.costs.encoding import encode
from ckschedule.errors import InvalidBudgetError, InvalidScheduleError
from ckschedule.schedule import from_codes, to_codes
from ckschedule.simulation import Model, as_graph, measure

A, B, C = Compute("A", "run"), Compute("B", "run"), Compute("C", "run")
LINE = Graph(
    values=(
        Value(name="in", size=1),
        Value(name="a", size=10),
        Value(name="b", size=100),
        Value(name="c", size=1000),
    ),
    nodes=(
        Node(
            name="A", modes=(Mode(name="run", time=3, outputs=("a",), needs=("in",)),)
        ),
        Node(name="B", modes=(Mode(name="run", time=5, outputs=("b",), needs=("a",)),)),
        Node(
            name="C",
            modes=(Mode(name="run", time=7, outputs=("c",), needs=("a", "b")),),
            recomputable=False,
        ),
    ),
    inputs=("in",),
    targets=("c",),
    kept=("c",),
    name="line",
)
"""in (pinned) -> A -> a -> B -> b; C needs a and b, runs once, and c stays."""

CHAIN = Chain(
    input=1,
    stages=[
        Stage(
            output=10,
            forward=2,
            gradient=3,
            parameter_gradient=4,
            variants=[Variant(saved=20, backward=5, backward_transient=6)],
        )
    ],
    static=StaticMemory(parameters=1000),
)
"""One stage and the default loss, whose saved tensors (0 bytes) hold x1."""

PLAIN: list[Operation] = [
    Compute("F1", "all"),
    Compute("F2", "all"),
    Compute("B2", "all"),
    Free("x2"),
    Compute("B1", "all"),
    Free("x1"),
]


def refused(
    model: Model, operations: Sequence[Operation], budget: int | None = None
) -> InvalidScheduleError:
    with pytest.raises(InvalidScheduleError) as caught:
        simulate(model, Schedule(operations), budget=budget)
    return caught.value


def test_levels_peak_and_makespan_of_a_line() -> None:
    """Before: 1. A: 1 + 10. B: 11 + 100. C: 111 + 1000. Then a and b go."""
    trace = simulate(LINE, Schedule([A, B, C, Free("a"), Free("b")]))
    assert trace.live_during.tolist() == [11, 111, 1111, 1111, 1101]
    assert trace.live_after.tolist() == [11, 111, 1111, 1101, 1001]
    assert (trace.peak, trace.peak_index, trace.makespan) == (1111, 2, 15)
    assert trace.computations == {"A": 1, "B": 1, "C": 1}
    assert trace.recomputations == {}


def test_levels_of_a_chain_with_static_bytes() -> None:
    """All 1000 higher than the level of x0, s1, x1, g1, p1.

    F1: 1 + 30. F2: s2 and x2 have no bytes. B2: transient g1 = 3, after it 31 + 3.
    B1: transient 6 while x0, x1, s1, g1 live: 34 + 6; then s1 and g1 are gone and p1 is
    there: 34 - 23 + 4 = 15. At last x1 goes.
    """
    trace = simulate(CHAIN, Schedule(PLAIN))
    assert trace.live_during.tolist() == [1031, 1031, 1034, 1034, 1040, 1015]
    assert trace.live_after.tolist() == [1031, 1031, 1034, 1034, 1015, 1005]
    assert (trace.peak, trace.activation_peak, trace.makespan) == (1040, 40, 7)


def test_what_lives_at_the_peak_is_named() -> None:
    """B1 runs: what lived before it, and its transient. Static bytes are left out."""
    trace = simulate(CHAIN, Schedule(PLAIN))
    assert trace.live_at_peak == {
        "x0": 1,
        "x1": 10,
        "s1": 20,
        "g1": 3,
        "p2": 0,
        "transient of B1": 6,
    }


def test_the_level_before_the_first_operation_counts() -> None:
    """An input that is larger than all that follows, once it is freed."""
    graph = replace(LINE, targets=(), unpinned=("in",))
    trace = simulate(graph, Schedule([Free("in")]))
    assert (trace.peak, trace.peak_index) == (1, -1)
    assert trace.live_at_peak == {"in": 1}
    assert trace.live_after.tolist() == [0]


def test_a_transient_is_what_counts_while_a_node_runs() -> None:
    """B takes 1 + 10 + 500 bytes for 100 that stay."""
    nodes = list(LINE.nodes)
    nodes[1] = replace(nodes[1], modes=(replace(nodes[1].modes[0], transient=500),))
    trace = simulate(replace(LINE, nodes=tuple(nodes)), Schedule([A, B, C]))
    assert trace.live_during.tolist() == [11, 511, 1111]
    assert trace.live_after.tolist() == [11, 111, 1111]


def test_a_second_copy_is_charged_and_dropped() -> None:
    """F1 records again while x1 lives: 11 + 30 bytes while it runs, 31 after it."""
    trace = simulate(CHAIN, Schedule([Compute("F1", "plain"), *PLAIN]))
    assert trace.live_during.tolist()[:2] == [1011, 1041]
    assert trace.live_after.tolist()[:2] == [1011, 1031]
    assert trace.recomputations == {"F1": 1}
    assert trace.executions == 5


def test_recomputations_are_counted_by_node() -> None:
    """b is freed and made again, twice."""
    again: list[Operation] = [Free("b"), B]
    trace = simulate(LINE, Schedule([A, B, *again, *again, C]))
    assert trace.recomputations == {"B": 2}
    assert trace.makespan == 3 + 3 * 5 + 7


def test_nothing_to_do_is_a_schedule() -> None:
    """A graph without targets, even one of nothing at all."""
    empty = simulate(Graph(values=(), nodes=()), Schedule([]))
    assert (empty.peak, empty.peak_index, empty.makespan) == (0, -1, 0)
    trace = simulate(replace(LINE, targets=()), Schedule([]))
    assert (trace.peak, trace.makespan, trace.live_at_peak) == (1, 0, {"in": 1})


def test_a_target_that_was_given_is_reached() -> None:
    """Inputs count as produced, even if they are freed later."""
    graph = replace(LINE, targets=("in",), unpinned=("in",))
    assert simulate(graph, Schedule([Free("in")])).makespan == 0


def test_a_target_may_be_freed_once_it_was_produced() -> None:
    """Only kept values stay."""
    trace = simulate(replace(LINE, kept=()), Schedule([A, B, C, Free("c")]))
    assert trace.live_after.tolist()[-1] == 111


def test_a_needed_value_that_was_freed_is_named_with_its_free() -> None:
    """The operation that freed it is the cause."""
    error = refused(LINE, [A, B, Free("a"), C])
    assert (error.index, error.caused_by) == (3, 2)
    assert str(error) == (
        "operation 3: Compute('C', 'run') needs 'a', freed by operation 2: Free('a')"
    )


def test_a_needed_value_that_never_was_has_no_cause() -> None:
    """Nothing earlier is to blame."""
    error = refused(LINE, [A, C])
    assert (error.index, error.caused_by) == (1, None)
    assert str(error) == (
        "operation 1: Compute('C', 'run') needs 'b', which nothing has produced yet"
    )


def test_what_a_backward_consumed_is_gone() -> None:
    """The cause is the backward."""
    error = refused(CHAIN, [*PLAIN, Free("s1")])
    assert (error.index, error.caused_by) == (6, 4)
    assert "freed by operation 4: Compute('B1', 'all')" in str(error)


def test_a_computation_that_yields_nothing_new_is_refused() -> None:
    """Its outputs live since operation 0."""
    error = refused(LINE, [A, B, A])
    assert (error.index, error.caused_by) == (2, 0)
    assert "yields nothing new: 'a'" in str(error)


def test_a_computation_of_an_input_is_refused_from_the_start() -> None:
    """No operation made it live."""
    error = refused(replace(LINE, inputs=("in", "a")), [A])
    assert (error.index, error.caused_by) == (0, None)
    assert "live from the start" in str(error)


def test_a_node_that_runs_once_is_not_repeated() -> None:
    """Backwards accumulate gradients: a second run would double them."""
    graph = replace(LINE, kept=())
    error = refused(graph, [A, B, C, Free("c"), C])
    assert (error.index, error.caused_by) == (4, 2)
    assert "must run once and ran at operation 2" in str(error)


@pytest.mark.parametrize(
    ("operations", "name"),
    [([Free("in")], "in"), ([A, B, C, Free("c")], "c")],
    ids=["pinned input", "kept value"],
)
def test_what_stays_to_the_end_is_not_freed(
    operations: list[Operation], name: str
) -> None:
    """Inputs unless unpinned, and kept values."""
    error = refused(LINE, operations)
    assert error.index == len(operations) - 1
    assert f"releases {name!r}, which stays to the end" in str(error)


def test_a_held_value_is_not_freed() -> None:
    """The tape s1 holds x1 until its own backward; the cause is the recording."""
    error = refused(CHAIN, [Compute("F1", "all"), Free("x1")])
    assert (error.index, error.caused_by) == (1, 0)
    assert str(error) == (
        "operation 1: Free('x1') releases 'x1', which is held by 's1' since operation "
        "0: Compute('F1', 'all')"
    )


def test_only_live_holders_are_named() -> None:
    """s2 could hold x1 as well, but nothing has recorded stage 2."""
    error = refused(CHAIN, [*PLAIN[:2], Free("x1")])
    assert "held by 's1', 's2' since operation 1" in str(error)
    error = refused(CHAIN, [*PLAIN[:4], Free("x1")])
    assert "held by 's1' since operation 0" in str(error)


def test_a_tape_lets_go_of_its_output_when_its_backward_has_run() -> None:
    """And of its input, were that not the chain's."""
    assert simulate(CHAIN, Schedule(PLAIN)).live_after[-1] == 1005


HOLDING = Graph(
    values=(
        Value(name="x", size=1),
        Value(name="s", size=1, holds=("x",)),
        Value(name="y", size=1),
    ),
    nodes=(
        Node(
            name="X",
            modes=(
                Mode(name="one", time=1, outputs=("y",), needs=("x",), consumes=("x",)),
                Mode(
                    name="both",
                    time=1,
                    outputs=("y",),
                    needs=("x", "s"),
                    consumes=("x", "s"),
                ),
            ),
        ),
    ),
    inputs=("x", "s"),
    unpinned=("x", "s"),
    targets=("y",),
)
"""s holds x; X consumes x alone or both together."""


def test_a_value_is_not_consumed_while_another_holds_it() -> None:
    """The holder is an input: no operation is the cause."""
    error = refused(HOLDING, [Compute("X", "one")])
    assert (error.index, error.caused_by) == (0, None)
    assert str(error).endswith("releases 'x', which is held by 's'")


def test_a_holder_may_be_consumed_together_with_what_it_holds() -> None:
    """Nothing that survives holds it."""
    assert simulate(HOLDING, Schedule([Compute("X", "both")])).live_after[-1] == 1


def test_a_pinned_value_is_not_consumed() -> None:
    """It stays to the end."""
    error = refused(replace(HOLDING, unpinned=("s",)), [Compute("X", "both")])
    assert "releases 'x', which stays to the end" in str(error)


def test_a_dead_value_is_not_freed() -> None:
    """Freed before, or never produced."""
    error = refused(LINE, [A, Free("a"), Free("a")])
    assert (error.index, error.caused_by) == (2, 1)
    assert "not live: freed by operation 1: Free('a')" in str(error)
    error = refused(LINE, [Free("a")])
    assert (error.index, error.caused_by) == (0, None)
    assert "not live: never produced" in str(error)


def test_a_missed_target_is_found_at_the_end() -> None:
    """The index is the schedule's length."""
    error = refused(LINE, [A, B])
    assert (error.index, error.caused_by) == (2, None)
    assert str(error) == (
        "the schedule's end misses the target 'c', which was never produced"
    )


def test_a_schedule_of_nothing_misses_its_targets() -> None:
    """At index 0, its length."""
    assert refused(LINE, []).index == 0


@pytest.mark.parametrize(
    "operation", [Compute("Z", "run"), Compute("A", "walk"), Free("z")], ids=str
)
def test_unknown_names_are_refused(operation: Operation) -> None:
    """Before anything runs, with the operation's index."""
    error = refused(LINE, [A, B, operation])
    assert (error.index, error.caused_by) == (2, None)
    assert f"operation 2: {operation} names something" in str(error)
    assert "'line'" in str(error)


def test_the_first_operation_over_the_budget_is_refused() -> None:
    """B reaches 111 bytes."""
    assert simulate(LINE, Schedule([A, B, C]), budget=1111).peak == 1111
    error = refused(LINE, [A, B, C], budget=110)
    assert (error.index, error.caused_by) == (1, None)
    assert "operation 1" in str(error)
    assert "(111 bytes), over the budget of 110 B (110 bytes)" in str(error)


def test_a_budget_includes_the_static_bytes() -> None:
    """The peak is 40 above 1000."""
    assert simulate(CHAIN, Schedule(PLAIN), budget=1040).peak == 1040
    error = refused(CHAIN, PLAIN, budget=1039)
    assert error.index == 4
    assert "(1040 bytes)" in str(error)


@pytest.mark.parametrize("budget", [0, 999, 1000])
def test_a_budget_below_what_is_there_at_the_start_is_refused(budget: int) -> None:
    """Static bytes and inputs, before any operation."""
    error = refused(CHAIN, PLAIN, budget=budget)
    assert error.index == 0


@pytest.mark.parametrize("budget", ["1111 B", "2kB", 1111.0])
def test_a_budget_may_be_written(budget: str | float) -> None:
    """As for `solve`."""
    assert simulate(LINE, Schedule([A, B, C]), budget=budget).peak == 1111


def test_a_percentage_is_refused_here() -> None:
    """A graph has no store-all peak of its own."""
    with pytest.raises(InvalidBudgetError, match="percentage"):
        simulate(LINE, Schedule([A, B, C]), budget="60%")


@pytest.mark.parametrize("index", [-2, 3])
def test_levels_exist_for_operations_only(index: int) -> None:
    """And for -1, the state before the first."""
    trace = simulate(LINE, Schedule([A, B, C]))
    with pytest.raises(IndexError, match=f"operation {index} of 3"):
        trace.live_at(index)


def test_equal_simulations_are_equal() -> None:
    """They follow from graph and schedule."""
    trace = simulate(LINE, Schedule([A, B, C]))
    assert trace == simulate(LINE, Schedule([A, B, C]))
    assert hash(trace) == hash(simulate(LINE, Schedule([A, B, C])))
    assert trace != simulate(LINE, Schedule([A, B, C, Free("a")]))


def test_a_makespan_beyond_64_bits_is_right() -> None:
    """A schedule may repeat a node more often than any sum foresaw."""
    slow = replace(LINE.nodes[0], modes=(replace(LINE.nodes[0].modes[0], time=2**61),))
    graph = replace(LINE, nodes=(slow, *LINE.nodes[1:]))
    again: list[Operation] = [Free("a"), A]
    trace = simulate(graph, Schedule([A, *again * 9, B, C]))
    assert trace.makespan == 10 * 2**61 + 5 + 7


@pytest.mark.parametrize("n", [1000, 5000])
def test_thousands_of_stages_need_no_recursion(n: int) -> None:
    """2 n computations; all outputs (the loss has none) and tapes, then a backward."""
    chain = ck.catalog.uniform(stages=n, saved=2)
    schedule = StoreAll().search(chain, 0).schedule
    assert schedule is not None
    trace = simulate(chain, schedule)
    assert trace.makespan == chain.base_time
    assert trace.executions == len(chain.to_graph().nodes)
    assert trace.peak == int(trace.live_during.max())


def test_codes_outside_the_graph_are_refused() -> None:
    """`measure` takes integers from solvers."""
    encoding = encode(LINE)
    for code in (3, -5):
        with pytest.raises(InvalidScheduleError, match=f"code {code}") as caught:
            measure(encoding, np.array([0, code], np.int64))
        assert caught.value.index == 1


# --- An independent replay -----------------------------------------------------------


@dataclass
class Outcome:
    """Verdict, index of the refused operation, peak and makespan up to there."""

    legal: bool
    index: int
    peak: int
    makespan: int
    during: list[int]
    after: list[int]


def replay(graph: Graph, operations: Sequence[Operation]) -> Outcome:
    """Sets of names and the rules of a graph; nothing of the package's simulator."""
    size = {value.name: value.size for value in graph.values}
    holds = {value.name: set(value.holds) for value in graph.values}
    modes = {(n.name, m.name): (n, m) for n in graph.nodes for m in n.modes}
    stays = (set(graph.inputs) - set(graph.unpinned)) | set(graph.kept)
    live = set(graph.inputs)
    ever, ran = set(live), set()
    during: list[int] = []
    after: list[int] = []
    makespan = 0

    def level() -> int:
        return sum(size[name] for name in live) + graph.static.total

    peak = level()
    for index, operation in enumerate(operations):
        refusal = Outcome(False, index, peak, makespan, during, after)
        match operation:
            case Compute(node_name, mode_name):
                node, mode = modes[node_name, mode_name]
                if not set(mode.needs) <= live:
                    return refusal
                if mode.outputs and set(mode.outputs) <= live:
                    return refusal
                if node.name in ran and not node.recomputable:
                    return refusal
                gone = set(mode.consumes)
                if gone & stays or any(gone & holds[v] for v in live - gone):
                    return refusal
                during.append(level() + (mode.transient or 0))
                live = (live - gone) | set(mode.outputs)
                ever |= live
                ran.add(node.name)
                makespan += mode.time
            case Free(name):
                if name not in live or name in stays:
                    return refusal
                if any(name in holds[v] for v in live):
                    return refusal
                during.append(level())
                live.remove(name)
        after.append(level())
        peak = max(peak, during[-1], after[-1])
    reached = set(graph.targets) <= ever
    return Outcome(reached, len(operations), peak, makespan, during, after)


def agree(model: Model, operations: Sequence[Operation]) -> Outcome:
    """Simulate in both ways, compare, and return the replay's outcome."""
    expected = replay(as_graph(model), operations)
    if not expected.legal:
        error = refused(model, operations)
        assert error.index == expected.index
        assert error.caused_by is None or error.caused_by < error.index
        return expected
    trace = simulate(model, Schedule(operations))
    assert (trace.peak, trace.makespan) == (expected.peak, expected.makespan)
    assert trace.live_during.tolist() == expected.during
    assert trace.live_after.tolist() == expected.after
    return expected


@st.composite
def scheduled(draw: st.DrawFn) -> tuple[Chain, list[Operation]]:
    """A chain with one of its optimal schedules, and values freed at its end."""
    chain = draw(chains(max_stages=5, largest=4))
    points = list(ck.pareto(chain))
    point = draw(st.sampled_from(points))
    return chain, list(point.schedule)


@settings(max_examples=100)
@given(scheduled())
def test_legal_schedules_replay_alike(case: tuple[Chain, list[Operation]]) -> None:
    """Levels, peak and makespan."""
    assert agree(*case).legal


@settings(max_examples=200)
@given(scheduled(), st.data())
def test_a_mutated_schedule_is_refused_where_it_breaks_or_costs_what_it_runs(
    case: tuple[Chain, list[Operation]], data: st.DataObject
) -> None:
    """Drop, swap, or duplicate one operation.

    The schedule was optimal within its peak. So whatever a mutation saves, in time or
    bytes, it pays for in the other, or is refused.
    """
    chain, operations = case
    before = replay(chain.to_graph(), operations)
    at = data.draw(st.integers(0, len(operations) - 1))
    mutated = list(operations)
    match data.draw(st.sampled_from(["drop", "swap", "duplicate"])):
        case "drop":
            del mutated[at]
        case "swap":
            other = data.draw(st.integers(0, len(operations) - 1))
            mutated[at], mutated[other] = mutated[other], mutated[at]
        case _:
            to = data.draw(st.integers(0, len(operations)))
            mutated.insert(to, operations[at])
    after = agree(chain, mutated)
    if after.legal and after.peak <= before.peak:
        free = ck.solve(chain, before.peak, ck.Exhaustive())
        assert free.makespan is not None
        assert after.makespan >= free.makespan


@settings(max_examples=200)
@given(chains(max_stages=3, largest=4), st.data())
def test_random_operations_replay_alike(chain: Chain, data: st.DataObject) -> None:
    """Anything of the graph in any order, mostly steps that are legal at the time."""
    graph = chain.to_graph()
    known: list[Operation] = [
        *(Compute(n.name, m.name) for n in graph.nodes for m in n.modes),
        *(Free(value.name) for value in graph.values),
    ]
    operations: list[Operation] = []
    for _ in range(data.draw(st.integers(0, 12))):
        legal = [
            operation
            for operation in known
            if len(replay(graph, [*operations, operation]).after) > len(operations)
        ]
        if not legal or data.draw(st.integers(0, 9)) == 0:
            operations.append(data.draw(st.sampled_from(known)))
            break
        operations.append(data.draw(st.sampled_from(legal)))
    agree(chain, operations)


@settings(max_examples=100)
@given(scheduled())
def test_what_lives_adds_up_to_the_level(case: tuple[Chain, list[Operation]]) -> None:
    """At the peak and at every operation, static bytes left out."""
    chain, operations = case
    trace = simulate(chain, Schedule(operations))
    static = chain.static.total
    assert sum(trace.live_at_peak.values()) == trace.activation_peak
    levels = [sum(trace.live_at(i).values()) for i in range(len(operations))]
    assert levels == (trace.live_during - static).tolist()


@settings(max_examples=100)
@given(scheduled())
def test_the_budget_of_the_peak_is_enough_and_one_byte_less_is_not(
    case: tuple[Chain, list[Operation]],
) -> None:
    """The refused operation is the one that the trace calls the peak's."""
    chain, operations = case
    trace = simulate(chain, Schedule(operations))
    assert simulate(chain, Schedule(operations), budget=trace.peak) == trace
    if trace.peak:
        error = refused(chain, operations, budget=trace.peak - 1)
        assert error.index == max(trace.peak_index, 0)


@settings(max_examples=100)
@given(scheduled())
def test_codes_and_operations_are_inverse(case: tuple[Chain, list[Operation]]) -> None:
    """Solvers write integers, people read names; the measurement is the same."""
    chain, operations = case
    schedule = Schedule(operations)
    encoding = encode(chain.to_graph())
    codes = to_codes(schedule, encoding)
    assert from_codes(codes, encoding) == schedule
    trace = simulate(chain, schedule)
    assert measure(encoding, codes) == (trace.peak, trace.makespan, trace.executions)


@settings(max_examples=60)
@given(scheduled())
def test_kept_gradients_are_there_at_the_end(
    case: tuple[Chain, list[Operation]],
) -> None:
    """Every parameter gradient is a target, and stays."""
    chain, operations = case
    trace = simulate(chain, Schedule(operations))
    kept = sum(stage.parameter_gradient for stage in chain.sequence)
    kept += chain.input * chain.input_gradient
    assert trace.live_after[-1] >= chain.input + kept + chain.static.total
