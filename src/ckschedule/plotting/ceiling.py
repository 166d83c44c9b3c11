"""Where an axis of overheads ends, in pictures and in the terminal."""

from collections.abc import Iterable
from typing import Final

from ckschedule.front import ParetoFront, ParetoPoint

_STEEP: Final = 2
"""Overheads of more than so many times the knee's are cut off ..."""

_UNCUT: Final = 100
"""... but none up to so many percent, and none that is asked for."""


def ceiling(front: ParetoFront, asked: Iterable[ParetoPoint | None] = ()) -> int:
    """Return the makespan at which an axis of overheads ends.

    The steep end of a long chain, thousands of percent, would flatten all that is of
    interest.

    Parameters
    ----------
    front
        What is drawn.
    asked
        Points that must be within the axis; None is left out.

    Returns
    -------
    int
        Ticks, at most those of the slowest point.
    """
    base = front.model.base_time
    wanted = [base + _STEEP * front.knee.overhead, base + base * _UNCUT // 100]
    wanted += [point.makespan for point in asked if point is not None]
    slowest, end = front.minimum.makespan, max(wanted)
    # A cut that saves a tenth of the axis, or less, is not worth it.
    return end if 10 * (slowest - base) > 11 * (end - base) else slowest


def entry(front: ParetoFront, top: int) -> ParetoPoint:
    """Return the first point within an axis that ends at ``top`` ticks.

    The curve comes down to it from beyond the axis, at this point's peak.
    """
    return next(point for point in front if point.makespan <= top)
