"""Which orders a graph solver searches."""

from enum import StrEnum

from ckschedule.errors import InvalidSettingError
from ckschedule.result import Scope


class Order(StrEnum):
    """Orders of first computations that a search may choose from."""

    GIVEN = "given"
    """The graph's own; between two first computations others may run again, each once
    and in that order, too."""
    FREE = "free"
    """Any."""

    @property
    def scope(self) -> Scope:
        """The schedules that a proof over these orders is about."""
        return Scope.GIVEN_ORDER if self is Order.GIVEN else Scope.UNRESTRICTED


def as_order(value: object, what: str) -> Order:
    """Return a setting as an order.

    Raises
    ------
    InvalidSettingError
        If it names none.
    """
    try:
        return Order(value)  # type: ignore[arg-type]  # anything may be tried
    except ValueError:
        raise InvalidSettingError(
            f"{what} is {value!r}; give 'given' or 'free'"
        ) from None
