"""One readable unit for all numbers of a table or an axis."""

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


def byte_scale(largest: int) -> Scale:
    """Return the largest binary unit that leaves ``largest`` at least one.

    Examples
    --------
    >>> byte_scale(3 * 2**30).text(2**29)
    '0.500'
    """
    power = 0
    while power + 1 < len(_BYTES) and largest >= 1024 ** (power + 1):
        power += 1
    return _scale(_BYTES[power], 1024**power, largest)


def time_scale(largest: int, unit: str) -> Scale:
    """Return a readable multiple of ``unit`` for times up to ``largest`` ticks.

    Examples
    --------
    >>> time_scale(1_500_000, "ns").unit
    'ms'
    """
    for name, divisor in _TIMES.get(unit, ()):
        if largest >= divisor:
            return _scale(name, divisor, largest)
    return Scale(unit=unit)


def _scale(unit: str, divisor: int, largest: int) -> Scale:
    if divisor == 1:
        return Scale(unit=unit)
    return Scale(
        unit=unit, divisor=divisor, decimals=3 if largest < 10 * divisor else 2
    )
