"""``ckschedule solve``: the fastest schedule within a budget."""

import logging
from typing import Annotated, Any, Final, Literal

import typer

from ckschedule.cli.advice import way_out
from ckschedule.cli.exits import NO_SCHEDULE
from ckschedule.cli.models import ModelArgument, takes_model
from ckschedule.cli.options import Budget, Json, Out, SolverName
from ckschedule.cli.output import (
    check_writable,
    console,
    emit_json,
    write_document,
)
from ckschedule.cli.plans import plan_facts
from ckschedule.cli.progress import searching
from ckschedule.cli.solvers import short_name, solver_named
from ckschedule.cli.summary import (
    live_names,
    model_facts,
    outcome,
    scope_facts,
    trace_facts,
)
from ckschedule.costs.chain import Chain
from ckschedule.result import Result, Stop
from ckschedule.units import format_time

_log = logging.getLogger(__name__)

STOPPED: Final = {
    Stop.TIME_LIMIT: "stopped by the time limit: more time may find or prove more",
    Stop.INTERRUPTED: "interrupted: this is the best until then",
}
"""Why a search ended before it was done."""

_TOP: Final = 8
"""Values to name of those that live at the peak."""


def _solve(
    *,
    model: ModelArgument,
    budget: Budget,
    solver: SolverName = "auto",
    order: Annotated[
        Literal["free", "given"] | None,
        typer.Option(
            "--order",
            help="Of a graph's nodes: the best of all, or the graph's own.  "
            "\\[default: the solver's; free for auto]",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            min=0,
            help="After which a search returns the best that it has.  "
            "\\[default: the solver's; 60 on graphs]",
            show_default=False,
        ),
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Find the fastest schedule within a memory budget, and prove it.

    The exit code is 1 if no schedule keeps the budget; the smallest budget that
    works is then named, and no file is written.

    [bold]Examples[/bold]

      ckschedule solve gpt2-xl --batch 8 --seq 1024 --budget 40GiB -o plan.json
      ckschedule solve resnet --depth 152 --budget 60% --solver sqrt
      ckschedule solve model.json --budget 7GiB --json
      ckschedule solve graph.json --budget 80% --order given --time-limit 120
    """
    from ckschedule.solving import solve

    check_writable(out, "--out")
    loaded = model.load()
    chosen = solver_named(solver, loaded, order=order, time_limit=time_limit)
    with searching(loaded, "searching") as progress:
        result = solve(loaded, budget, chosen, progress=progress)
    _log.info("%s among %s", result.status, result.scope.sentence)
    if result.trace is not None:
        write_document(result, out)
    elif out is not None:
        typer.echo(f"{out} was not written: there is no schedule", err=True)
    if json:
        emit_json(result_document(result))
    else:
        _print(result, model, budget)
    if result.trace is None:
        raise typer.Exit(NO_SCHEDULE)


def result_document(result: Result) -> dict[str, Any]:
    """Return what ``--json`` prints: the outcome in bytes and ticks."""
    trace = result.trace
    return {
        "command": "solve",
        "model": model_facts(result.model),
        "status": str(result.status),
        "explanation": result.explanation,
        "scope": scope_facts(result.scope),
        "solver": result.solver,
        "budget": result.budget,
        "minimum_budget": result.minimum_budget,
        "lower_bound": result.lower_bound,
        "bound_source": result.bound_source,
        "gap": result.gap,
        "stop": str(result.stop),
        "schedule": None
        if trace is None
        else {
            **trace_facts(trace, result.model.base_time),
            "operations": len(trace.schedule),
            "live_at_peak": trace.live_at_peak,
            "stages": plan_facts(trace, result.model)
            if isinstance(result.model, Chain)
            else None,
        },
    }


def _print(result: Result, argument: ModelArgument, budget: str) -> None:
    from ckschedule.cli.tables import (
        describe_model,
        facts_table,
        live_table,
        plan_table,
        trace_lines,
    )

    out = console()
    facts = describe_model(result.model)
    facts["status"] = outcome(result)
    facts["solver"] = short_name(result.solver)
    if result.trace is None:
        out.print(facts_table(facts | way_out(result, argument, budget)))
        return
    facts |= trace_lines(result.trace, result.model, budget=result.budget)
    if result.lower_bound is not None:
        unit = result.model.time_unit
        facts["lower bound"] = format_time(result.lower_bound, unit)
        if result.lower_bound == result.makespan:
            facts["lower bound"] += ", reached"
        if result.bound_source:
            facts["lower bound"] += f" ({result.bound_source})"
    if result.stop is not Stop.FINISHED:
        facts["search"] = STOPPED[result.stop]
    out.print(facts_table(facts))
    if isinstance(result.model, Chain):
        out.print(plan_table(result.trace, result.model))
    named = live_names(result.model, result.trace.live_at_peak)
    out.print(live_table(named, top=_TOP))


run_solve = takes_model(_solve)
