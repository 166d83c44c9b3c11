"""Lifetimes are what the simulator counts, byte for byte and instant for instant."""

import numpy as np
import pytest
from arena.walks import storing, walks
from hypothesis import given, settings

from ckschedule.arena import Lifetimes, lifetimes_of
from ckschedule.costs import Graph, Value
from ckschedule.costs.graph import Mode, Node
from ckschedule.errors import InvalidSettingError
from ckschedule.operations import Compute, Free, Operation
from ckschedule.schedule import Schedule
from ckschedule.simulation import simulate


def rows(graph: Graph, operations: list[Operation], inplace: str = "") -> list[object]:
    """Name, first, last and size of each row, in order of birth."""
    trace = simulate(graph, Schedule(operations))
    return named(graph, lifetimes_of(trace, (inplace,) if inplace else ()))


def named(graph: Graph, lifetimes: Lifetimes) -> list[object]:
    names = [value.name for value in graph.values]
    return [
        (names[owner] if owner >= 0 else graph.nodes[-1 - owner].name, a, b, size)
        for owner, a, b, size in zip(
            lifetimes.owner.tolist(),
            lifetimes.first.tolist(),
            lifetimes.last.tolist(),
            lifetimes.size.tolist(),
            strict=True,
        )
    ]


def node(name: str, **mode: object) -> Node:
    return Node(name=name, modes=(Mode(name="run", time=1, **mode),))  # type: ignore[arg-type]  # fields by name


def values(**sizes: int) -> tuple[Value, ...]:
    return tuple(Value(name=name, size=size) for name, size in sizes.items())


@settings(max_examples=200)
@given(walks())
def test_at_each_instant_as_much_is_taken_as_the_simulator_says(
    walk: tuple[Graph, Schedule],
) -> None:
    """Two accounts of one schedule: levels, and the blocks that make them up."""
    graph, schedule = walk
    trace = simulate(graph, schedule)
    lifetimes = lifetimes_of(trace)
    taken = lifetimes.load_of_sizes(lifetimes.storages[2]) + graph.static.total
    assert taken[:-1].tolist() == trace.live_during.tolist()
    if len(schedule):
        assert taken[-1] == trace.live_after[-1]
    assert taken.max() == trace.peak


@settings(max_examples=200)
@given(walks())
def test_the_blocks_of_an_instant_are_the_live_values(
    walk: tuple[Graph, Schedule],
) -> None:
    """By name, against the simulator's own list of what lives."""
    graph, schedule = walk
    trace = simulate(graph, schedule)
    lifetimes = lifetimes_of(trace)
    for i, operation in enumerate(schedule):
        here = (lifetimes.first <= i) & (lifetimes.last >= i) & (lifetimes.owner >= 0)
        names = {graph.values[v].name for v in lifetimes.owner[here].tolist()}
        live = set(trace.live_at(i))
        born = set()
        if isinstance(operation, Compute):
            live.remove(f"transient of {operation.node}")
            position = next(
                k for k, n in enumerate(graph.nodes) if n.name == operation.node
            )
            born = set(graph.nodes[position].modes[0].outputs)
        assert live <= names <= live | born


def test_a_value_lives_from_its_computation_to_its_free() -> None:
    """Both included; what is never freed lives to the end, operation 3 of 3."""
    graph = Graph(
        values=values(a=4, b=5),
        nodes=(node("A", outputs=("a",)), node("B", outputs=("b",), needs=("a",))),
    )
    schedule: list[Operation] = [Compute("A", "run"), Compute("B", "run"), Free("a")]
    assert rows(graph, schedule) == [("a", 0, 2, 4), ("b", 1, 3, 5)]


def test_what_a_transient_has_beyond_the_outputs_lives_for_one_operation() -> None:
    """Workspace."""
    graph = Graph(values=values(a=4), nodes=(node("A", outputs=("a",), transient=7),))
    assert rows(graph, [Compute("A", "run")]) == [("a", 0, 1, 4), ("A", 0, 0, 3)]


def test_a_second_copy_of_a_live_value_lives_for_one_operation() -> None:
    """The simulator charges it to the transient and drops it."""
    graph = Graph(values=values(a=4, b=5), nodes=(node("A", outputs=("a", "b")),))
    schedule: list[Operation] = [Compute("A", "run"), Free("b"), Compute("A", "run")]
    assert rows(graph, schedule) == [
        ("a", 0, 3, 4),
        ("b", 0, 1, 5),
        ("b", 2, 3, 5),
        ("A", 2, 2, 4),
    ]


def test_an_output_without_room_in_the_transient_is_written_over_what_is_consumed() -> (
    None
):
    """6 bytes from 6 with a transient of 0: at no time do both lie side by side."""
    graph = Graph(
        values=values(a=6, b=6),
        nodes=(
            node("A", outputs=("a",)),
            node("B", outputs=("b",), needs=("a",), consumes=("a",), transient=0),
        ),
    )
    schedule: list[Operation] = [Compute("A", "run"), Compute("B", "run")]
    assert rows(graph, schedule) == [("a", 0, 1, 6), ("b", 2, 2, 6)]


CHAIN = Graph(
    values=(*values(a=6, b=6, c=6), Value(name="h", size=1, holds=("a",))),
    nodes=(
        node("A", outputs=("a",)),
        node("B", outputs=("b",), needs=("a",)),
        node("C", outputs=("c",), needs=("a",)),
        node("H", outputs=("h",), needs=("a",)),
        node("K", needs=("h",), outputs=("c",)),
    ),
)
"""B, C and H read a, of which h is a part."""


def storages(schedule: list[Operation], *inplace: str) -> list[int]:
    trace = simulate(CHAIN, Schedule(schedule))
    return [int(k) for k in lifetimes_of(trace, inplace).storage]


def test_an_operation_in_place_takes_the_storage_of_its_last_read_input() -> None:
    """The input's own life ends with it, long before its free."""
    schedule: list[Operation] = [Compute("A", "run"), Compute("B", "run"), Free("a")]
    assert storages(schedule, "B") == [0, 0]
    assert rows(CHAIN, schedule, "B") == [("a", 0, 1, 6), ("b", 1, 3, 6)]
    assert storages(schedule) == [0, 1], "unless it may not"


def test_an_input_that_is_read_again_is_not_overwritten() -> None:
    """Here by C."""
    run = [Compute(name, "run") for name in ("A", "B", "C")]
    assert storages([*run, Free("a")], "B", "C") == [0, 1, 0]


def test_an_input_that_is_not_freed_is_not_overwritten() -> None:
    """It has to be there at the end."""
    assert storages([Compute("A", "run"), Compute("B", "run")], "B") == [0, 1]


def test_an_input_that_a_value_in_use_holds_is_not_overwritten() -> None:
    """K reads h, and thereby a."""
    run = [Compute(name, "run") for name in ("A", "H", "B")]
    free: list[Operation] = [Free("h"), Free("a")]
    assert storages([*run, *free], "B") == [0, 1, 0]
    assert storages([*run, Compute("K", "run"), *free], "B") == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("size", "expected"), [(4, [0, 1, 2, 2]), (5, [0, 1, 2, 1]), (7, [0, 1, 2, 3])]
)
def test_the_smallest_input_that_has_room_is_overwritten(
    size: int, expected: list[int]
) -> None:
    """Of c, b and a, born in this order with 6, 5 and 4 bytes; none has room for 7."""
    graph = Graph(
        values=values(a=4, b=5, c=6, d=size),
        nodes=(
            *(node(name.upper(), outputs=(name,)) for name in "abc"),
            node("D", outputs=("d",), needs=("a", "b", "c")),
        ),
    )
    run: list[Operation] = [Compute(name, "run") for name in "CBAD"]
    last: list[Operation] = [Free("a"), Free("b"), Free("c")]
    lifetimes = lifetimes_of(simulate(graph, Schedule([*run, *last])), "D")
    assert lifetimes.storage.tolist() == expected
    assert lifetimes.inplace == (() if size == 7 else ("D",))


@settings(max_examples=200)
@given(walks(steps=20))
def test_nothing_is_read_once_it_has_been_overwritten(
    walk: tuple[Graph, Schedule],
) -> None:
    """Whatever reads a value, or one that holds it, does so before."""
    graph, schedule = walk
    trace = simulate(graph, schedule)
    plain, shared = lifetimes_of(trace), lifetimes_of(trace, lambda name: True)
    holds = {value.name: value.holds for value in graph.values}
    needs = {n.name: n.modes[0].needs for n in graph.nodes}
    for k in np.flatnonzero(shared.last < plain.last).tolist():
        name = graph.values[shared.owner[k]].name
        for i in range(shared.last[k] + 1, plain.last[k] + 1):
            operation = schedule.operations[i] if i < len(schedule) else None
            read = set(needs[operation.node] if isinstance(operation, Compute) else ())
            for _ in graph.values:
                read |= {held for holder in read for held in holds[holder]}
            assert name not in read
    # One storage holds one row at a time, but for the moment of overwriting.
    for home in range(shared.storage.max(initial=-1) + 1):
        mine = np.flatnonzero(shared.storage == home)
        mine = mine[np.argsort(shared.first[mine], kind="stable")]
        assert (shared.last[mine[:-1]] == shared.first[mine[1:]]).all()
        assert (shared.size[mine[:-1]] >= shared.size[mine[1:]]).all()


def test_a_node_that_the_graph_has_not_is_refused() -> None:
    """With one that it has."""
    graph, schedule = storing([(0, 1, 3)])
    with pytest.raises(InvalidSettingError, match=r"'relu', which is no node .* 'N0'"):
        lifetimes_of(simulate(graph, schedule), ("relu",))
