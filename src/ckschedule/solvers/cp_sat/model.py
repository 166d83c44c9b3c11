"""One CP-SAT model: built, hinted, solved, read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ortools.sat.python import cp_model

from ckschedule.solvers.cp_sat.constraints import Constraints
from ckschedule.solvers.cp_sat.copies import Copies
from ckschedule.solvers.cp_sat.cuts import add_cuts
from ckschedule.solvers.cp_sat.objective import Objective
from ckschedule.solvers.cp_sat.problem import Problem
from ckschedule.solvers.cp_sat.running import run, solver_for
from ckschedule.solvers.cp_sat.staging import Incumbent, spans
from ckschedule.solvers.cp_sat.variables import Literal, Variables
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.order import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one model went.

    Attributes
    ----------
    modes
        Computations of the best schedule below the ceiling; None without any.
    closed
        Whether the model was searched through.
    bound
        Ticks that no schedule of the model undercuts, the ceiling itself included.
    """

    modes: tuple[int, ...] | None
    closed: bool
    bound: int


class RetentionModel:
    """Schedules below a ceiling with at most so many copies, as one CP-SAT model.

    Parameters
    ----------
    problem
        The steps.
    order
        Of first computations.
    copies
        Computations that each step gets.
    ceiling
        Ticks that schedules have to stay below; None for no limit.
    """

    def __init__(
        self, problem: Problem, order: Order, copies: Copies, ceiling: int | None
    ) -> None:
        self.problem = problem
        self.ceiling = ceiling
        self.model = cp_model.CpModel()
        self.variables = Variables(self.model, problem, order, copies)
        self.constraints = Constraints(self.model, self.variables)
        self.constraints.add_all()
        add_cuts(self.model, self.variables)
        self.objective = Objective(self.model, self.variables, ceiling)

    def hint(self, incumbent: Incumbent) -> None:
        """Start from a schedule, as far as the model can say it."""
        placed = incumbent.placed
        if placed is None:
            return
        hints: dict[int, tuple[Any, int]] = {}

        def say(variable: Literal | int, value: int) -> None:
            if isinstance(variable, cp_model.IntVar):
                hints[variable.index] = (variable, value)

        variables = self.variables
        position: dict[int, int] = {}
        for i, place in enumerate(placed):
            if place.copy < len(variables.of_step[place.step]):
                position[i] = variables.of_step[place.step][place.copy]
        there = {p: placed[i] for i, p in position.items()}
        for p, made in enumerate(variables.computations):
            where = there.get(p)
            say(made.present, where is not None)
            for action, literal in made.ways:
                say(literal, where is not None and action.mode == where.mode)
            if where is not None:
                say(made.stage, where.stage)
        retained = {
            (r.source, r.value): r for rs in variables.retentions.values() for r in rs
        }
        serving: dict[tuple[int, int], int] = {}
        for span in spans(self.problem, incumbent, variables.horizon):
            source = None if span.source < 0 else position.get(span.source)
            if span.source >= 0 and source is None:
                continue
            retention = retained[source, span.value]
            start = 0 if span.source < 0 else placed[span.source].start
            say(retention.end, span.end)
            say(retention.length, span.end - start)
            say(retention.present, span.fresh)
            for i in span.served:
                if i in position:
                    serving[position[i], span.value] = retention.index
        for (p, v), links in self.constraints.links.items():
            for retention, x in links:
                say(x, serving.get((p, v)) == retention.index)
        for variable, value in hints.values():
            self.model.add_hint(variable, value)

    def solve(
        self,
        deadline: Deadline,
        seconds: float,
        workers: int,
        on_solution: Callable[[int], bool],
        on_bound: Callable[[int], None],
    ) -> Outcome:
        """Search for at most so many seconds.

        Parameters
        ----------
        deadline
            That the whole search has to keep.
        seconds
            Of this model.
        workers
            Threads.
        on_solution
            Told the ticks of each schedule found; says whether to stop.
        on_bound
            Told each bound in ticks.
        """
        solver = solver_for(deadline, seconds, workers)
        objective = self.objective

        class Watch(cp_model.CpSolverSolutionCallback):
            def on_solution_callback(self) -> None:
                extra = round(self.objective_value) * objective.unit
                if on_solution(objective.floor + extra):
                    self.stop_search()

        self._seen = objective.floor

        def bounded(value: float) -> None:
            self._seen = max(self._seen, self._capped(objective.bound(value)))
            on_bound(self._seen)

        solver.best_bound_callback = bounded
        watch = Watch()
        status = run(solver, self.model, deadline, watch)
        if status == cp_model.INFEASIBLE:
            floor = self.problem.floor if self.ceiling is None else self.ceiling
            return Outcome(modes=None, closed=True, bound=floor)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            assert status == cp_model.UNKNOWN, "a model that CP-SAT refuses"
            # Without a solution its bound may be of before the search.
            return Outcome(modes=None, closed=False, bound=self._seen)
        bound = self._capped(objective.bound(solver.best_objective_bound))
        modes = self._read(solver)
        closed = status == cp_model.OPTIMAL and objective.exact
        return Outcome(modes=modes, closed=closed, bound=bound)

    def _capped(self, bound: int) -> int:
        return bound if self.ceiling is None else min(bound, self.ceiling)

    def _read(self, solver: cp_model.CpSolver) -> tuple[int, ...]:
        """Return the modes of a solution in running order."""
        running = []
        for made in self.variables.computations:
            for action, literal in made.ways:
                if literal is None or solver.boolean_value(literal):
                    running.append((solver.value(made.start), action.mode))
        return tuple(mode for _, mode in sorted(running))
