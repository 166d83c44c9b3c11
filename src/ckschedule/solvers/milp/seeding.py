"""Schedules of other solvers that a search starts from."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from ckschedule.errors import InvalidSettingError
from ckschedule.schedule import to_codes
from ckschedule.solvers.base import AbstractSolver

if TYPE_CHECKING:
    from ckschedule.solvers.milp.plan import Plan
    from ckschedule.solvers.pebbling import Pebbling


def as_seeds(value: object, what: str) -> tuple[AbstractSolver, ...] | None:
    """Return a setting as solvers to start from.

    Raises
    ------
    InvalidSettingError
        If it is neither None nor a list of solvers.
    """
    if value is None:
        return None
    if isinstance(value, (tuple, list)) and all(
        isinstance(seed, AbstractSolver) for seed in value
    ):
        return tuple(value)
    raise InvalidSettingError(
        f"{what} is {value!r}; give a tuple of solvers, such as (GreedyEviction(),), "
        f"or None"
    )


def best_seed(
    pebbling: Pebbling, budget: int, seeds: tuple[AbstractSolver, ...] | None
) -> Plan | None:
    """Return the fastest staged schedule within the budget that the seeds find."""
    from ckschedule.solvers.milp.plan import plan, staged

    best = None
    for seed in _greedy() if seeds is None else seeds:
        schedule = seed.search(pebbling.graph, budget).schedule
        if schedule is None:
            continue
        again = staged(pebbling, to_codes(schedule, pebbling.encoding))
        if again is None:
            continue
        found = plan(pebbling, again)
        if found.peak <= budget and (best is None or found.makespan < best.makespan):
            best = found
    return best


def _greedy() -> tuple[AbstractSolver, ...]:
    if find_spec("ckschedule.solvers.greedy") is None:
        return ()
    from ckschedule.solvers.greedy import GreedyEviction

    return (GreedyEviction(),)
