"""`solve`: one question, one checked answer."""

from ckschedule.budgets import budget_bytes
from ckschedule.errors import (
    InvalidScheduleError,
    InvalidSettingError,
    SolverFaultError,
)
from ckschedule.result import Result, Scope, Status
from ckschedule.simulation import Model, Trace, simulate
from ckschedule.solvers.auto import AutoSolver
from ckschedule.solvers.base import AbstractSolver, Progress, Proposal
from ckschedule.units import Budget


def solve(
    model: Model,
    budget: Budget,
    solver: AbstractSolver | None = None,
    *,
    progress: Progress | None = None,
) -> Result:
    """Return the fastest schedule of a model within a memory budget.

    Parameters
    ----------
    model
        Chain or graph.
    budget
        Bytes, static bytes included: a whole number, "8GiB", "10GB", or "60%" of the
        simulated peak of storing everything.
    solver
        Its settings; None means `AutoSolver`, which picks by the model.
    progress
        Told of a long search as it proceeds.

    Returns
    -------
    Result
        With status, scope, lower bound and the simulated schedule. "Nothing fits" is a
        status, not an exception; see `Result.raise_for_status`.

    Raises
    ------
    InvalidModelError, InvalidBudgetError, InvalidSettingError
        If the model, the budget or the solver is nothing that can be meant.
    UnsupportedModelError, ResourceLimitError
        As the solver says.
    SolverFaultError
        If the simulator refutes what the solver claims.

    Notes
    -----
    The solver only proposes. Its schedule is simulated here, checked against the budget
    and against the solver's own claims, and all numbers come from that simulation.

    Examples
    --------
    >>> import ckschedule as ck
    >>> chain = ck.catalog.uniform(stages=8, saved=2)
    >>> result = ck.solve(chain, "60%")
    >>> str(result.status)
    'optimal'
    """
    solver = as_solver(solver)
    limit = budget_bytes(model, budget)
    return judge(model, limit, solver.search(model, limit, progress), solver)


def as_solver(solver: AbstractSolver | None) -> AbstractSolver:
    """Return ``solver``, or the one that picks by the model if it is None.

    Raises
    ------
    InvalidSettingError
        If it is anything else than a solver's settings.
    """
    if solver is None:
        return AutoSolver()
    if isinstance(solver, AbstractSolver):
        return solver
    raise InvalidSettingError(
        f"solver is {solver!r}; give a solver with its settings, such as ChainDP()"
    )


def judge(
    model: Model, budget: int, proposal: Proposal, solver: AbstractSolver
) -> Result:
    """Return the result that a proposal deserves once it has been simulated.

    Raises
    ------
    SolverFaultError
        If the schedule is illegal, claims differ from the simulation or contradict each
        other, or a schedule that is more than a construction passes the budget.
    """
    name = proposal.solver or repr(solver)
    trace = None
    if proposal.schedule is not None:
        try:
            trace = simulate(model, proposal.schedule)
        except InvalidScheduleError as error:
            raise SolverFaultError(
                f"{name} wrote an illegal schedule: {error}"
            ) from error
    _check_claims(name, proposal, trace, budget)
    bound, minimum = proposal.lower_bound, proposal.minimum_budget
    if trace is not None and trace.peak <= budget:
        status = Status.OPTIMAL if trace.makespan == bound else Status.FEASIBLE
    else:
        if trace is not None and proposal.scope is Scope.CONSTRUCTION:
            # The one schedule of the scope does not fit: that is a proof.
            status, minimum = Status.INFEASIBLE, trace.peak
        else:
            status = Status.INFEASIBLE if proposal.infeasible else Status.UNKNOWN
        trace, bound = None, None
    return Result(
        model=model,
        status=status,
        scope=proposal.scope,
        budget=budget,
        solver=name,
        trace=trace,
        lower_bound=bound,
        minimum_budget=minimum,
        stop=proposal.stop,
        bound_source=proposal.bound_source if bound is not None else "",
    )


def _check_claims(
    name: str, proposal: Proposal, trace: Trace | None, budget: int
) -> None:
    """Refuse claims that the simulation, or another claim, contradicts."""
    bound, minimum = proposal.lower_bound, proposal.minimum_budget
    if proposal.infeasible and minimum is not None and minimum <= budget:
        raise SolverFaultError(
            f"{name} claims that nothing fits the budget of {budget}, and that "
            f"{minimum} is enough"
        )
    if trace is None:
        return
    _compare(name, "makespan", proposal.makespan, trace.makespan)
    _compare(name, "peak", proposal.peak, trace.peak)
    if trace.peak > budget:
        if proposal.scope is not Scope.CONSTRUCTION:
            raise SolverFaultError(
                f"{name} proposed a peak of {trace.peak} bytes for the budget of "
                f"{budget}"
            )
        return
    if bound is not None and trace.makespan < bound:
        raise SolverFaultError(
            f"{name} claims the lower bound {bound} for a schedule that takes "
            f"{trace.makespan}"
        )
    if proposal.infeasible:
        raise SolverFaultError(
            f"{name} claims that nothing fits the budget of {budget}, and proposes a "
            f"schedule that does"
        )
    if minimum is not None and trace.peak < minimum:
        raise SolverFaultError(
            f"{name} claims that nothing fits below {minimum} bytes, and proposes a "
            f"peak of {trace.peak}"
        )


def _compare(solver: str, what: str, claimed: int | None, simulated: int) -> None:
    if claimed is not None and claimed != simulated:
        raise SolverFaultError(
            f"{solver} claims a {what} of {claimed}, but its schedule simulates to "
            f"{simulated}"
        )
