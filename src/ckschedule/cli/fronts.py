"""Fronts for people and for programs: computed, printed, as plain data."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import typer

from ckschedule.budgets import store_all
from ckschedule.cli.output import console
from ckschedule.cli.progress import searching
from ckschedule.cli.selection import Question, representative
from ckschedule.cli.summary import (
    model_facts,
    point_facts,
    scope_facts,
    trace_facts,
)
from ckschedule.costs.chain import Chain
from ckschedule.front import ParetoFront
from ckschedule.result import Stop
from ckschedule.simulation import Model

_log = logging.getLogger(__name__)


TIME_LIMIT: Final = 60.0
"""Seconds for a front whose budgets are asked one by one."""


def compute_front(
    model: Model,
    *,
    points: int | None = None,
    budgets: Sequence[str] = (),
    time_limit: float = TIME_LIMIT,
    start: ParetoFront | None = None,
    keep: Path | None = None,
) -> ParetoFront:
    """Return the front of a model, with a progress bar while it takes long.

    Parameters
    ----------
    model, points, budgets, time_limit, start
        As `ckschedule.pareto` takes them.
    keep
        A file that is to hold the best front at any time; None for none.
    """
    # Late: the kernels' compiler is slow to import.
    from ckschedule.documents import write_json
    from ckschedule.sweeping import pareto

    def write(front: ParetoFront) -> None:
        if keep is not None:
            write_json(front, keep)

    with searching(model, "Pareto front") as progress:
        front = pareto(
            model,
            points=points,
            budgets=budgets,
            time_limit=time_limit,
            start=start,
            on_point=write,
            progress=progress,
        )
    write(front)
    _log.info("%d points among %s", len(front), front.scope.sentence)
    return front


def earlier_front(path: Path | None, model: Model) -> ParetoFront | None:
    """Return the front in a file, None if there is no such file yet.

    Raises
    ------
    DocumentError
        If the file is no document, or was made for another model.
    typer.BadParameter
        If it holds something else.
    """
    if path is None or not path.exists():
        return None
    from ckschedule.documents import read_json

    found = read_json(path, model=model)
    if not isinstance(found, ParetoFront):
        raise typer.BadParameter(
            f"--resume {path} holds a {type(found).__name__}; name a file that "
            f"'ckschedule pareto' wrote, or one that is not there yet"
        )
    _log.info("%d points of an earlier search", len(found))
    return found


def print_front(
    front: ParetoFront,
    asked: Sequence[Question],
    *,
    show: bool | None,
    tries: Sequence[str] = (),
) -> None:
    """Print what the front is about, its main points and its picture.

    Parameters
    ----------
    front, asked
        The front, and the points that were asked for.
    show
        Whether to draw it; None draws on terminals.
    tries
        What could make the budgets fit that nothing fits.
    """
    from ckschedule.cli.tables import (
        describe_front,
        describe_model,
        facts_table,
        front_table,
    )

    out = console()
    facts = describe_model(front.model) | describe_front(front)
    if front.stop is not Stop.FINISHED:
        facts["stopped"] = f"{front.stop}; with --resume FILE it can be gone on with"
    out.print(facts_table(facts))
    out.print(front_table(front, representative(front, asked)))
    for question in asked:
        if question.point is None:
            fits = "nothing fits" if front.minimum_proved else "no schedule found"
            out.print(f"{question.text}: {fits}")
    if tries:
        out.print(facts_table({"try": "\n".join(tries)}))
    if out.is_terminal if show is None else show:
        from ckschedule.cli.terminal_plot import show_front

        show_front(front, out)


def front_document(
    front: ParetoFront, budgets: Sequence[Question], overheads: Sequence[Question]
) -> dict[str, Any]:
    """Return what ``--json`` prints: every point, in bytes and ticks."""

    def answers(questions: Sequence[Question]) -> list[dict[str, Any]]:
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
        "stop": str(front.stop),
        "infeasible": front.infeasible,
        "store_all": None if stored is None else trace_facts(stored, model.base_time),
        "knee": point_facts(front.knee),
        "budgets": answers(budgets),
        "overheads": answers(overheads),
        "points": [point_facts(point) for point in front],
    }
