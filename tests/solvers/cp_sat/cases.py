"""Drawn graphs, and the optimum of staged schedules without any idea."""

from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

from hypothesis import strategies as st

from ckschedule import Graph, Mode, Node, StaticMemory, Value

Tight: TypeAlias = tuple[Graph, int]
"""A graph and a budget that may or may not do."""


@st.composite
def pebblings(draw: st.DrawFn, *, most: int = 7) -> Tight:
    """Weighted pebbling; the targets are what nobody needs, and now and then more."""
    small = st.integers(0, 4)
    n = draw(st.integers(1, most))
    needs = [
        draw(st.lists(st.integers(0, i - 1), max_size=3, unique=True)) if i else []
        for i in range(n)
    ]
    read = {j for row in needs for j in row}
    size = [draw(small) for _ in range(n)]
    targets = [i for i in range(n) if i not in read or draw(st.integers(0, 9)) == 0]
    graph = Graph(
        values=tuple(Value(name=f"v{i}", size=size[i]) for i in range(n)),
        nodes=tuple(
            Node(
                name=f"n{i}",
                modes=(
                    Mode(
                        name="run",
                        time=draw(small),
                        outputs=(f"v{i}",),
                        needs=tuple(f"v{j}" for j in needs[i]),
                        transient=size[i] + draw(st.sampled_from([0, 0, 1, 3])),
                    ),
                ),
                recomputable=draw(st.integers(0, 5)) > 0,
            )
            for i in range(n)
        ),
        targets=tuple(f"v{i}" for i in targets),
        kept=tuple(f"v{i}" for i in targets if draw(st.booleans())),
        time_unit="step",
    )
    return graph, draw(st.integers(0, sum(size) + 3))


@st.composite
def graphs(draw: st.DrawFn, *, most: int = 4) -> Tight:
    """Modes, holds, consumption, second outputs, kept and unpinned values."""
    small = st.integers(0, 3)
    n = draw(st.integers(1, most))
    names = ["in", *(f"v{i}" for i in range(n))]
    size = {name: draw(small) for name in names}
    holds: dict[str, tuple[str, ...]] = {"in": ()}
    read: set[str] = set()
    nodes: list[Node] = []
    for i in range(n):
        before = names[: i + 1]
        held = draw(st.lists(st.sampled_from(before), max_size=1))
        holds[f"v{i}"] = tuple(held)
        modes = []
        for k in range(draw(st.integers(1, 2))):
            drawn = draw(st.lists(st.sampled_from(before), max_size=2, unique=True))
            needs = list(dict.fromkeys([*held, *drawn]))
            consumes = [v for v in drawn if v not in held and draw(st.booleans())]
            others = [
                v
                for v in before[1:]
                if v not in needs and {*holds[v]} <= {*needs} - {*consumes}
            ]
            more = draw(st.lists(st.sampled_from(others), max_size=1)) if others else []
            read |= {*needs}
            outputs = (f"v{i}", *more)
            least = sum(size[v] for v in outputs) - sum(size[v] for v in consumes)
            modes.append(
                Mode(
                    name=f"m{k}",
                    time=draw(small),
                    outputs=outputs,
                    needs=tuple(needs),
                    consumes=tuple(consumes),
                    transient=draw(
                        st.sampled_from([None, max(0, least) + draw(small)])
                    ),
                )
            )
        nodes.append(
            Node(
                name=f"n{i}",
                modes=tuple(modes),
                recomputable=draw(st.integers(0, 3)) > 0,
            )
        )
    targets = [v for v in names[1:] if v not in read]
    graph = Graph(
        values=tuple(Value(name=v, size=size[v], holds=holds[v]) for v in names),
        nodes=tuple(nodes),
        inputs=("in",),
        unpinned=("in",) if draw(st.booleans()) else (),
        targets=tuple(targets),
        kept=tuple(v for v in targets if not holds[v] and draw(st.booleans())),
        static=StaticMemory(buffers=draw(small)),
        time_unit="step",
    )
    return graph, draw(st.integers(0, sum(size.values()) + 5))


def staged_optimum(graph: Graph, budget: int) -> int | None:
    """Least ticks of any schedule in the given order; None if none fits.

    Dijkstra over live values, targets reached, the nodes computed, the last of them
    and the last one computed again since. Frees are moves of their own.
    """
    size = {value.name: value.size for value in graph.values}
    holds = {value.name: {*value.holds} for value in graph.values}
    pinned = ({*graph.inputs} - {*graph.unpinned}) | {*graph.kept}
    targets = frozenset(graph.targets)

    def level(live: frozenset[str]) -> int:
        return sum(size[v] for v in live) + graph.static.total

    begin = frozenset(graph.inputs)
    if level(begin) > budget:
        return None
    tie = count()
    start = (begin, begin & targets, frozenset[int](), -1)
    best = {start: 0}
    queue = [(0, next(tie), start)]
    while queue:
        ticks, _, state = heappop(queue)
        if ticks > best[state]:
            continue
        live, done, ran, last = state
        if done >= targets:
            return ticks
        after = [
            (ticks, (live - {v}, done, ran, last))
            for v in live - pinned
            if not any(v in holds[u] for u in live)
        ]
        for k, node in enumerate(graph.nodes):
            first = k not in ran
            if (first and k < max(ran, default=-1)) or (not first and k <= last):
                continue
            if not first and not node.recomputable:
                continue
            for mode in node.modes:
                gone = {*mode.consumes}
                if (
                    not live.issuperset(mode.needs)
                    or live.issuperset(mode.outputs)
                    or level(live) + (mode.transient or 0) > budget
                    or gone & pinned
                    or any(gone & holds[u] for u in live - gone)
                ):
                    continue
                then = (live - gone) | {*mode.outputs}
                reached = done | (targets & {*mode.outputs})
                after.append(
                    (
                        ticks + mode.time,
                        (then, reached, ran | {k}, -1 if first else k),
                    )
                )
        for cost, onward in after:
            if cost < best.get(onward, 1 << 60):
                best[onward] = cost
                heappush(queue, (cost, next(tie), onward))
    return None
