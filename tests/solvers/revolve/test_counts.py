"""Counts of forwards: closed forms against recurrences and published numbers."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckschedule.errors import InvalidSettingError
from ckschedule.solvers.revolve import (
    advances,
    beta,
    first_advance,
    mixed_forwards,
    repetitions,
)


@pytest.mark.parametrize(
    ("n", "slots", "expected"),
    [
        (10, 3, 15),
        (14, 3, 27),
        (8, 2, 14),
        (8, 3, 11),
        (100, 5, 316),
        (100, 10, 222),
        (1000, 5, 6284),
        (1000, 10, 3636),
        (1000, 20, 2747),
        (1000, 40, 2097),
        (1000, 60, 1938),
        (4, 4, 3),
        (4, 3, 3),
        (1, 1, 0),
        (10**6, 10, 11_647_922),
    ],
)
def test_advances_are_the_published_ones(n: int, slots: int, expected: int) -> None:
    """Griewank and Walther 2000, and counts of other implementations."""
    assert advances(n, slots) == expected


def test_advances_equal_their_recurrence() -> None:
    """p(n, s) = min i + p(i, s) + p(n - i, s - 1), p(n, 1) = n (n - 1) / 2."""
    below = [n * (n - 1) // 2 for n in range(121)]
    for slots in range(1, 13):
        if slots > 1:
            row = [0, 0]
            for n in range(2, 121):
                row.append(min(i + row[i] + below[n - i] for i in range(1, n)))
            below = row
        assert [advances(n, slots) for n in range(1, 121)] == below[1:]


@given(n=st.integers(2, 10**9), slots=st.integers(2, 3000))
def test_first_advance_reaches_the_optimum(n: int, slots: int) -> None:
    """The rule must satisfy the recurrence at any size."""
    i = first_advance(n, slots)
    parts = advances(i, slots) + advances(n - i, slots - 1)
    assert i + parts == advances(n, slots)


@given(n=st.integers(1, 10**12), slots=st.integers(1, 5000))
def test_repetitions_are_the_least_that_reach(n: int, slots: int) -> None:
    """Beta(s, t - 1) < n <= beta(s, t)."""
    t = repetitions(n, slots)
    assert beta(slots, t) >= n
    assert t == 0 or beta(slots, t - 1) < n


def test_beta_is_the_binomial_coefficient() -> None:
    """Griewank and Walther 2000."""
    assert (beta(3, 2), beta(5, 3), beta(7, 0)) == (10, 56, 1)


@pytest.mark.parametrize(
    ("k", "budget", "optimum"),
    [
        *((10, 3 + i, v) for i, v in enumerate([66, 35, 29, 27, 26, 25, 24, 23, 22])),
        (16, 4, 67),
        (16, 6, 47),
        (32, 6, 111),
        (64, 8, 224),
        (100, 12, 326),
        (1000, 12, 4641),
        (1000, 52, 2951),
    ],
)
def test_checkmate_chains_have_this_closed_form(
    k: int, budget: int, optimum: int
) -> None:
    """Linear graphs of 2 k + 1 unit nodes: k + 1 + p(k + 1, B - 2), by search."""
    assert k + 1 + advances(k + 1, budget - 2) == optimum


@pytest.mark.parametrize(
    ("n", "slots", "expected"),
    [
        (10, 2, 26),
        (10, 3, 19),
        (14, 3, 33),
        (50, 3, 209),
        (100, 5, 352),
        (100, 10, 237),
        (250, 25, 486),
        (225, 15, 545),
        (1000, 5, 6828),
        (1000, 20, 2823),
        (4, 4, 4),
        (1, 1, 1),
    ],
)
def test_mixed_forwards_are_the_published_ones(
    n: int, slots: int, expected: int
) -> None:
    """Maddison 2024 and the author's code."""
    assert mixed_forwards(n, slots) == expected


@given(n=st.integers(1, 60), slots=st.integers(1, 20))
def test_mixed_slots_are_never_worse_than_states(n: int, slots: int) -> None:
    """Revolve's schedules are among the mixed ones."""
    assert mixed_forwards(n, slots) <= n + advances(n, slots)


@pytest.mark.parametrize("count", [advances, repetitions, mixed_forwards])
def test_no_steps_and_no_slots_are_refused(count: Callable[[int, int], int]) -> None:
    """Each message names what was wrong and its value."""
    with pytest.raises(InvalidSettingError, match="steps is 0"):
        count(0, 3)
    with pytest.raises(InvalidSettingError, match="slots is 0"):
        count(3, 0)


def test_other_arguments_out_of_range_are_refused() -> None:
    """A first advance needs two steps and two slots; sweeps are counted from zero."""
    with pytest.raises(InvalidSettingError, match="at least 2"):
        first_advance(1, 3)
    with pytest.raises(InvalidSettingError, match="at least 2"):
        first_advance(3, 1)
    with pytest.raises(InvalidSettingError, match="sweeps is -1"):
        beta(1, -1)


def test_numpy_integers_are_counted_without_overflow() -> None:
    """Counts pass 2**63 for long chains in one slot."""
    n, slots = np.int64(10**12), np.int64(1)
    assert advances(n, slots) == 10**12 * (10**12 - 1) // 2  # type: ignore[arg-type]  # any integer serves
