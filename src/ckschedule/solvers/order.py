"""Which orders a graph solver searches."""

from collections.abc import Iterable
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

    def __repr__(self) -> str:
        """Return it as settings are written."""
        return repr(str(self))

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


def keeps_order(nodes: Iterable[int]) -> bool:
    """Whether computations are those of a schedule of the scope GIVEN_ORDER.

    Parameters
    ----------
    nodes
        Positions in the graph's order, as they run.

    Returns
    -------
    bool
        True only if first computations rise and, between two of them, others rise, too.
        What runs after the last first computation is not told apart: False then.
    """
    seen: set[int] = set()
    latest, again = -1, -1
    for node in nodes:
        if node in seen:
            if node <= again:
                return False
            again = node
        else:
            if node < latest:
                return False
            seen.add(node)
            latest, again = node, -1
    return again < 0
