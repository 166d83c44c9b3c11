"""Kusumoto's model: lower sets of a forward graph, and what their sequences cost.

A set L of nodes is *lower* when no edge leads into it from outside. A sequence of lower
sets {} < L_1 < ... < L_k = V cuts the graph into blocks V_i = L_i - L_{i-1}. The
canonical strategy keeps, while going forward, the boundaries bd(L_i) only: members that
a node outside reads. Going back, from k to 1, it computes each block again from
U_{i-1} = bd(L_1) + ... + bd(L_{i-1}) and runs the block's backward.

    overhead = sum over i of T(V_i - bd(L_i))
    peak     = max over i of M(U_{i-1}) + 2 M(V_i)
                             + M(succ(L_i) - L_i) + M(pred(succ(L_i)) - L_i)

M are bytes and T ticks of nodes; a gradient is as large as its value.

M. Kusumoto, T. Inoue, G. Watanabe, T. Akiba, M. Koyama: "A Graph Theoretic Framework of
Recomputation Algorithms for Memory-Efficient Backpropagation", NeurIPS 2019, arXiv
1905.11722.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ckschedule.errors import InvalidModelError, ResourceLimitError

LowerSet = int
"""Bit mask of nodes."""


@dataclass(frozen=True, kw_only=True)
class ForwardGraph:
    """A forward graph with bytes and ticks of its nodes.

    Attributes
    ----------
    predecessors
        Of each node; all stand before it.
    memory, time
        Bytes and ticks of each node, zero or more.

    Raises
    ------
    InvalidModelError
        If the three differ in length, or a predecessor does not stand before its node.
    """

    predecessors: tuple[tuple[int, ...], ...]
    memory: tuple[int, ...]
    time: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("memory", "time"):
            given = len(getattr(self, name))
            if given != len(self):
                raise InvalidModelError(
                    f"forward graph: {name} has {given} entries for {len(self)} nodes"
                )
        for v, row in enumerate(self.predecessors):
            for u in row:
                if not 0 <= u < v:
                    raise InvalidModelError(
                        f"forward graph: node {v} has the predecessor {u}; number "
                        f"nodes so that predecessors stand before"
                    )

    def __len__(self) -> int:
        return len(self.predecessors)

    @property
    def all(self) -> LowerSet:
        """The set of all nodes."""
        return (1 << len(self)) - 1

    @cached_property
    def before(self) -> tuple[int, ...]:
        """Predecessors of each node as bit masks."""
        return tuple(sum(1 << u for u in set(row)) for row in self.predecessors)

    @cached_property
    def after(self) -> tuple[int, ...]:
        """Successors of each node as bit masks."""
        rows = [0] * len(self)
        for v, row in enumerate(self.predecessors):
            for u in row:
                rows[u] |= 1 << v
        return tuple(rows)

    def bytes(self, nodes: int) -> int:
        """Return the bytes of a set of nodes."""
        return sum(self.memory[v] for v in members(nodes))

    def ticks(self, nodes: int) -> int:
        """Return the ticks of a set of nodes."""
        return sum(self.time[v] for v in members(nodes))

    def boundary(self, lower: LowerSet) -> int:
        """Return bd(L): members that a node outside reads."""
        outside = self.all & ~lower
        return sum(1 << v for v in members(lower) if self.after[v] & outside)

    def ahead(self, lower: LowerSet) -> int:
        """Return M(succ(L) - L) + M(pred(succ(L)) - L)."""
        readers = 0
        for v in members(lower):
            readers |= self.after[v]
        read = 0
        for v in members(readers & ~lower):
            read |= self.before[v]
        return self.bytes(readers & ~lower) + self.bytes(read & ~lower)


def members(nodes: int) -> Iterator[int]:
    """Yield the nodes of a bit mask, rising."""
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


def lower_sets(graph: ForwardGraph, *, limit: int) -> tuple[LowerSet, ...]:
    """Return all lower sets, from the empty one to all nodes, smaller ones first.

    Raises
    ------
    ResourceLimitError
        If there are more than ``limit``; a graph of n parallel nodes has 2**n.
    """
    seen = {0}
    level = [0]
    while level:
        wider = set()
        for lower in level:
            for v, before in enumerate(graph.before):
                if not lower >> v & 1 and before & ~lower == 0:
                    wider.add(lower | 1 << v)
        seen |= wider
        if len(seen) > limit:
            raise ResourceLimitError(
                f"a forward graph of {len(graph)} nodes has more than {limit} lower "
                f"sets; raise LowerSetDP(max_lower_sets=...), or use exact=False"
            )
        level = sorted(wider)
    return tuple(sorted(seen, key=lambda lower: (lower.bit_count(), lower)))


def ancestor_closures(graph: ForwardGraph) -> tuple[LowerSet, ...]:
    """Return each node with all its ancestors, the empty set and all nodes.

    The paper's pruned family: at most n + 2 lower sets, smaller ones first.
    """
    closure = [0] * len(graph)
    for v, row in enumerate(graph.predecessors):
        closure[v] = 1 << v
        for u in row:
            closure[v] |= closure[u]
    family = {0, graph.all, *closure}
    return tuple(sorted(family, key=lambda lower: (lower.bit_count(), lower)))


def canonical_cost(
    graph: ForwardGraph, sequence: Sequence[LowerSet]
) -> tuple[int, int]:
    """Return (overhead in ticks, peak in bytes) of a sequence's canonical strategy.

    Parameters
    ----------
    graph
        The forward graph.
    sequence
        L_1 < ... < L_k, of which the last has all nodes.

    Raises
    ------
    InvalidModelError
        If it is no rising sequence of lower sets that ends with all nodes.
    """
    kept = overhead = peak = 0
    for lower, upper in pairwise((0, *sequence)):
        if lower & ~upper or lower == upper:
            raise InvalidModelError("the sequence of lower sets does not rise")
        if any(graph.before[v] & ~upper for v in members(upper)):
            raise InvalidModelError("a set of the sequence is not lower")
        block = upper & ~lower
        boundary = graph.boundary(upper)
        peak = max(
            peak, graph.bytes(kept) + 2 * graph.bytes(block) + graph.ahead(upper)
        )
        overhead += graph.ticks(block & ~boundary)
        kept |= boundary
    if not sequence or sequence[-1] != graph.all:
        raise InvalidModelError(
            "the sequence of lower sets does not end with all nodes"
        )
    return overhead, peak
