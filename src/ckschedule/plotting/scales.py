"""One readable unit for all numbers of a table or an axis."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_BYTES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TIMES: Final = {
    "ns": (("s", 10**9), ("ms", 10**6), ("us", 10**3)),
    "flop": (
        ("Eflop", 10**18),
        ("Pflop", 10**15),
        ("Tflop", 10**12),
        ("Gflop", 10**9),
        ("Mflop", 10**6),
    ),
}


_NEGLIGIBLE: Final = 10_000
"""A number that many times smaller than the largest may be printed as zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A unit and how many bytes or ticks it has.

    Attributes
    ----------
    unit
        To print beside the numbers.
    divisor
        Bytes or ticks of one unit.
    decimals
        Digits after the point.
    """

    unit: str
    divisor: int = 1
    decimals: int = 0

    def text(self, number: int) -> str:
        """Return ``number`` in this unit, without the unit."""
        return f"{number / self.divisor:,.{self.decimals}f}"


def byte_scale(sizes: Iterable[int]) -> Scale:
    """Return a binary unit in which sizes of a table or an axis can be compared.

    The largest unit that leaves the largest size at least one; or the next smaller one,
    where only that leaves three significant digits to the smallest size. What is four
    orders smaller than the largest does not count.

    Examples
    --------
    >>> byte_scale([2**29, 3 * 2**30]).text(2**29)
    '0.500'
    >>> byte_scale([2 * 2**30, 3 * 2**40]).unit
    'GiB'
    """
    units = [(unit, 1024**power) for power, unit in enumerate(_BYTES)]
    return _scale(sizes, units[::-1])


def time_scale(times: Iterable[int], unit: str) -> Scale:
    """Return a readable multiple of ``unit``, chosen as `byte_scale` does.

    Examples
    --------
    >>> time_scale([1_500_000], "ns").unit
    'ms'
    """
    return _scale(times, [*_TIMES.get(unit, ()), (unit, 1)])


def _scale(numbers: Iterable[int], units: Sequence[tuple[str, int]]) -> Scale:
    """Return one of ``units``, the largest first, the last of which has one tick."""
    present = list(numbers)
    largest = max(present, default=0)
    smallest = min((n for n in present if n * _NEGLIGIBLE > largest), default=0)
    last = len(units) - 1
    place = next((i for i, (_, size) in enumerate(units) if largest >= size), last)
    # With three decimals 0.1 is the least that has three significant digits.
    if place < last and smallest < units[place][1] / 10:
        place += 1
    unit, divisor = units[place]
    if divisor == 1:
        return Scale(unit=unit)
    return Scale(
        unit=unit, divisor=divisor, decimals=3 if smallest < 10 * divisor else 2
    )
