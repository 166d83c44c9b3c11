"""What lives while each operation of a schedule runs, by kind, for pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ckschedule.costs.chain import Chain
from ckschedule.costs.encoding import Encoding, Ints, encode
from ckschedule.costs.graph import Graph
from ckschedule.plotting.scales import Scale, time_scale
from ckschedule.schedule import to_codes
from ckschedule.simulation import Model, Trace, as_graph

Axis: TypeAlias = Literal["makespan", "operations"]
"""What runs across: time, or the number of operations."""

CHAIN_KINDS: Final = (
    "outputs",
    "saved tensors",
    "gradients",
    "parameter gradients",
)
"""Kinds of a chain's values, in the order of their letters x, s, g and p."""

GRAPH_KINDS: Final = ("inputs", "values")
"""Kinds of the values of a graph, of which no more is known."""

_LETTERS: Final = "xsgp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where values and nodes of a model stand in a picture: a row a stage, or a node.

    Attributes
    ----------
    rows
        Names of the stages of a chain, the loss last; of the nodes of a graph.
    kinds
        Names of the kinds of values.
    kind, value_row
        (n_values,): kind of each value; its row, -1 for inputs.
    node_row, backward
        (n_nodes,): row of each node; 1 where it is a stage's backward.
    """

    rows: tuple[str, ...]
    kinds: tuple[str, ...]
    kind: Ints
    value_row: Ints
    node_row: Ints
    backward: Ints


def layout_of(model: Model) -> Layout:
    """Return the layout of a chain or a graph; linear in its size."""
    graph = as_graph(model)
    if not isinstance(model, Chain):
        return _layout_of_graph(graph)
    nodes = [node.name for node in graph.nodes]
    names = [value.name for value in graph.values]
    return Layout(
        rows=tuple(stage.name for stage in model.sequence),
        kinds=CHAIN_KINDS,
        kind=_ints([_LETTERS.index(name[0]) for name in names]),
        value_row=_ints([int(name[1:].split(":")[0]) - 1 for name in names]),
        node_row=_ints([int(name[1:]) - 1 for name in nodes]),
        backward=_ints([name[0] == "B" for name in nodes]),
    )


def _layout_of_graph(graph: Graph) -> Layout:
    rows = {node.name: k for k, node in enumerate(graph.nodes)}
    makers = graph.producers
    given = set(graph.inputs)
    return Layout(
        rows=tuple(rows),
        kinds=GRAPH_KINDS,
        kind=_ints([value.name not in given for value in graph.values]),
        value_row=_ints(
            [
                rows[makers[value.name][0]] if makers[value.name] else -1
                for value in graph.values
            ]
        ),
        node_row=np.arange(len(rows), dtype=np.int64),
        backward=np.zeros(len(rows), np.int64),
    )


def _ints(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Where the operations of a schedule stand on the horizontal axis.

    Attributes
    ----------
    edges
        (n_operations + 1,): operation i reaches from entry i to entry i + 1.
    label
        Of the axis.
    """

    edges: npt.NDArray[np.float64]
    label: str


def clock_of(trace: Trace, axis: Axis) -> Clock:
    """Return the clock of a schedule; one that takes no time is told by operations."""
    if axis == "operations" or trace.makespan == 0:
        edges = np.arange(len(trace.schedule) + 1, dtype=np.float64)
        return Clock(edges=edges, label="operation")
    encoding = encode(trace.graph)
    codes = to_codes(trace.schedule, encoding)
    unit: Scale = time_scale([trace.makespan], trace.graph.time_unit)
    # Floats: a place on paper, which ticks beyond 64 bits must have as well.
    ticks = np.where(codes >= 0, encoding.time[np.maximum(codes, 0)], 0)
    edges = np.concatenate([[0.0], np.cumsum(ticks, dtype=np.float64)])
    return Clock(edges=edges / unit.divisor, label=f"time ({unit.unit})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What lives while each operation runs, and from when to when each value does.

    Attributes
    ----------
    layout
        Kinds and rows.
    node
        (n_operations,): node of each computation, -1 for a free.
    again
        (n_operations,): whether the node has run before.
    levels
        (n_kinds, n_operations): bytes of the values of each kind that live before an
        operation.
    transient
        (n_operations,): bytes that it adds while it runs.
    value, born, died
        (n_intervals,): retention intervals, each of a value: the operations that yield
        and that release it; -1 if it is there before, n_operations if it stays.
    """

    layout: Layout
    node: Ints
    again: npt.NDArray[np.bool_]
    levels: Ints
    transient: Ints
    value: Ints
    born: Ints
    died: Ints


def timeline_of(trace: Trace, model: Model) -> Timeline:
    """Return the timeline of a schedule; O(operations log operations)."""
    encoding = encode(trace.graph)
    codes = to_codes(trace.schedule, encoding)
    runs = codes >= 0
    mode = np.maximum(codes, 0)
    layout = layout_of(model)
    node = np.where(runs, encoding.node[mode] if len(encoding.node) else 0, -1)
    value, born, died = _intervals(encoding, codes)
    change = np.zeros((len(layout.kinds), len(codes) + 1), np.int64)
    kind, size = layout.kind[value], encoding.size[value]
    # A value that operation i yields lives before operation i + 1.
    np.add.at(change, (kind, born + 1), size)
    ends = died < len(codes)
    np.subtract.at(change, (kind[ends], died[ends] + 1), size[ends])
    return Timeline(
        layout=layout,
        node=node,
        again=_again(node),
        levels=np.cumsum(change, axis=1)[:, : len(codes)],
        transient=np.where(runs, encoding.transient[mode] if runs.any() else 0, 0),
        value=value,
        born=born,
        died=died,
    )


def _again(node: Ints) -> npt.NDArray[np.bool_]:
    again = np.ones(len(node), np.bool_)
    _, first = np.unique(node, return_index=True)
    again[first] = False
    return again & (node >= 0)


def _intervals(encoding: Encoding, codes: Ints) -> tuple[Ints, Ints, Ints]:
    """Return values with the operations between which they live.

    All events of a value in order alternate between its birth and its end, once
    outputs that were live already are left out.
    """
    runs = np.flatnonzero(codes >= 0)
    frees = np.flatnonzero(codes < 0)
    given = np.flatnonzero(encoding.live)
    made_at, made = _per_mode(
        runs, codes[runs], encoding.outputs_start, encoding.outputs
    )
    used_at, used = _per_mode(
        runs, codes[runs], encoding.consumes_start, encoding.consumes
    )
    value = np.concatenate([given, made, used, -1 - codes[frees]])
    at = np.concatenate([np.full(len(given), -1), made_at, used_at, frees])
    birth = np.zeros(len(value), np.bool_)
    birth[: len(given) + len(made)] = True
    order = np.lexsort((at, value))
    value, at, birth = value[order], at[order], birth[order]
    repeated = np.zeros(len(value), np.bool_)
    repeated[1:] = birth[1:] & birth[:-1] & (value[1:] == value[:-1])
    value, at, birth = value[~repeated], at[~repeated], birth[~repeated]
    born = np.flatnonzero(birth)
    died = np.full(len(born), len(codes), np.int64)
    follows = born + 1 < len(value)
    end = born[follows] + 1
    ended = (value[end] == value[born[follows]]) & ~birth[end]
    died[np.flatnonzero(follows)[ended]] = at[end[ended]]
    return value[born], at[born], died


def _per_mode(at: Ints, modes: Ints, start: Ints, items: Ints) -> tuple[Ints, Ints]:
    """Return the items of each mode in turn, each with the operation it belongs to."""
    counts = start[modes + 1] - start[modes]
    total = int(counts.sum())
    offset = np.repeat(np.cumsum(counts) - counts, counts)
    place = np.arange(total) - offset + np.repeat(start[modes], counts)
    return np.repeat(at, counts), items[place]
