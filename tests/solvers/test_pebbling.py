"""Weighted pebbling: which graphs it takes, and what its arrays say."""

from dataclasses import replace

import pytest

import ckschedule as ck
from ckschedule import Exhaustive
from ckschedule.catalog import training_path, uniform
from ckschedule.costs import Graph, Mode, Node, StaticMemory, Value
from ckschedule.errors import UnsupportedModelError
from ckschedule.simulation import measure
from ckschedule.solvers.completion import complete
from ckschedule.solvers.pebbling import Pebbling, as_pebbling, pebbling_of


def node(name: str, *needs: str, time: int = 1, **more: object) -> Node:
    """A node that yields the value of its name in capitals."""
    recomputable = bool(more.pop("recomputable", True))
    mode = Mode(name="run", time=time, outputs=(name.upper(),), needs=needs)
    return Node(
        name=name,
        modes=(replace(mode, **more),),  # type: ignore[arg-type]  # fields of a Mode
        recomputable=recomputable,
    )


def sizes(**numbers: int) -> tuple[Value, ...]:
    return tuple(Value(name=name, size=size) for name, size in numbers.items())


DIAMOND = Graph(
    name="diamond",
    values=sizes(X=3, A=5, B=7, C=2, D=11, E=13),
    nodes=(
        node("a", "X", time=4),
        node("b", "A", time=6, transient=9),
        node("e", "A", time=100),
        node("c", "A", "X", time=8, recomputable=False),
        node("d", "B", "C", time=10),
    ),
    inputs=("X",),
    targets=("D", "C"),
    kept=("C",),
    static=StaticMemory(buffers=1000),
)
"""Node e is of no use to anybody."""


def arrays(graph: Graph) -> Pebbling:
    found = pebbling_of(graph)
    assert found is not None
    return found


def test_nodes_without_which_all_targets_are_reached_are_left_out() -> None:
    """Nothing has to run e, nor to keep what it reads."""
    pebbling = arrays(DIAMOND)
    assert pebbling.names == ("a", "b", "c", "d")
    assert pebbling.successors == [[1, 2], [3], [3], []]
    assert pebbling.predecessors == [[], [0], [0], [1, 2]]
    assert pebbling.mode.tolist() == [0, 1, 3, 4]


def test_numbers_are_those_of_the_nodes_that_remain() -> None:
    """Transients beyond a value's own bytes; inputs and static bytes lie there."""
    pebbling = arrays(DIAMOND)
    assert len(pebbling) == 4
    assert pebbling.time.tolist() == [4, 6, 8, 10]
    assert pebbling.base_time == 28
    assert pebbling.size.tolist() == [5, 7, 2, 11]
    assert pebbling.extra.tolist() == [0, 2, 0, 0]
    assert pebbling.once.tolist() == [0, 0, 1, 0]
    assert pebbling.stays.tolist() == [0, 0, 1, 0]
    assert pebbling.target.tolist() == [0, 0, 1, 1]
    assert pebbling.base == 1003
    assert pebbling.graph is DIAMOND


def test_modes_of_a_pebbling_complete_to_a_schedule_of_the_graph() -> None:
    """Level while b runs: X, A, and 9; while d runs: X, B, C, D."""
    pebbling = arrays(DIAMOND)
    codes = complete(pebbling.encoding, pebbling.mode)
    peak, makespan, executions = measure(pebbling.encoding, codes)
    assert (peak, makespan, executions) == (1000 + 3 + 7 + 2 + 11, 28, 4)


def test_no_node_remains_where_nothing_is_asked_for() -> None:
    """An empty pebbling is one."""
    pebbling = arrays(replace(DIAMOND, targets=(), kept=()))
    assert len(pebbling) == 0
    assert pebbling.base_time == 0
    assert pebbling.before_start.tolist() == [0]


def test_the_arrays_are_made_once_for_a_graph() -> None:
    """Solvers ask for them as often as they like."""
    graph = training_path(3)
    assert as_pebbling(graph, Exhaustive()) is pebbling_of(graph)


HELD = (*sizes(X=3, A=5), Value(name="B", size=7, holds=("A",)), *sizes(C=2, D=11, E=1))


@pytest.mark.parametrize(
    ("graph", "feature"),
    [
        (replace(DIAMOND, unpinned=("X",)), "the input 'X' may be freed"),
        (replace(DIAMOND, values=HELD), "the value 'B' holds 'A'"),
        (
            replace(
                DIAMOND,
                nodes=(*DIAMOND.nodes, replace(DIAMOND.nodes[0], name="again")),
            ),
            "the value 'A' is yielded by 'a' and 'again'",
        ),
        (
            replace(DIAMOND, inputs=("X", "A")),
            "the input 'A' can be computed, too",
        ),
        (
            replace(
                DIAMOND,
                nodes=(
                    replace(
                        DIAMOND.nodes[0],
                        modes=(
                            *DIAMOND.nodes[0].modes,
                            replace(DIAMOND.nodes[0].modes[0], name="other"),
                        ),
                    ),
                    *DIAMOND.nodes[1:],
                ),
            ),
            "node 'a' has 2 modes",
        ),
        (
            replace(
                DIAMOND,
                nodes=(*DIAMOND.nodes[:-1], node("d", "B", "C", consumes=("B",))),
            ),
            "node 'd' consumes 'B'",
        ),
        (
            replace(
                DIAMOND,
                values=(*DIAMOND.values, *sizes(Y=1)),
                nodes=(
                    *DIAMOND.nodes[:-1],
                    node("d", "B", "C", outputs=("D", "Y")),
                ),
            ),
            "node 'd' yields 2 values",
        ),
        (
            replace(DIAMOND, nodes=DIAMOND.nodes[::-1]),
            "node 'd' stands before the one that yields 'B'",
        ),
    ],
)
def test_what_pebbling_has_not_is_refused_by_name(graph: Graph, feature: str) -> None:
    """And the way out is named, too."""
    assert pebbling_of(graph) is None
    with pytest.raises(UnsupportedModelError) as caught:
        as_pebbling(graph, Exhaustive())
    message = str(caught.value)
    assert message.startswith("Exhaustive takes graphs under weighted pebbling only")
    assert feature in message
    assert "RetentionCpSat" in message
    assert "ChainDP" not in message


def test_a_chain_is_sent_to_a_solver_of_chains() -> None:
    """Its nodes have a plain and a recording mode."""
    with pytest.raises(UnsupportedModelError, match="RetentionCpSat, or ChainDP"):
        as_pebbling(uniform(stages=3), Exhaustive())


def test_left_out_nodes_do_not_change_the_optimum() -> None:
    """What the pebbling says is about the same schedules."""
    without = tuple(node for node in DIAMOND.nodes if node.name != "e")
    graph = replace(DIAMOND, nodes=without, values=DIAMOND.values[:-1])
    for budget in range(1020, 1030):
        found = ck.solve(DIAMOND, budget, Exhaustive())
        expected = ck.solve(graph, budget, Exhaustive())
        assert (found.status, found.makespan) == (expected.status, expected.makespan)
