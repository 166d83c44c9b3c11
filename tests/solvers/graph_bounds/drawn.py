"""Random small graphs with all features, and a search in stages of the given order."""

from dataclasses import replace
from heapq import heappop, heappush

from hypothesis import strategies as st

from ckschedule.costs import Graph, Mode, Node, StaticMemory, Value
from ckschedule.solvers.pebbling import Pebbling, pebbling_of


@st.composite
def pebbled(draw: st.DrawFn, *, largest_n: int = 7) -> Graph:
    """Weighted pebbling with inputs, static bytes, transients, kept and once."""
    n = draw(st.integers(1, largest_n))
    small, sizes = st.integers(0, 4), st.sampled_from([0, 1, 1, 2, 3, 5, 7])
    values = [Value(name="in", size=draw(small))]
    nodes = []
    for v in range(n):
        # Mostly a path, as in training graphs, with reads of earlier values.
        reads = draw(st.lists(st.integers(-1, v - 1), max_size=3, unique=True))
        if v and draw(st.booleans()):
            reads.append(v - 1)
        size = draw(sizes)
        values.append(Value(name=f"v{v}", size=size))
        mode = Mode(
            name="run",
            time=draw(small),
            outputs=(f"v{v}",),
            needs=tuple("in" if u < 0 else f"v{u}" for u in dict.fromkeys(reads)),
            transient=size + draw(st.sampled_from([0, 0, 0, 1, 4])),
        )
        again = draw(st.sampled_from([True, True, True, False]))
        nodes.append(Node(name=f"n{v}", modes=(mode,), recomputable=again))
    names = [value.name for value in values[1:]]
    targets = {names[-1], *draw(st.lists(st.sampled_from(names), max_size=1))}
    kept = draw(st.lists(st.sampled_from(names), max_size=1))
    return Graph(
        values=tuple(values),
        nodes=tuple(nodes),
        inputs=("in",),
        targets=tuple(sorted(targets)),
        kept=tuple(kept),
        static=StaticMemory(buffers=draw(small)),
        time_unit="step",
        name="pebbled",
    )


@st.composite
def any_graphs(draw: st.DrawFn) -> Graph:
    """Up to four nodes with modes, holds, consumption, kept and unpinned values."""
    small = st.integers(0, 3)
    n = draw(st.integers(1, 4))
    names = ["in", *(f"v{i}" for i in range(n))]
    values = [Value(name="in", size=draw(small))]
    nodes = []
    for i in range(n):
        before = names[: i + 1]
        holds = draw(st.lists(st.sampled_from(before), max_size=1))
        values.append(Value(name=names[i + 1], size=draw(small), holds=tuple(holds)))
        modes = []
        for k in range(draw(st.integers(1, 2))):
            drawn = draw(st.lists(st.sampled_from(before), max_size=2, unique=True))
            needs = list(dict.fromkeys([*holds, *drawn]))
            consumes = [v for v in drawn if v not in holds and draw(st.booleans())]
            others = [
                v.name
                for v in values[1:-1]
                if v.name not in needs and {*v.holds} <= {*needs} - {*consumes}
            ]
            more = draw(st.lists(st.sampled_from(others), max_size=1) if others else NO)
            modes.append(
                Mode(
                    name=f"m{k}",
                    time=draw(small),
                    outputs=(names[i + 1], *more),
                    needs=tuple(needs),
                    consumes=tuple(consumes),
                )
            )
        again = draw(st.booleans())
        nodes.append(Node(name=f"n{i}", modes=tuple(modes), recomputable=again))
    targets = sorted({names[-1], *draw(st.lists(st.sampled_from(names[1:])))})
    nodes = draw(st.permutations(nodes))
    graph = Graph(
        values=tuple(values),
        nodes=tuple(nodes),
        inputs=("in",),
        unpinned=("in",) if draw(st.booleans()) else (),
        targets=tuple(targets),
        kept=tuple(v for v in targets if draw(st.booleans())),
        static=StaticMemory(buffers=draw(small)),
        time_unit="step",
    )
    extra = draw(small)
    return replace(
        graph,
        nodes=tuple(
            replace(
                node,
                modes=tuple(
                    replace(m, transient=(m.transient or 0) + extra) for m in node.modes
                ),
            )
            for node in graph.nodes
        ),
    )


NO: st.SearchStrategy[list[str]] = st.just([])
"""Nothing to choose from."""


def staged_optimum(graph: Graph, budget: int) -> int | None:
    """Return the least ticks of a schedule in stages of the graph's order, or None.

    Dijkstra over (next first computation, last one that ran again before it, live set);
    every value may be freed at any moment.
    """
    pebbling = pebbling_of(graph)
    assert pebbling is not None
    n = len(pebbling)
    start = (0, -1, 0)
    best = {start: 0}
    queue = [(0, start)]
    while queue:
        cost, state = heappop(queue)
        if cost > best[state]:
            continue
        if state[0] == n:
            return cost
        for then, spent in _steps(pebbling, state, budget):
            if cost + spent < best.get(then, cost + spent + 1):
                best[then] = cost + spent
                heappush(queue, (cost + spent, then))
    return None


def _steps(
    pebbling: Pebbling, state: tuple[int, int, int], budget: int
) -> list[tuple[tuple[int, int, int], int]]:
    stage, last, live = state
    size = pebbling.size.tolist()
    level = pebbling.base + sum(s for v, s in enumerate(size) if live >> v & 1)
    found = [
        ((stage, last, live & ~(1 << v)), 0)
        for v in range(stage)
        if live >> v & 1 and not pebbling.stays[v]
    ]
    for v in range(last + 1, stage + 1):
        if live >> v & 1 or (v < stage and pebbling.once[v]):
            continue
        if not all(live >> u & 1 for u in pebbling.predecessors[v]):
            continue
        if level + size[v] + int(pebbling.extra[v]) <= budget:
            place = (stage + 1, -1) if v == stage else (stage, v)
            found.append(((*place, live | 1 << v), int(pebbling.time[v])))
    return found
