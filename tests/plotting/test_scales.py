"""One unit for all numbers of a table."""

from ckschedule.plotting.scales import byte_scale


def test_the_smallest_number_keeps_three_digits() -> None:
    """2 GiB beside 1 TiB are not 0.002."""
    assert byte_scale([2**31, 2**40]).text(2**31) == "2.000"
    assert byte_scale([2**40]).unit == "TiB"
    assert byte_scale([2**37, 2**40]).text(2**37) == "0.125"


def test_what_is_negligible_does_not_choose_the_unit() -> None:
    """Four bytes of a loss leave gigabytes to all others."""
    assert byte_scale([0, 4, 2**29, 2**30]).unit == "GiB"


def test_nothing_is_printed_in_bytes() -> None:
    """There is always a unit."""
    assert byte_scale([]).text(0) == "0"
