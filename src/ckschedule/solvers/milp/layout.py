"""Which column of a program stands for what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from ckschedule.solvers.milp.fixing import Flags, Freedom

if TYPE_CHECKING:
    from ckschedule.solvers.pebbling import Pebbling

Ints = npt.NDArray[np.int64]
"""Integer arrays."""

Floats = npt.NDArray[np.float64]
"""What HiGHS computes in."""

ZERO: Final = 0
"""The column that stands for the constant 0 until constants are taken out."""

ONE: Final = 1
"""The column that stands for the constant 1 until constants are taken out."""

CONSTANTS: Final = 2
"""How many columns are constants."""


@dataclass(frozen=True, kw_only=True)
class Uses:
    """What can read which value in which stage, sorted by stage, value and user.

    Attributes
    ----------
    stage, value, user
        (u,): node ``user`` reads ``value`` if it runs in ``stage``.
    first, final
        (u,): whether it is the first, the last of its stage and value.
    group, begin
        (u,) and (groups,): number of its stage and value, and where each begins.
    before
        (u,): column that tells whether the value lies there before; -1 for the first,
        where it does if it was kept, or runs again.
    """

    stage: Ints
    value: Ints
    user: Ints
    first: Flags
    final: Flags
    group: Ints
    begin: Ints
    before: Ints


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Columns before constants are taken out.

    Attributes
    ----------
    run
        (n, n): by stage and node.
    keep
        (n + 1, n): by stage and value; row n is the end.
    uses
        The reads, with their columns.
    count
        How many columns there are, constants included.
    """

    run: Ints
    keep: Ints
    uses: Uses
    count: int


def make_layout(pebbling: Pebbling, free: Freedom) -> Layout:
    """Return the columns of a graph's program."""
    n = len(pebbling)
    run = np.full((n, n), ZERO, np.int64)
    np.fill_diagonal(run, ONE)
    n_runs = int(free.may.sum())
    run[free.may] = np.arange(CONSTANTS, CONSTANTS + n_runs)
    uses, used = _uses(pebbling, free)
    keep, count = _keeps(free, used, CONSTANTS + n_runs)
    if not len(uses.stage):
        return Layout(run=run, keep=keep, uses=uses, count=count)
    # A first computation reads at the end of its stage: all lies there until then.
    whole = (uses.user == uses.stage) & uses.final
    through = whole[np.append(uses.begin[1:], len(whole)) - 1][uses.group]
    through |= pebbling.stays[uses.value] > 0
    fresh = ~uses.first & ~through
    uses.before[through & ~uses.first] = ONE
    uses.before[fresh] = np.arange(count, count + int(fresh.sum()))
    return Layout(run=run, keep=keep, uses=uses, count=count + int(fresh.sum()))


def _uses(pebbling: Pebbling, free: Freedom) -> tuple[Uses, Flags]:
    n = len(pebbling)
    value = np.repeat(np.arange(n), np.diff(pebbling.after_start))
    runs = free.may | np.eye(n, dtype=bool)
    stage, edge = np.nonzero(runs[:, pebbling.after])
    value, user = value[edge], pebbling.after[edge]
    first = np.ones(len(stage), bool)
    first[1:] = (stage[1:] != stage[:-1]) | (value[1:] != value[:-1])
    used = np.zeros((n, n), bool)
    used[stage, value] = True
    uses = Uses(
        stage=stage,
        value=value,
        user=user,
        first=first,
        final=np.append(first[1:], True)[: len(first)],
        group=np.cumsum(first) - 1,
        begin=np.flatnonzero(first),
        before=np.full(len(stage), -1, np.int64),
    )
    return uses, used


def _keeps(free: Freedom, used: Flags, begin: int) -> tuple[Ints, int]:
    """Return the column of each keeping, and how many columns there are then."""
    n = len(used)
    stage, value = np.arange(n + 1)[:, None], np.arange(n)
    one = (stage > value) & (stage <= free.forced)
    some = (stage > value) & (stage <= free.last) & ~one
    # What is neither read in a stage nor computed there is kept through it, or was
    # not worth keeping into it.
    same = np.zeros((n + 1, n), bool)
    same[1:] = some[1:] & some[:-1] & ~used & ~free.may
    fresh = some & ~same
    # Numbered value by value: a run of equal ones has the number of its first.
    number = np.cumsum(fresh.T.ravel()).reshape(n, n + 1).T - 1 + begin
    keep = np.where(some, number, ZERO)
    keep[one] = ONE
    return keep, begin + int(fresh.sum())
