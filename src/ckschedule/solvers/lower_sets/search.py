"""Dynamic programming over a family of lower sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ckschedule.costs.encoding import Ints
from ckschedule.errors import ResourceLimitError
from ckschedule.solvers.lower_sets import kernel
from ckschedule.solvers.lower_sets.model import ForwardGraph, LowerSet, members

MAX_CELLS: Final = 50_000_000
"""Default limit of the table: lower sets times ticks."""


@dataclass(frozen=True, kw_only=True)
class LowerSetTable:
    """What is reachable within a budget: least bytes cached, by overhead.

    Attributes
    ----------
    graph
        The forward graph.
    budget
        Bytes.
    family
        Lower sets that sequences may be made of, smaller ones first.
    cached
        (n_sets, ticks + 1): least bytes of U_k by last lower set and overhead.
    """

    graph: ForwardGraph
    budget: int
    family: tuple[LowerSet, ...]
    cached: Ints
    arrays: tuple[npt.NDArray[np.generic], ...]

    @property
    def overheads(self) -> list[int]:
        """Overheads of sequences within the budget, rising; the first is least."""
        return np.flatnonzero(self.cached[-1] < kernel.UNREACHABLE).tolist()

    def sequence(self, overhead: int) -> tuple[LowerSet, ...]:
        """Return a sequence of one of the `overheads` that caches fewest bytes."""
        at, ticks = len(self.family) - 1, overhead
        found = []
        while at > 0:
            found.append(self.family[at])
            at, ticks = kernel.previous(
                self.cached, at, ticks, self.budget, *self.arrays
            )
        return tuple(found[::-1])


def lower_set_dp(
    graph: ForwardGraph,
    budget: int,
    family: Sequence[LowerSet],
    *,
    max_cells: int = MAX_CELLS,
    over: Ints | None = None,
) -> LowerSetTable:
    """Return what sequences of lower sets achieve within a budget.

    Parameters
    ----------
    graph
        The forward graph.
    budget
        Bytes for the model's peak (`canonical_cost`).
    family
        Lower sets to use, such as `lower_sets` (exact in the paper's model) or
        `ancestor_closures` (its approximation); the empty one and all nodes are
        added.
    max_cells
        Limit of lower sets times ticks of the graph.
    over
        (1,): flag that another thread sets to end the work; what it leaves is of no
        use.

    Raises
    ------
    ResourceLimitError
        If the table would pass ``max_cells``.

    Notes
    -----
    For lower sets L < L', cached bytes m and overhead t at L, and a block V' = L' - L,

        m + 2 M(V') + M(succ(L') - L') + M(pred(succ(L')) - L') <= budget
        t' = t + T(V' - bd(L')),  m' = m + M(bd(L') - L)

    of which the least m' is kept by (L', t'). O(ticks n_sets^2). The least overhead is
    the paper's time-centric strategy, the largest its memory-centric one: few large
    blocks, which leave most to an analysis of lifetimes.
    """
    chosen = tuple(
        sorted({0, graph.all, *family}, key=lambda lower: (lower.bit_count(), lower))
    )
    ticks = sum(graph.time)
    cells = len(chosen) * (ticks + 1)
    if cells > max_cells:
        raise ResourceLimitError(
            f"{len(chosen)} lower sets times {ticks + 1} ticks are {cells} cells, more "
            f"than {max_cells}; raise max_cells, or give times in a coarser unit"
        )
    arrays = _arrays(graph, chosen)
    cached = np.empty((len(chosen), ticks + 1), np.int64)
    over = np.zeros(1, np.int64) if over is None else over
    kernel.fill(cached, budget, over, *arrays)
    return LowerSetTable(
        graph=graph, budget=budget, family=chosen, cached=cached, arrays=arrays
    )


def _arrays(
    graph: ForwardGraph, family: tuple[LowerSet, ...]
) -> tuple[npt.NDArray[np.generic], ...]:
    """Return the kernels' arguments from ``words`` on."""
    n_words = max(1, -(-len(graph) // 64))
    mask = (1 << 64) - 1
    words = np.array(
        [[lower >> 64 * w & mask for w in range(n_words)] for lower in family],
        np.uint64,
    )
    borders = [list(members(graph.boundary(lower))) for lower in family]
    border_start = np.zeros(len(family) + 1, np.int64)
    border_start[1:] = np.cumsum([len(row) for row in borders])
    return (
        words,
        np.array(graph.time, np.int64),
        np.array(graph.memory, np.int64),
        np.array([graph.ticks(lower) for lower in family], np.int64),
        np.array([graph.bytes(lower) for lower in family], np.int64),
        np.array([graph.ahead(lower) for lower in family], np.int64),
        border_start,
        np.array([v for row in borders for v in row], np.int64),
    )
