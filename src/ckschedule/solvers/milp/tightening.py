"""The program made smaller by its own relaxation before it is solved in integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.milp.fixing import freedom
from ckschedule.solvers.milp.highs import Relaxation
from ckschedule.solvers.milp.program import build
from ckschedule.solvers.milp.rounding import MARGINS, Rounding

if TYPE_CHECKING:
    from ckschedule.solvers.milp.fixing import Flags, Freedom
    from ckschedule.solvers.milp.layout import Floats
    from ckschedule.solvers.milp.plan import Plan
    from ckschedule.solvers.milp.program import Program
    from ckschedule.solvers.pebbling import Pebbling

ENOUGH: Final = 0.9
"""Another round is worth it while no more than such a part of the runs is left."""


@dataclass(frozen=True, kw_only=True)
class Tight:
    """A program for what can still be better, and what is known.

    Attributes
    ----------
    program
        None if nothing can be better, or if nothing fits.
    low, high
        (binary,): what its binary columns are at least and at most.
    best
        The best schedule known.
    bound
        Ticks that no schedule undercuts.
    infeasible
        Whether no schedule keeps the budget.
    """

    program: Program | None
    low: Floats | None = None
    high: Floats | None = None
    best: Plan | None
    bound: int
    infeasible: bool = False


def tighten(
    pebbling: Pebbling,
    budget: int,
    best: Plan | None,
    free: Freedom,
    deadline: Deadline,
    tell: Callable[[Plan, int], None],
    *,
    threads: int,
    most: int,
) -> Tight:
    """Return the program for schedules better than the best that is known.

    Parameters
    ----------
    best
        The best schedule known; None if there is none.
    free
        What may run again in any schedule within the budget.
    tell
        Called with the best schedule and the bound as they change.

    Notes
    -----
    Multipliers of the relaxation prove a cost that every solution has, and by how much
    more it has if a column has one of its two values. Where that is no better than the
    best schedule, the column has the other value in all better ones. What cannot run
    again any more makes the program smaller (`freedom`), and its relaxation stronger.
    Schedules rounded from the relaxation may be better than the best one known.
    """
    base, room = pebbling.base_time, budget - pebbling.base
    rounding = Rounding(pebbling, free, budget, best)
    if best is not None:
        rounding.polish(best, deadline)
    bound, may = base, None
    while True:
        best = rounding.best
        spare = None if best is None else best.makespan - base
        left = freedom(pebbling, room, spare, may)
        if left is None:
            return _nothing(best, bound)
        program = build(pebbling, room, left, most=most)
        relaxation = Relaxation(program, threads=threads)
        begin = deadline.elapsed
        outcome = relaxation.solve(deadline)
        if outcome.infeasible:
            return _nothing(best, bound)
        bound = max(bound, base + (outcome.bound or 0))
        if outcome.solutions and outcome.finished:
            rounding.round(program.keeps(outcome.solutions[0]), deadline)
            # As long again as the relaxation took, for schedules.
            spent = min(deadline.elapsed - begin + 1, deadline.remaining)
            with Deadline(spent) as short:
                rounding.look(relaxation, short, MARGINS)
            best = rounding.best
        if best is None or outcome.proof is None:
            return Tight(program=program, best=best, bound=bound)
        tell(best, bound)
        if bound >= best.makespan:
            return Tight(program=None, best=best, bound=best.makespan)
        # What is as good as the best is not looked for, but the best stays in.
        better = (best.makespan - base) / program.tick - 1
        low, high = outcome.proof.bounds(better, program.binary)
        start = program.point(best.again)
        if start is not None:
            low = np.minimum(low, start[: program.binary])
            high = np.maximum(high, start[: program.binary])
        may = _left(program, high)
        if deadline.passed or may.sum() > ENOUGH * len(program.runs):
            return Tight(program=program, low=low, high=high, best=best, bound=bound)


def _nothing(best: Plan | None, bound: int) -> Tight:
    """Return that nothing is better than the best, or that nothing fits."""
    if best is None:
        return Tight(program=None, best=None, bound=bound, infeasible=True)
    return Tight(program=None, best=best, bound=best.makespan)


def _left(program: Program, high: Floats) -> Flags:
    """Return what may still run again, (n, n) by stage and node."""
    n = len(program.pebbling)
    left = np.zeros((n, n), bool)
    runs = program.runs[high[: len(program.runs)] > 0]
    left[runs[:, 0], runs[:, 1]] = True
    return left
