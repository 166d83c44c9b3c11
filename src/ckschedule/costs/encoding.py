"""A graph as integer arrays, the form that kernels read.

Values and modes are numbered in the graph's order; modes run through all nodes. Lists
per mode or value are stored flat: those of entry k are ``items[start[k]:start[k+1]]``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ckschedule.costs.graph import Graph, Mode

Ints: TypeAlias = npt.NDArray[np.int64]
"""Integers as kernels take them."""


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """Arrays of one graph.

    Attributes
    ----------
    size, held_start, held
        Bytes of each value, and the values it holds.
    live, pinned, target
        Flags per value (int64, 0 or 1): live at the start, never freed once live, must
        be produced.
    time, transient, node
        Ticks, bytes and node index of each mode.
    once
        Flag per node: not recomputable.
    needs_start, needs, outputs_start, outputs, consumes_start, consumes
        Values by mode.
    """

    graph: Graph
    size: Ints
    held_start: Ints
    held: Ints
    live: Ints
    pinned: Ints
    target: Ints
    time: Ints
    transient: Ints
    node: Ints
    once: Ints
    needs_start: Ints
    needs: Ints
    outputs_start: Ints
    outputs: Ints
    consumes_start: Ints
    consumes: Ints

    @cached_property
    def modes(self) -> tuple[tuple[str, str], ...]:
        """Names of node and mode, by mode index."""
        return tuple((n.name, m.name) for n in self.graph.nodes for m in n.modes)

    @cached_property
    def mode_index(self) -> dict[tuple[str, str], int]:
        """Mode index by names of node and mode."""
        return {names: i for i, names in enumerate(self.modes)}


def encode(graph: Graph) -> Encoding:
    """Return the arrays of a graph, computed once per graph; linear in its size."""
    known = graph.__dict__.get("_encoding")
    if not isinstance(known, Encoding):
        known = _encode(graph)
        graph.__dict__["_encoding"] = known
    return known


def as_lists(start: Ints, items: Ints) -> list[list[int]]:
    """Return lists that are stored flat, as lists: those of each value or mode."""
    flat = items.tolist()
    return [flat[a:b] for a, b in pairwise(start.tolist())]


def _encode(graph: Graph) -> Encoding:
    index = graph.value_index
    inputs = set(graph.inputs)
    pinned = (inputs - set(graph.unpinned)) | set(graph.kept)
    targets = set(graph.targets)
    modes = [mode for node in graph.nodes for mode in node.modes]

    def flat(lists: Iterable[Sequence[str]]) -> tuple[Ints, Ints]:
        rows = [[index[name] for name in names] for names in lists]
        start = np.zeros(len(rows) + 1, np.int64)
        start[1:] = np.cumsum([len(row) for row in rows], dtype=np.int64)
        return start, np.array([v for row in rows for v in row], np.int64)

    def flags(names: set[str]) -> Ints:
        return np.array([value.name in names for value in graph.values], np.int64)

    def column(numbers: Iterable[int]) -> Ints:
        return np.array(list(numbers), np.int64)

    held_start, held = flat([tuple(dict.fromkeys(v.holds)) for v in graph.values])
    needs_start, needs = flat([mode.needs for mode in modes])
    outputs_start, outputs = flat([mode.outputs for mode in modes])
    consumes_start, consumes = flat([mode.consumes for mode in modes])
    return Encoding(
        graph=graph,
        size=column(value.size for value in graph.values),
        held_start=held_start,
        held=held,
        live=flags(inputs),
        pinned=flags(pinned),
        target=flags(targets),
        time=column(mode.time for mode in modes),
        transient=column(_transient(mode) for mode in modes),
        node=column(k for k, node in enumerate(graph.nodes) for _ in node.modes),
        once=column(not node.recomputable for node in graph.nodes),
        needs_start=needs_start,
        needs=needs,
        outputs_start=outputs_start,
        outputs=outputs,
        consumes_start=consumes_start,
        consumes=consumes,
    )


def _transient(mode: Mode) -> int:
    assert mode.transient is not None, "resolved by Graph"
    return mode.transient
