"""Brute force over staged schedules, and small graphs to try it on."""

from heapq import heappop, heappush
from itertools import count

from hypothesis import strategies as st

from ckschedule.costs import Graph, Node, StaticMemory, Value
from ckschedule.costs.graph import Mode


def staged_optimum(graph: Graph, budget: int) -> int | None:
    """Return the least ticks of a staged schedule; None if none keeps the budget.

    Dijkstra over (stage, position in it, live values). Rules are written out afresh:
    position i < t of stage t may be run or passed over, position t is run; any value
    that is not kept may be freed at any moment.
    """
    names = [node.modes[0].outputs[0] for node in graph.nodes]
    index = {name: i for i, name in enumerate(names)}
    size = {value.name: value.size for value in graph.values}
    needs = [
        sum(1 << index[name] for name in node.modes[0].needs) for node in graph.nodes
    ]
    room = budget - graph.static.total
    bytes_of = [
        sum(size[name] for i, name in enumerate(names) if live >> i & 1)
        for live in range(1 << len(names))
    ]
    ticket = count()
    queue = [(0, next(ticket), 0, 0, 0)]
    seen = set()
    while queue:
        time, _, stage, position, live = heappop(queue)
        if stage == len(names):
            return time
        if (stage, position, live) in seen:
            continue
        seen.add((stage, position, live))
        for i, name in enumerate(names):
            if live >> i & 1 and name not in graph.kept:
                state = (stage, position, live & ~(1 << i))
                heappush(queue, (time, next(ticket), *state))
        if position < stage:
            heappush(queue, (time, next(ticket), stage, position + 1, live))
            if not graph.nodes[position].recomputable:
                continue
        mode = graph.nodes[position].modes[0]
        if live >> position & 1 or needs[position] & ~live:
            continue
        assert mode.transient is not None
        if bytes_of[live] + mode.transient > room:
            continue
        after = (stage, position + 1) if position < stage else (stage + 1, 0)
        state = (*after, live | 1 << position)
        heappush(queue, (time + mode.time, next(ticket), *state))
    return None


def graph_of(
    times: list[int],
    sizes: list[int],
    edges: list[tuple[int, int]],
    *,
    extra: dict[int, int] | None = None,
    once: tuple[int, ...] = (),
    stays: tuple[int, ...] = (),
    static: int = 0,
) -> Graph:
    """Return a graph of nodes 'n0', 'n1', ... that yield 'v0', 'v1', ...."""
    more = extra or {}
    return Graph(
        values=tuple(Value(name=f"v{i}", size=size) for i, size in enumerate(sizes)),
        nodes=tuple(
            Node(
                name=f"n{i}",
                modes=(
                    Mode(
                        name="run",
                        time=time,
                        needs=tuple(f"v{a}" for a, b in edges if b == i),
                        outputs=(f"v{i}",),
                        transient=sizes[i] + more.get(i, 0),
                    ),
                ),
                recomputable=i not in once,
            )
            for i, time in enumerate(times)
        ),
        targets=tuple(f"v{i}" for i in range(len(times))),
        kept=tuple(f"v{i}" for i in stays),
        static=StaticMemory(parameters=static),
    )


@st.composite
def graphs(draw: st.DrawFn, *, nodes: int = 6) -> Graph:
    """A graph under weighted pebbling with everything that it may have."""
    n = draw(st.integers(1, nodes))
    number = st.integers(0, 5)
    edges = [
        (a, b) for b in range(n) for a in range(b) if draw(st.sampled_from([0, 1, 1]))
    ]
    flags = st.sampled_from([False, False, False, True])
    return graph_of(
        [draw(number) for _ in range(n)],
        [draw(number) for _ in range(n)],
        edges,
        extra={i: draw(st.integers(0, 3)) for i in range(n) if draw(flags)},
        once=tuple(i for i in range(n) if draw(flags)),
        stays=tuple(i for i in range(n) if draw(flags)),
        static=draw(st.sampled_from([0, 2])),
    )
