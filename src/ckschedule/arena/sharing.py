"""How Chen et al. hand out storage: to each its own, in place, or from a pool.

Section 3 of arXiv 1604.06174: values are walked in the order in which they are made;
one that nothing needs any more gives its storage back to a pool, from which a later one
takes what is nearest in size. A storage is a separate range of memory, so it is as
large as the largest value that it ever holds, and what is free beside another is not
joined. The arena of `ckschedule.plan_arena` has neither limit.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import Final

from ckschedule.arena.lifetimes import InPlace, lifetimes_of
from ckschedule.errors import InvalidSettingError
from ckschedule.schedule import Schedule
from ckschedule.simulation import Model, simulate

MATCH: Final = 16
"""Default of ``match``, as MXNet's allocator had it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storages:
    """Separate ranges of memory for all values of a schedule.

    Attributes
    ----------
    sizes
        Bytes of each, in the order in which they were first taken.
    values
        Number of values and scratches that were stored.
    """

    sizes: tuple[int, ...]
    values: int

    @property
    def total(self) -> int:
        """Bytes of all."""
        return sum(self.sizes)


def share_storage(
    model: Model,
    schedule: Schedule,
    *,
    sharing: bool = True,
    inplace: InPlace = (),
    match: int = MATCH,
) -> Storages:
    """Return the storages that Chen's allocation gives to a schedule's values.

    Parameters
    ----------
    model
        Chain or graph.
    schedule
        A legal schedule for it.
    sharing
        Whether storage that is no longer needed is handed out again; without it every
        value has its own ("no optimization", or "inplace" with ``inplace``).
    inplace
        As for `ckschedule.plan_arena`.
    match
        A storage is taken for a value up to so many times smaller or larger. The
        smallest of those large enough is taken, else the largest of the others, which
        grows.

    Raises
    ------
    InvalidScheduleError
        If the schedule is illegal for the model.
    InvalidSettingError
        If ``match`` is below 1, or ``inplace`` names a node that the graph does not
        have.

    Notes
    -----
    O(n log n) searches for n values, and insertions into a list.

    Examples
    --------
    >>> import ckschedule as ck
    >>> chain = ck.catalog.uniform(stages=8, saved=2)
    >>> schedule = ck.solve(chain, "60%").raise_for_status().schedule
    >>> share_storage(chain, schedule, sharing=False).total
    37
    >>> share_storage(chain, schedule).total
    16
    """
    if match < 1:
        raise InvalidSettingError(f"match is {match}; give a factor, at least 1")
    lifetimes = lifetimes_of(simulate(model, schedule), inplace)
    first, last, size = (column.tolist() for column in lifetimes.storages)
    births = sorted(range(len(size)), key=first.__getitem__)
    deaths = sorted(range(len(size)), key=last.__getitem__)
    sizes: list[int] = []
    home: dict[int, int] = {}
    pool: list[tuple[int, int]] = []
    dead = 0
    for k in births:
        while sharing and last[deaths[dead]] < first[k]:
            given = home[deaths[dead]]
            insort(pool, (sizes[given], given))
            dead += 1
        at = bisect_left(pool, (size[k], -1))
        if at < len(pool) and pool[at][0] <= size[k] * match:
            home[k] = pool.pop(at)[1]
        elif at > 0 and pool[at - 1][0] * match >= size[k]:
            home[k] = pool.pop(at - 1)[1]
            sizes[home[k]] = size[k]
        else:
            home[k] = len(sizes)
            sizes.append(size[k])
    return Storages(sizes=tuple(sizes), values=len(lifetimes))
