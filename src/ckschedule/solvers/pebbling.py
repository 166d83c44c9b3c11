"""Weighted pebbling: graphs whose nodes yield one value each, as plain arrays.

The graphs of Checkmate, Moccasin and FastSA are such: node v takes ``time[v]``, its
value ``size[v]`` bytes; it may run when its predecessors' values live, and any value
may be freed at any time. Most methods of the literature know nothing else. What a
`Graph` may have besides (several modes, values that hold others, consumption) such a
method refuses by name; larger transients, values that stay, nodes that must not run
again and inputs fit in here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ckschedule.costs.chain import Chain
from ckschedule.costs.encoding import Encoding, Ints, as_lists, encode
from ckschedule.errors import UnsupportedModelError
from ckschedule.simulation import Model, as_graph

if TYPE_CHECKING:
    from ckschedule.costs.graph import Graph
    from ckschedule.solvers.base import AbstractSolver


@dataclass(frozen=True, kw_only=True)
class Pebbling:
    """Arrays of one graph under weighted pebbling; node v yields value v.

    Nodes stand in the graph's order, which is topological. Nodes from which no target
    can be reached are left out: nothing has to run them.

    Attributes
    ----------
    encoding
        Of the graph.
    mode
        (n,): mode index of each node, for `ckschedule.solvers.completion.complete`.
    time, size
        (n,): ticks, and bytes of its value.
    extra
        (n,): bytes by which the level rises above the value's own while it runs, zero
        or more.
    once
        (n,), 0 or 1: whether it must not run again.
    stays
        (n,), 0 or 1: whether its value is never freed.
    target
        (n,), 0 or 1: whether it must run although nothing reads its value.
    before_start, before
        Predecessors of v: ``before[before_start[v]:before_start[v + 1]]``, rising.
    after_start, after
        Successors, likewise.
    base
        Bytes that lie there throughout: static ones and inputs.
    """

    encoding: Encoding
    mode: Ints
    time: Ints
    size: Ints
    extra: Ints
    once: Ints
    stays: Ints
    target: Ints
    before_start: Ints
    before: Ints
    after_start: Ints
    after: Ints
    base: int

    def __len__(self) -> int:
        return len(self.time)

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.encoding.graph

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes."""
        return tuple(self.encoding.modes[mode][0] for mode in self.mode.tolist())

    @cached_property
    def predecessors(self) -> list[list[int]]:
        """Predecessors of each node, as lists."""
        return as_lists(self.before_start, self.before)

    @cached_property
    def successors(self) -> list[list[int]]:
        """Successors of each node, as lists."""
        return as_lists(self.after_start, self.after)

    @cached_property
    def base_time(self) -> int:
        """Ticks of running every node once."""
        return int(self.time.sum())


def as_pebbling(model: Model, solver: AbstractSolver) -> Pebbling:
    """Return a model's arrays under weighted pebbling.

    Parameters
    ----------
    model
        A graph; a chain has modes, which this refuses.
    solver
        Whose class the message names.

    Raises
    ------
    UnsupportedModelError
        If the graph has what pebbling has not; the message names the node or value.
    """
    who = type(solver).__name__
    graph = as_graph(model)
    for feature in _features(graph):
        known = ", or ChainDP" if isinstance(model, Chain) else ""
        raise UnsupportedModelError(
            f"{who} takes graphs under weighted pebbling only: in {graph.name!r} "
            f"{feature}; use RetentionCpSat{known}"
        )
    return _pebbling(encode(graph))


def pebbling_of(graph: Graph) -> Pebbling | None:
    """Return a graph's arrays; None if it has what pebbling has not."""
    return None if any(_features(graph)) else _pebbling(encode(graph))


def _features(graph: Graph) -> Iterator[str]:
    """Yield what weighted pebbling cannot say, in words."""
    given = set(graph.inputs)
    if graph.unpinned:
        yield f"the input {graph.unpinned[0]!r} may be freed"
    for value in graph.values:
        if value.holds:
            yield f"the value {value.name!r} holds {value.holds[0]!r}"
    producers = graph.producers
    for name, nodes in producers.items():
        if len(nodes) > 1:
            yield f"the value {name!r} is yielded by {nodes[0]!r} and {nodes[1]!r}"
        if nodes and name in given:
            yield f"the input {name!r} can be computed, too"
    done = set(given)
    for node in graph.nodes:
        if len(node.modes) > 1:
            yield f"node {node.name!r} has {len(node.modes)} modes"
        mode = node.modes[0]
        if mode.consumes:
            yield f"node {node.name!r} consumes {mode.consumes[0]!r}"
        if len(mode.outputs) != 1:
            yield f"node {node.name!r} yields {len(mode.outputs)} values"
        for name in mode.needs:
            if name not in done:
                yield f"node {node.name!r} stands before the one that yields {name!r}"
        done.update(mode.outputs)


def _pebbling(encoding: Encoding) -> Pebbling:
    known = encoding.graph.__dict__.get("_pebbling")
    if isinstance(known, Pebbling):
        return known
    # Node k has mode k, and yields this value.
    value_of = encoding.outputs
    node_of = {int(v): k for k, v in enumerate(value_of.tolist())}
    reads = [
        [node_of[v] for v in row if v in node_of]
        for row in as_lists(encoding.needs_start, encoding.needs)
    ]
    wanted = [bool(encoding.target[v]) for v in value_of.tolist()]
    for k in range(len(reads) - 1, -1, -1):
        if wanted[k]:
            for j in reads[k]:
                wanted[j] = True
    kept = np.flatnonzero(wanted)
    number = {int(k): i for i, k in enumerate(kept)}
    before = [sorted(number[j] for j in reads[k]) for k in kept.tolist()]
    after: list[list[int]] = [[] for _ in before]
    for i, row in enumerate(before):
        for j in row:
            after[j].append(i)
    values = value_of[kept]
    before_start, before_flat = _flat(before)
    after_start, after_flat = _flat(after)
    lying = int(encoding.size[encoding.live > 0].sum())
    made = Pebbling(
        encoding=encoding,
        mode=kept.astype(np.int64),
        time=encoding.time[kept],
        size=encoding.size[values],
        extra=encoding.transient[kept] - encoding.size[values],
        once=encoding.once[encoding.node[kept]],
        stays=encoding.pinned[values],
        target=encoding.target[values],
        before_start=before_start,
        before=before_flat,
        after_start=after_start,
        after=after_flat,
        base=lying + encoding.graph.static.total,
    )
    encoding.graph.__dict__["_pebbling"] = made
    return made


def _flat(rows: list[list[int]]) -> tuple[Ints, Ints]:
    start = np.zeros(len(rows) + 1, np.int64)
    start[1:] = np.cumsum([len(row) for row in rows], dtype=np.int64)
    return start, np.array([item for row in rows for item in row], np.int64)
