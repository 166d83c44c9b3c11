"""Graphs with random legal schedules, and schedules that store given blocks."""

from collections.abc import Sequence

from hypothesis import strategies as st

from ckschedule.costs import Graph, StaticMemory, Value
from ckschedule.costs.graph import Mode, Node
from ckschedule.operations import Compute, Free, Operation
from ckschedule.schedule import Schedule


@st.composite
def graphs(draw: st.DrawFn, *, smallest: int = 0, largest: int = 6) -> Graph:
    """A graph with every feature: inputs, holds, consumption, transients, static."""
    number = st.integers(smallest, largest)
    values = [Value(name=f"i{k}", size=draw(number)) for k in range(2)]
    nodes = []
    for k in range(draw(st.integers(1, 5))):
        known = [value.name for value in values]
        needs = draw(st.lists(st.sampled_from(known), max_size=3, unique=True))
        gone = [name for name in needs if name[0] != "i" and draw(st.booleans())]
        held = [name for name in needs if name not in gone]
        holds = tuple(held[:1]) if draw(st.booleans()) else ()
        made = [Value(name=f"v{k}", size=draw(number), holds=holds)]
        if draw(st.booleans()):
            made.append(Value(name=f"w{k}", size=draw(number)))
        sizes = {value.name: value.size for value in values}
        least = sum(v.size for v in made) - sum(sizes[name] for name in gone)
        mode = Mode(
            name="run",
            time=draw(number),
            outputs=tuple(value.name for value in made),
            needs=tuple(needs),
            consumes=tuple(gone),
            transient=draw(
                st.none() | st.just(max(0, least) + draw(st.integers(0, 3)))
            ),
        )
        values += made
        nodes.append(
            Node(name=f"N{k}", modes=(mode,), recomputable=draw(st.booleans()))
        )
    return Graph(
        values=tuple(values),
        nodes=tuple(nodes),
        inputs=("i0", "i1"),
        unpinned=("i0",) if draw(st.booleans()) else (),
        kept=("v0",) if draw(st.booleans()) else (),
        static=StaticMemory(parameters=draw(number)),
    )


@st.composite
def walks(
    draw: st.DrawFn, *, steps: int = 14, smallest: int = 0, largest: int = 6
) -> tuple[Graph, Schedule]:
    """A graph and a legal schedule for it: any operations that the rules allow.

    Values have ``smallest`` to ``largest`` bytes.
    """
    graph = draw(graphs(smallest=smallest, largest=largest))
    held_by = {value.name: value.holds for value in graph.values}
    pinned = {*graph.inputs, *graph.kept} - {*graph.unpinned}
    live, ran = set(graph.inputs), set[str]()
    operations: list[Operation] = []

    def released(names: Sequence[str]) -> bool:
        rest = live - set(names)
        held = {name for holder in rest for name in held_by[holder]}
        return not pinned & set(names) and not held & set(names)

    for _ in range(draw(st.integers(0, steps))):
        choices: list[Operation] = [Free(v) for v in sorted(live) if released([v])]
        for node in graph.nodes:
            mode = node.modes[0]
            again = node.recomputable or node.name not in ran
            able = set(mode.needs) <= live and not set(mode.outputs) <= live
            if again and able and released(mode.consumes):
                choices.append(Compute(node.name, "run"))
        if not choices:
            break
        chosen = draw(st.sampled_from(choices))
        operations.append(chosen)
        match chosen:
            case Compute(name):
                ran.add(name)
                mode = next(n for n in graph.nodes if n.name == name).modes[0]
                live = (live - set(mode.consumes)) | set(mode.outputs)
            case Free(value):
                live.remove(value)
    return graph, Schedule(operations)


def storing(rows: Sequence[tuple[int, int, int]]) -> tuple[Graph, Schedule]:
    """Return a schedule that stores one block for each (start, end, size).

    A block lives at the times start..end - 1; only the order of times matters.
    """
    values = tuple(
        Value(name=f"v{k}", size=size) for k, (_, _, size) in enumerate(rows)
    )
    nodes = tuple(
        Node(name=f"N{k}", modes=(Mode(name="run", time=1, outputs=(f"v{k}",)),))
        for k in range(len(rows))
    )
    operations: list[Operation] = []
    for time in sorted({t for start, end, _ in rows for t in (start, end)}):
        operations += [Free(f"v{k}") for k, row in enumerate(rows) if row[1] == time]
        operations += [
            Compute(f"N{k}", "run") for k, row in enumerate(rows) if row[0] == time
        ]
    return Graph(values=values, nodes=nodes), Schedule(operations)
