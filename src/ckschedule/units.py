"""Bytes and ticks as people write them: parsing at the edge, formatting for eyes.

Below this module memory is an ``int`` of bytes and time an ``int`` of ticks whose
unit (``ns``, ``flop`` or ``step``) the model declares.
"""

import re
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Integral, Real
from typing import Final, Literal, TypeAlias, get_args

from ckschedule.errors import InvalidBudgetError

TimeUnit: TypeAlias = Literal["ns", "flop", "step"]
"""What one tick of time is: a nanosecond, a floating-point operation, or one step."""

TIME_UNITS: Final[tuple[str, ...]] = get_args(TimeUnit)
"""All legal time units, in the order in which messages list them."""

INT64_MAX: Final = 2**63 - 1
"""Largest number of bytes or ticks that the kernels can hold."""

Budget: TypeAlias = int | float | str
"""A budget as callers give it; `parse_budget` reads it."""

_DECIMAL: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_BUDGET: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%]*)\s*", re.ASCII)
_REMEDY: Final = (
    "write whole bytes, a size such as '10GB' (10^10 bytes) or '10GiB' (10*2^30), "
    "or '60%' of the store-all peak"
)


def shown(number: int) -> str:
    """Return an integer in digits, or its magnitude where the digits are too many.

    Python refuses to write integers of more than 4300 digits.
    """
    if number.bit_length() > 256:
        return f"{'-' if number < 0 else ''}2**{number.bit_length() - 1} or more"
    return str(number)


def parse_budget(budget: Budget, *, store_all: int | None = None) -> int:
    """Return a budget in bytes.

    Parameters
    ----------
    budget
        Whole bytes as an int or an integral float; digits; a number with a decimal
        unit (``kB``, ``MB``, ``GB``, ``TB``, ``PB``) or a binary one (``KiB`` to
        ``PiB``), any case; or a percentage of ``store_all``.
        A fraction of a byte is rounded down, so that the promise is kept.
    store_all
        Simulated peak of the schedule that stores everything, in bytes, static bytes
        included; needed for percentages only.

    Returns
    -------
    int
        Bytes, zero or more.

    Raises
    ------
    InvalidBudgetError
        If the budget is negative, not finite, a bare fraction, has an unknown unit, is
        a percentage where none can be taken, or exceeds ``2**63 - 1`` bytes.

    Examples
    --------
    >>> parse_budget("10GiB")
    10737418240
    >>> parse_budget("60%", store_all=1000)
    600
    """
    if isinstance(budget, str):
        size = _parse_text(budget, store_all)
    elif isinstance(budget, bool) or not isinstance(budget, Real):
        raise InvalidBudgetError(f"budget {budget!r} is no number; {_REMEDY}")
    elif isinstance(budget, Integral):
        size = int(budget)
    elif not isfinite(budget) or budget != int(budget):
        raise InvalidBudgetError(
            f"budget {budget!r} is not a whole number of bytes; {_REMEDY}"
        )
    else:
        size = int(budget)
    if size < 0:
        raise InvalidBudgetError(f"budget {shown(size)} is negative; {_REMEDY}")
    if size > INT64_MAX:
        raise InvalidBudgetError(
            f"budget {shown(size)} exceeds 2**63 - 1 bytes, the most that can be "
            f"counted"
        )
    return size


def _parse_text(text: str, store_all: int | None) -> int:
    match = _BUDGET.fullmatch(text)
    if match is None:
        raise InvalidBudgetError(f"budget {text!r} cannot be read; {_REMEDY}")
    # Through Decimal: int() refuses more than 4300 digits, with an error of its own.
    number, unit = Fraction(Decimal(match[1])), match[2]
    if unit == "%":
        if store_all is None:
            raise InvalidBudgetError(
                f"budget {text!r} is a percentage, but there is no store-all peak to "
                f"take it of here; write bytes"
            )
        return int(number * store_all / 100)
    if unit == "" and number.denominator != 1:
        raise InvalidBudgetError(f"budget {text!r} is a bare fraction; {_REMEDY}")
    return int(number * _unit_factor(text, unit))


def _unit_factor(text: str, given: str) -> int:
    unit = given.upper()
    if unit in ("", "B"):
        return 1
    if unit.endswith("IB") and unit[:-2] in _DECIMAL and len(unit) == 3:
        return int(1024 ** _DECIMAL[unit[:-2]])
    if unit.endswith("B") and unit[:-1] in _DECIMAL:
        return int(1000 ** _DECIMAL[unit[:-1]])
    raise InvalidBudgetError(
        f"budget {text!r} has the unknown unit {given!r}; {_REMEDY}"
    )


def format_bytes(size: int) -> str:
    """Return bytes in the largest binary unit that leaves at least one, for reading.

    Examples
    --------
    >>> format_bytes(1536)
    '1.50 KiB'
    """
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        # 1023.999 KiB would be printed as 1024.00 KiB.
        if round(abs(value), 2) < 1024:
            break
        value, unit = value / 1024, larger
    return f"{size} B" if unit == "B" else f"{value:.2f} {unit}"


def format_time(ticks: int, unit: str) -> str:
    """Return ticks in a readable multiple of their unit.

    Examples
    --------
    >>> format_time(1_500_000, "ns")
    '1.50 ms'
    >>> format_time(2_000_000_000, "flop")
    '2.00 Gflop'
    """
    scales: tuple[tuple[str, int], ...] = ()
    if unit == "ns":
        scales = (("s", 10**9), ("ms", 10**6), ("us", 10**3))
    elif unit == "flop":
        scales = (
            ("Pflop", 10**15),
            ("Tflop", 10**12),
            ("Gflop", 10**9),
            ("Mflop", 10**6),
        )
    for name, scale in scales:
        # 999.999 us would be printed as 1000.00 us.
        if abs(ticks) >= scale or round(abs(ticks) * 1000 / scale, 2) >= 1000:
            return f"{ticks / scale:.2f} {name}"
    return f"{ticks} {unit}"
