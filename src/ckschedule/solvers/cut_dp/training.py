"""A training graph read as a forward part, a turn and a backward part.

Nothing in a graph says which of its nodes are backward ones. The *turn* is the place in
the order across which most values lie: nodes before it are the forward part, of which
units are cut; nodes from it on are the backward part, in the order in which they stand.

Each backward node has an *anchor*, the unit up to which forward values are at hand when
it runs: as the backward part proceeds, anchors fall from the last unit to zero.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.pebbling import Pebbling


class Anchoring(StrEnum):
    """How anchors are made to fall although reads do not."""

    FALLING = "falling"
    """A node that reads younger values than nodes before it reads them late."""
    RISING = "rising"
    """Anchors fall only when nothing that follows reads a younger value."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """Where a graph turns, its units and its anchors.

    Attributes
    ----------
    pebbling
        The graph.
    turn
        First backward node, 0 to n.
    unit
        (turn,): unit of each forward node, from 1, every one with a node at least.
    anchor
        (n - turn,): of each backward node, never rising.
    standing
        (turn,): forward values that are never computed again, since their node runs
        once or they are never freed.
    late
        (turn,): a forward value's last reader if that is anchored below its unit; else
        -1.
    """

    pebbling: Pebbling
    turn: int
    unit: Ints
    anchor: Ints
    standing: npt.NDArray[np.bool_]
    late: Ints

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.unit.max())

    @cached_property
    def edge(self) -> Ints:
        """Where units begin if they are runs of nodes.

        (n_units + 1,): unit c is the nodes ``edge[c - 1]`` up to, and without,
        ``edge[c]``; the last edge is ``turn``.
        """
        return np.searchsorted(self.unit, np.arange(self.units + 1), side="right")

    def backward_of(self, unit: int) -> range:
        """Return the backward nodes anchored at a unit; 0 for those after all."""
        # Anchors fall: search in their negatives, which rise.
        rising = -self.anchor
        first = int(np.searchsorted(rising, -unit, side="left"))
        last = int(np.searchsorted(rising, -unit, side="right"))
        return range(self.turn + first, self.turn + last)


def turns(pebbling: Pebbling) -> list[int]:
    """Return places where the graph may turn, the most promising first.

    They are those with most values and with most bytes across, and the first of the
    nodes at the end that run once. A place next to another one is left out; so is one
    with no node on either side. O(n + edges).
    """
    n = len(pebbling)
    last = np.arange(n)
    for v, readers in enumerate(pebbling.successors):
        if readers:
            last[v] = readers[-1]
    across = np.zeros(n + 2, np.int64)
    bytes_across = np.zeros(n + 2, np.int64)
    for v in range(n):
        # Lies across every place p with v < p <= last reader.
        across[v + 1] += 1
        across[last[v] + 1] -= 1
        bytes_across[v + 1] += pebbling.size[v]
        bytes_across[last[v] + 1] -= pebbling.size[v]
    places = [
        int(np.argmax(np.cumsum(across))),
        int(np.argmax(np.cumsum(bytes_across))),
    ]
    repeatable = np.flatnonzero(pebbling.once == 0)
    if len(repeatable) and repeatable[-1] < n - 1:
        places.insert(0, int(repeatable[-1]) + 1)
    chosen: list[int] = []
    for place in places:
        if 0 < place < n and all(abs(place - other) > 1 for other in chosen):
            chosen.append(place)
    return chosen


def training(
    pebbling: Pebbling, turn: int, unit: Ints, anchoring: Anchoring
) -> Training:
    """Return the graph as seen from one turn.

    Parameters
    ----------
    pebbling
        The graph.
    turn
        First backward node, 1 to n - 1.
    unit
        (turn,): unit of each forward node, from 1; see `runs`.
    anchoring
        How anchors fall.
    """
    n = len(pebbling)
    youngest = np.zeros(n - turn, np.int64)
    for w in range(turn, n):
        youngest[w - turn] = max(
            (unit[u] for u in pebbling.predecessors[w] if u < turn), default=0
        )
    anchor = _anchors(youngest, int(unit.max()), anchoring)
    late = np.full(turn, -1, np.int64)
    for w in range(turn, n):
        for u in pebbling.predecessors[w]:
            if u < turn and unit[u] > anchor[w - turn]:
                late[u] = w
    return Training(
        pebbling=pebbling,
        turn=turn,
        unit=unit,
        anchor=anchor,
        standing=(pebbling.once[:turn] > 0) | (pebbling.stays[:turn] > 0),
        late=late,
    )


def _anchors(youngest: Ints, last: int, anchoring: Anchoring) -> Ints:
    if anchoring is Anchoring.RISING:
        return np.maximum.accumulate(youngest[::-1])[::-1].copy()
    # Nodes that read no forward value run where the one before them does.
    known = np.where(youngest > 0, youngest, last)
    anchor = np.minimum.accumulate(known)
    reads = np.flatnonzero(youngest)
    anchor[reads[-1] + 1 if len(reads) else 0 :] = 0
    return anchor


def runs(pebbling: Pebbling, turn: int, most: int) -> Ints:
    """Return the unit of each of ``turn`` forward nodes: runs of nodes, ``most`` runs.

    Each has one node if that makes few enough; else there are windows of equal length,
    each cut where the fewest bytes cross to forward nodes.
    """
    if turn <= most:
        return np.arange(1, turn + 1)
    change = np.zeros(turn + 2, np.int64)
    for v in range(turn):
        readers = [w for w in pebbling.successors[v] if w < turn]
        change[v + 1] += pebbling.size[v]
        change[max([v + 1, *readers]) + 1] -= pebbling.size[v]
    crossing = np.cumsum(change)
    edge = [0]
    for c in range(1, most):
        # The second half of each window, so that no two cuts fall together.
        low = max(edge[-1] + 1, (2 * c - 1) * turn // (2 * most) + 1)
        high = max(low, c * turn // most)
        edge.append(low + int(np.argmin(crossing[low : high + 1])))
    return np.repeat(np.arange(1, most + 1), np.diff([*edge, turn]))
