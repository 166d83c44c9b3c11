"""A front by solves of one budget each: better with every answer, kept when stopped."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from math import inf
from typing import Any, Final

from ckschedule.budgets import store_all
from ckschedule.costs.graph import Graph
from ckschedule.errors import (
    InvalidScheduleError,
    NoScheduleError,
    ResourceLimitError,
    UnsupportedModelError,
)
from ckschedule.front import Answer, ParetoFront
from ckschedule.result import Scope, Status, Stop
from ckschedule.schedule import from_codes, to_codes
from ckschedule.simulation import Model
from ckschedule.solvers.auto import AutoSolver
from ckschedule.solvers.base import AbstractSolver, Progress, Report
from ckschedule.solvers.completion import complete
from ckschedule.solvers.cp_sat import RetentionCpSat
from ckschedule.solvers.cut_dp import CutDP
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.given import Given
from ckschedule.solvers.graph_bounds import combinatorial_bound, least_budget
from ckschedule.solvers.greedy import GreedyEviction
from ckschedule.solvers.milp import Milp
from ckschedule.solvers.order import Order
from ckschedule.solvers.pebbling import pebbling_of
from ckschedule.solvers.portfolio import Portfolio
from ckschedule.solving import judge
from ckschedule.sweeping.claims import EVERY, Bound, Refutation
from ckschedule.sweeping.ledger import Ledger
from ckschedule.sweeping.questions import named_budget, next_budget

_log = logging.getLogger(__name__)

_PARTS: Final = 1000
"""Units of progress for each budget."""


def by_budgets(
    model: Model,
    solver: AbstractSolver,
    *,
    points: int,
    first: Sequence[int],
    time_limit: float | None,
    start: ParetoFront | None,
    on_point: Callable[[ParetoFront], None] | None,
    progress: Progress | None,
) -> ParetoFront:
    """Return a front by asking one budget after the other; see `ckschedule.pareto`."""
    name = repr(solver)
    # What it would choose can start from schedules of other budgets.
    asked = solver.choose(model)[0] if isinstance(solver, AutoSolver) else solver
    ledger = Ledger(model)
    if start is not None:
        ledger.add_front(start, name)
    if isinstance(model, Graph):
        _prime(ledger, model)
    stop = Stop.FINISHED
    refusal: Exception | None = None
    answered = False
    with Deadline(inf if time_limit is None else time_limit) as deadline:
        while (done := len(ledger.asked)) < points:
            budget = named_budget(ledger, first) or next_budget(ledger)
            if budget is None:
                break
            if deadline.passed:
                stop = deadline.stop
                break
            share = deadline.remaining / (points - done)
            try:
                stop = _ask(
                    ledger,
                    _seeded(_hurried(asked, share), ledger, budget),
                    budget,
                    _part(progress, done, points),
                )
            except (ResourceLimitError, UnsupportedModelError) as error:
                if isinstance(error, UnsupportedModelError) and not answered:
                    raise
                _log.warning("no answer within %d bytes: %s", budget, error)
                refusal = error
                ledger.add_answer(
                    Answer(budget=budget, status=Status.UNKNOWN, lower_bound=None),
                    ledger.scope,
                    name,
                )
            else:
                answered = True
            if on_point is not None and ledger.found:
                on_point(ledger.front(name, Stop.INTERRUPTED))
            if stop is Stop.INTERRUPTED:
                break
            stop = Stop.FINISHED
    if ledger.found:
        return ledger.front(name, stop)
    if refusal is not None:
        raise refusal
    if ledger.infeasible >= ledger.ceiling:
        raise NoScheduleError(f"{model.name!r} has no schedule, whatever the budget")
    raise NoScheduleError(
        f"no schedule of {model.name!r} was found ({stop}), and no proof that there is "
        f"none; raise time_limit or choose another solver"
    )


def _prime(ledger: Ledger, graph: Graph) -> None:
    """Note what is known of a graph before anyone is asked."""
    least = least_budget(graph)
    ledger.add_refutation(
        Refutation(
            budget=least.bytes - 1, scope=Scope.UNRESTRICTED, source=least.source
        )
    )
    once_each = combinatorial_bound(graph, ledger.ceiling, Order.FREE)
    ledger.add_bound(
        Bound(
            budget=EVERY,
            ticks=once_each.ticks,
            scope=Scope.UNRESTRICTED,
            source=once_each.source,
        )
    )
    plain = pebbling_of(graph)
    if plain is not None:
        # Only what a target needs; `store_all` runs all nodes.
        codes = complete(ledger.encoding, plain.mode)
        ledger.add_schedule(codes, Scope.GIVEN_ORDER)
        return
    try:
        once = store_all(graph)
    except (InvalidScheduleError, UnsupportedModelError) as error:
        _log.info("the nodes of %r do not run once in order: %s", graph.name, error)
    else:
        ledger.add_schedule(to_codes(once.schedule, ledger.encoding), Scope.GIVEN_ORDER)


def _ask(
    ledger: Ledger, solver: AbstractSolver, budget: int, progress: Progress | None
) -> Stop:
    """Note a solver's answer for a budget; return why its search ended."""
    proposal = solver.search(ledger.model, budget, progress)
    result = judge(ledger.model, budget, proposal, solver)
    bound = proposal.lower_bound
    if result.trace is None and proposal.schedule is not None:
        bound = None
    ledger.add_result(result, bound, complete=result.stop is not Stop.INTERRUPTED)
    order = _ORDERS.get(result.scope)
    if isinstance(ledger.model, Graph) and order and result.status is Status.FEASIBLE:
        proved = combinatorial_bound(ledger.model, budget, order)
        ledger.add_bound(
            Bound(
                budget=budget,
                ticks=proved.ticks,
                scope=result.scope,
                source=proved.source,
            )
        )
    return result.stop


_ORDERS: Final = {Scope.GIVEN_ORDER: Order.GIVEN, Scope.UNRESTRICTED: Order.FREE}
"""The orders that a scope ranges over."""


def _hurried(solver: AbstractSolver, share: float) -> AbstractSolver:
    """Return a solver with no more than a share of the time, if it keeps a limit."""
    if share == inf or not is_dataclass(solver):
        return solver
    if all(field.name != "time_limit" for field in fields(solver)):
        return solver
    settings: Any = solver
    hurried: AbstractSolver = replace(
        settings, time_limit=min(settings.time_limit, share)
    )
    return hurried


def _seeded(solver: AbstractSolver, ledger: Ledger, budget: int) -> AbstractSolver:
    """Return a solver that starts from the best schedule known within a budget."""
    known = max(
        (found for found in ledger.found if found.peak <= budget),
        key=lambda found: found.peak,
        default=None,
    )
    if known is None or not isinstance(solver, Portfolio | RetentionCpSat | Milp):
        return solver
    given = Given(from_codes(known.codes, ledger.encoding), known.scope)
    usual = solver.seeds
    if usual is None:
        usual = (GreedyEviction(), CutDP())
    return replace(solver, seeds=(given, *usual))


def _part(progress: Progress | None, done: int, points: int) -> Progress | None:
    """Return a progress of one budget that reports to that of all of them."""
    if progress is None:
        return None

    def report(part: Report) -> None:
        share = _PARTS * min(part.done, part.total) // max(1, part.total)
        progress(
            Report(
                done=done * _PARTS + share,
                total=points * _PARTS,
                makespan=part.makespan,
                lower_bound=part.lower_bound,
            )
        )

    return report
