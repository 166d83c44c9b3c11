"""Revolve's schedule, replayed in a model of slots that knows only the rules."""

from collections.abc import Iterable
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckschedule.errors import InvalidSettingError
from ckschedule.solvers.revolve import (
    ADVANCE,
    REVERSE,
    STORE,
    Action,
    advances,
    repetitions,
    revolve_actions,
    revolve_arrays,
)


def replay(n: int, slots: int, actions: Iterable[Action]) -> dict[int, int]:
    """Return how often each step was advanced; fail on an action that is not legal."""
    kept, current, end = {0}, 0, n
    times = dict.fromkeys(range(1, n + 1), 0)
    for kind, start, stop in actions:
        if kind == ADVANCE:
            assert start in kept
            assert start < stop < end
            for step in range(start + 1, stop + 1):
                times[step] += 1
            current = stop
        elif kind == STORE:
            assert start == stop == current
            assert stop not in kept
            kept.add(stop)
            assert len(kept) <= slots
        else:
            assert kind == REVERSE
            assert (start, stop) == (end - 1, end)
            assert start in kept or start == current
            kept.discard(start)
            current, end = -1, end - 1
    assert end == 0
    assert kept == set()
    return times


@given(n=st.integers(1, 150), slots=st.integers(1, 160))
def test_schedule_is_legal_and_optimal(n: int, slots: int) -> None:
    """It reverses every step in turn within the slots, with p(n, s) advances."""
    times = replay(n, slots, revolve_actions(n, slots))
    assert sum(times.values()) == advances(n, slots)
    assert max(times.values()) <= repetitions(n, slots)


@given(n=st.integers(1, 400), slots=st.integers(1, 40))
def test_arrays_and_stream_agree(n: int, slots: int) -> None:
    """Two programs from one rule."""
    arrays = revolve_arrays(n, slots)
    rows = zip(
        arrays.kind.tolist(), arrays.start.tolist(), arrays.stop.tolist(), strict=True
    )
    assert list(rows) == [tuple(action) for action in revolve_actions(n, slots)]


def test_a_million_steps_as_arrays() -> None:
    """The count of advanced steps is the closed form's."""
    arrays = revolve_arrays(10**6, 10)
    advanced = (arrays.stop - arrays.start)[arrays.kind == ADVANCE].sum()
    assert advanced == advances(10**6, 10) == 11_647_922
    assert (arrays.kind == REVERSE).sum() == 10**6


def test_a_long_stream_starts_at_once() -> None:
    """Nothing is built ahead: the first actions of 10^12 steps come without delay."""
    first = list(islice(revolve_actions(10**12, 50), 3))
    assert [action.kind for action in first] == [ADVANCE, STORE, ADVANCE]


def test_enough_slots_advance_no_step_twice() -> None:
    """From n - 1 slots on there are n - 1 advances, and more slots stay empty."""
    times = replay(6, 5, revolve_actions(6, 9))
    assert list(times.values()) == [1, 1, 1, 1, 1, 0]


def test_no_steps_and_no_slots_are_refused_at_the_call() -> None:
    """An error in a generator must not wait for the first action."""
    with pytest.raises(InvalidSettingError, match="steps is 0"):
        revolve_actions(0, 1)
    with pytest.raises(InvalidSettingError, match="slots is 0"):
        revolve_arrays(1, 0)
