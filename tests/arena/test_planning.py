"""Arenas: valid, aligned, never below the live bytes, and smallest when asked."""

from dataclasses import replace
from itertools import permutations

import pytest
from arena.walks import storing, walks
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chains

import ckschedule as ck
from ckschedule.arena import fault_of, first_overlap
from ckschedule.errors import InvalidScheduleError, InvalidSettingError

Rows = list[tuple[int, int, int]]


def plan(rows: Rows, *, exact: bool = False, alignment: int = 1) -> ck.Arena:
    graph, schedule = storing(rows)
    return ck.plan_arena(graph, schedule, exact=exact, alignment=alignment)


def least_size(rows: Rows) -> int:
    """Try every order, each block at the lowest address that is free.

    A smallest packing can be pushed down without growing, and then the order of its
    offsets makes it again.
    """
    best = sum(size for _, _, size in rows)
    for order in permutations(rows):
        placed: list[tuple[int, int, int, int]] = []
        for start, end, size in order:
            near = [p for p in placed if p[0] < end and start < p[1]]
            offset = min(
                low
                for low in (0, *(p[2] + p[3] for p in near))
                if all(p[2] >= low + size or p[2] + p[3] <= low for p in near)
            )
            placed.append((start, end, offset, size))
        best = min(best, max((p[2] + p[3] for p in placed), default=0))
    return best


def apart(blocks: tuple[ck.Block, ...]) -> bool:
    """Whether no pair of blocks overlaps in time and address; for single storages."""
    return all(
        a.last < b.first
        or b.last < a.first
        or a.offset + a.size <= b.offset
        or b.offset + b.size <= a.offset
        for k, a in enumerate(blocks)
        for b in blocks[:k]
        if a.size and b.size
    )


def instances(blocks: int, *, largest: int = 6) -> st.SearchStrategy[Rows]:
    row = st.tuples(st.integers(0, 6), st.integers(1, 5), st.integers(0, largest))
    moved = row.map(lambda r: (r[0], r[0] + r[1], r[2]))
    return st.lists(moved, max_size=blocks)


@settings(max_examples=150)
@given(walks(), st.sampled_from([1, 2, 5]), st.booleans())
def test_every_arena_is_valid_and_holds_what_lives(
    walk: tuple[ck.Graph, ck.Schedule], alignment: int, shared: bool
) -> None:
    """Checked by all pairs, which neither the packer nor its own check looks at."""
    graph, schedule = walk
    arena = ck.plan_arena(
        graph, schedule, alignment=alignment, inplace=lambda name: shared
    )
    if not shared:
        assert apart(arena.blocks)
        assert arena.live_peak == arena.trace.activation_peak
    assert arena.size >= arena.lower_bound >= arena.live_peak
    assert arena.fragmentation >= 0
    assert all(block.offset % alignment == 0 for block in arena.blocks)
    assert arena.size % alignment == 0
    tops = [block.offset + block.size for block in arena.blocks]
    assert arena.size - max(tops, default=0) in range(alignment)


@settings(max_examples=30)
@given(chains(max_stages=6))
def test_an_arena_holds_what_a_solver_s_schedule_keeps(chain: ck.Chain) -> None:
    """Chains consume, hold, and have variants and transients of their own."""
    trace = ck.solve(chain, "100%").raise_for_status()
    arena = ck.plan_arena(chain, trace.schedule)
    assert arena.live_peak == trace.activation_peak
    assert apart(arena.blocks)
    least = ck.plan_arena(chain, trace.schedule, exact=True)
    assert trace.activation_peak <= least.size <= arena.size


@settings(max_examples=100)
@given(walks(smallest=3, largest=3))
def test_writing_in_place_over_equals_never_takes_more_at_any_instant(
    walk: tuple[ck.Graph, ck.Schedule],
) -> None:
    """Over a larger input it may: all of the input's storage lives on."""
    graph, schedule = walk
    plain = ck.plan_arena(graph, schedule)
    shared = ck.plan_arena(graph, schedule, inplace=lambda name: True)
    assert (shared.load <= plain.load).all()
    assert fault_of(shared) is None


@settings(max_examples=60)
@given(instances(6), st.sampled_from([1, 4]))
def test_the_exact_arena_is_the_smallest(rows: Rows, alignment: int) -> None:
    """Against all orders; alignment makes whole units of the sizes."""
    padded = [(a, b, -(-size // alignment) * alignment) for a, b, size in rows]
    arena = plan(rows, exact=True, alignment=alignment)
    assert arena.size == least_size(padded)
    assert arena.optimal
    assert arena.stop is ck.Stop.FINISHED
    assert arena.size <= plan(rows, alignment=alignment).size


TIGHT = [(2, 6, 3), (4, 8, 4), (3, 7, 2), (0, 4, 5), (4, 6, 3)]
"""Twelve bytes live at time 4, and twelve are enough: the first 3 at the bottom, the 2
on top, and between them the 5, which leaves two bytes free there, and then 4 and 3."""

GAP = [
    *((0, 1, 3), (0, 2, 2), (1, 3, 1), (2, 3, 1)),
    *((2, 4, 1), (1, 4, 2), (3, 5, 2), (4, 5, 3)),
]
"""Five bytes live at every time, but no arena of five holds them.

Call the blocks A to H. A and B fill it at time 0: let B lie at the bottom, in 0 and 1.
C and F share 2, 3 and 4 at time 1. G comes when C and D go, so it lies where C lay; at
time 4 it fills the arena together with the 3 of H, so it lies at an end. With F above
C, C is in 2, which no end of two bytes has; with C above F, G is in 3 and 4, but F has
2 and 3.
"""


def test_best_fit_misses_an_arena_that_the_exact_search_finds() -> None:
    """Every order that is tried puts some block beside a gap too small for it."""
    assert plan(TIGHT).size == 13
    arena = plan(TIGHT, exact=True)
    assert (arena.size, arena.live_peak, arena.fragmentation) == (12, 12, 0)
    assert arena.method == "CP-SAT"


def test_some_schedules_need_more_than_their_live_bytes() -> None:
    """And the exact search proves it: a lower bound above the peak."""
    arena = plan(GAP, exact=True)
    assert (arena.size, arena.live_peak, arena.lower_bound) == (6, 5, 6)
    assert arena.optimal
    assert arena.fragmentation == pytest.approx(0.2)
    assert not plan(GAP).optimal, "best fit knows the live bytes only"


def test_sizes_beyond_32_bits_are_packed_exactly() -> None:
    """A common factor does not matter, and neither does what is always there."""
    much = 3 * 2**40
    rows = [(0, 6, much + 7), *((a, b, much * size) for a, b, size in GAP)]
    arena = plan(rows, exact=True)
    assert arena.size == arena.lower_bound == 7 * much + 7


def test_a_search_without_time_keeps_the_best_fit() -> None:
    """It says why it stopped, and claims no more than it knows."""
    graph, schedule = storing(GAP)
    arena = ck.plan_arena(graph, schedule, exact=True, time_limit=0)
    assert 5 <= arena.lower_bound <= arena.size == 6
    assert arena.optimal or arena.stop is ck.Stop.TIME_LIMIT


@settings(max_examples=200)
@given(instances(8), st.data())
def test_the_check_finds_every_overlap(rows: Rows, data: st.DataObject) -> None:
    """Of blocks moved anywhere; the oracle looks at all pairs."""
    place = st.integers(0, 12)
    moved = tuple(
        replace(block, offset=data.draw(place)) for block in plan(rows).blocks
    )
    assert (first_overlap(moved) is None) == apart(moved)


def test_a_schedule_of_nothing_has_an_arena_of_nothing() -> None:
    """Not an error."""
    arena = plan([], exact=True)
    assert (arena.size, arena.live_peak, arena.blocks) == (0, 0, ())
    assert arena.fragmentation == 0
    assert arena.optimal


def test_values_without_bytes_have_blocks_without_bytes() -> None:
    """They are on the map, and in nobody's way."""
    arena = plan([(0, 4, 0), (0, 4, 5), (1, 3, 0)], exact=True)
    assert [block.size for block in arena.blocks] == [0, 5, 0]
    assert arena.size == 5
    assert plan([(0, 2, 0)], exact=True).size == 0


def test_blocks_that_do_not_live_together_share_addresses() -> None:
    """The point of an arena."""
    arena = plan([(0, 1, 7), (1, 2, 7), (2, 3, 6)])
    assert [block.offset for block in arena.blocks] == [0, 0, 0]
    assert arena.size == 7


def test_what_is_static_lies_elsewhere() -> None:
    """A plan's peak includes it, an arena does not."""
    chain = ck.catalog.vgg(depth=11, batch=1)
    trace = ck.solve(chain, "100%").raise_for_status()
    arena = ck.plan_arena(chain, trace.schedule)
    assert arena.live_peak == trace.peak - chain.static.total
    assert arena.size < trace.peak


def test_an_illegal_schedule_has_no_arena() -> None:
    """The simulator says why."""
    graph, _ = storing([(0, 1, 3)])
    with pytest.raises(InvalidScheduleError, match="operation 0"):
        ck.plan_arena(graph, ck.Schedule([ck.Free("v0")]))


@pytest.mark.parametrize("alignment", [0, -1, 1.5, True, "512"])
def test_an_alignment_is_a_whole_number(alignment: object) -> None:
    """At least one."""
    graph, schedule = storing([(0, 1, 3)])
    with pytest.raises(InvalidSettingError, match="alignment is"):
        ck.plan_arena(graph, schedule, alignment=alignment)  # type: ignore[arg-type]  # the mistake under test


@pytest.mark.parametrize("alignment", [2**62, 2**80])
def test_an_alignment_that_makes_blocks_uncountable_is_refused(alignment: int) -> None:
    """Offsets are 64-bit numbers."""
    graph, schedule = storing([(0, 1, 3), (0, 1, 3)])
    with pytest.raises(InvalidSettingError, match=r"pass 2\*\*63 - 1 bytes"):
        ck.plan_arena(graph, schedule, alignment=alignment)


@pytest.mark.parametrize("limit", [-1.0, float("nan")])
def test_a_time_limit_is_no_negative_number(limit: float) -> None:
    """It may be zero or infinite."""
    graph, schedule = storing([(0, 1, 3)])
    with pytest.raises(InvalidSettingError, match="time_limit is"):
        ck.plan_arena(graph, schedule, exact=True, time_limit=limit)
