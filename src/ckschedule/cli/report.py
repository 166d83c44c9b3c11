"""``ckschedule report``: the whole trade-off as one page to look at."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ckschedule.budgets import budget_bytes, store_all
from ckschedule.cli.compare import compare
from ckschedule.cli.fronts import TIME_LIMIT, compute_front
from ckschedule.cli.models import ModelArgument, takes_model
from ckschedule.cli.output import check_writable, report_written
from ckschedule.cli.solvers import CONSTRUCTIONS
from ckschedule.costs.chain import Chain
from ckschedule.errors import (
    DocumentError,
    InvalidScheduleError,
    UnsupportedModelError,
)
from ckschedule.front import ParetoFront
from ckschedule.result import Stop
from ckschedule.simulation import Model, Trace

if TYPE_CHECKING:
    from ckschedule.report import Subject

_IN_ORDER = "once each, in order"
"""What storing everything is called of a graph."""


def _report(
    *,
    model: list[ModelArgument],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            show_default=False,
            help="The page to write, such as report.html.",
        ),
    ],
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            metavar="SIZE",
            help="Name a budget in the page: '7GiB', '10GB' or '60%' of the peak of "
            "storing everything. The first is shown first. Repeatable.",
        ),
    ] = None,
    points: Annotated[
        int | None,
        typer.Option(
            "--points",
            metavar="N",
            min=1,
            show_default=False,
            help="Budgets to ask, at most, where a model is too large for all "
            "at once.  \\[default: 16]",
        ),
    ] = None,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            min=0,
            help="For all of these budgets together, each model.",
        ),
    ] = TIME_LIMIT,
) -> None:
    """Write a page that shows every budget's cost and schedule.

    One HTML file that needs no network: choose a budget on the curve, and see its
    schedule, its memory over time, what lives at the peak, what is computed again and
    how known recipes compare. Give fronts that 'pareto -o' wrote, or models; several
    share a page.

    [bold]Examples[/bold]

      ckschedule report resnet --depth 1001 --batch 32 -o report.html
      ckschedule report gpt2 --batch 16 --budget 7GiB -o report.html
      ckschedule report front.json other.json -o report.html
    """
    # Before the long work: what it needs is there.
    from ckschedule.report import render_all
    from ckschedule.report.page import check_installed

    check_installed()
    check_writable(out, "--out")
    subjects = [
        _subject(argument, budget or (), points=points, time_limit=time_limit)
        for argument in _each(model)
    ]
    page = render_all(subjects)
    from ckschedule.documents.files import write_atomically

    write_atomically(out, page.encode())
    report_written(out)


def _each(models: Sequence[ModelArgument]) -> list[ModelArgument]:
    """Return the models; options are for those of the catalogue, where there are."""
    if not any(argument.in_catalog for argument in models):
        return list(models)
    return [a if a.in_catalog else replace(a, options={}) for a in models]


def _subject(
    argument: ModelArgument,
    budgets: Sequence[str],
    *,
    points: int | None,
    time_limit: float,
) -> "Subject":
    from ckschedule.report import Subject

    front = _front_in(argument)
    if front is None:
        model = argument.load()
        for text in budgets:
            budget_bytes(model, text)
        front = compute_front(
            model, points=points, budgets=budgets, time_limit=time_limit
        )
    if front.stop is not Stop.FINISHED:
        typer.echo(
            f"{front.model.name}: the search was stopped ({front.stop}); the page "
            f"shows what was found until then",
            err=True,
        )
    return Subject(
        front=front,
        baselines=_baselines(front, budgets),
        budgets=budgets,
        title=argument.title(front.model),
    )


def _front_in(argument: ModelArgument) -> ParetoFront | None:
    """Return the front that a file holds; None if it holds something else."""
    if argument.in_catalog or not Path(argument.name).is_file() or argument.options:
        return None
    from ckschedule.documents import read_json

    try:
        document = read_json(argument.name)
    except DocumentError:
        # Loading the model says more: which other program's file it is.
        return None
    return document if isinstance(document, ParetoFront) else None


def _baselines(front: ParetoFront, budgets: Sequence[str]) -> Mapping[str, Trace]:
    """Return the schedules of the known constructions.

    Those that look at the budget get the first one, or the knee's.
    """
    model = front.model
    if not isinstance(model, Chain):
        trace = _stored(model)
        return {} if trace is None else {_IN_ORDER: trace}
    limit = budget_bytes(model, budgets[0]) if budgets else front.knee.peak
    rows = [compare(model, limit, name, front) for name in CONSTRUCTIONS]
    return {row.name: row.trace for row in rows if row.trace is not None}


def _stored(model: Model) -> Trace | None:
    try:
        return store_all(model)
    except (UnsupportedModelError, InvalidScheduleError):
        # The nodes of this graph cannot run once each in its order: no such recipe.
        return None


run_report = takes_model(_report, several=True)
