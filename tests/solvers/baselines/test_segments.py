"""Cuts into segments: lengths, and the peaks that they lead to."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import equal, run

from ckschedule.errors import InvalidSettingError
from ckschedule.solvers.baselines import (
    ChenBudget,
    ChenRecursion,
    EveryNth,
    FirstN,
    RecomputeAll,
    StoreAll,
    UniformSegments,
    segments,
    torch_segments,
)


@pytest.mark.parametrize(
    ("n", "size", "lengths"),
    [
        (24, 7, (7, 7, 7, 3)),
        (24, 8, (8, 8, 8)),
        (3, 7, (3,)),
        (3, 1, (1, 1, 1)),
        (0, 4, ()),
    ],
)
def test_the_remainder_is_the_last_segment(
    n: int, size: int, lengths: tuple[int, ...]
) -> None:
    """Megatron-LM's uniform method lost layers when the size did not divide."""
    assert segments(n, size) == lengths


@pytest.mark.parametrize(
    ("n", "count", "lengths"),
    [(24, 5, (4, 4, 4, 4, 8)), (24, 1, (24,)), (3, 7, (1, 1, 1)), (0, 4, ())],
)
def test_torch_gives_the_remainder_to_the_last_segment(
    n: int, count: int, lengths: tuple[int, ...]
) -> None:
    """checkpoint_sequential: size n // count, the last segment up to the end."""
    assert torch_segments(n, count) == lengths


@given(n=st.integers(0, 200), size=st.integers(1, 250))
def test_cuts_lose_no_step(n: int, size: int) -> None:
    """Each step belongs to exactly one segment, and no segment is empty."""
    for lengths in (segments(n, size), torch_segments(n, size)):
        assert sum(lengths) == n
        assert all(length > 0 for length in lengths)


def test_each_layer_outside_the_last_segment_runs_twice() -> None:
    """24 layers in segments of 7: 21 are recomputed, the last 3 are not."""
    counts = run(EveryNth(7), equal(24, saved=1)).computations
    assert [counts[f"F{i}"] for i in range(1, 26)] == [2] * 21 + [1] * 4


def test_torch_segments_leave_the_last_segment_recorded() -> None:
    """24 layers in 5 segments: the last has 8, and torch does not checkpoint it."""
    counts = run(UniformSegments(5), equal(24, saved=1)).computations
    assert [counts[f"F{i}"] for i in range(1, 26)] == [2] * 16 + [1] * 9


@pytest.mark.parametrize(("n", "twice"), [(1, 1), (3, 3), (5, 4), (99, 4)])
def test_first_n_recomputes_that_many_layers(n: int, twice: int) -> None:
    """Megatron-LM's block method; the last of 5 layers is recorded in any case."""
    counts = run(FirstN(n), equal(5, saved=1)).computations
    assert [counts[f"F{i}"] for i in range(1, 6)] == [2] * twice + [1] * (5 - twice)


def test_one_segment_saves_nothing() -> None:
    """Checkpointing a whole net as one segment must not promise memory."""
    chain = equal(8, saved=3, gradient=None)
    store = run(StoreAll(), chain)
    assert run(EveryNth(8), chain).peak >= store.peak
    assert run(RecomputeAll(), chain).peak < store.peak


def test_recomputing_all_is_one_segment_a_step() -> None:
    """Two names for "checkpoint every block" must not drift apart."""
    chain = equal(6, output=2, saved=5, gradient=None)
    assert RecomputeAll().schedule(chain) == EveryNth(1).schedule(chain)


@pytest.mark.parametrize(
    ("inner", "boundary", "peaks"),
    [
        (34, 2, {1: 82, 2: 92, 3: 118, 24: 818}),
        (4, 2, {1: 52, 2: 32, 3: 28, 4: 28, 6: 32, 8: 38, 12: 52, 24: 98}),
    ],
)
def test_peak_over_the_segment_size_is_u_shaped(
    inner: int, boundary: int, peaks: dict[int, int]
) -> None:
    """peak(k) = 24 / k boundaries + k times the inner bytes, output included."""
    chain = equal(24, output=boundary, saved=inner - boundary)
    assert {size: run(EveryNth(size), chain).peak for size in peaks} == peaks


@pytest.mark.parametrize(
    "make",
    [
        lambda: EveryNth(0),
        lambda: FirstN(-1),
        lambda: UniformSegments(0),
        lambda: ChenRecursion(0),
        lambda: ChenBudget(trials=0),
        lambda: segments(3, 0),
    ],
    ids=["every", "first", "uniform", "recursion", "budget", "segments"],
)
def test_settings_below_one_are_refused(make: Callable[[], object]) -> None:
    """A segment of no steps would cut forever."""
    with pytest.raises(InvalidSettingError, match="give an integer of at least 1"):
        make()
