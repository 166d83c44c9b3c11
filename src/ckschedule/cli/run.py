"""``ckschedule run``: a schedule on the torch model itself, predicted and measured."""

from typing import TYPE_CHECKING, Annotated

import typer

from ckschedule.cli.advice import way_out
from ckschedule.cli.exits import NO_SCHEDULE
from ckschedule.cli.factories import build
from ckschedule.cli.options import (
    MEASURED,
    Accumulate,
    Budget,
    Json,
    Out,
    SolverName,
    Stages,
    StateOf,
    Target,
    Time,
    Variants,
)
from ckschedule.cli.output import (
    check_writable,
    console,
    emit_json,
    fail,
    write_document,
)
from ckschedule.cli.profile import profiled
from ckschedule.cli.progress import searching
from ckschedule.cli.solvers import short_name, solver_named
from ckschedule.cli.summary import outcome
from ckschedule.cli.trials import Trial, trial_document, try_plan

if TYPE_CHECKING:
    from rich.table import Table


def run_run(
    *,
    target: Target,
    budget: Budget,
    stages: Stages = None,
    time: Time = MEASURED,
    variants: Variants = None,
    optimizer: StateOf = "none",
    accumulate: Accumulate = False,
    solver: SolverName = "auto",
    no_verify: Annotated[
        bool,
        typer.Option(
            "--no-verify",
            help="Do not compare gradients, loss, buffers and random numbers with a "
            "step of the plain model, which takes all its memory.",
        ),
    ] = False,
    finite_differences: Annotated[
        bool,
        typer.Option(
            "--finite-differences",
            help="Compare the gradient with a difference quotient of the loss, too, on "
            "a copy of the model in float64.",
        ),
    ] = False,
    repeats: Annotated[
        int,
        typer.Option("--repeats", metavar="N", min=1, help="Steps to time."),
    ] = 3,
    out: Out = None,
    json: Json = False,
) -> None:
    """Try the best schedule within a budget on your torch model.

    Profiles, solves, applies and measures: peak, time, how often each stage is
    computed, and whether the gradients are those of the plain model. The exit
    code is 1 if no schedule keeps the budget, or if what was tried did not hold.

    [bold]Examples[/bold]

      ckschedule run net:build --budget 8GiB -o plan.json
      ckschedule run net:build --budget 60% --optimizer adamw --json
      ckschedule run net:build --budget 8GiB --no-verify
    """
    from ckschedule.solving import solve

    check_writable(out, "--out")
    if finite_differences and no_verify:
        raise typer.BadParameter(
            "--finite-differences is a part of what --no-verify leaves out; give one "
            "of them"
        )
    found = build(target)
    if found.on_meta:
        raise typer.BadParameter(
            f"{target} has tensors on the meta device, without data: nothing can run; "
            f"'ckschedule profile --time DEVICE' takes such models"
        )
    chain = profiled(
        found,
        stages=stages,
        time=time,
        variants=variants,
        optimizer=optimizer,
        accumulate=accumulate,
    )
    with searching(chain, "searching") as progress:
        result = solve(chain, budget, solver_named(solver, chain), progress=progress)
    trial = try_plan(
        found,
        result,
        verify=not no_verify,
        finite_differences=finite_differences,
        repeats=repeats,
    )
    if out is not None and not (trial.ok and result.trace is not None):
        why = "there is no schedule" if result.trace is None else "it did not hold"
        typer.echo(f"{out} was not written: {why}", err=True)
    elif out is not None:
        write_document(result, out)
    if json:
        emit_json({"command": "run", "target": target, **trial_document(trial)})
    else:
        _print(trial, budget, time)
    if trial.ok:
        return
    if failed := [check for check in trial.checks if not check.ok]:
        lines = [f"{check.name}: {check.detail}" for check in failed]
        fail("; ".join(lines), NO_SCHEDULE)
    raise typer.Exit(NO_SCHEDULE)


def _print(trial: Trial, budget: str, time: str) -> None:
    from ckschedule.cli.tables import describe_model, facts_table, ruled_table

    out, result = console(), trial.result
    facts = describe_model(trial.chain)
    facts["status"] = outcome(result)
    facts["solver"] = short_name(result.solver)
    if result.trace is None and not trial.ok:
        facts |= way_out(result, None, budget)
    out.print(facts_table(facts))
    out.print(_steps(trial, time))
    if trial.checks:
        table = ruled_table(("check", "", "what was found"), left=(0, 1, 2))
        for check in trial.checks:
            mark = "held" if check.ok else "FAILED"
            style = None if check.ok else "bold"
            table.add_row(check.name, mark, check.detail, style=style)
        out.print(table)
    for note in trial.notes:
        out.print(f"Note: {note}")


def _steps(trial: Trial, time: str) -> "Table":
    """Return budget, predicted, measured and plain step, a row each."""
    from ckschedule.cli.tables import ruled_table
    from ckschedule.plotting.scales import byte_scale, time_scale

    result, trace = trial.result, trial.result.trace
    rows: list[tuple[str, int, int | None, int | None]] = []
    if trace is not None and trial.planned is not None:
        source = "" if time == MEASURED else f", on {time}"
        count = sum(trial.planned.values())
        rows.append((f"predicted{source}", trace.peak, trace.makespan, count))
    for label, step in (
        ("measured", trial.measured),
        ("left alone, measured", trial.plain),
    ):
        if step is not None:
            count = sum(trial.executions(step).values())
            rows.append((label, trial.total(step), step.time, count))
    size = byte_scale([result.budget, *(peak for _, peak, _, _ in rows)])
    clock = time_scale((t for _, _, t, _ in rows if t is not None), "ns")
    table = ruled_table(
        (
            "one step",
            f"peak\n{size.unit}",
            "of the\nbudget, %",
            f"time\n{clock.unit}",
            "stages\ncomputed",
        )
    )
    table.add_row("budget", size.text(result.budget), "", "", "", style="dim")
    for label, peak, ticks, computed in rows:
        table.add_row(
            label,
            size.text(peak),
            f"{100 * peak / result.budget:,.1f}" if result.budget else "-",
            "-" if ticks is None else clock.text(ticks),
            f"{computed:,}",
        )
    return table
