"""Kusumoto's model on arrays: formulas by hand, the search against brute force."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckschedule.errors import InvalidModelError, ResourceLimitError
from ckschedule.solvers.lower_sets.model import (
    ForwardGraph,
    LowerSet,
    ancestor_closures,
    canonical_cost,
    lower_sets,
)
from ckschedule.solvers.lower_sets.search import lower_set_dp


def path(*memory: int) -> ForwardGraph:
    """Return a path of nodes of one tick."""
    n = len(memory)
    rows = tuple((v - 1,) if v else () for v in range(n))
    return ForwardGraph(predecessors=rows, memory=memory, time=(1,) * n)


@st.composite
def forward_graphs(draw: st.DrawFn) -> ForwardGraph:
    """Any graph of up to six nodes."""
    n = draw(st.integers(1, 6))
    rows = tuple(
        tuple(sorted(draw(st.sets(st.integers(0, v - 1), max_size=2)))) if v else ()
        for v in range(n)
    )
    number = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    return ForwardGraph(
        predecessors=rows, memory=tuple(draw(number)), time=tuple(draw(number))
    )


def all_sequences(
    family: tuple[LowerSet, ...], last: LowerSet = 0
) -> Iterator[tuple[LowerSet, ...]]:
    """Yield every rising sequence of a family that ends with its largest set."""
    if last == family[-1]:
        yield ()
    for lower in family:
        if lower != last and lower & last == last:
            for rest in all_sequences(family, lower):
                yield (lower, *rest)


def test_a_path_of_n_nodes_has_one_lower_set_more() -> None:
    """VGG19's 46 nodes have 47."""
    graph = path(*(1,) * 46)
    assert len(lower_sets(graph, limit=47)) == 47
    assert ancestor_closures(graph) == lower_sets(graph, limit=47)


def test_parallel_nodes_have_a_lower_set_for_each_subset() -> None:
    """A source, three nodes that read it, and a sink: 2**3 + 2; closures are five."""
    graph = ForwardGraph(
        predecessors=((), (0,), (0,), (0,), (1, 2, 3)), memory=(1,) * 5, time=(1,) * 5
    )
    assert len(lower_sets(graph, limit=10)) == 10
    assert len(ancestor_closures(graph)) == 6
    with pytest.raises(ResourceLimitError, match="more than 9 lower sets; raise"):
        lower_sets(graph, limit=9)


def test_a_cut_path_costs_what_the_formulas_say() -> None:
    """Four nodes of 1, 2, 3, 4 bytes, cut after the second.

    First block: 0 + 2 (1 + 2), then node 3 that comes next with 3 bytes, and what it
    reads outside the block: nothing. 9. Second: 2 bytes kept, 2 (3 + 4). 16. Computed
    again: node 1, and both of the last block, which has no boundary.
    """
    assert canonical_cost(path(1, 2, 3, 4), (0b0011, 0b1111)) == (3, 16)


def test_what_is_read_from_beyond_the_block_counts() -> None:
    """Nodes 1 and 2 are read by node 3; cut after node 1.

    2 M({1}) + M({3}) + M({2}) = 2 + 100 + 10; then 1 + 2 (10 + 100).
    """
    graph = ForwardGraph(
        predecessors=((), (), (0, 1)), memory=(1, 10, 100), time=(1, 1, 1)
    )
    assert canonical_cost(graph, (0b001, 0b111)) == (2, 221)
    assert graph.ahead(0b001) == 110


@settings(max_examples=150)
@given(forward_graphs(), st.integers(0, 60))
def test_the_search_equals_brute_force(graph: ForwardGraph, budget: int) -> None:
    """Over all sequences of the family: the same overheads are possible."""
    for family in (lower_sets(graph, limit=64), ancestor_closures(graph)):
        costs = [canonical_cost(graph, found) for found in all_sequences(family)]
        table = lower_set_dp(graph, budget, family)
        possible = {overhead for overhead, peak in costs if peak <= budget}
        # Of equal overheads at a lower set only the one that caches least is kept: no
        # other one allows more afterwards.
        assert table.overheads == sorted(possible)
        for overhead in table.overheads:
            found, peak = canonical_cost(graph, table.sequence(overhead))
            assert found == overhead
            assert peak <= budget


@settings(max_examples=80)
@given(forward_graphs())
def test_lower_sets_are_those_of_the_definition(graph: ForwardGraph) -> None:
    """Every subset into which no edge leads from outside."""
    n = len(graph)
    expected = {
        chosen
        for chosen in range(1 << n)
        if all(
            chosen >> u & 1
            for v in range(n)
            if chosen >> v & 1
            for u in graph.predecessors[v]
        )
    }
    assert set(lower_sets(graph, limit=64)) == expected
    assert set(ancestor_closures(graph)) <= expected


@pytest.mark.parametrize(
    ("sequence", "message"),
    [
        ((), "does not end with all nodes"),
        ((0b01,), "does not end with all nodes"),
        ((0b11, 0b11), "does not rise"),
        ((0b10, 0b11), "is not lower"),
    ],
)
def test_sequences_that_are_none_are_refused(
    sequence: tuple[int, ...], message: str
) -> None:
    """With what is wrong."""
    with pytest.raises(InvalidModelError, match=message):
        canonical_cost(path(1, 1), sequence)


def test_a_table_beyond_the_limit_is_refused() -> None:
    """Before it takes the memory."""
    graph = path(1, 1, 1)
    with pytest.raises(ResourceLimitError, match=r"4 lower sets times 4 ticks are 16"):
        lower_set_dp(graph, 10, lower_sets(graph, limit=10), max_cells=15)


def test_forward_graphs_are_checked() -> None:
    """Lengths and order."""
    with pytest.raises(InvalidModelError, match="memory has 1 entries for 2 nodes"):
        ForwardGraph(predecessors=((), (0,)), memory=(1,), time=(1, 1))
    with pytest.raises(InvalidModelError, match="node 0 has the predecessor 1"):
        ForwardGraph(predecessors=((1,), ()), memory=(1, 1), time=(1, 1))
