"""``ckschedule compare``: known constructions beside the optimum."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from ckschedule.budgets import budget_bytes, store_all
from ckschedule.cli.advice import advice
from ckschedule.cli.exits import NO_SCHEDULE
from ckschedule.cli.fronts import TIME_LIMIT, compute_front
from ckschedule.cli.models import ModelArgument, takes_model
from ckschedule.cli.options import Budget, Json
from ckschedule.cli.output import console, emit_json
from ckschedule.cli.solvers import CONSTRUCTIONS, OF_GRAPHS, solver_named
from ckschedule.cli.summary import (
    exactly,
    model_facts,
    percent,
    point_facts,
    scope_facts,
    trace_facts,
)
from ckschedule.costs.chain import Chain
from ckschedule.errors import NoScheduleError, UnsupportedModelError
from ckschedule.front import ParetoFront, ParetoPoint
from ckschedule.result import Stop
from ckschedule.simulation import Model, Trace
from ckschedule.solvers.base import AbstractSolver


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A construction on a model.

    Attributes
    ----------
    name, solver
        The construction, by its name on the command line.
    trace
        Its schedule's simulation, whether or not it keeps the budget; None if it has
        none.
    fits
        Whether it keeps the budget.
    optimum
        The front's point at the same peak; None if there is none.
    remark
        Why there is no schedule, or what is to be said of it; may be empty.
    """

    name: str
    solver: AbstractSolver
    trace: Trace | None
    fits: bool
    optimum: ParetoPoint | None
    remark: str


def _compare(
    *,
    model: ModelArgument,
    budget: Budget,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            min=0,
            help="For the optimum of a graph, which is searched for.",
        ),
    ] = TIME_LIMIT,
    json: Json = False,
) -> None:
    """Compare known ways of checkpointing with the optimum.

    Each construction is simulated. Beside it stands what the optimum would
    cost at the same peak: the difference is what the construction wastes.

    [bold]Examples[/bold]

      ckschedule compare lstm --steps 1000 --budget 25%
      ckschedule compare gpt2-medium --batch 16 --budget 10GiB
    """
    loaded = model.load()
    limit = budget_bytes(loaded, budget)
    chain = isinstance(loaded, Chain)
    # Of a graph only the budget is asked, and at what peak the others arrive.
    front = compute_front(
        loaded, points=None if chain else 1, budgets=[budget], time_limit=time_limit
    )
    names = CONSTRUCTIONS if chain else OF_GRAPHS
    rows = [compare(loaded, limit, name, front) for name in names]
    rows.sort(key=_order)
    try:
        best = front.at(limit)
    except NoScheduleError:
        best = None
    if json:
        emit_json(_document(front, limit, best, rows))
    else:
        least = front.minimum.peak if front.minimum_proved else None
        tries = [] if best else advice(model, loaded, budget, limit, least)
        _print(front, limit, best, rows, tries)
    if best is None:
        raise typer.Exit(NO_SCHEDULE)


def compare(model: Model, limit: int, name: str, front: ParetoFront) -> Comparison:
    """Return what a construction does on a model, beside the optimum."""
    from ckschedule.solving import solve

    solver = solver_named(name, model)
    unknown = Comparison(
        name=name, solver=solver, trace=None, fits=False, optimum=None, remark=""
    )
    try:
        result = solve(model, limit, solver)
        fits = result.trace is not None
        if result.trace is None and result.minimum_budget is not None:
            result = solve(model, result.minimum_budget, solver)
    except UnsupportedModelError as error:
        return replace(unknown, remark=f"not applicable ({_reason(error)})")
    if result.trace is None:
        return replace(unknown, remark=result.explanation)
    return replace(
        unknown,
        trace=result.trace,
        fits=fits,
        optimum=_within(front, result.trace.peak),
        remark=_remark(model, result.trace),
    )


def _reason(error: UnsupportedModelError) -> str:
    message = str(error)
    if "not uniform" in message or "variants" in message or "the loss" in message:
        return "stages differ"
    return "takes chains only" if "is a graph" in message else message


def _within(front: ParetoFront, peak: int) -> ParetoPoint | None:
    try:
        return front.at(peak)
    except NoScheduleError:
        return None


def _remark(model: Model, trace: Trace) -> str:
    if not isinstance(model, Chain) or not trace.recomputations:
        return ""
    excess = trace.peak - store_all(model).peak
    if excess < 0:
        return ""
    above = f"{exactly(excess)} above that of" if excess else "the same as"
    return f"saves nothing: its peak is {above} storing everything"


def _order(row: Comparison) -> tuple[bool, bool, int, int]:
    if row.trace is None:
        return (True, True, 0, 0)
    return (False, not row.fits, row.trace.makespan, row.trace.peak)


def _document(
    front: ParetoFront, limit: int, best: ParetoPoint | None, rows: list[Comparison]
) -> dict[str, Any]:
    base = front.model.base_time
    return {
        "command": "compare",
        "model": model_facts(front.model),
        "budget": limit,
        "minimum_budget": front.minimum.peak if front.minimum_proved else None,
        "optimum": {
            "solver": front.solver,
            "scope": scope_facts(front.scope),
            "exact": front.exact,
            "point": None if best is None else point_facts(best),
        },
        "constructions": [
            {
                "name": row.name,
                "solver": repr(row.solver),
                "fits": row.fits,
                "schedule": None if row.trace is None else trace_facts(row.trace, base),
                "optimum_at_same_peak": None
                if row.optimum is None
                else point_facts(row.optimum),
                "remark": row.remark or None,
            }
            for row in rows
        ],
    }


def _print(
    front: ParetoFront,
    limit: int,
    best: ParetoPoint | None,
    rows: list[Comparison],
    tries: list[str],
) -> None:
    from ckschedule.cli.tables import (
        describe_front,
        describe_model,
        facts_table,
        ruled_table,
    )
    from ckschedule.plotting.scales import byte_scale

    out = console()
    facts = describe_model(front.model) | describe_front(front)
    facts["budget"] = exactly(limit)
    if best is None:
        fits = "nothing fits" if front.minimum_proved else "no schedule found"
        facts["budget"] += f": {fits}"
        if tries:
            facts["try"] = "\n".join(tries)
    optimum = "optimum" if best is None or best.gap == 0 else "best found"
    if front.stop is not Stop.FINISHED:
        facts["search"] = f"stopped: {front.stop}"
    out.print(facts_table(facts))
    base = front.model.base_time
    size = byte_scale(
        [front.fastest.peak, *(r.trace.peak for r in rows if r.trace is not None)]
    )
    table = ruled_table(
        (
            "schedule",
            f"peak\n{size.unit}",
            "fits",
            "recom-\nputed",
            "overhead\n%",
            f"{optimum} at\nsame peak\n%",
        )
    )
    if best is not None:
        table.add_row(
            optimum,
            size.text(best.peak),
            "yes",
            f"{best.recomputations:,}",
            percent(best.overhead, base, unit=""),
            percent(best.overhead, base, unit=""),
            style="bold",
        )
    for row in rows:
        if row.trace is None:
            continue
        table.add_row(
            row.name,
            size.text(row.trace.peak),
            "yes" if row.fits else "no",
            f"{sum(row.trace.recomputations.values()):,}",
            percent(row.trace.makespan - base, base, unit=""),
            "-"
            if row.optimum is None
            else percent(row.optimum.overhead, base, unit=""),
            style=None if row.fits else "dim",
        )
    out.print(table)
    for row in rows:
        if row.remark:
            out.print(f"{row.name}: {row.remark}")


run_compare = takes_model(_compare)
