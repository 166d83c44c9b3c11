"""``ckschedule simulate``: measure a schedule again."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ckschedule.arena import Arena
from ckschedule.budgets import budget_bytes
from ckschedule.cli.fronts import front_document, print_front
from ckschedule.cli.models import ModelArgument, takes_model
from ckschedule.cli.options import Json, Show
from ckschedule.cli.output import (
    check_writable,
    console,
    emit_json,
    report_written,
)
from ckschedule.cli.plans import plan_facts
from ckschedule.cli.recorded import recorded_model
from ckschedule.cli.summary import counted, model_facts, trace_facts
from ckschedule.costs.chain import Chain
from ckschedule.errors import DocumentError, NoScheduleError
from ckschedule.front import ParetoFront
from ckschedule.result import Result
from ckschedule.schedule import Schedule
from ckschedule.simulation import Model, Trace, simulate

_TOP: Final = 10
"""Nodes of a graph to name of those that are recomputed."""


def _simulate(
    *,
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN",
            help="A schedule, a result of 'solve' or a front of 'pareto' (JSON).",
            show_default=False,
        ),
    ],
    model: ModelArgument | None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="SIZE",
            help="Memory that the peak may not pass, as for 'solve'. "
            "\\[default: the budget that a result was made for]",
        ),
    ] = None,
    plot: Annotated[
        list[Path] | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw memory and schedule into a .png, .svg or .pdf file (needs "
            "matplotlib). Repeatable.",
        ),
    ] = None,
    show: Show = None,
    json: Json = False,
) -> None:
    """Run a schedule in the simulator: peak, time, recomputations.

    Nothing that the file claims is trusted. The exit code is 1 if the peak
    passes the budget.

    [bold]Examples[/bold]

      ckschedule simulate plan.json
      ckschedule simulate plan.json --budget 30GiB --plot plan.png
      ckschedule simulate front.json --budget 7GiB
      ckschedule simulate plan.json --model resnet --depth 152
    """
    from ckschedule.documents import read_json

    for picture in plot or ():
        from ckschedule.plotting import check_format

        check_writable(picture, "--plot")
        check_format(picture)
    given = None if model is None else model.load()
    document = read_json(plan, model=given)
    match document:
        case Schedule():
            about = given or recorded_model(plan, "name it with --model MODEL")
            trace = simulate(about, document)
            limit = None
        case Result():
            about, limit = document.model, document.budget
            trace = document.raise_for_status()
        case ParetoFront():
            if budget is None:
                if plot:
                    raise typer.BadParameter(
                        f"--plot: {plan} holds a front, not one schedule; add --budget "
                        f"SIZE, or draw the front with 'ckschedule pareto --plot'"
                    )
                _report_front(document, show=show, json=json)
                return
            about, limit = document.model, None
            trace = document.at(budget).trace
        case Arena():
            about, limit, trace = document.model, None, document.trace
        case _:
            raise DocumentError(
                f"{plan}: holds a model, no schedule; make one with 'ckschedule solve "
                f"{plan} --budget ...'"
            )
    if budget is not None:
        limit = budget_bytes(about, budget)
    held = limit is None or trace.peak <= limit
    if plot:
        from ckschedule.plotting import plot_plan, save_plot

        ax = plot_plan(trace, about, budget=limit)
        for picture in plot:
            save_plot(ax, picture)
            report_written(picture)
    if json:
        emit_json(_document(trace, about, limit))
    else:
        _print(trace, about, limit, show=show)
    if not held:
        assert limit is not None, "without a limit it holds"
        raise NoScheduleError(
            f"the peak of {counted(trace.peak, 'byte')} passes the budget of {limit:,} "
            f"by {counted(trace.peak - limit, 'byte')}"
        )


def _report_front(front: ParetoFront, *, show: bool | None, json: bool) -> None:
    if json:
        emit_json({**front_document(front, [], []), "command": "simulate"})
    else:
        print_front(front, [], show=show)


def _document(trace: Trace, model: Model, limit: int | None) -> dict[str, Any]:
    return {
        "command": "simulate",
        "model": model_facts(model),
        "budget": limit,
        "held": limit is None or trace.peak <= limit,
        **trace_facts(trace, model.base_time),
        "operations": len(trace.schedule),
        "recomputations": trace.recomputations,
        "live_at_peak": trace.live_at_peak,
        "stages": plan_facts(trace, model) if isinstance(model, Chain) else None,
    }


def _print(trace: Trace, model: Model, limit: int | None, *, show: bool | None) -> None:
    from ckschedule.cli.tables import (
        describe_model,
        facts_table,
        plan_table,
        ruled_table,
        trace_lines,
    )

    out = console()
    facts = describe_model(model)
    facts["schedule"] = f"{len(trace.schedule):,} operations, legal"
    out.print(facts_table(facts | trace_lines(trace, model, budget=limit)))
    again = sorted(trace.recomputations.items(), key=lambda entry: -entry[1])
    if isinstance(model, Chain):
        out.print(plan_table(trace, model))
    elif again:
        table = ruled_table(("recomputed node", "runs again"))
        for node, times in again[:_TOP]:
            table.add_row(node, f"{times:,}")
        if len(again) > _TOP:
            rest = sum(times for _, times in again[_TOP:])
            table.add_row(f"{len(again) - _TOP:,} others", f"{rest:,}")
        out.print(table)
    if out.is_terminal if show is None else show:
        from ckschedule.cli.terminal_plot import show_memory

        show_memory(trace, model, out, limit)


run_simulate = takes_model(
    _simulate,
    optional=True,
    declare=typer.Option(
        "--model",
        metavar="MODEL",
        show_default=False,
        help="The model it must fit, a catalogue name or a JSON file; needed for a "
        "schedule that records none.",
    ),
)
