"""Revolve's schedule as a stream of actions, or as arrays.

State j is what step j leaves behind; state 0 is given and kept in the first slot. Three
kinds of action suffice:

- ``ADVANCE start stop``: run steps ``start + 1 .. stop`` plainly from the kept state
  ``start``; state ``stop`` is now the current one.
- ``STORE start stop``: keep the current state ``stop`` in a slot; ``start`` equals it.
- ``REVERSE start stop``: record step ``stop = start + 1`` and run its backward, from
  state ``start``, kept or current. No state from ``start`` on is needed any more: a
  slot that keeps it is free again.

Griewank, Walther: Algorithm 799: Revolve, ACM TOMS 26(1), 2000,
doi:10.1145/347837.347846.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckschedule.solvers.revolve.counts import as_counts, repetitions
from ckschedule.solvers.revolve.rule import ADVANCE, REVERSE, STORE, split


class Action(NamedTuple):
    """One action of a schedule, and one row of its arrays.

    A tuple rather than a dataclass: a million are made a second.

    Attributes
    ----------
    kind
        `ADVANCE`, `STORE` or `REVERSE`.
    start, stop
        States, 0 to n.
    """

    kind: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RevolveArrays:
    """A schedule as three arrays of one length; row by row they are the actions.

    Attributes
    ----------
    kind
        (n_actions,), uint8: `ADVANCE`, `STORE` or `REVERSE`.
    start, stop
        (n_actions,), int64: states, 0 to n.
    """

    kind: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]
    stop: npt.NDArray[np.int64]


def revolve_actions(n: int, slots: int) -> Iterator[Action]:
    """Yield the actions of Revolve's schedule one by one.

    Parameters
    ----------
    n, slots
        At least one each; slots count the initial state's, and those beyond n - 1 are
        not used.

    Raises
    ------
    InvalidSettingError
        If one of them is no integer of at least one.

    Notes
    -----
    ``advances(n, slots)`` steps are run by the n - 1 advances. Memory is O(slots *
    repetitions), whatever n; no recursion.

    Examples
    --------
    >>> [tuple(action) for action in revolve_actions(3, 1)]
    [(0, 0, 2), (2, 2, 3), (0, 0, 1), (2, 1, 2), (2, 0, 1)]
    """
    slots, table = _table(n, slots)
    return _actions(n, slots, table)


def _actions(n: int, slots: int, table: list[list[int]]) -> Iterator[Action]:
    kept = [0]
    end = n
    while end > 0:
        top = kept[-1]
        left = slots - len(kept) + 1
        # A state one step before the end needs no slot: it is used at once.
        while left > 1 and end - top > 1:
            last = bisect_left(table[left], end - top) - 1
            stop = top + split(end - top, table[left][last], table[left - 1][last])
            yield Action(ADVANCE, top, stop)
            top = stop
            if end - top == 1:
                break
            yield Action(STORE, top, top)
            kept.append(top)
            left -= 1
        if end - top > 1:
            yield Action(ADVANCE, top, end - 1)
        yield Action(REVERSE, end - 1, end)
        end -= 1
        if kept[-1] == end:
            kept.pop()


def revolve_arrays(n: int, slots: int) -> RevolveArrays:
    """Return Revolve's schedule as arrays; the same rows as `revolve_actions` yields.

    Parameters
    ----------
    n, slots
        At least one each; slots count the initial state's, and those beyond n - 1 are
        not used.

    Raises
    ------
    InvalidSettingError
        If one of them is no integer of at least one.

    Notes
    -----
    Compiled; linear in the actions, of which there are less than 3 n.
    """
    from ckschedule.solvers.revolve import kernel  # numba stays out of the import

    slots, table = _table(n, slots)
    # n reversals, n - 1 advances, and each stored state is reversed from once. Pages
    # that are never written cost nothing.
    most = 3 * n
    kind = np.empty(most, np.uint8)
    start, stop = np.empty(most, np.int64), np.empty(most, np.int64)
    count = kernel.revolve(n, slots, np.array(table, np.int64), kind, start, stop)
    return RevolveArrays(kind=kind[:count], start=start[:count], stop=stop[:count])


def _table(n: int, slots: int) -> tuple[int, list[list[int]]]:
    """Return the useful slots, and beta(s, t) by s and t, capped at n.

    Fewer slots or steps than at the root never need more repetitions, except for one
    slot, whose row is not looked up beyond the root's t.
    """
    n, slots = as_counts(n, slots)
    slots = min(slots, max(1, n - 1))
    sweeps = repetitions(n, slots) if slots > 1 else 0
    return slots, [
        [min(n, comb(s + t, t)) for t in range(sweeps + 1)] for s in range(slots + 1)
    ]
