"""Arrays say the same as the graph that they stand for."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from strategies import chains

from ckschedule import Chain, Graph
from ckschedule.costs.encoding import Ints, encode
from ckschedule.costs.lowering import lower


def rows(graph: Graph, start: Ints, items: Ints) -> list[tuple[str, ...]]:
    return [
        tuple(graph.values[v].name for v in items[a:b])
        for a, b in pairwise(start.tolist())
    ]


@given(chains())
def test_modes_read_back_from_the_arrays(chain: Chain) -> None:
    """Needs, outputs, consumed values, times, transients, node of every mode."""
    graph = chain.to_graph()
    code = encode(graph)
    modes = [(node, mode) for node in graph.nodes for mode in node.modes]
    assert rows(graph, code.needs_start, code.needs) == [m.needs for _, m in modes]
    assert rows(graph, code.outputs_start, code.outputs) == [
        m.outputs for _, m in modes
    ]
    assert rows(graph, code.consumes_start, code.consumes) == [
        m.consumes for _, m in modes
    ]
    assert code.time.tolist() == [m.time for _, m in modes]
    assert code.transient.tolist() == [m.transient for _, m in modes]
    assert [graph.nodes[k] for k in code.node] == [n for n, _ in modes]
    assert code.once.tolist() == [not n.recomputable for n in graph.nodes]


@given(chains())
def test_values_read_back_from_the_arrays(chain: Chain) -> None:
    """Sizes, holds, and what lives at the start, stays, or is wanted."""
    graph = chain.to_graph()
    code = encode(graph)

    def flagged(flags: Ints) -> set[str]:
        return {v.name for v, flag in zip(graph.values, flags, strict=True) if flag}

    assert code.size.tolist() == [value.size for value in graph.values]
    assert rows(graph, code.held_start, code.held) == [v.holds for v in graph.values]
    assert flagged(code.live) == {"x0"}
    assert flagged(code.pinned) == {"x0", *graph.kept}
    assert flagged(code.target) == set(graph.targets)


@given(chains())
def test_names_and_mode_indices_are_inverse(chain: Chain) -> None:
    """A schedule's operations are looked up by name and written by index."""
    code = encode(chain.to_graph())
    assert [code.mode_index[names] for names in code.modes] == list(
        range(len(code.time))
    )


@given(chains())
def test_a_graph_is_encoded_once(chain: Chain) -> None:
    """Thousands of simulations share the arrays; equal graphs have equal ones."""
    graph = chain.to_graph()
    assert encode(graph) is encode(graph)
    assert np.array_equal(encode(lower(chain)).needs, encode(graph).needs)


def test_a_graph_of_nothing_has_empty_arrays() -> None:
    """Integers all the same: an empty float array would not index."""
    code = encode(Graph(values=(), nodes=()))
    assert {code.needs.dtype, code.size.dtype, code.time.dtype} == {np.dtype(np.int64)}
    assert code.needs_start.tolist() == [0]
