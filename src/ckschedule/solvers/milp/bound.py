"""A lower bound from the linear relaxation, for others to call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.milp.solver import MAX_ENTRIES

if TYPE_CHECKING:
    from ckschedule.solvers.pebbling import Pebbling


def lp_bound(
    pebbling: Pebbling,
    budget: int,
    time_limit: float,
    *,
    makespan: int | None = None,
    threads: int = 0,
) -> int | None:
    """Return ticks that no staged schedule within a budget undercuts.

    Parameters
    ----------
    pebbling
        The graph.
    budget
        Bytes, static bytes included.
    time_limit
        Seconds of wall time, 0 or more.
    makespan
        Ticks of a known schedule within the budget and the scope. It makes the program
        smaller and the bound no lower, up to these ticks.
    threads
        Of HiGHS; 0 lets it choose.

    Returns
    -------
    int
        Ticks, at least those of running every node once; None if it is proved that no
        staged schedule keeps the budget.

    Raises
    ------
    ResourceLimitError
        If the program would have more than `MAX_ENTRIES` entries.

    Notes
    -----
    The bound is the Lagrangian one of HiGHS's multipliers, which holds whatever they
    are: a relaxation that is not solved in time gives a lower bound, never a wrong one.
    """
    from ckschedule.solvers.milp.fixing import freedom
    from ckschedule.solvers.milp.highs import Relaxation
    from ckschedule.solvers.milp.program import build

    base, room = pebbling.base_time, budget - pebbling.base
    with Deadline(time_limit) as deadline:
        spare = None if makespan is None else makespan - base
        free = freedom(pebbling, room, spare)
        if free is None:
            return makespan
        program = build(pebbling, room, free, most=MAX_ENTRIES)
        if deadline.passed:
            return base
        outcome = Relaxation(program, threads=threads).solve(deadline)
    if outcome.infeasible:
        return makespan
    bound = base + (outcome.bound or 0)
    return bound if makespan is None else min(bound, makespan)
