"""One program handed to HiGHS: watched, and stopped in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf, isfinite
from typing import TYPE_CHECKING, Any, Final

import highspy
import numpy as np

from ckschedule.solvers.milp.scaling import (
    TOLERANCE,
    Proof,
    Scaled,
    column_scale,
    lagrangian,
    safe_ticks,
    scale,
    scaled_matrix,
)

if TYPE_CHECKING:
    from ckschedule.solvers.deadline import Deadline
    from ckschedule.solvers.milp.layout import Floats
    from ckschedule.solvers.milp.program import Program

POLL: Final = 0.05
"""Seconds between two looks at what HiGHS has found."""

GRACE: Final = 1.0
"""Seconds that HiGHS has to end once it was asked to."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What HiGHS said.

    Attributes
    ----------
    solutions
        (columns,) each, the last one first.
    bound
        Least extra ticks, safely rounded; None if unknown.
    infeasible
        Whether it found that there is no solution.
    finished
        Whether it had nothing left to do.
    proof
        Of a relaxation; None if there is none.
    """

    solutions: tuple[Floats, ...]
    bound: int | None
    infeasible: bool
    finished: bool
    proof: Proof | None = None


class _Quiet(highspy.Highs):
    """HiGHS that prints nothing, not even who it is when callbacks are set up."""

    def enableCallbacks(self) -> None:  # HiGHS's name
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()  # type: ignore[no-untyped-call]  # HiGHS's own


class Integer:
    """A program in integers at HiGHS.

    Parameters
    ----------
    slack
        Slacks by which budgets are raised: 1 so that no schedule is lost to rounding,
        -1 so that none that is found passes the budget.
    threads
        How many; 0 lets HiGHS choose.
    low, high
        (binary,): narrower bounds of the binary columns.
    """

    def __init__(
        self,
        program: Program,
        *,
        slack: float,
        threads: int,
        low: Floats | None = None,
        high: Floats | None = None,
    ) -> None:
        self._program = program
        self._scaled = scale(program)
        self._highs = _highs(program, self._scaled, threads)
        _move(self._highs, program, self._scaled, slack)
        if low is not None and high is not None:
            columns = np.arange(len(low), dtype=np.int32)
            self._highs.changeColsBounds(len(columns), columns, low, high)
        n_integer = program.binary
        self._highs.changeColsIntegrality(
            n_integer,
            np.arange(n_integer, dtype=np.int32),
            np.full(n_integer, int(highspy.HighsVarType.kInteger), np.uint8),
        )

    def below(self, extra: int) -> bool:
        """Look for less than so many extra ticks only; return whether that is exact.

        It is not where a tick is less than HiGHS can tell apart: then as many are
        looked for, too.

        Notes
        -----
        HiGHS takes a solution to start from, too, but release 1.16 compares its cost
        with others less a constant of the presolved objective: VGG19 at 80 % of its
        peak then had a wrong optimum.
        """
        cost, time = self._program.cost, self._scaled.time
        columns = np.flatnonzero(cost)
        # Half a tick below, so that no tolerance matters.
        exact = 0.5 / time > 100 * TOLERANCE
        most = (extra / self._program.tick - (0.5 if exact else 0)) / time
        most += 0 if exact else 100 * TOLERANCE
        self._highs.addRow(
            -highspy.kHighsInf,
            most,
            len(columns),
            columns.astype(np.int32),
            cost[columns] / time,
        )
        return exact

    def solve(
        self, deadline: Deadline, tell: Callable[[int | None, int | None], None]
    ) -> Outcome:
        """Return the answer.

        Parameters
        ----------
        tell
            Called with extra ticks of the best solution and the bound as they change.
        """
        program, scaled = self._program, self._scaled
        column = column_scale(program, scaled)
        found: list[Floats] = []
        bounds: list[float] = []

        def improved(event: Any) -> None:
            found.append(np.array(event.data_out.mip_solution))

        def proceeded(event: Any) -> None:
            bounds.append(event.data_out.mip_dual_bound)

        def look() -> None:
            extra = None
            if found:
                extra = round(float(program.cost @ (found[-1] / column))) * program.tick
            tell(extra, safe_ticks(bounds[-1], program, scaled) if bounds else None)

        highs = self._highs
        highs.cbMipImprovingSolution += improved
        highs.cbMipLogging += proceeded
        ended = _run(highs, deadline, look)
        status = highs.getModelStatus() if ended else None
        if ended:
            info = highs.getInfo()
            kind = highspy.SolutionStatus.kSolutionStatusFeasible
            if info.primal_solution_status == kind:
                found.append(np.array(highs.getSolution().col_value))
            bounds.append(info.mip_dual_bound)
        infeasible = status == highspy.HighsModelStatus.kInfeasible
        return Outcome(
            solutions=tuple(x / column for x in found[::-1]),
            bound=safe_ticks(bounds[-1], program, scaled) if bounds else None,
            infeasible=infeasible,
            finished=infeasible or status == highspy.HighsModelStatus.kOptimal,
        )


class Relaxation:
    """A program without its integrality at HiGHS, for several budgets.

    Attributes
    ----------
    program
        The program.
    """

    def __init__(self, program: Program, *, threads: int) -> None:
        self.program = program
        self._scaled = scale(program)
        self._highs = _highs(program, self._scaled, threads)

    def solve(self, deadline: Deadline, *, less: float = 0.0) -> Outcome:
        """Return the answer for a part of the budget.

        Parameters
        ----------
        less
            Part by which the budget is lowered; 0 raises it by the slack instead, so
            that no schedule is lost to rounding.

        Notes
        -----
        The bound is computed from the multipliers: it holds whatever they are, hence
        also if HiGHS did not finish. For a lowered budget there is none.
        """
        program, scaled = self.program, self._scaled
        slack = -less * program.room / scaled.byte / scaled.slack if less else 1.0
        upper, top = _move(self._highs, program, scaled, slack)
        if not _run(self._highs, deadline, lambda: None):
            return Outcome(solutions=(), bound=None, infeasible=False, finished=False)
        status, info = self._highs.getModelStatus(), self._highs.getInfo()
        solution = self._highs.getSolution()
        proof = None
        if not less and solution.dual_valid:
            dual = np.array(solution.row_dual)
            proof = lagrangian(dual, program, scaled, upper, top)
        solutions: tuple[Floats, ...] = ()
        if (
            info.primal_solution_status
            == highspy.SolutionStatus.kSolutionStatusFeasible
        ):
            column = column_scale(program, scaled)
            solutions = (np.array(solution.col_value) / column,)
        infeasible = status == highspy.HighsModelStatus.kInfeasible
        return Outcome(
            solutions=solutions,
            bound=None if proof is None else max(0, ceil(proof.least)) * program.tick,
            infeasible=infeasible,
            finished=infeasible or status == highspy.HighsModelStatus.kOptimal,
            proof=proof,
        )


def _highs(program: Program, scaled: Scaled, threads: int) -> Any:
    """Return HiGHS with a program whose rows have no bounds yet."""
    matrix = scaled_matrix(program, scaled)
    n_rows, n_columns = matrix.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n_columns, n_rows
    lp.col_cost_ = program.cost / scaled.time
    lp.col_lower_, lp.col_upper_ = np.zeros(n_columns), program.top
    lp.row_lower_ = np.full(n_rows, -highspy.kHighsInf)
    lp.row_upper_ = np.full(n_rows, highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = matrix.indptr
    lp.a_matrix_.index_ = matrix.indices
    lp.a_matrix_.value_ = matrix.data
    highs = _Quiet()  # type: ignore[no-untyped-call]  # HiGHS's own
    highs.setOptionValue("threads", threads)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", TOLERANCE)
    highs.passModel(lp)
    return highs


def _move(
    highs: Any, program: Program, scaled: Scaled, slack: float
) -> tuple[Floats, Floats]:
    """Set the bounds of rows and levels; return the upper ones.

    Parameters
    ----------
    slack
        Slacks by which the budget is raised.
    """
    row = np.where(program.is_level, 1 / scaled.byte, 1.0)
    lower, upper = program.lower * row, program.upper * row
    top = program.top * column_scale(program, scaled)
    upper[program.is_level & ~np.isfinite(lower)] += slack * scaled.slack
    top[program.binary :] += slack * scaled.slack
    lower = np.where(np.isfinite(lower), lower, -highspy.kHighsInf)
    rows, columns = (np.arange(len(a), dtype=np.int32) for a in (upper, top))
    highs.changeRowsBounds(len(rows), rows, lower, upper)
    highs.changeColsBounds(len(columns), columns, np.zeros(len(top)), top)
    return upper, top


def _run(highs: Any, deadline: Deadline, look: Callable[[], None]) -> bool:
    """Run HiGHS until it ends; return False if it had to be left alone.

    It looks at its time limit and at interrupts only now and then, seldom while it
    presolves. After `GRACE` it is left to itself, in a thread of its own.
    """
    highs.HandleUserInterrupt = True
    if isfinite(deadline.remaining):
        highs.setOptionValue("time_limit", highs.getRunTime() + deadline.remaining)
    cancelled = threading.Event()

    def work() -> bool:
        # No daemon: leaving Python while HiGHS runs would abort the process.
        thread = threading.Thread(target=highs.run, name="HiGHS", daemon=False)
        thread.start()
        end = inf
        try:
            while thread.is_alive():
                thread.join(POLL)
                look()
                if cancelled.is_set() and end == inf:
                    highs.cancelSolve()
                    end = time.monotonic() + GRACE
                if time.monotonic() > end:
                    return False
        except BaseException:
            highs.cancelSolve()
            raise
        return True

    return deadline.run(work, cancelled.set)
