"""Validation of the formulas' arguments: each message names argument, value, remedy."""

from collections.abc import Iterable
from typing import Any

from ckschedule.costs.checks import as_count
from ckschedule.errors import InvalidModelError


def as_positive(value: Any, what: str) -> int:
    """Return ``value`` as an int of 1 or more.

    Raises
    ------
    InvalidModelError
        If it is no integer, or below 1.
    """
    number = as_count(value, what)
    if number == 0:
        raise InvalidModelError(f"{what} is 0; it must be 1 or more")
    return number


def check_choice(value: Any, choices: Iterable[str], what: str) -> None:
    """Refuse a value that is not one of ``choices``."""
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        raise InvalidModelError(
            f"{what} is {value!r}; choose one of {', '.join(known)}"
        )


def check_divides(part: int, whole: int, what: str, of: str) -> None:
    """Refuse a ``part`` that does not divide ``whole``, naming the nearest wholes."""
    if whole % part:
        below = whole - whole % part
        near = f"{below} or {below + part}" if below else f"{part}"
        raise InvalidModelError(
            f"{of} is {whole}, not divisible by {what} {part}; set {of} to {near}, or "
            f"another {what}"
        )
