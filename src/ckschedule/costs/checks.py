"""Validation shared by all cost models: each message names culprit, value, remedy."""

from collections.abc import Iterable
from operator import index
from typing import Any

from ckschedule.errors import InvalidModelError
from ckschedule.units import INT64_MAX, TIME_UNITS, shown


def as_count(value: Any, what: str) -> int:
    """Return ``value`` as a plain int in [0, 2**63 - 1].

    Parameters
    ----------
    value
        Anything that claims to be a whole number; numpy integers become ints.
    what
        The culprit for the message: "stage 3 ('conv'): saved".

    Raises
    ------
    InvalidModelError
        If it is a bool, a float (even an integral one), negative, or too large.
    """
    if isinstance(value, bool):
        raise InvalidModelError(f"{what} is {value!r}; give an integer")
    try:
        number = index(value)
    except TypeError:
        remedy = "round" if isinstance(value, float) else "convert it"
        raise InvalidModelError(
            f"{what} is {value!r}, a {type(value).__name__}; bytes and ticks are "
            f"integers: {remedy} before you build the model"
        ) from None
    if number < 0:
        raise InvalidModelError(f"{what} is {shown(number)}; it must be 0 or more")
    if number > INT64_MAX:
        raise InvalidModelError(
            f"{what} is {shown(number)}, beyond 2**63 - 1; use a coarser unit"
        )
    return number


def as_flag(value: Any, what: str) -> bool:
    """Return ``value`` if it is a bool.

    Raises
    ------
    InvalidModelError
        If it is anything else.
    """
    if not isinstance(value, bool):
        raise InvalidModelError(f"{what} is {value!r}; give True or False")
    return value


def as_name(value: Any, what: str) -> str:
    """Return ``value`` if it is a non-empty string that text files can hold.

    Raises
    ------
    InvalidModelError
        If it is no string, is empty, or holds a lone surrogate.
    """
    if not isinstance(value, str) or not value:
        raise InvalidModelError(f"{what} is {value!r}; give a non-empty string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidModelError(
            f"{what} is {value!r}, which is no valid Unicode text"
        ) from None
    return value


def as_names(value: Any, what: str) -> tuple[str, ...]:
    """Return a sequence of names as a tuple.

    Raises
    ------
    InvalidModelError
        If it is a bare string, which would fall apart into its characters, or no
        sequence at all.
    """
    if isinstance(value, (str, bytes)):
        raise InvalidModelError(
            f"{what} is {value!r}, one name; give a sequence: ({value!r},)"
        )
    try:
        return tuple(value)
    except TypeError:
        raise InvalidModelError(
            f"{what} is {value!r}; give a sequence of names"
        ) from None


def check_time_unit(value: Any, what: str) -> None:
    """Refuse a time unit that is not one of `TIME_UNITS`."""
    if value not in TIME_UNITS:
        raise InvalidModelError(
            f"{what} is {value!r}; choose one of {', '.join(TIME_UNITS)}, and convert "
            f"other units to integers of these"
        )


def check_unique(names: Iterable[str], what: str) -> None:
    """Refuse a name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidModelError(f"{what} {name!r} occurs twice; names are unique")
        seen.add(name)


def check_total(total: int, what: str) -> None:
    """Refuse a sum that 64-bit kernels could not hold."""
    if total > INT64_MAX:
        raise InvalidModelError(
            f"{what} is {total}, beyond 2**63 - 1; use a coarser unit"
        )
