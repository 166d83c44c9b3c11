"""`pareto`: the whole trade-off of a model, every point simulated."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ckschedule.budgets import budget_bytes
from ckschedule.costs.encoding import encode
from ckschedule.costs.graph import Graph
from ckschedule.errors import (
    InvalidScheduleError,
    InvalidSettingError,
    NoScheduleError,
    SolverFaultError,
    UnsupportedModelError,
)
from ckschedule.front import ParetoFront, ParetoPoint
from ckschedule.result import Scope
from ckschedule.simulation import Model, as_graph, measure
from ckschedule.solvers.base import (
    AbstractConstruction,
    AbstractFrontSolver,
    AbstractSolver,
    FrontProposal,
    PointProposal,
    Progress,
    as_real_setting,
    as_setting,
)
from ckschedule.solving import as_solver
from ckschedule.sweeping.anytime import by_budgets
from ckschedule.units import Budget

OnPoint: TypeAlias = Callable[[ParetoFront], None]
"""Told of a front that has just become better."""

POINTS: Final = 16
"""Budgets to ask where nobody says how many."""

_log = logging.getLogger(__name__)


def pareto(
    model: Model,
    solver: AbstractSolver | None = None,
    *,
    points: int | None = None,
    budgets: Sequence[Budget] = (),
    time_limit: float | None = None,
    start: ParetoFront | None = None,
    on_point: OnPoint | None = None,
    progress: Progress | None = None,
) -> ParetoFront:
    """Return the Pareto front of peak memory and makespan of a model.

    Parameters
    ----------
    model
        Chain or graph.
    solver
        Its settings; None means `AutoSolver`, which picks by the model. One that
        answers all budgets at once (`AbstractFrontSolver`) does so, for chains and tiny
        graphs; of any other, budgets are asked one by one.
    points
        Budgets to ask one by one, at most, those of ``start`` included; None means 16.
        They end sooner where the front is exact.
    budgets
        To be asked first, where budgets are asked one by one.
    time_limit
        Seconds for all budgets that are asked one by one; None for no limit but the
        solver's own for each. Each budget gets its share of what is left, as the
        solver's ``time_limit``; solvers without such a setting end when they end.
    start
        An earlier front of the same model, for instance read from the file that
        ``on_point`` wrote before the process was killed. Its points and bounds are
        kept, and its answers: a budget is asked again only if it was left without
        proof and another solver, or one with other settings, is asked now.
    on_point
        Told of the front so far after every answer.
    progress
        Told of a long search as it proceeds.

    Returns
    -------
    ParetoFront
        Where it says ``exact``, every breakpoint of the optimum in its scope, so that
        it answers every budget. Otherwise every point has its bound and gap. After
        Ctrl-C or the time limit (its ``stop``), it is the front so far. Its scope is
        the widest of all answers: bounds about fewer schedules are left out.

    Raises
    ------
    InvalidModelError
        If the model is neither a chain nor a graph.
    InvalidBudgetError
        If one of ``budgets`` cannot be read.
    InvalidSettingError
        If the solver is a construction, which has one schedule for all budgets, or no
        solver; if ``points`` or ``time_limit`` cannot be meant; if ``start`` belongs to
        another model.
    UnsupportedModelError, ResourceLimitError
        As the solver says; for a single budget, a limit that it passes is logged as a
        warning, and the other budgets are still asked.
    NoScheduleError
        If no budget works: targets of a graph may need each other in a circle. Or if
        none was found in the time given.
    SolverFaultError
        If the simulator refutes a point that the solver claims, a front that it claims
        to be exact has a dominated or an unproved point, or its answers for two budgets
        contradict each other.

    Notes
    -----
    A schedule found within one budget is one for every budget from its peak upwards; a
    lower bound, or the proof that nothing fits, holds for every smaller budget. Budgets
    that are settled so are never asked. The others lie between the least that any
    schedule needs and the peak of `ckschedule.budgets.store_all`; each next one halves
    the largest rectangle between two neighbouring points.

    Examples
    --------
    >>> import ckschedule as ck
    >>> front = ck.pareto(ck.catalog.uniform(stages=8, saved=2))
    >>> front.minimum.peak, front.fastest.peak
    (7, 27)
    """
    as_graph(model)
    solver = as_solver(solver)
    count = POINTS if points is None else as_setting(points, "pareto: points", least=1)
    limit = None if time_limit is None else as_real_setting(time_limit, _LIMIT)
    begun = time.monotonic()
    if isinstance(solver, AbstractConstruction):
        raise InvalidSettingError(
            f"pareto: {solver!r} has one schedule, whatever the budget; choose a "
            f"solver that searches, or call solve"
        )
    if start is not None:
        if start.model != model:
            raise InvalidSettingError(
                f"pareto: start is a front of another model, {start.model.name!r}; "
                f"give one of {model.name!r}"
            )
        if start.exact and (start.scope is Scope.UNRESTRICTED or _same(start, solver)):
            return start
    if isinstance(solver, AbstractFrontSolver):
        try:
            proposal = solver.front(model, progress)
        except UnsupportedModelError as error:
            if not isinstance(model, Graph):
                raise
            _log.info("budgets are asked one by one: %s", error)
        else:
            front = _whole(model, proposal)
            if on_point is not None:
                on_point(front)
            return front
    return by_budgets(
        model,
        solver,
        points=count,
        first=[budget_bytes(model, budget) for budget in budgets],
        time_limit=None if limit is None else limit - (time.monotonic() - begun),
        start=start,
        on_point=on_point,
        progress=progress,
    )


_LIMIT: Final = "pareto: time_limit"


def _same(front: ParetoFront, solver: AbstractSolver) -> bool:
    return front.solver == repr(solver)


def _whole(model: Model, proposal: FrontProposal) -> ParetoFront:
    """Return the front that a proposal for all budgets deserves."""
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
    least = points[0].peak
    return ParetoFront(
        model=model,
        points=points,
        scope=proposal.scope,
        exact=proposal.exact,
        solver=proposal.solver,
        infeasible=least - 1 if proposal.exact and least else None,
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
