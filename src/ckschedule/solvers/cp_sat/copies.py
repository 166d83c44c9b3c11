"""How often a step may run in a schedule that beats a known one, and until when.

A model with C copies of a step proves something about schedules that run it at most C
times. These are all that beat the incumbent if C is at least the smaller of

    1 + floor((U - 1 - floor) / time)      with U the incumbent's ticks, and
    1 + the sum of its users' copies       (free order: without the 1),

the first because computing it again costs its time on top of running every necessary
step once; the second because a computation that serves nobody can be left out, but for
the first one in a given order. There, moreover, a step runs at most once a stage, and
again only up to the last stage in which a user may run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ckschedule.solvers.cp_sat.problem import Problem
from ckschedule.solvers.order import Order

_ENDLESS: Final = 1000
"""Copies beyond which counting stops: no such model could be built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Bounds on the computations of each step.

    Attributes
    ----------
    count
        (n_steps,): most computations.
    last
        (n_steps,): last stage in which it may be computed again, n being the one after
        all first computations; given order only.
    complete
        Whether no schedule below the ceiling needs more.
    """

    count: tuple[int, ...]
    last: tuple[int, ...]
    complete: bool

    @property
    def total(self) -> int:
        """All computations."""
        return sum(self.count)


def copies_of(
    problem: Problem,
    order: Order,
    ceiling: int | None,
    cap: int = _ENDLESS,
    limits: Sequence[int] = (),
) -> Copies:
    """Return how often each step has to be able to run.

    Parameters
    ----------
    problem
        The steps.
    order
        Of first computations.
    ceiling
        Ticks of a known schedule: only faster ones count. None if none is known.
    cap
        Most computations of any step; with it the counts may not be complete.
    limits
        (n_steps,): computations of each step that no schedule below the ceiling
        exceeds, known from elsewhere; empty if nothing is.

    Notes
    -----
    A fixed point from below, O(edges) a round; one round and a second to notice where
    users stand behind what they use.
    """
    n = len(problem)
    given = order is Order.GIVEN
    users = [_users(problem, k) for k in range(n)]
    again = [_targets_again(problem, k) for k in range(n)]
    most_of = [_limit(problem, k, ceiling) for k in range(n)]
    for k, known in enumerate(limits):
        limit = most_of[k]
        most_of[k] = known if limit is None else min(limit, known)
    count, last = [1] * n, list(range(n))
    cut = False
    moved = True
    while moved:
        moved = False
        for k in range(n - 1, -1, -1):
            serves = again[k] + sum(links * count[w] for w, links in users[k])
            late = last[k]
            if given:
                late = max(
                    [late, *(last[w] if count[w] > 1 else w for w, _ in users[k])]
                )
                late = n if again[k] else late
                most = min(1 + serves, 1 + late - k)
            else:
                most = max(1, serves + _first_targets(problem, k))
            limit = most_of[k]
            if limit is not None:
                most = min(most, limit)
            if most > cap:
                most, cut = cap, True
            if (most, late) != (count[k], last[k]) and most >= count[k]:
                count[k], last[k] = most, late
                moved = True
    return Copies(count=tuple(count), last=tuple(last), complete=not cut)


def _limit(problem: Problem, k: int, ceiling: int | None) -> int | None:
    """Return how often the incumbent's time allows a step; None without limit."""
    step = problem.steps[k]
    if step.once or step.sole in problem.kept:
        return 1
    if ceiling is None or step.least == 0:
        return None
    more = max(0, ceiling - 1 - problem.floor) // step.least
    return max(1, more + 1 if step.must else more)


def _users(problem: Problem, k: int) -> list[tuple[int, int]]:
    """Return the users of a step, each with the values that it takes from it."""
    links: dict[int, int] = {}
    for v in problem.yields[k]:
        for w in problem.users.get(v, ()):
            links[w] = links.get(w, 0) + 1
    return list(links.items())


def _first_targets(problem: Problem, k: int) -> int:
    return sum(v in problem.targets for v in problem.yields[k])


def _targets_again(problem: Problem, k: int) -> int:
    """Return how many computations beyond the first may be there for a target's sake.

    Only a step with several actions can miss a target the first time.
    """
    step = problem.steps[k]
    return _first_targets(problem, k) if len(step.actions) > 1 else 0
