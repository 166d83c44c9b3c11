"""How CP-SAT is run: settings that all models share, and the way to stop it."""

from __future__ import annotations

from typing import Any

from ortools.sat.python import cp_model

from ckschedule.solvers.deadline import Deadline


def solver_for(deadline: Deadline, seconds: float, workers: int) -> cp_model.CpSolver:
    """Return a solver that ends by itself.

    Parameters
    ----------
    deadline
        Of the whole search.
    seconds
        That it may take, if there are as many left.
    workers
        Threads.
    """
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = 0
    solver.parameters.max_time_in_seconds = max(0.001, min(seconds, deadline.remaining))
    # Ctrl-C belongs to the deadline.
    solver.parameters.catch_sigint_signal = False
    return solver


def run(
    solver: cp_model.CpSolver,
    model: cp_model.CpModel,
    deadline: Deadline,
    watch: cp_model.CpSolverSolutionCallback | None = None,
) -> Any:
    """Return CP-SAT's status of a model; UNKNOWN if the deadline passes before.

    Parameters
    ----------
    solver
        As `solver_for` returns it.
    model
        What to solve.
    deadline
        Of the whole search.
    watch
        Told of solutions.
    """
    if deadline.passed:
        return cp_model.UNKNOWN
    return deadline.run(lambda: solver.solve(model, watch), solver.stop_search)
