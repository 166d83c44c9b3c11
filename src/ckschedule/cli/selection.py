"""The points of a front that a table shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from ckschedule.budgets import store_all
from ckschedule.costs.chain import Chain
from ckschedule.errors import NoScheduleError
from ckschedule.front import ParetoFront, ParetoPoint

_SHARES: Final = (80, 70, 60, 50, 40, 30)
"""Budgets to show, in percent of the store-all peak."""

_OVERHEADS: Final = (2, 5, 10, 20, 30)
"""Overheads to show, in percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A point that someone asks for.

    Attributes
    ----------
    text
        As it was asked: a budget or an overhead.
    point
        The answer; None if nothing fits.
    """

    text: str
    point: ParetoPoint | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A point with all that it answers."""

    labels: Sequence[str]
    point: ParetoPoint


def ask_budget(front: ParetoFront, text: str) -> Question:
    """Return the fastest point within a budget.

    Raises
    ------
    InvalidBudgetError
        If the budget cannot be read.
    """
    try:
        return Question(text=f"within {text}", point=front.at(text))
    except NoScheduleError:
        return Question(text=f"within {text}", point=None)


def ask_overhead(front: ParetoFront, share: Fraction, text: str) -> Question:
    """Return the point of least memory within an overhead."""
    base = front.model.base_time
    point = front.within_time(base + int(share * base))
    return Question(text=f"at most +{text.strip().removesuffix('%')}%", point=point)


def representative(front: ParetoFront, asked: Sequence[Question] = ()) -> list[Row]:
    """Return about fifteen points by rising peak, those asked for among them."""
    labels: dict[int, list[str]] = {}
    position = {id(point): i for i, point in enumerate(front.points)}

    def mark(point: ParetoPoint | None, label: str) -> None:
        if point is not None:
            row = labels.setdefault(position[id(point)], [])
            if label not in row:
                row.append(label)

    for question in asked:
        mark(question.point, question.text)
    mark(front.minimum, "minimum" if front.minimum_proved else "least found")
    mark(front.knee, "knee")
    mark(front.fastest, "fastest")
    special = set(labels)
    for label, point in _regular(front).items():
        if point is not None and position[id(point)] not in special:
            mark(point, label)
    return [Row(labels=labels[i], point=front.points[i]) for i in sorted(labels)]


def _regular(front: ParetoFront) -> Mapping[str, ParetoPoint | None]:
    found = {}
    for share in _OVERHEADS:
        question = ask_overhead(front, Fraction(share, 100), str(share))
        found[f"+{share} % time"] = question.point
    if isinstance(front.model, Chain):
        full = store_all(front.model).peak
        for share in _SHARES:
            # Above the fastest point every share has the same answer.
            if front.minimum.peak <= share * full // 100 < front.fastest.peak:
                found[f"{share} % memory"] = front.at(share * full // 100)
    return found
