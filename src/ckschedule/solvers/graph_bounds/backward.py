"""How low the level can have been before a node ran: a search backwards in time.

Just before node v of a pebbling runs, its inputs live. One of them, u, was the last to
be computed: the others lived by then and have stayed, and so while u ran all of them
lived beside the inputs of u. That is an instant as before v, and so on back to the
start. Every schedule takes one of these ways; where all of them pass some level within
a few steps, no schedule stays below it.
"""

from operator import itemgetter
from typing import Final

from ckschedule.solvers.graph_bounds.necessary import Demand
from ckschedule.solvers.pebbling import Pebbling

_STEPS: Final = 12
"""How far back a way is followed before it counts as passable."""

_STATES: Final = 200
"""Sets of values that are looked at for one node and one level."""

_TOTAL: Final = 3000
"""Sets of values that are looked at in all."""


def backward_demand(pebbling: Pebbling, known: int) -> Demand | None:
    """Return bytes that no schedule does without, if they are more than ``known``.

    Parameters
    ----------
    pebbling
        The graph.
    known
        Bytes that are needed in any case; without the pebbling's base.

    Notes
    -----
    A *state* is a set of values that live at once. From state S, the value computed
    last may be any u in S; while it runs, S and the inputs of u live, and before it
    S - {u} and the inputs of u. Besides, whatever has been computed by then and stays,
    or runs once and is needed at or after the first run of the node v that the search
    began at, lives too: ``w`` runs once, is an ancestor of S, and some reader of it is
    v or a descendant of v, which cannot have run yet.

    A depth-first search finds one way below the known level, or proves that there is
    none; then the lowest level that blocked it is the new one. The work is bounded.
    """
    search = _Search(pebbling)
    best: Demand | None = None
    order = sorted(range(len(pebbling)), key=lambda v: -search.working[v])
    for v in order:
        while search.left > 0:
            blocked = search.blocked(v, known)
            if blocked is None:
                break
            known = blocked
            best = Demand(size=known, source=f"node {pebbling.names[v]!r}")
        if search.left <= 0:
            break
    return best


class _Search:
    """Depth-first search over states, from one node backwards."""

    def __init__(self, pebbling: Pebbling) -> None:
        self.left = _TOTAL
        self._size: list[int] = pebbling.size.tolist()
        self._extra: list[int] = pebbling.extra.tolist()
        self._before = [frozenset(row) for row in pebbling.predecessors]
        self.working = [
            sum(self._size[u] for u in row) + self._size[v] + self._extra[v]
            for v, row in enumerate(self._before)
        ]
        once, stays = pebbling.once.tolist(), pebbling.stays.tolist()
        self._single = [bool(a or b) for a, b in zip(once, stays, strict=True)]
        self._stays = sum(1 << v for v, flag in enumerate(stays) if flag)
        # Ancestors as bit masks, where something besides the states may last.
        self._ancestors: list[int] = []
        for row in self._before if any(self._single) else ():
            mask = 0
            for u in row:
                mask |= self._ancestors[u] | 1 << u
            self._ancestors.append(mask)
        # For each node that runs once, those before whose first run a reader cannot
        # have run.
        self._awaited: dict[int, int] = {}
        for w, flag in enumerate(once):
            if flag:
                mask = 0
                for y in pebbling.successors[w]:
                    mask |= self._ancestors[y] | 1 << y
                self._awaited[w] = mask
        self._known = 0
        self._lasting = 0
        self._states = 0
        self._blocks: dict[frozenset[int], int] = {}

    def blocked(self, v: int, known: int) -> int | None:
        """Return the least level above ``known`` that v needs; None if not proved."""
        self._known, self._states, self._blocks = known, _STATES, {}
        self._lasting = self._stays
        for w, nodes in self._awaited.items():
            if nodes >> v & 1:
                self._lasting |= 1 << w
        start = self._before[v]
        level = self._bytes(start) + self._size[v] + self._extra[v]
        return level if level > known else self._lowest(start, _STEPS)

    def _lowest(self, state: frozenset[int], steps: int) -> int | None:
        """Return the lowest level that blocks all ways; None if one may be open."""
        seen = self._blocks.get(state)
        if seen is not None:
            return seen
        if not state or steps == 0 or self._states <= 0 or self.left <= 0:
            return None
        self._states -= 1
        self.left -= 1
        levels: list[int] = []
        ways: list[tuple[int, frozenset[int]]] = []
        for u in state:
            if self._single[u] and any(self._ancestors[x] >> u & 1 for x in state):
                continue
            live = (state | self._before[u]) - {u}
            lying = self._bytes(live)
            level = lying + self._size[u] + self._extra[u]
            if level > self._known:
                levels.append(level)
            else:
                ways.append((lying, live))
        for _, live in sorted(ways, key=itemgetter(0)):
            found = self._lowest(live, steps - 1)
            if found is None:
                return None
            levels.append(found)
        # The last of a state in the graph's order has no descendant there: some value
        # can always have been computed last.
        self._blocks[state] = min(levels)
        return self._blocks[state]

    def _bytes(self, live: frozenset[int]) -> int:
        """Return the bytes of values that live, and of those that last beside them."""
        size = self._size
        total = sum([size[x] for x in live])
        if self._lasting:
            past = 0
            for x in live:
                past |= self._ancestors[x]
            past &= self._lasting
            while past:
                low = past & -past
                w = low.bit_length() - 1
                if w not in live:
                    total += self._size[w]
                past ^= low
        return total
