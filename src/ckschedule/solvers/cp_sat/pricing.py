"""What recomputing a step costs at least, by a linear relaxation: fewer copies.

The relaxation is `ckschedule.solvers.cp_sat.cuts` at all crossings at once, with r(v)
for "v is computed again at all"::

    min  sum of time(v) r(v)   with   r(v) >= A(v, t),   all variables in [0, 1].

Let y be nonnegative multipliers of its rows, and d(v) what is left of time(v) after
them. By Lagrange, a schedule that computes v again k >= 1 times takes extra ticks of at
least L(y) + max(0, d(v)) + (k - 1) time(v), with L(y) the bound that y proves. Where
that reaches the incumbent, fewer copies do; with k = 1 there, v never runs again.

Multipliers come from a solver in floating point. They are rounded to integers over a
common denominator first, and the bound is computed from them exactly: whatever they
are, it holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from ortools.sat.python import cp_model

from ckschedule.solvers.cp_sat.copies import Copies
from ckschedule.solvers.cp_sat.cuts import crossings
from ckschedule.solvers.cp_sat.objective import whole_bound
from ckschedule.solvers.cp_sat.problem import Problem
from ckschedule.solvers.cp_sat.running import run, solver_for
from ckschedule.solvers.deadline import Deadline

_DENOMINATOR: Final = 1 << 40
"""Of the multipliers."""

UNLIMITED: Final = 1 << 40
"""Computations of a step that nothing limits."""

_MOST: Final = 60_000
"""Columns that the relaxation may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What multipliers prove; ticks times `_DENOMINATOR`.

    Attributes
    ----------
    bound
        Extra ticks of any schedule.
    surplus
        (n_steps,): what computing a step again adds to that.
    time
        (n_steps,): ticks of each further time, undivided.
    """

    bound: int
    surplus: tuple[int, ...]
    time: tuple[int, ...]

    @property
    def ticks(self) -> int:
        """Extra ticks of any schedule, a whole number."""
        return -(-self.bound // _DENOMINATOR)

    def limits(self, room: int, least: int) -> list[int]:
        """Return how often each step may run in a schedule.

        Parameters
        ----------
        room
            Its extra ticks.
        least
            Extra ticks that any schedule takes in which no step counts twice.
        """
        found = []
        for surplus, time in zip(self.surplus, self.time, strict=True):
            left = room * _DENOMINATOR - self.bound - surplus
            more = room - least
            if left < 0 or more < 0:
                found.append(1)
            elif time == 0:
                found.append(UNLIMITED)
            else:
                found.append(2 + min(left // (time * _DENOMINATOR), more // time))
        return found


class Relaxation:
    """Rows and columns; every row is ``>= right`` and every column lies in [0, 1].

    Parameters
    ----------
    problem
        Steps under weighted pebbling.
    copies
        That the steps may have: a step that cannot run again has no column.
    """

    def __init__(self, problem: Problem, copies: Copies) -> None:
        self.problem = problem
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.entries: list[int] = []
        self.right: list[int] = []
        self.again: dict[int, int] = {}
        self.n_columns = 0
        self.infeasible = False
        for k, count in enumerate(copies.count):
            if count > 1:
                self.again[k] = self._column()
        for crossing in crossings(problem):
            if self.n_columns > _MOST:
                break
            t = crossing.step
            after = {
                k: self._column()
                for k in range(t)
                if copies.count[k] > 1 and copies.last[k] > t
            }
            for k, column in after.items():
                self._row({self.again[k]: 1, column: -1}, 0)
            weights = {
                column: self._size(k)
                for k, column in after.items()
                if crossing.needed >> k & 1
            }
            if sum(weights.values()) < crossing.excess:
                self.infeasible = True
            for k in range(t):
                v = problem.steps[k].sole
                if (crossing.needed | crossing.certain) >> k & 1 or v is None:
                    continue
                if v in problem.kept or not problem.size[v]:
                    continue
                users = [after[w] for w in problem.users.get(v, ()) if w in after]
                if not users:
                    continue
                live = self._column()
                weights[live] = -problem.size[v]
                for column in users:
                    row = {live: 1, column: -1}
                    if k in after:
                        row[after[k]] = 1
                    self._row(row, 0)
            self._row(weights, crossing.excess)

    def integral(self, deadline: Deadline, seconds: float, workers: int) -> int:
        """Return extra ticks that no schedule undercuts: a bound on whole solutions.

        Parameters
        ----------
        deadline
            Of the whole search.
        seconds
            That this may take.
        workers
            Threads.
        """
        unit = gcd(*(self.problem.steps[k].least for k in self.again)) or 1
        model = cp_model.CpModel()
        columns = [model.new_bool_var("") for _ in range(self.n_columns)]
        rows: list[list[Any]] = [[] for _ in self.right]
        for row, column, entry in zip(
            self.rows, self.columns, self.entries, strict=True
        ):
            rows[row].append(entry * columns[column])
        for terms, right in zip(rows, self.right, strict=True):
            model.add(sum(terms) >= right)
        model.minimize(
            sum(
                self.problem.steps[k].least // unit * columns[column]
                for k, column in self.again.items()
            )
        )
        solver = solver_for(deadline, seconds, workers)
        seen = 0

        def bounded(value: float) -> None:
            nonlocal seen
            seen = max(seen, whole_bound(value))

        solver.best_bound_callback = bounded
        status = run(solver, model, deadline)
        if status == cp_model.INFEASIBLE:
            self.infeasible = True
            return 0
        if status != cp_model.UNKNOWN:
            bounded(solver.best_objective_bound)
        return seen * unit

    def solve(self, seconds: float) -> Prices | None:
        """Return the prices of an optimal solution; None if none was found in time."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        if not self.right or not self.n_columns:
            return None
        cost = np.zeros(self.n_columns)
        for k, column in self.again.items():
            cost[column] = self.problem.steps[k].least
        scale = max(1.0, float(cost.max(initial=0)))
        matrix = csr_array(
            (np.array(self.entries, float), (self.rows, self.columns)),
            shape=(len(self.right), self.n_columns),
        )
        right = np.array(self.right, float)
        largest = np.maximum(1.0, np.abs(matrix).max(axis=1).toarray().ravel())
        matrix = csr_array(matrix.multiply(1 / largest[:, None]))
        found = linprog(
            cost / scale,
            A_ub=-matrix,
            b_ub=-right / largest,
            bounds=(0, 1),
            method="highs",
            options={"time_limit": seconds},
        )
        if found.ineqlin is None or found.status != 0:
            return None
        return self.prices(-found.ineqlin.marginals * scale / largest)

    def nothing(self) -> Prices:
        """Return what no multipliers prove."""
        return self.prices(np.zeros(len(self.right)))

    def prices(self, multipliers: npt.NDArray[np.float64]) -> Prices:
        """Return what multipliers prove, exactly; those below zero count as zero."""
        whole = [max(0, int(y * _DENOMINATOR)) for y in multipliers.tolist()]
        left = [0] * self.n_columns
        for k, column in self.again.items():
            left[column] = self.problem.steps[k].least * _DENOMINATOR
        for row, column, entry in zip(
            self.rows, self.columns, self.entries, strict=True
        ):
            left[column] -= entry * whole[row]
        bound = sum(y * b for y, b in zip(whole, self.right, strict=True))
        bound += sum(d for d in left if d < 0)
        return Prices(
            bound=bound,
            surplus=tuple(
                max(0, left[self.again[k]]) if k in self.again else 0
                for k in range(len(self.problem))
            ),
            time=tuple(step.least for step in self.problem.steps),
        )

    def _size(self, k: int) -> int:
        v = self.problem.steps[k].sole
        return 0 if v is None else self.problem.size[v]

    def _column(self) -> int:
        self.n_columns += 1
        return self.n_columns - 1

    def _row(self, entries: dict[int, int], right: int) -> None:
        for column, entry in entries.items():
            if entry:
                self.rows.append(len(self.right))
                self.columns.append(column)
                self.entries.append(entry)
        self.right.append(right)
