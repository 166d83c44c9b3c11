"""How often steps must run to reverse a uniform chain: closed forms and a recurrence.

Slots count the one that holds the initial state. A slot holds a state; the state that
a sweep has reached needs none, nor does the step that is being reversed.

References
----------
Griewank, Walther: Algorithm 799: Revolve, ACM TOMS 26(1), 2000,
doi:10.1145/347837.347846. Maddison: Step-based checkpointing with high-level
algorithmic differentiation, J. Comput. Sci. 82, 2024, 102405,
doi:10.1016/j.jocs.2024.102405.
"""

from math import comb
from operator import index

from ckschedule.errors import InvalidBudgetError, InvalidModelError


def beta(slots: int, sweeps: int) -> int:
    """Return ``C(slots + sweeps, slots)``, the longest chain that can be reversed.

    Parameters
    ----------
    slots
        s: at least one.
    sweeps
        t: how often each step may be advanced, zero or more.

    Raises
    ------
    InvalidBudgetError
        If ``slots`` is below one.
    ValueError
        If ``sweeps`` is negative.

    Examples
    --------
    >>> beta(3, 2)
    10
    """
    slots = check_slots(slots)
    if sweeps < 0:
        raise ValueError(f"sweeps is {sweeps}; give zero or more")
    return comb(slots + sweeps, slots)


def repetitions(n: int, slots: int) -> int:
    """Return t, the least number of sweeps for which ``beta(slots, t) >= n``.

    In an optimal schedule no step is advanced more often.

    Parameters
    ----------
    n
        Steps, at least one.
    slots
        At least one.

    Raises
    ------
    InvalidModelError
        If ``n`` is below one.
    InvalidBudgetError
        If ``slots`` is below one.

    Notes
    -----
    Doubling, then bisection: O(log t) binomial coefficients.
    """
    n, slots = check_steps(n), check_slots(slots)
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
    n
        Steps, at least one.
    slots
        s, at least one; from n - 1 on, nothing is gained any more.

    Raises
    ------
    InvalidModelError
        If ``n`` is below one.
    InvalidBudgetError
        If ``slots`` is below one.

    Examples
    --------
    >>> advances(1000, 20)
    2747
    """
    n, slots = check_steps(n), check_slots(slots)
    t = repetitions(n, slots)
    return t * n - comb(slots + t, t - 1) if t else 0


def first_advance(n: int, slots: int) -> int:
    """Return the longest first advance with which ``advances(n, slots)`` is reached.

    Parameters
    ----------
    n
        Steps, at least two.
    slots
        At least two: with one, all but the last step is advanced and nothing stored.

    Raises
    ------
    InvalidModelError
        If ``n`` is below two.
    InvalidBudgetError
        If ``slots`` is below two.

    Notes
    -----
    p(., s) is convex with slope t between beta(s, t - 1) and beta(s, t). The sum
    ``i + p(i, s) + p(n - i, s - 1)`` is least where the slopes meet: i between
    beta(s, t - 2) and beta(s, t - 1), and n - i between beta(s - 1, t - 1) and
    beta(s - 1, t). The largest such i is `ckschedule.solvers.revolve.binomial.split`.
    """
    n, slots = check_steps(n), check_slots(slots)
    if n < 2:
        raise InvalidModelError(f"steps is {n}; a first advance needs at least 2")
    if slots < 2:
        raise InvalidBudgetError(f"slots is {slots}; a first advance needs at least 2")
    t = repetitions(n, slots)
    return min(beta(slots, t - 1), n - beta(slots - 1, t - 1))


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
    n
        Steps, at least one.
    slots
        s, at least one.

    Raises
    ------
    InvalidModelError
        If ``n`` is below one.
    InvalidBudgetError
        If ``slots`` is below one.

    Notes
    -----
    Maddison 2024; compiled, O(n^2 s) time and O(n) memory.

    Examples
    --------
    >>> mixed_forwards(10, 3)
    19
    """
    from ckschedule.solvers.revolve import kernel  # numba stays out of the import

    n, slots = check_steps(n), check_slots(slots)
    if n <= slots + 1:
        return n
    return int(kernel.mixed(n, slots))


def check_steps(n: int) -> int:
    """Return a number of steps as an int of at least one."""
    n = index(n)
    if n < 1:
        raise InvalidModelError(f"steps is {n}; a chain has at least 1")
    return n


def check_slots(slots: int) -> int:
    """Return a number of slots as an int of at least one."""
    slots = index(slots)
    if slots < 1:
        raise InvalidBudgetError(
            f"slots is {slots}; give at least 1, the one that holds the initial state"
        )
    return slots
