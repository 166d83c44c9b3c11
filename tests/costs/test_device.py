"""Devices: the roofline, its rounding, and the presets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckschedule.costs.device import DEVICES, DTYPES, Device, DType, as_device
from ckschedule.errors import InvalidModelError

SMALL = Device(name="small", flops_fp32=10**9, bandwidth=10**9, flops_half=4 * 10**9)

amounts = st.integers(0, 10**18)


def test_time_is_the_longer_of_arithmetic_and_traffic() -> None:
    """The roofline has one slope and one roof: at 1 flop and 1 byte per ns."""
    assert SMALL.time(flops=300, moved=200, dtype="fp32") == 300
    assert SMALL.time(flops=100, moved=200, dtype="fp32") == 200


def test_half_precision_runs_at_its_own_peak() -> None:
    """Matrix units raise the roof, not the slope."""
    assert SMALL.time(flops=400, moved=0, dtype="bf16") == 100
    assert SMALL.time(flops=400, moved=0, dtype="fp16") == 100
    assert SMALL.time(flops=400, moved=300, dtype="bf16") == 300


def test_missing_peak_means_the_plain_one() -> None:
    """A device without matrix units multiplies at its fp32 rate."""
    assert SMALL.peak("tf32") == SMALL.flops_fp32


def test_efficiency_lengthens_both_sides() -> None:
    """Half of both peaks is twice the time."""
    slow = Device(name="slow", flops_fp32=10**9, bandwidth=10**9, efficiency=50)
    assert slow.time(flops=300, moved=0, dtype="fp32") == 600
    assert slow.time(flops=0, moved=300, dtype="fp32") == 600


@given(flops=amounts, moved=amounts, dtype=st.sampled_from(DTYPES))
def test_time_is_zero_for_no_work_only(flops: int, moved: int, dtype: DType) -> None:
    """A kernel that costs nothing would be recomputed for ever."""
    time = DEVICES["h200"].time(flops=flops, moved=moved, dtype=dtype)
    assert (time == 0) == (flops == 0 and moved == 0)


@given(flops=amounts, moved=amounts, more=amounts)
def test_more_work_never_takes_less_time(flops: int, moved: int, more: int) -> None:
    """Rounding must keep the order of kernels."""
    less = DEVICES["a100"].time(flops=flops, moved=moved, dtype="tf32")
    assert DEVICES["a100"].time(flops=flops + more, moved=moved, dtype="tf32") >= less
    assert DEVICES["a100"].time(flops=flops, moved=moved + more, dtype="tf32") >= less


def test_time_is_exact_beyond_the_precision_of_floats() -> None:
    """Equal models have equal times on every machine."""
    assert SMALL.time(flops=2**60 + 1, moved=0, dtype="fp32") == 2**60 + 1


@pytest.mark.parametrize("name", DEVICES)
def test_presets_are_found_by_name(name: str) -> None:
    """What messages list must work."""
    assert as_device(name).name == name


def test_device_passes_through() -> None:
    """Any device can be made by numbers."""
    assert as_device(SMALL) is SMALL


@pytest.mark.parametrize("name", DEVICES)
def test_faster_dtypes_are_no_slower_in_presets(name: str) -> None:
    """A sparse or swapped number in a preset would show here."""
    device = DEVICES[name]
    assert device.peak("fp32") <= device.peak("tf32") <= device.peak("bf16")


def test_unknown_device_lists_the_known_ones() -> None:
    """The way out is in the message."""
    with pytest.raises(InvalidModelError, match=r"'a1000'.*a100.*titan-x.*flops_fp32"):
        as_device("a1000")
    with pytest.raises(InvalidModelError, match="device is 3"):
        as_device(3)  # type: ignore[arg-type]  # misuse is the subject


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flops_fp32": 0}, "flops_fp32 is 0; it must be 1 or more"),
        ({"bandwidth": -1}, "bandwidth is -1"),
        ({"bandwidth": 1.5e12}, "bandwidth is 1500000000000.0, a float"),
        ({"flops_half": 0}, "flops_half is 0"),
        ({"memory": True}, "memory is True"),
        ({"efficiency": 101}, "efficiency is 101; give the percent"),
        ({"name": ""}, "device name is ''"),
    ],
)
def test_numbers_that_cannot_be_meant_are_refused(
    change: dict[str, int], message: str
) -> None:
    """Peaks are positive integers, efficiency a percentage."""
    fields: dict[str, int] = {"flops_fp32": 1, "bandwidth": 1, **change}
    with pytest.raises(InvalidModelError, match=message):
        Device(**{"name": "mine", **fields})  # type: ignore[arg-type]  # misuse


def test_unknown_dtype_and_negative_work_are_refused() -> None:
    """A typing mistake must not price as fp32."""
    with pytest.raises(InvalidModelError, match=r"dtype is 'fp8'.*bf16"):
        SMALL.time(flops=1, moved=1, dtype="fp8")  # type: ignore[arg-type]  # misuse
    with pytest.raises(InvalidModelError, match="flops is -1"):
        SMALL.time(flops=-1, moved=1, dtype="fp32")
