"""What a graph accepts and what it refuses."""

import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from ckschedule import Graph, Mode, Node, StaticMemory, Value
from ckschedule.errors import InvalidModelError
from ckschedule.units import INT64_MAX

NO_COUNTS = [-1, 1.0, float("nan"), True, "1", None, np.float64(1), np.True_, 2**63]


def node(
    name: str,
    outputs: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
    consumes: tuple[str, ...] = (),
    *,
    time: int = 1,
    transient: int | None = None,
) -> Node:
    mode = Mode(
        name="run",
        time=time,
        outputs=outputs,
        needs=needs,
        consumes=consumes,
        transient=transient,
    )
    return Node(name=name, modes=(mode,))


A, B = Value(name="a", size=3), Value(name="b", size=5)
GRAPH = Graph(
    values=(A, B),
    nodes=(node("A", ("a",)), node("B", ("b",), ("a",))),
    targets=("b",),
)


@pytest.mark.parametrize("bad", NO_COUNTS, ids=repr)
def test_sizes_times_and_transients_are_whole_numbers(bad: int) -> None:
    """The message names the culprit and its value."""
    with pytest.raises(
        InvalidModelError, match=re.escape(f"value 'a': size is {bad!r}")
    ):
        Value(name="a", size=bad)
    with pytest.raises(
        InvalidModelError, match=re.escape(f"mode 'run': time is {bad!r}")
    ):
        Mode(name="run", time=bad)
    if bad is not None:
        with pytest.raises(
            InvalidModelError, match=re.escape(f"mode 'run': transient is {bad!r}")
        ):
            Mode(name="run", time=0, transient=bad)


def test_numpy_integers_become_plain_ones() -> None:
    """They would wrap at their own width."""
    size = Value(name="a", size=np.int32(3)).size  # type: ignore[arg-type]  # numpy's are integers
    mode = Mode(name="m", time=np.int8(4), transient=np.int8(5))  # type: ignore[arg-type]  # likewise
    assert {type(size), type(mode.time), type(mode.transient)} == {int}


@pytest.mark.parametrize("bad", ["", 5, None, "\udfff"], ids=repr)
def test_everything_has_a_name(bad: str) -> None:
    """Non-empty text that a file can hold."""
    with pytest.raises(InvalidModelError, match="value name"):
        Value(name=bad, size=1)
    with pytest.raises(InvalidModelError, match="mode name"):
        Mode(name=bad, time=1)
    with pytest.raises(InvalidModelError, match="node name"):
        node(bad)
    with pytest.raises(InvalidModelError, match="graph name"):
        replace(GRAPH, name=bad)


def test_a_node_has_a_mode() -> None:
    """Otherwise it could not run."""
    with pytest.raises(InvalidModelError, match="node 'A' has no mode; give at least"):
        Node(name="A", modes=())


def test_modes_of_a_node_have_different_names() -> None:
    """An operation names node and mode."""
    mode = Mode(name="run", time=1)
    with pytest.raises(InvalidModelError, match="node 'A': mode 'run' occurs twice"):
        Node(name="A", modes=(mode, mode))


def test_recomputable_is_a_flag() -> None:
    """One and zero are counts."""
    with pytest.raises(InvalidModelError, match="node 'A': recomputable is 1"):
        Node(name="A", modes=(Mode(name="m", time=1),), recomputable=1)  # type: ignore[arg-type]  # that is the test


@pytest.mark.parametrize("part", ["outputs", "needs", "consumes"])
def test_a_mode_names_a_value_once(part: str) -> None:
    """Its size would be counted twice."""
    lists = {"needs": ("a",), part: ("a", "a")}
    with pytest.raises(InvalidModelError, match=f"{part} entry 'a' occurs twice"):
        Mode(name="m", time=1, **lists)  # type: ignore[arg-type]  # the lists only


def test_consumed_values_are_needed() -> None:
    """What is not there cannot be used up."""
    with pytest.raises(
        InvalidModelError, match="consumes 'a' without needing it; add it to needs"
    ):
        Mode(name="m", time=1, consumes=("a",))


def test_no_node_needs_its_own_output() -> None:
    """It could never run, or never newly."""
    with pytest.raises(
        InvalidModelError, match="node 'N', mode 'run': needs its own output 'a'"
    ):
        Graph(values=(A,), nodes=(node("N", ("a",), ("a",)),), inputs=("a",))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"nodes": (node("A", ("a", "z")),)}, "node 'A', mode 'run': outputs"),
        ({"nodes": (node("A", ("a",), ("z",)),)}, "node 'A', mode 'run': needs"),
        ({"values": (A, B, Value(name="c", size=1, holds=("z",)))}, "value 'c': holds"),
        ({"inputs": ("z",)}, "graph: inputs"),
        ({"unpinned": ("z",)}, "graph: unpinned"),
        ({"targets": ("z",)}, "graph: targets"),
        ({"kept": ("z",)}, "graph: kept"),
    ],
    ids=["outputs", "needs", "holds", "inputs", "unpinned", "targets", "kept"],
)
def test_unknown_values_are_refused(change: dict[str, object], where: str) -> None:
    """With the place that names them."""
    with pytest.raises(
        InvalidModelError, match=f"{where} names the unknown value 'z'; add it"
    ):
        replace(GRAPH, **change)  # type: ignore[arg-type]  # one field at a time


@pytest.mark.parametrize("part", ["inputs", "targets", "kept"])
def test_lists_of_a_graph_name_a_value_once(part: str) -> None:
    """Twice is a slip."""
    with pytest.raises(InvalidModelError, match=f"graph: {part} entry 'a' occurs"):
        replace(GRAPH, **{part: ("a", "a")})  # type: ignore[arg-type]  # lists only


def test_names_are_unique() -> None:
    """Among values, and among nodes; a value and a node may share one."""
    with pytest.raises(InvalidModelError, match="value 'a' occurs twice"):
        replace(GRAPH, values=(A, B, A))
    with pytest.raises(InvalidModelError, match="node 'A' occurs twice"):
        replace(GRAPH, nodes=(*GRAPH.nodes, node("A", ("a",))))
    shared = Graph(values=(A,), nodes=(node("a", ("a",)),))
    assert shared.producers == {"a": ("a",)}


def test_only_inputs_can_be_unpinned() -> None:
    """Other values are free to go anyway."""
    with pytest.raises(InvalidModelError, match="unpinned value 'a' is no input"):
        replace(GRAPH, unpinned=("a",))


def test_a_value_comes_from_somewhere() -> None:
    """From a node, or as an input."""
    with pytest.raises(
        InvalidModelError, match="'a' is yielded by no node and is no input"
    ):
        Graph(values=(A,), nodes=())
    assert Graph(values=(A,), nodes=(), inputs=("a",)).producers == {"a": ()}


@pytest.mark.parametrize("n", [1, 2, 5])
def test_values_do_not_hold_themselves_through_a_circle(n: int) -> None:
    """None of them could ever be freed."""
    values = tuple(
        Value(name=f"v{i}", size=1, holds=(f"v{(i + 1) % n}",)) for i in range(n)
    )
    names = tuple(value.name for value in values)
    with pytest.raises(InvalidModelError, match="holds itself through a circle"):
        Graph(values=(A, *values), nodes=(), inputs=("a", *names))


def test_a_long_line_of_holders_is_no_circle() -> None:
    """Nor does it exhaust the stack."""
    values = tuple(
        Value(name=f"v{i}", size=1, holds=(f"v{i - 1}",) if i else ())
        for i in range(5000)
    )
    names = tuple(value.name for value in values)
    assert len(Graph(values=values, nodes=(), inputs=names).values) == 5000


def test_a_transient_covers_outputs_beyond_what_is_consumed() -> None:
    """5 bytes come, 3 go: at least 2 more exist at some time."""

    def graph(transient: int) -> Graph:
        last = node("B", ("b",), ("a",), ("a",), transient=transient)
        return replace(GRAPH, nodes=(GRAPH.nodes[0], last))

    with pytest.raises(
        InvalidModelError,
        match=r"node 'B', mode 'run': transient 1 is below .* at least 2",
    ):
        graph(1)
    assert graph(2).nodes[1].modes[0].transient == 2


def test_the_default_transient_is_the_sum_of_the_outputs() -> None:
    """Conservative: what is consumed goes when the node ends."""
    last = node("B", ("b",), ("a",), ("a",))
    assert replace(GRAPH, nodes=(GRAPH.nodes[0], last)).nodes[1].modes[0].transient == 5


def test_bytes_are_added_up_before_the_kernels_do() -> None:
    """All values, the static bytes and the largest transient together."""
    limit = INT64_MAX - 3 - 3
    big = StaticMemory(parameters=limit)
    fits = Graph(values=(A,), nodes=(node("A", ("a",)),), static=big)
    assert fits.static.total == limit
    with pytest.raises(InvalidModelError, match="sum of all values' bytes"):
        replace(fits, static=StaticMemory(parameters=limit, buffers=1))


def test_times_are_added_up_before_the_kernels_do() -> None:
    """Computing everything once has to fit into 64 bits."""
    nodes = (node("A", ("a",), time=INT64_MAX - 1), node("B", ("b",), ("a",)))
    assert replace(GRAPH, nodes=nodes).base_time == INT64_MAX
    with pytest.raises(InvalidModelError, match="the time of computing every node"):
        replace(GRAPH, nodes=(*nodes, node("C")))


def test_the_base_time_takes_the_fastest_modes() -> None:
    """1 + 1 + min(4, 2)."""
    modes = (Mode(name="slow", time=4), Mode(name="fast", time=2))
    graph = replace(GRAPH, nodes=(*GRAPH.nodes, Node(name="M", modes=modes)))
    assert graph.base_time == 4


def test_overheads_may_be_measured_against_another_time() -> None:
    """Only a time that differs is kept: others follow the nodes."""
    assert replace(GRAPH, reference_time=7).base_time == 7
    assert replace(GRAPH, reference_time=2) == GRAPH
    with pytest.raises(InvalidModelError, match="reference_time is -1"):
        replace(GRAPH, reference_time=-1)


@pytest.mark.parametrize("part", ["outputs", "needs", "consumes"])
def test_a_bare_string_is_no_sequence_of_names(part: str) -> None:
    """It would become its letters: 'x1' the values 'x' and '1'."""
    with pytest.raises(
        InvalidModelError, match=rf"mode 'run': {part} is 'x1', one name; .*\('x1',\)"
    ):
        Mode(name="run", time=1, **{part: "x1"})  # type: ignore[arg-type]  # the test
    with pytest.raises(InvalidModelError, match=f"{part} is 3; give a sequence"):
        Mode(name="run", time=1, **{part: 3})  # type: ignore[arg-type]  # the test


@pytest.mark.parametrize("part", ["inputs", "unpinned", "targets", "kept"])
def test_a_graph_takes_no_bare_string_for_names(part: str) -> None:
    """Nor does a value that holds others."""
    with pytest.raises(InvalidModelError, match=f"graph: {part} is 'a', one name"):
        replace(GRAPH, **{part: "a"})  # type: ignore[arg-type]  # the test
    with pytest.raises(InvalidModelError, match="value 'c': holds is 'ab', one name"):
        Value(name="c", size=1, holds="ab")  # type: ignore[arg-type]  # the test


def test_producers_are_all_nodes_that_can_yield_a_value() -> None:
    """Each once, however many of its modes do."""
    both = Node(
        name="C",
        modes=(
            Mode(name="one", time=1, outputs=("a",)),
            Mode(name="two", time=1, outputs=("a", "b")),
        ),
    )
    graph = replace(GRAPH, nodes=(*GRAPH.nodes, both))
    assert graph.producers == {"a": ("A", "C"), "b": ("B", "C")}


def test_a_graph_of_nothing_is_legal() -> None:
    """It has one schedule, the empty one."""
    assert Graph(values=(), nodes=()).base_time == 0


def test_graphs_are_values() -> None:
    """Equal, hashable, replaceable, unchangeable."""
    again = replace(GRAPH)
    assert (again, hash(again)) == (GRAPH, hash(GRAPH))
    assert replace(GRAPH, name="other") != GRAPH
    with pytest.raises(FrozenInstanceError):
        GRAPH.name = "other"  # type: ignore[misc]  # that is the test


def test_lists_become_tuples() -> None:
    """A list could change after it was checked."""
    graph = Graph(
        values=[A],  # type: ignore[arg-type]  # any sequence
        nodes=[node("A", ["a"])],  # type: ignore[arg-type]  # likewise
        targets=["a"],  # type: ignore[arg-type]  # likewise
    )
    assert hash(graph) == hash(
        Graph(values=(A,), nodes=(node("A", ("a",)),), targets=("a",))
    )


def test_a_value_is_born_beside_what_it_holds() -> None:
    """A dead value cannot be held; freeing it first would otherwise free more."""
    values = (
        Value(name="a", size=3),
        Value(name="b", size=4, holds=("a",)),
        Value(name="c", size=4),
    )
    mode = Mode(name="m", time=1, outputs=("b",))
    with pytest.raises(InvalidModelError, match="add 'a' to its needs or outputs"):
        Graph(
            values=values,
            nodes=(
                Node(name="B", modes=(mode,)),
                Node(name="C", modes=(Mode(name="m", time=1, outputs=("c",)),)),
            ),
            inputs=("a",),
        )
