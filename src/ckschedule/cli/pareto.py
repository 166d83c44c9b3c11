"""``ckschedule pareto``: the whole trade-off of a model."""

from pathlib import Path
from typing import Annotated

import typer

from ckschedule.budgets import budget_bytes
from ckschedule.cli.advice import advice
from ckschedule.cli.exits import NO_SCHEDULE
from ckschedule.cli.fronts import (
    TIME_LIMIT,
    compute_front,
    earlier_front,
    front_document,
    print_front,
)
from ckschedule.cli.models import ModelArgument, takes_model
from ckschedule.cli.options import Json, Out, Show
from ckschedule.cli.output import (
    check_writable,
    emit_json,
    report_written,
    write_document,
)
from ckschedule.cli.selection import ask_budget, ask_overhead
from ckschedule.cli.summary import parse_overhead
from ckschedule.front import ParetoFront


def _pareto(
    *,
    model: ModelArgument,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            metavar="SIZE",
            help="Ask what a budget costs: '7GiB', '10GB' or '60%' of the peak of "
            "storing everything. Repeatable.",
        ),
    ] = None,
    overhead: Annotated[
        list[str] | None,
        typer.Option(
            "--overhead",
            metavar="PERCENT",
            help="Ask what memory an extra time of so many percent needs: '30%'. "
            "Repeatable.",
        ),
    ] = None,
    plot: Annotated[
        list[Path] | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw the front into a .png, .svg or .pdf file (needs matplotlib). "
            "Repeatable.",
        ),
    ] = None,
    points: Annotated[
        int | None,
        typer.Option(
            "--points",
            metavar="N",
            min=1,
            show_default=False,
            help="Budgets to ask, at most, where the model is too large for all "
            "at once.  \\[default: 16]",
        ),
    ] = None,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            min=0,
            help="For all of these budgets together.",
        ),
    ] = TIME_LIMIT,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="FILE",
            show_default=False,
            help="Go on from this front, if the file is there, and write every better "
            "one into it.",
        ),
    ] = None,
    out: Out = None,
    show: Show = None,
    json: Json = False,
) -> None:
    """Show the whole trade-off between peak memory and time.

    Of a chain, every point is an optimal schedule: the least time for its memory. Of
    a graph, each says how far it may be from that. Ask with --budget what 7 GiB cost
    you, and with --overhead what memory +30 % needs.

    [bold]Examples[/bold]

      ckschedule pareto resnet --depth 1001 --batch 32 --plot front.png
      ckschedule pareto gpt2 --batch 16 --budget 7GiB --overhead 30%
      ckschedule pareto model.json --json
      ckschedule pareto graph.json --time-limit 600 --resume front.json
    """
    check_writable(out, "--out")
    check_writable(resume, "--resume")
    shares = [(parse_overhead(text), text) for text in overhead or ()]
    for picture in plot or ():
        # Before the long work: the format and matplotlib are there.
        from ckschedule.plotting import check_format

        check_writable(picture, "--plot")
        check_format(picture)
    loaded = model.load()
    limits = [budget_bytes(loaded, text) for text in budget or ()]
    start = earlier_front(resume, loaded)
    front = compute_front(
        loaded,
        points=points,
        budgets=budget or (),
        time_limit=time_limit,
        start=start,
        keep=resume,
    )
    if start is not None and not front.exact and front.answers == start.answers:
        typer.echo(
            f"{resume}: all of its budgets were asked before; raise --points to ask "
            f"more",
            err=True,
        )
    budgets = [ask_budget(front, text) for text in budget or ()]
    overheads = [ask_overhead(front, share, text) for share, text in shares]
    write_document(front, out)
    if plot:
        from ckschedule.plotting import plot_front, save_plot

        ax = plot_front(
            front,
            budgets=budget or (),
            overheads=[share for share, _ in shares],
            title=model.title(loaded),
        )
        for picture in plot:
            save_plot(ax, picture)
            report_written(picture)
    asked = [*budgets, *overheads]
    if json:
        emit_json(front_document(front, budgets, overheads))
    else:
        tries = {
            line: None
            for text, limit in zip(budget or (), limits, strict=True)
            if limit < front.minimum.peak
            for line in advice(model, loaded, text, limit, _works(front))
        }
        print_front(front, asked, show=show, tries=list(tries))
    if any(question.point is None for question in asked):
        raise typer.Exit(NO_SCHEDULE)


def _works(front: ParetoFront) -> int | None:
    """Return the smallest budget that works, if that is known."""
    return front.minimum.peak if front.minimum_proved else None


run_pareto = takes_model(_pareto)
