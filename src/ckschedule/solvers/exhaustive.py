"""The oracle: exhaustive search over live sets, for tiny graphs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np

from ckschedule.costs.encoding import Encoding, Ints, encode
from ckschedule.costs.graph import Graph
from ckschedule.errors import ResourceLimitError
from ckschedule.result import Scope
from ckschedule.schedule import from_codes
from ckschedule.simulation import Model, as_graph, measure
from ckschedule.solvers.base import (
    AbstractFrontSolver,
    FrontProposal,
    PointProposal,
    Progress,
    Proposal,
    as_setting,
)

Cost = tuple[int, int]
"""Ticks and computations: compared in this order."""

State = tuple[int, int]
"""Bit masks: live values, and what has happened that cannot be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhaustive(AbstractFrontSolver):
    """Optimum of any graph among all legal schedules, by Dijkstra over live sets.

    Attributes
    ----------
    max_states
        Live sets that may be looked at for one answer, states as well as what might be
        freed on the way from one to the next; past it `ResourceLimitError`.

    Notes
    -----
    Exponential in the number of values: for graphs of up to about twenty nodes, or
    tight budgets. Values are freed only when the next computation would not fit
    otherwise, and then only what is needed, in every minimal way: freeing later never
    costs more, for a computation that recreates a value which could have stayed can be
    left out.

    Ties in time go to fewer computations.
    """

    max_states: int = 20_000_000

    def __post_init__(self) -> None:
        limit = as_setting(self.max_states, "Exhaustive: max_states", least=1)
        object.__setattr__(self, "max_states", limit)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return an optimal schedule, or the proof that none fits.

        Raises
        ------
        ResourceLimitError
            If more than ``max_states`` live sets would be looked at.
        """
        graph = as_graph(model)
        space = _Space.of(encode(graph))
        static = graph.static.total
        meter = _Meter(graph.name, self.max_states)
        codes = _cheapest(space, budget - static, meter)
        if codes is None:
            minimum = _minimum(space, budget - static, meter)
            return Proposal(
                scope=Scope.UNRESTRICTED,
                infeasible=True,
                minimum_budget=None if minimum is None else minimum + static,
            )
        makespan = sum(int(space.time[code]) for code in codes if code >= 0)
        return Proposal(
            scope=Scope.UNRESTRICTED,
            schedule=from_codes(np.array(codes, np.int64), space.encoding),
            makespan=makespan,
            lower_bound=makespan,
        )

    def front(self, model: Model, progress: Progress | None = None) -> FrontProposal:
        """Return every breakpoint of the optimum; one search a breakpoint.

        Raises
        ------
        ResourceLimitError
            As `search`.
        """
        return FrontProposal(
            scope=Scope.UNRESTRICTED,
            exact=True,
            points=self._points(as_graph(model)),
            solver=repr(self),
        )

    def _points(self, graph: Graph) -> list[PointProposal]:
        encoding = encode(graph)
        space = _Space.of(encoding)
        budget = sum(space.size) + max(space.transient, default=0)
        points: list[PointProposal] = []
        meter = _Meter(graph.name, self.max_states)
        while (found := _cheapest(space, budget, meter)) is not None:
            codes = np.array(found, np.int64)
            peak, makespan, _ = measure(encoding, codes)
            point = PointProposal(
                codes=codes, peak=peak, makespan=makespan, lower_bound=makespan
            )
            # Less memory for the same time makes the earlier point superfluous.
            if points and points[-1].makespan == makespan:
                points.pop()
            points.append(point)
            budget = peak - graph.static.total - 1
        return points[::-1]


class _Meter:
    """Counts live sets as they are looked at, and stops the search at a limit."""

    __slots__ = ("_left", "_limit", "_name")

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._left = limit

    def count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise ResourceLimitError(
                f"the exhaustive search of {self._name!r} passed {self._limit} states; "
                f"raise Exhaustive(max_states=...), or coarsen the graph to a chain"
            )


@dataclass(frozen=True, kw_only=True)
class _Space:
    """A graph as bit masks over its values, and the moves between live sets."""

    encoding: Encoding
    size: list[int]
    time: list[int]
    transient: list[int]
    needs: list[int]
    outputs: list[int]
    consumes: list[int]
    once: list[int]
    holders: list[int]
    pinned: int
    targets: int
    start: int
    sizes: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, encoding: Encoding) -> "_Space":
        n = len(encoding.size)

        def masks(start: Ints, items: Ints) -> list[int]:
            rows = [items[a:b] for a, b in pairwise(start)]
            return [sum(1 << int(v) for v in row) for row in rows]

        held = masks(encoding.held_start, encoding.held)
        return cls(
            encoding=encoding,
            size=encoding.size.tolist(),
            time=encoding.time.tolist(),
            transient=encoding.transient.tolist(),
            needs=masks(encoding.needs_start, encoding.needs),
            outputs=masks(encoding.outputs_start, encoding.outputs),
            consumes=masks(encoding.consumes_start, encoding.consumes),
            # What cannot be undone: targets (bits of values), nodes that run once.
            once=[1 << (n + int(k)) if encoding.once[k] else 0 for k in encoding.node],
            holders=[
                sum(1 << u for u in range(n) if held[u] >> v & 1) for v in range(n)
            ],
            pinned=_mask(encoding.pinned),
            targets=_mask(encoding.target),
            start=_mask(encoding.live),
        )

    def bytes(self, live: int) -> int:
        """Return the bytes of a live set."""
        total = self.sizes.get(live)
        if total is None:
            total = sum(self.size[v] for v in _bits(live))
            self.sizes[live] = total
        return total

    def releases(
        self, live: int, mode: int, budget: int, meter: "_Meter"
    ) -> Iterator[int]:
        """Yield every minimal set to free so that a mode can run within the budget."""
        fixed = self.needs[mode] | self.pinned
        forced = 0
        consumed = self.consumes[mode]
        for v in _bits(consumed):
            for holder in _bits(self.holders[v] & live & ~consumed):
                forced |= self._closure(live, holder)
        if forced & fixed:
            return
        live &= ~forced
        deficit = self.bytes(live) + self.transient[mode] - budget
        if deficit <= 0:
            yield forced
            return
        options = []
        for v in _bits(live & ~fixed):
            closure = self._closure(live, v)
            if closure & fixed == 0:
                options.append(closure)
        found: set[int] = set()
        level = {0}
        while level:
            wider = set()
            for chosen in level:
                for option in options:
                    union = chosen | option
                    meter.count()
                    if union == chosen or any(union & f == f for f in found):
                        continue
                    if self.bytes(union) >= deficit:
                        found.add(union)
                    else:
                        wider.add(union)
            level = wider
        for chosen in found:
            if not any(other != chosen and chosen & other == other for other in found):
                yield chosen | forced

    def _closure(self, live: int, v: int) -> int:
        """Return a value with all live values that hold it, directly or not."""
        closure, fresh = 0, 1 << v
        while fresh:
            closure |= fresh
            above = 0
            for u in _bits(fresh):
                above |= self.holders[u] & live
            fresh = above & ~closure
        return closure


def _mask(flags: Ints) -> int:
    return sum(1 << v for v, flag in enumerate(flags.tolist()) if flag)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _cheapest(space: _Space, budget: int, meter: _Meter) -> list[int] | None:
    """Return the codes of a cheapest schedule; None if nothing fits."""
    start: State = (space.start, space.start & space.targets)
    if space.bytes(space.start) > budget:
        return None
    best: dict[State, Cost] = {start: (0, 0)}
    came: dict[State, tuple[State, int, int]] = {}
    queue: list[tuple[Cost, State]] = [((0, 0), start)]
    while queue:
        cost, state = heappop(queue)
        if cost > best[state]:
            continue
        live, done = state
        if done & space.targets == space.targets:
            return _codes(space, came, state)
        for mode in range(len(space.time)):
            if not _may_run(space, state, mode):
                continue
            then = (cost[0] + space.time[mode], cost[1] + 1)
            for released in space.releases(live, mode, budget, meter):
                kept = live & ~released
                after = (
                    (kept | space.outputs[mode]) & ~space.consumes[mode],
                    done | space.once[mode] | (space.outputs[mode] & space.targets),
                )
                known = best.get(after)
                if known is None or then < known:
                    best[after] = then
                    came[after] = (state, mode, released)
                    heappush(queue, (then, after))
                    meter.count()
    return None


def _minimum(space: _Space, infeasible: int, meter: _Meter) -> int | None:
    """Return the least budget that works; by bisection above an infeasible one.

    None if none works: a graph's targets may need each other in a circle.
    """
    low = max(infeasible, -1)
    high = sum(space.size) + max(space.transient, default=0)
    if high <= low or _cheapest(space, high, meter) is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _cheapest(space, middle, meter) is None:
            low = middle
        else:
            high = middle
    return high


def _may_run(space: _Space, state: State, mode: int) -> bool:
    live, done = state
    if space.needs[mode] & ~live or space.once[mode] & done:
        return False
    outputs = space.outputs[mode]
    if outputs and outputs & ~live == 0:
        return False
    return space.consumes[mode] & space.pinned == 0


def _codes(
    space: _Space, came: dict[State, tuple[State, int, int]], state: State
) -> list[int]:
    codes: list[int] = []
    while state in came:
        state, mode, released = came[state]
        codes.append(mode)
        # Holders go before what they hold: the list is reversed at the end.
        order = sorted(_bits(released), key=lambda v: -_depth(space, released, v))
        codes.extend(-1 - v for v in order)
    return codes[::-1]


def _depth(space: _Space, released: int, v: int) -> int:
    """Return how many layers of holders stand above a value within a set."""
    above = space.holders[v] & released
    return 1 + max(_depth(space, released, u) for u in _bits(above)) if above else 0
