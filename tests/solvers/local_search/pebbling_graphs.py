"""Random graphs under weighted pebbling, and what a schedule's sequence must obey."""

from collections.abc import Sequence

from hypothesis import strategies as st

from ckschedule import Compute, Graph, Mode, Node, Schedule, StaticMemory, Value


@st.composite
def pebbling_graphs(
    draw: st.DrawFn, *, max_nodes: int = 7, largest: int = 6, plain: bool = False
) -> Graph:
    """A graph with every feature: transients, inputs, kept values, nodes run once.

    ``plain`` ones have none of these. Each node reads up to three before it.
    """
    number = st.integers(0, largest)
    n = draw(st.integers(1, max_nodes))
    values, nodes = [], []
    read: set[int] = set()
    flag = st.just(False) if plain else st.sampled_from([False, False, False, True])
    given = draw(flag)
    kept, targets = [], []
    for v in range(n):
        before = draw(st.sets(st.integers(0, v - 1), max_size=3)) if v else set()
        read |= before
        size = draw(number)
        values.append(Value(name=f"v{v}", size=size))
        needs = [f"v{u}" for u in sorted(before)]
        if given and v % 2 == 0:
            needs.append("x")
        mode = Mode(
            name="run",
            time=draw(number),
            outputs=(f"v{v}",),
            needs=tuple(needs),
            transient=size + draw(number) if draw(flag) else None,
        )
        nodes.append(Node(name=f"n{v}", modes=(mode,), recomputable=not draw(flag)))
        if draw(flag):
            kept.append(f"v{v}")
        if draw(flag):
            targets.append(f"v{v}")
    sinks = [f"v{v}" for v in range(n) if v not in read]
    if given:
        values.append(Value(name="x", size=draw(number)))
    return Graph(
        name="random",
        values=tuple(values),
        nodes=tuple(nodes),
        inputs=("x",) if given else (),
        kept=tuple(kept),
        targets=tuple(dict.fromkeys([*targets, *sinks])),
        static=StaticMemory(parameters=0 if plain else draw(number)),
        time_unit="step",
    )


def in_given_order(graph: Graph, schedule: Schedule) -> bool:
    """Whether a schedule lies in the scope GIVEN_ORDER, by its words.

    First computations come in the graph's order; between two of them others run again
    in that order, too, each once.
    """
    place = {node.name: k for k, node in enumerate(graph.nodes)}
    runs = [place[op.node] for op in schedule if isinstance(op, Compute)]
    latest, again = -1, -1
    for k in runs:
        if k > latest:
            latest, again = k, -1
        elif k > again:
            again = k
        else:
            return False
    return True


def runs_of(schedule: Schedule) -> Sequence[str]:
    """Names of the nodes in running order."""
    return [op.node for op in schedule if isinstance(op, Compute)]
