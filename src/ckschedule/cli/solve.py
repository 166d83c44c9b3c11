"""``ckschedule solve``: the fastest schedule within a budget."""

import logging
import time
from typing import Annotated, Any, Final, Literal

import typer

from ckschedule.cli.models import ModelArgument, takes_model
from ckschedule.cli.options import Budget, Json, Out
from ckschedule.cli.output import check_writable, console, emit_json
from ckschedule.cli.progress import progress_bar
from ckschedule.cli.solvers import SOLVERS
from ckschedule.cli.summary import model_facts, scope_facts, trace_facts, value_name
from ckschedule.result import Result, Status
from ckschedule.units import format_bytes, format_time

_log = logging.getLogger(__name__)

_TOP: Final = 8
"""Values to name of those that live at the peak."""


def _solve(
    *,
    model: ModelArgument,
    budget: Budget,
    solver: Annotated[
        Literal[tuple(SOLVERS)],  # type: ignore[valid-type]  # the names of the table
        typer.Option(
            "--solver",
            metavar="NAME",
            help=f"Who searches: {', '.join(SOLVERS)}.",
        ),
    ] = "auto",
    out: Out = None,
    json: Json = False,
) -> None:
    """Find the fastest schedule within a memory budget, and prove it.

    The exit code is 1 if no schedule keeps the budget; the smallest budget that
    works is then named.

    [bold]Examples[/bold]

      ckschedule solve gpt2-xl --batch 8 --seq 1024 --budget 40GiB -o plan.json
      ckschedule solve resnet --depth 152 --budget 60% --solver sqrt
      ckschedule solve model.json --budget 7GiB --json
    """
    from ckschedule.solving import solve

    check_writable(out, "--out")
    loaded = model.load()
    chosen = SOLVERS[solver]
    start = time.monotonic()
    with progress_bar("searching") as progress:
        result = solve(loaded, budget, chosen, progress=progress)
    _log.info("%s in %.2f s", result.status, time.monotonic() - start)
    if out is not None:
        from ckschedule.documents import write_json

        write_json(result, out)
    if json:
        emit_json(result_document(result))
    else:
        _print(result, in_catalog=model.in_catalog)
    if result.trace is None:
        raise typer.Exit(1)


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
        "gap": result.gap,
        "schedule": None
        if trace is None
        else {
            **trace_facts(trace, result.model.base_time),
            "operations": len(trace.schedule),
            "live_at_peak": trace.live_at_peak,
        },
    }


def _print(result: Result, *, in_catalog: bool) -> None:
    from ckschedule.cli.tables import (
        describe_model,
        facts_table,
        live_table,
        trace_lines,
    )

    out = console()
    facts = describe_model(result.model)
    facts["status"] = result.explanation
    facts["solver"] = result.solver
    if result.trace is None:
        out.print(facts_table(facts | _way_out(result, in_catalog=in_catalog)))
        return
    facts |= trace_lines(result.trace, result.model, budget=result.budget)
    if result.lower_bound is not None:
        unit = result.model.time_unit
        facts["lower bound"] = (
            f"{format_time(result.lower_bound, unit)}; gap {result.gap:.3%}"
        )
    out.print(facts_table(facts))
    named = [
        (value_name(result.model, name), size)
        for name, size in result.trace.live_at_peak.items()
    ]
    out.print(live_table(named, top=_TOP))


def _way_out(result: Result, *, in_catalog: bool) -> dict[str, str]:
    """Return what to do if there is no schedule."""
    facts = {}
    static = result.model.static.total
    if static > result.budget:
        facts["static alone"] = (
            f"{format_bytes(static)}, more than the budget; no schedule can help"
        )
        if in_catalog:
            facts["static alone"] += "; '--optimizer none' counts activations only"
    if result.status is Status.INFEASIBLE and result.minimum_budget is not None:
        facts["try"] = f"--budget {result.minimum_budget}, the smallest that works"
    return facts


run_solve = takes_model(_solve)
