"""Fronts for people and for programs: computed, printed, as plain data."""

import logging
from collections.abc import Sequence
from typing import Any

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
from ckschedule.simulation import Model

_log = logging.getLogger(__name__)


def compute_front(model: Model) -> ParetoFront:
    """Return the front of a model, with a progress bar while it takes long."""
    # Late: the kernels' compiler is slow to import.
    from ckschedule.sweeping import pareto

    with searching(model, "Pareto front") as progress:
        front = pareto(model, progress=progress)
    _log.info("%d points among %s", len(front), front.scope.sentence)
    return front


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
    out.print(facts_table(describe_model(front.model) | describe_front(front)))
    out.print(front_table(front, representative(front, asked)))
    for question in asked:
        if question.point is None:
            out.print(f"{question.text}: nothing fits")
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
        "store_all": None if stored is None else trace_facts(stored, model.base_time),
        "knee": point_facts(front.knee),
        "budgets": answers(budgets),
        "overheads": answers(overheads),
        "points": [point_facts(point) for point in front],
    }
