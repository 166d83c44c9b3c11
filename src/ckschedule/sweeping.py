"""`pareto`: the whole trade-off of a model, from one run, every point simulated."""

from typing import Final

from ckschedule.costs.encoding import encode
from ckschedule.errors import (
    InvalidScheduleError,
    InvalidSettingError,
    NoScheduleError,
    SolverFaultError,
)
from ckschedule.front import ParetoFront, ParetoPoint
from ckschedule.simulation import Model, as_graph, measure
from ckschedule.solvers.auto import AutoSolver
from ckschedule.solvers.base import AbstractFrontSolver, PointProposal, Progress

FRONT_SOLVERS: Final = "AutoSolver, ChainDP, SlotDP or Exhaustive"
"""The solvers of this package that give fronts, for messages."""


def pareto(
    model: Model,
    solver: AbstractFrontSolver | None = None,
    *,
    progress: Progress | None = None,
) -> ParetoFront:
    """Return the Pareto front of peak memory and makespan of a model.

    Parameters
    ----------
    model
        Chain or graph.
    solver
        Its settings; None means `AutoSolver`, which picks by the model.
    progress
        Told of a long search as it proceeds.

    Returns
    -------
    ParetoFront
        Where it says ``exact``, every breakpoint of the optimum in its scope, so that
        it answers every budget.

    Raises
    ------
    InvalidModelError
        If the model is neither a chain nor a graph.
    InvalidSettingError
        If the solver is no `AbstractFrontSolver`: baselines answer one budget only.
    UnsupportedModelError, ResourceLimitError
        As the solver says.
    NoScheduleError
        If no budget works: targets of a graph may need each other in a circle.
    SolverFaultError
        If the simulator refutes a point that the solver claims, or a front that it
        claims to be exact has a dominated or an unproved point.

    Examples
    --------
    >>> import ckschedule as ck
    >>> front = ck.pareto(ck.catalog.uniform(stages=8, saved=2))
    >>> front.minimum.peak, front.fastest.peak
    (7, 27)
    """
    as_graph(model)
    solver = AutoSolver() if solver is None else solver
    if not isinstance(solver, AbstractFrontSolver):
        raise InvalidSettingError(
            f"pareto: {solver!r} answers one budget at a time; choose a solver that "
            f"gives fronts, {FRONT_SOLVERS}, or call solve"
        )
    proposal = solver.front(model, progress)
    judged = [_judge(model, claim, proposal.solver) for claim in proposal.points]
    points: list[ParetoPoint] = []
    for point in sorted(judged, key=lambda point: (point.peak, point.makespan)):
        # A bracketed point may turn out no faster than one that needs less memory.
        if not points or point.makespan < points[-1].makespan:
            points.append(point)
    if not points:
        raise NoScheduleError(f"{model.name!r} has no schedule, whatever the budget")
    proved = all(point.lower_bound == point.makespan for point in points)
    if proposal.exact and (len(points) < len(judged) or not proved):
        raise SolverFaultError(
            f"{proposal.solver} claims an exact front with a point that another one "
            f"dominates, or whose lower bound is below its makespan"
        )
    return ParetoFront(
        model=model,
        points=points,
        scope=proposal.scope,
        exact=proposal.exact,
        solver=proposal.solver,
    )


def _judge(model: Model, claim: PointProposal, solver: str) -> ParetoPoint:
    """Return the point that a claim deserves once it has been simulated."""
    encoding = encode(as_graph(model))
    try:
        peak, makespan, executions = measure(encoding, claim.codes)
    except InvalidScheduleError as error:
        raise SolverFaultError(
            f"{solver} wrote an illegal schedule: {error}"
        ) from error
    if (peak, makespan) != (claim.peak, claim.makespan):
        raise SolverFaultError(
            f"{solver} claims peak {claim.peak} and makespan {claim.makespan}, but its "
            f"schedule simulates to {peak} and {makespan}"
        )
    if claim.lower_bound > makespan:
        raise SolverFaultError(
            f"{solver} claims the lower bound {claim.lower_bound} for a schedule that "
            f"takes {makespan}"
        )
    return ParetoPoint(
        model=model,
        codes=claim.codes,
        peak=peak,
        makespan=makespan,
        executions=executions,
        lower_bound=claim.lower_bound,
    )
