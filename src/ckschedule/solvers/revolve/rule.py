"""The rule of Revolve's schedule and the kinds of its actions.

Counts, stream and compiled kernel all take them from here; the kernel compiles `split`.
"""

from typing import Final

ADVANCE: Final = 0
"""Run steps plainly."""
STORE: Final = 1
"""Keep the current state."""
REVERSE: Final = 2
"""Record a step and run its backward."""


def split(n: int, reach: int, reach_below: int) -> int:
    """Return the first advance for n steps in s slots: the longest that is optimal.

    Parameters
    ----------
    n
        Steps, at least two.
    reach, reach_below
        ``beta(s, t - 1)`` and ``beta(s - 1, t - 1)`` for the t `repetitions` of n steps
        in s slots.

    Notes
    -----
    p(., s) is convex with slope t between beta(s, t - 1) and beta(s, t). The sum
    ``i + p(i, s) + p(n - i, s - 1)`` is least where the slopes meet: i between
    beta(s, t - 2) and beta(s, t - 1), and n - i between beta(s - 1, t - 1) and
    beta(s - 1, t). The largest such i is returned.
    """
    return min(reach, n - reach_below)
