"""``ckschedule pareto``: the whole trade-off of a model."""

import logging
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ckschedule.budgets import budget_bytes, store_all
from ckschedule.cli.models import ModelArgument, takes_model
from ckschedule.cli.options import Json, Out, Show
from ckschedule.cli.output import check_writable, console, emit_json
from ckschedule.cli.progress import progress_bar
from ckschedule.cli.selection import Question, ask_budget, ask_overhead, representative
from ckschedule.cli.summary import (
    exactly,
    model_facts,
    parse_overhead,
    point_facts,
    scope_facts,
    trace_facts,
)
from ckschedule.costs.chain import Chain
from ckschedule.front import ParetoFront
from ckschedule.simulation import Model

_log = logging.getLogger(__name__)


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
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw the front into a .png, .svg or .pdf file (needs matplotlib).",
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
    check_writable(plot, "--plot")
    shares = [(parse_overhead(text), text) for text in overhead or ()]
    if plot is not None:
        # Before the long work: the format and matplotlib are there.
        from ckschedule.plotting import check_format

        check_format(plot)
    loaded = model.load()
    for text in budget or ():
        budget_bytes(loaded, text)
    front = compute_front(loaded)
    budgets = [ask_budget(front, text) for text in budget or ()]
    overheads = [ask_overhead(front, share, text) for share, text in shares]
    if out is not None:
        from ckschedule.documents import write_json

        write_json(front, out)
    if plot is not None:
        from ckschedule.plotting import plot_front, save_plot

        save_plot(plot_front(front, budgets=budget or ()), plot)
    asked = [*budgets, *overheads]
    if json:
        emit_json(front_document(front, budgets, overheads))
    else:
        print_front(front, asked, show=show)
    if any(question.point is None for question in asked):
        raise typer.Exit(1)


def compute_front(model: Model) -> ParetoFront:
    """Return the front of a model, with a progress bar while it takes long."""
    # Late: the kernels' compiler is slow to import.
    from ckschedule.sweeping import pareto

    start = time.monotonic()
    with progress_bar("Pareto front") as progress:
        front = pareto(model, progress=progress)
    _log.info("%d points in %.2f s", len(front), time.monotonic() - start)
    return front


def print_front(
    front: ParetoFront, asked: list[Question], *, show: bool | None
) -> None:
    """Print what the front is about, its main points and its picture."""
    from ckschedule.cli.tables import (
        describe_front,
        describe_model,
        facts_table,
        front_table,
    )

    out = console()
    out.print(facts_table(describe_model(front.model) | describe_front(front)))
    out.print(front_table(front, representative(front, asked)))
    for question in asked:
        if question.point is None:
            least = front.minimum.peak
            out.print(
                f"{question.text}: nothing fits; the smallest budget that works is "
                f"{exactly(least)}",
                soft_wrap=True,
            )
    if out.is_terminal if show is None else show:
        from ckschedule.cli.terminal_plot import show_front

        show_front(front, out)


def front_document(
    front: ParetoFront, budgets: list[Question], overheads: list[Question]
) -> dict[str, Any]:
    """Return what ``--json`` prints: every point, in bytes and ticks."""

    def answers(questions: list[Question]) -> list[dict[str, Any]]:
        return [
            {
                "asked": question.text,
                "point": None
                if question.point is None
                else point_facts(question.point),
            }
            for question in questions
        ]

    model = front.model
    stored = store_all(model) if isinstance(model, Chain) else None
    return {
        "command": "pareto",
        "model": model_facts(model),
        "scope": scope_facts(front.scope),
        "solver": front.solver,
        "exact": front.exact,
        "store_all": None if stored is None else trace_facts(stored, model.base_time),
        "knee": point_facts(front.knee),
        "budgets": answers(budgets),
        "overheads": answers(overheads),
        "points": [point_facts(point) for point in front],
    }


run_pareto = takes_model(_pareto)
