"""The solver that rounds the linear relaxation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ckschedule.result import Scope
from ckschedule.simulation import Model
from ckschedule.solvers.base import (
    AbstractSolver,
    Progress,
    Proposal,
    as_real_setting,
    as_setting,
)
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.milp.solver import MAX_ENTRIES, propose, tell
from ckschedule.solvers.pebbling import Pebbling, as_pebbling


@dataclass(frozen=True, slots=True, kw_only=True)
class LpRounding(AbstractSolver):
    """A staged schedule rounded from Checkmate's linear relaxation, with its bound.

    Attributes
    ----------
    time_limit
        Seconds of wall time, 0 or more; infinity for none.
    threads
        Of HiGHS; 0 lets it choose.
    max_entries
        Entries that the program's matrix may have; past it `ResourceLimitError`.

    Raises
    ------
    InvalidSettingError
        If one of them is out of its range.

    Notes
    -----
    Two-phase rounding [1]_: what the relaxation keeps by more than a threshold is kept,
    and what is needed besides runs again. That may pass the budget: several thresholds
    are tried, on relaxations of smaller budgets, too, which leave room for it. In what
    keeps the budget, recomputations are replaced by keeping while that fits. There may
    be no schedule even if one exists.

    References
    ----------
    .. [1] Jain et al. (2020). Checkmate: Breaking the memory wall with optimal tensor
       rematerialization. MLSys. arXiv:1910.02653.
    """

    time_limit: float = 60.0
    threads: int = 0
    max_entries: int = MAX_ENTRIES

    def __post_init__(self) -> None:
        limit = as_real_setting(self.time_limit, "LpRounding: time_limit")
        object.__setattr__(self, "time_limit", limit)
        for name, least in (("threads", 0), ("max_entries", 1)):
            what = f"LpRounding: {name}"
            number = as_setting(getattr(self, name), what, least=least)
            object.__setattr__(self, name, number)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the best schedule found, and a bound; see `AbstractSolver`.

        Raises
        ------
        UnsupportedModelError
            If the model is no graph under weighted pebbling.
        ResourceLimitError
            If the program would pass ``max_entries``.
        """
        pebbling = as_pebbling(model, self)
        with Deadline(self.time_limit) as deadline:
            return self._search(pebbling, budget, deadline, progress)

    def _search(
        self,
        pebbling: Pebbling,
        budget: int,
        deadline: Deadline,
        progress: Progress | None,
    ) -> Proposal:
        from ckschedule.solvers.milp.fixing import freedom
        from ckschedule.solvers.milp.highs import Relaxation
        from ckschedule.solvers.milp.plan import plan
        from ckschedule.solvers.milp.program import build
        from ckschedule.solvers.milp.rounding import MARGINS, Rounding

        room = budget - pebbling.base
        once = plan(pebbling, np.eye(len(pebbling), dtype=bool))
        if once.peak <= budget:
            return propose(once, bound=once.makespan)
        free = freedom(pebbling, room, None)
        if free is None:
            return Proposal(scope=Scope.GIVEN_ORDER, infeasible=True)
        program = build(pebbling, room, free, most=self.max_entries)
        relaxation = Relaxation(program, threads=self.threads)
        outcome = relaxation.solve(deadline)
        if outcome.infeasible:
            return Proposal(scope=Scope.GIVEN_ORDER, infeasible=True)
        bound = pebbling.base_time + (outcome.bound or 0)
        rounding = Rounding(pebbling, free, budget, None)
        if outcome.solutions and outcome.finished:
            rounding.round(program.keeps(outcome.solutions[0]), deadline)
            for margin in MARGINS:
                best = rounding.best
                if best is not None and best.makespan <= bound:
                    break
                makespan = None if best is None else best.makespan
                tell(progress, deadline, makespan, bound)
                rounding.look(relaxation, deadline, (margin,))
        return propose(rounding.best, bound=bound, stop=deadline.stop)
