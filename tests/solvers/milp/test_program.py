"""The program's arrays, against the same rows written out one by one."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from solvers.milp.oracle import graph_of, graphs

from ckschedule.costs import Graph
from ckschedule.errors import ResourceLimitError
from ckschedule.solvers.milp import Milp
from ckschedule.solvers.milp.fixing import Freedom, freedom
from ckschedule.solvers.milp.plan import plan
from ckschedule.solvers.milp.program import Program, build
from ckschedule.solvers.milp.rounding import rounded
from ckschedule.solvers.pebbling import Pebbling, as_pebbling

Terms = Counter[tuple[object, ...]]
"""Coefficients by variable; the key (1,) is the constant."""

Row = tuple[frozenset[tuple[tuple[object, ...], int]], float, float]
"""Coefficients, lower and upper bound."""

AMPLE = 10**6
"""Bytes beyond any peak here."""


class _Loops:
    """The rows of `ckschedule.solvers.milp`, by loops over stages and nodes."""

    def __init__(self, pebbling: Pebbling, room: int, free: Freedom, unit: int) -> None:
        self.pebbling, self.free = pebbling, free
        self.size = (pebbling.size // unit).tolist()
        self.extra = (pebbling.extra // unit).tolist()
        self.room = room // unit
        self.n = len(pebbling)

    def run(self, t: int, i: int) -> Terms:
        if t == i:
            return Counter({(1,): 1})
        return Counter({("R", t, i): 1} if self.free.may[t, i] else {})

    def users(self, t: int, i: int) -> list[int]:
        return [j for j in self.pebbling.successors[i] if self.run(t, j)]

    def keep(self, t: int, i: int) -> Terms:
        if i < t <= self.free.forced[i]:
            return Counter({(1,): 1})
        if not i < t <= self.free.last[i]:
            return Counter()
        before = t - 1
        alike = before > i and not self.users(before, i) and not self.run(before, i)
        if alike and before > self.free.forced[i]:
            return self.keep(before, i)
        return Counter({("S", t, i): 1})

    def before(self, t: int, i: int, j: int) -> Terms:
        """Whether value i lies there in stage t before its user j."""
        users = self.users(t, i)
        if j == users[0]:
            return self.run(t, i) + self.keep(t, i)
        if users[-1] == t or self.pebbling.stays[i]:
            return Counter({(1,): 1})
        return Counter({("A", t, i, j): 1})

    def at(self, t: int, i: int, k: int) -> Terms:
        """Whether value i lies there while node k runs in stage t."""
        if i > k:
            return self.keep(t, i)
        later = [j for j in self.users(t, i) if j >= k]
        return self.before(t, i, later[0]) if later else self.keep(t + 1, i)

    def rows(self) -> Iterator[tuple[Terms, bool, float]]:
        """Yield terms, whether they equal or are at most, and what."""
        for t in range(self.n):
            for i in range(t):
                users = self.users(t, i)
                for j, following in zip(users, [*users[1:], None], strict=False):
                    yield _minus(self.run(t, j), self.before(t, i, j)), False, 0
                    after = (
                        self.keep(t + 1, i)
                        if following is None
                        else self.before(t, i, following)
                    )
                    yield _minus(after, self.before(t, i, j)), False, 0
                there = self.run(t, i) + self.keep(t, i)
                if not users:
                    yield _minus(self.keep(t + 1, i), there), True, 0
                if self.free.may[t, i]:
                    yield there, False, 1
            for k in range(t + 1):
                if self.run(t, k):
                    yield self.level(t, k), False, self.room

    def level(self, t: int, k: int) -> Terms:
        total: Terms = Counter()
        for i in range(t):
            lies = self.keep(t, i) if i == k else self.at(t, i, k)
            total = _plus(total, lies, self.size[i])
        return _plus(total, self.run(t, k), self.size[k] + self.extra[k])


def _plus(terms: Terms, more: Terms, times: int) -> Terms:
    result = Counter(terms)
    for key, worth in more.items():
        result[key] += times * worth
    return result


def _minus(terms: Terms, less: Terms) -> Terms:
    return _plus(terms, less, -1)


def _canonical(terms: Terms, equal: bool, bound: float) -> Row | None:
    """Return a row without its constant; None if it says nothing."""
    constant = terms.pop((1,), 0)
    kept = {key: worth for key, worth in terms.items() if worth}
    upper = bound - constant
    if equal:
        return (frozenset(kept.items()), upper, upper) if kept else None
    if sum(worth for worth in kept.values() if worth > 0) <= upper:
        return None
    return frozenset(kept.items()), -np.inf, upper


def _named(program: Program) -> Counter[Row]:
    """Return a program's rows with its columns' names."""
    layout = program.layout
    names: dict[int, tuple[object, ...]] = {}
    for t, i in np.argwhere(layout.run > 1).tolist():
        names[int(layout.run[t, i]) - 2] = ("R", t, i)
    for t, i in np.argwhere(layout.keep > 1)[::-1].tolist():
        # The earliest of several that are the same comes last.
        names[int(layout.keep[t, i]) - 2] = ("S", t, i)
    uses = layout.uses
    for u in np.flatnonzero(uses.before > 1).tolist():
        where = (int(uses.stage[u]), int(uses.value[u]), int(uses.user[u]))
        names[int(uses.before[u]) - 2] = ("A", *where)
    found: Counter[Row] = Counter()
    matrix = program.matrix
    for r in range(matrix.shape[0]):
        span = slice(matrix.indptr[r], matrix.indptr[r + 1])
        columns, entries = matrix.indices[span].tolist(), matrix.data[span].tolist()
        terms = frozenset(
            (names[c], int(e)) for c, e in zip(columns, entries, strict=True)
        )
        found[terms, float(program.lower[r]), float(program.upper[r])] += 1
    return found


def _peak(pebbling: Pebbling) -> int:
    return plan(pebbling, np.eye(len(pebbling), dtype=bool)).peak


@given(graphs(nodes=7), st.integers(0, 6), st.sampled_from([None, 3, 8]))
def test_the_arrays_hold_the_rows_that_loops_would_write(
    graph: Graph, less: int, spare: int | None
) -> None:
    """Built without a Python loop over entries, they are easy to get wrong."""
    pebbling = as_pebbling(graph, Milp())
    room = max(0, _peak(pebbling) - less - pebbling.base)
    free = freedom(pebbling, room, spare)
    if free is None:
        return
    program = build(pebbling, room, free, most=AMPLE)
    expected: Counter[Row] = Counter()
    for terms, equal, bound in _Loops(pebbling, room, free, program.unit).rows():
        row = _canonical(terms, equal, bound)
        if row is not None:
            expected[row] += 1
    assert _named(program) == expected


@given(graphs(nodes=7), st.integers(0, 6), st.booleans())
def test_a_schedule_is_a_solution_of_the_program(
    graph: Graph, less: int, dense: bool
) -> None:
    """Otherwise a known schedule is no start, or the program is not about schedules.

    Rounded from nothing kept, everything runs again where it is needed.
    """
    pebbling = as_pebbling(graph, Milp())
    peak = _peak(pebbling)
    free = freedom(pebbling, max(0, peak - less - pebbling.base), None)
    if free is None:
        return
    n = len(pebbling)
    for share in (0.0, 0.5, 1.0):
        wish = np.random.default_rng(n).random((n + 1, n)) < share
        again = rounded(pebbling, free, wish)
        found = plan(pebbling, again)
        room = found.peak - pebbling.base
        here = freedom(pebbling, room, None)
        assert here is not None
        program = build(pebbling, room, here, most=AMPLE, dense=AMPLE if dense else 0)
        x = program.point(found.again)
        assert x is not None
        activity = program.matrix @ x
        assert (activity <= program.upper).all()
        assert (activity >= program.lower).all()
        assert (x <= program.top).all()
        assert (x >= 0).all()
        extra = found.makespan - pebbling.base_time
        assert program.cost @ x * program.tick == extra
        assert (program.again(x) == found.again).all()


def test_one_byte_less_is_no_solution() -> None:
    """The level rows bind: the same schedule passes a budget below its peak."""
    graph = graph_of([1, 1, 1], [2, 3, 1], [(0, 1), (0, 2), (1, 2)])
    pebbling = as_pebbling(graph, Milp())
    again = np.eye(3, dtype=bool)
    free = Freedom(
        may=np.tri(3, k=-1, dtype=bool),
        last=np.array([2, 2, -1]),
        forced=np.full(3, -1),
    )
    # All three values lie there while the last node runs.
    for room, fits in ((6, True), (5, False)):
        program = build(pebbling, room, free, most=AMPLE)
        x = program.point(again)
        assert x is not None
        assert bool((program.matrix @ x <= program.upper).all()) == fits


def test_a_program_that_would_be_too_large_is_refused() -> None:
    """With the way out, before it is built."""
    graph = graph_of([1] * 6, [1] * 6, [(i, i + 1) for i in range(5)] + [(0, 5)])
    pebbling = as_pebbling(graph, Milp())
    free = freedom(pebbling, 3, None)
    assert free is not None
    with pytest.raises(ResourceLimitError, match="max_entries"):
        build(pebbling, 3, free, most=5)
