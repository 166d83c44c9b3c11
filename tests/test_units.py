"""Budgets as people write them, and numbers as people read them."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckschedule.errors import InvalidBudgetError
from ckschedule.units import INT64_MAX, format_bytes, format_time, parse_budget


@pytest.mark.parametrize(
    ("budget", "size"),
    [
        ("10GB", 10_000_000_000),
        ("10GiB", 10_737_418_240),
        ("1.5 MiB", 1_572_864),
        (1e9, 1_000_000_000),
        ("512", 512),
        (0, 0),
        ("0", 0),
        ("512.0", 512),
        (" 8 kB\n", 8_000),
        ("1TiB", 2**40),
        ("2 PB", 2 * 10**15),
        ("1PiB", 2**50),
        ("7B", 7),
        (INT64_MAX, INT64_MAX),
        (str(INT64_MAX), INT64_MAX),
    ],
    ids=repr,
)
def test_a_budget_is_read_as_bytes(budget: float | str, size: int) -> None:
    """A gigabyte is 10^9 bytes, a gibibyte 2^30, and zero is a budget."""
    assert parse_budget(budget) == size


@pytest.mark.parametrize("unit", ["gib", "GIB", "GiB", "giB"])
def test_the_case_of_a_unit_does_not_matter(unit: str) -> None:
    """Nobody means gibibits."""
    assert parse_budget(f"3{unit}") == 3 * 2**30


@pytest.mark.parametrize(
    "budget", [np.int64(7), np.int32(7), np.float64(7), 7.0], ids=repr
)
def test_numpy_numbers_are_numbers(budget: float) -> None:
    """Sizes often come out of arrays; what comes back is a plain int."""
    size = parse_budget(budget)
    assert type(size) is int
    assert size == 7


@pytest.mark.parametrize(
    "budget",
    [
        -1,
        -1.0,
        "-1",
        float("nan"),
        float("inf"),
        "nan",
        "inf",
        "10 gigs",
        0.5,
        "0.5",
        "",
        " ",
        "GB",
        "10 G",
        "10IB",
        "10BB",
        "10%%",
        "1e9",
        "1_000",
        "+5",
        ".5GB",
        "5.GB",
        "1.2.3GB",
        "1 0",
        "0x10",
        "\u0661\u0662",  # digits, but Arabic ones
        "10\uff27\uff22",  # full-width letters
        "10\u00a0GB",  # a space, but not ours
        True,
        False,
        None,
        [1],
        b"512",
        Decimal(512),
        2j,
        np.True_,
        np.float64("nan"),
    ],
    ids=repr,
)
def test_what_cannot_be_meant_is_refused(budget: object) -> None:
    """Guessing a unit is how megabytes become bytes."""
    with pytest.raises(InvalidBudgetError, match="budget"):
        parse_budget(budget)  # type: ignore[arg-type]  # that is the test


@pytest.mark.parametrize(
    "budget",
    [2**63, 1e30, "9223372036854775808", "9" * 5000, "9000000PiB", 10**400],
    ids=lambda budget: repr(budget)[:20],
)
def test_more_than_63_bits_are_refused(budget: float | str) -> None:
    """The kernels count in signed 64-bit integers."""
    with pytest.raises(InvalidBudgetError, match=r"exceeds 2\*\*63 - 1"):
        parse_budget(budget)


def test_an_unknown_unit_is_quoted_with_the_way_out() -> None:
    """The message repeats what was written and shows what would be read."""
    expected = (
        "budget '10 gigs' has the unknown unit 'gigs'; write whole bytes, a size such "
        "as '10GB' (10^10 bytes) or '10GiB' (10*2^30), or '60%' of the store-all peak"
    )
    with pytest.raises(InvalidBudgetError, match=re.escape(expected)):
        parse_budget("10 gigs")


@given(st.integers(0, 10**7), st.integers(1, 6))
def test_a_fraction_of_a_byte_is_rounded_down(number: int, places: int) -> None:
    """A budget is a promise not to pass it."""
    text = f"{number // 10**places}.{number % 10**places:0{places}}"
    exact = Fraction(number, 10**places) * 1000
    assert parse_budget(f"{text}kB") == exact.numerator // exact.denominator


@given(st.integers(0, 2**62), st.integers(0, 100))
def test_a_percentage_is_of_the_given_peak(peak: int, percent: int) -> None:
    """Rounded down and exact: a float would lose bytes above 2^53."""
    assert parse_budget(f"{percent}%", store_all=peak) == peak * percent // 100


@pytest.mark.parametrize(
    ("budget", "size"), [("60%", 599), ("100 %", 999), ("0%", 0), ("12.5%", 124)]
)
def test_a_percentage_may_have_a_space_and_a_fraction(budget: str, size: int) -> None:
    """Of 999 bytes."""
    assert parse_budget(budget, store_all=999) == size


def test_a_percentage_of_nothing_is_refused() -> None:
    """Percent of what?"""
    with pytest.raises(InvalidBudgetError, match="no store-all peak"):
        parse_budget("60%")


@given(st.integers(0, INT64_MAX))
def test_whole_bytes_read_the_same_in_every_form(size: int) -> None:
    """An int, its digits, its digits with a unit."""
    assert parse_budget(size) == parse_budget(str(size)) == parse_budget(f"{size} B")
    assert parse_budget(size) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1536, "1.50 KiB"),
        (2**20 - 1, "1.00 MiB"),  # not 1024.00 KiB
        (2**30, "1.00 GiB"),
        (INT64_MAX, "8.00 EiB"),
        (-2048, "-2.00 KiB"),
    ],
)
def test_bytes_are_shown_in_the_largest_binary_unit(size: int, text: str) -> None:
    """The unit is always printed."""
    assert format_bytes(size) == text


@pytest.mark.parametrize(
    ("ticks", "unit", "text"),
    [
        (0, "ns", "0 ns"),
        (999, "ns", "999 ns"),
        (1_500, "ns", "1.50 us"),
        (1_500_000, "ns", "1.50 ms"),
        (999_999_999, "ns", "1.00 s"),  # not 1000.00 ms
        (61 * 10**9, "ns", "61.00 s"),
        (12, "flop", "12 flop"),
        (2_000_000_000, "flop", "2.00 Gflop"),
        (3 * 10**15, "flop", "3.00 Pflop"),
        (1_500_000, "step", "1500000 step"),
    ],
)
def test_ticks_are_shown_in_a_multiple_of_their_unit(
    ticks: int, unit: str, text: str
) -> None:
    """Steps are counted, not scaled."""
    assert format_time(ticks, unit) == text


@given(st.integers(0, INT64_MAX))
def test_shown_bytes_stay_within_their_unit(size: int) -> None:
    """The number before a unit never reaches the next one."""
    assert float(format_bytes(size).split()[0]) < 1024
