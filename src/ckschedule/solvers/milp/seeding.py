"""Schedules of other solvers that a search starts from."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ckschedule.errors import ResourceLimitError, UnsupportedModelError
from ckschedule.schedule import to_codes
from ckschedule.solvers.base import AbstractSolver

_log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from ckschedule.solvers.milp.plan import Plan
    from ckschedule.solvers.pebbling import Pebbling


def best_seed(
    pebbling: Pebbling, budget: int, seeds: tuple[AbstractSolver, ...] | None
) -> Plan | None:
    """Return the fastest staged schedule within the budget that the seeds find."""
    from ckschedule.solvers.milp.plan import plan, staged

    best = None
    for seed in _greedy() if seeds is None else seeds:
        try:
            schedule = seed.search(pebbling.graph, budget).schedule
        except (UnsupportedModelError, ResourceLimitError) as error:
            _log.info("seed %s passed over: %s", type(seed).__name__, error)
            continue
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
    from ckschedule.solvers.greedy import GreedyEviction

    return (GreedyEviction(),)
