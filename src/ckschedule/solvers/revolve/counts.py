"""How often steps must run to reverse a uniform chain: closed forms and a recurrence.

Throughout, n are the steps and s the slots, the one that holds the initial state
included. A slot holds a state; the state that a sweep has reached needs none, nor does
the step that is being reversed.

References
----------
Griewank, Walther: Algorithm 799: Revolve, ACM TOMS 26(1), 2000,
doi:10.1145/347837.347846. Maddison: Step-based checkpointing with high-level
algorithmic differentiation, J. Comput. Sci. 82, 2024, 102405,
doi:10.1016/j.jocs.2024.102405.
"""

from math import comb

from ckschedule.solvers.base import as_setting
from ckschedule.solvers.revolve.rule import split


def beta(slots: int, sweeps: int) -> int:
    """Return ``C(slots + sweeps, slots)``, the longest chain that can be reversed.

    Parameters
    ----------
    slots
        At least one.
    sweeps
        t: how often each step may be advanced, zero or more.

    Raises
    ------
    InvalidSettingError
        If one of them is no such integer.

    Examples
    --------
    >>> beta(3, 2)
    10
    """
    slots = as_setting(slots, "Revolve: slots", least=1)
    sweeps = as_setting(sweeps, "Revolve: sweeps", least=0)
    return comb(slots + sweeps, slots)


def repetitions(n: int, slots: int) -> int:
    """Return t, the least number of sweeps for which ``beta(slots, t) >= n``.

    In an optimal schedule no step is advanced more often.

    Parameters
    ----------
    n, slots
        At least one each.

    Raises
    ------
    InvalidSettingError
        If one of them is no integer of at least one.

    Notes
    -----
    Doubling, then bisection: O(log t) binomial coefficients.
    """
    n, slots = as_counts(n, slots)
    if n == 1:
        return 0
    low, high = 0, 1
    while comb(slots + high, high) < n:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if comb(slots + middle, middle) < n:
            low = middle
        else:
            high = middle
    return high


def advances(n: int, slots: int) -> int:
    """Return p(n, s), the least number of plain forward steps that reverse n steps.

    ``p(n, s) = t n - C(s + t, t - 1)`` with ``t = repetitions(n, s)``. The n recorded
    steps come on top: n + p(n, s) forwards in all.

    Parameters
    ----------
    n, slots
        At least one each; from n - 1 slots on, nothing is gained any more.

    Raises
    ------
    InvalidSettingError
        If one of them is no integer of at least one.

    Examples
    --------
    >>> advances(1000, 20)
    2747
    """
    n, slots = as_counts(n, slots)
    t = repetitions(n, slots)
    return t * n - comb(slots + t, t - 1) if t else 0


def first_advance(n: int, slots: int) -> int:
    """Return the longest first advance with which ``advances(n, slots)`` is reached.

    Derived at `ckschedule.solvers.revolve.rule.split`.

    Parameters
    ----------
    n, slots
        At least two each: with one slot, all but the last step is advanced and nothing
        stored.

    Raises
    ------
    InvalidSettingError
        If one of them is no integer of at least two.
    """
    n, slots = as_counts(n, slots, least=2)
    t = repetitions(n, slots)
    return split(n, beta(slots, t - 1), beta(slots - 1, t - 1))


def mixed_forwards(n: int, slots: int) -> int:
    """Return the least number of forwards if a slot may hold a state or a recording.

    ::

        O(n, s) = n                    if n <= s + 1
        O(n, 1) = n (n + 1) / 2 - 1
        O(n, s) = min( 1 + O(n - 1, s - 1),
                       min over 2 <= i < n of  i + O(i, s) + O(n - i, s - 1) )

    Recorded steps are counted too. A step cannot be run onward from a recording. The
    initial state takes one of the s slots, for as long as it is needed.

    Parameters
    ----------
    n, slots
        At least one each.

    Raises
    ------
    InvalidSettingError
        If one of them is no integer of at least one.

    Notes
    -----
    Maddison 2024; compiled, O(n^2 s) time and O(n) memory.

    Examples
    --------
    >>> mixed_forwards(10, 3)
    19
    """
    from ckschedule.solvers.revolve import kernel  # numba stays out of the import

    n, slots = as_counts(n, slots)
    if n <= slots + 1:
        return n
    return int(kernel.mixed(n, slots))


def as_counts(n: int, slots: int, *, least: int = 1) -> tuple[int, int]:
    """Return steps and slots as ints of at least ``least``.

    Raises
    ------
    InvalidSettingError
        If one of them is something else.
    """
    steps = as_setting(n, "Revolve: steps", least=least)
    return steps, as_setting(slots, "Revolve: slots", least=least)
