"""``ckschedule pareto``: the whole trade-off of a model."""

from pathlib import Path
from typing import Annotated

import typer

from ckschedule.budgets import budget_bytes
from ckschedule.cli.advice import advice
from ckschedule.cli.exits import NO_SCHEDULE
from ckschedule.cli.fronts import compute_front, front_document, print_front
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
    out: Out = None,
    show: Show = None,
    json: Json = False,
) -> None:
    """Show the whole trade-off between peak memory and time.

    Every point is an optimal schedule: the least time for its memory. Ask with
    --budget what 7 GiB cost you, and with --overhead what memory +30 % needs.

    [bold]Examples[/bold]

      ckschedule pareto resnet --depth 1001 --batch 32 --plot front.png
      ckschedule pareto gpt2 --batch 16 --budget 7GiB --overhead 30%
      ckschedule pareto model.json --json
    """
    check_writable(out, "--out")
    shares = [(parse_overhead(text), text) for text in overhead or ()]
    for picture in plot or ():
        # Before the long work: the format and matplotlib are there.
        from ckschedule.plotting import check_format

        check_writable(picture, "--plot")
        check_format(picture)
    loaded = model.load()
    limits = [budget_bytes(loaded, text) for text in budget or ()]
    front = compute_front(loaded)
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
            if limit < (least := front.minimum.peak)
            for line in advice(model, loaded, text, limit, least)
        }
        print_front(front, asked, show=show, tries=list(tries))
    if any(question.point is None for question in asked):
        raise typer.Exit(NO_SCHEDULE)


run_pareto = takes_model(_pareto)
