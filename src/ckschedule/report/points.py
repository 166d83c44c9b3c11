"""A point of a front as the result of a solve, and as text with gaps to fill in."""

import json
from typing import Final

from ckschedule.documents import to_json
from ckschedule.front import ParetoFront, ParetoPoint
from ckschedule.result import Result, Status

GAP: Final = "@"
"""What begins the text that stands for something of the point."""

_OF_THE_POINT: Final = ("status", "budget", "lower_bound")
_OF_THE_TRACE: Final = ("peak", "makespan", "executions", "operations", "sequence")


def result_at(front: ParetoFront, point: ParetoPoint) -> Result:
    """Return the result of solving for the budget that is a point's own peak.

    Parameters
    ----------
    front, point
        A front, and one of its points.

    Returns
    -------
    Result
        Optimal where the point's lower bound is its makespan, otherwise feasible.
    """
    proved = point.lower_bound == point.makespan
    return Result(
        model=front.model,
        status=Status.OPTIMAL if proved else Status.FEASIBLE,
        scope=front.scope,
        budget=point.peak,
        solver=front.solver,
        trace=point.trace,
        lower_bound=point.lower_bound,
        minimum_budget=front.minimum.peak if front.minimum_proved else None,
        stop=front.stop,
    )


def document_parts(front: ParetoFront) -> tuple[str, dict[str, str]]:
    """Return the document of any point with gaps, and the texts of the common gaps.

    Returns
    -------
    tuple of str and dict
        A JSON text in which ``"@budget"`` and the like stand for what differs between
        points, and ``"@model"`` and ``"@solver"`` for the second value's texts: no name
        that somebody chose is in the first. Filled in, it is what `ckschedule.to_json`
        gives for `result_at`.
    """
    tree = json.loads(to_json(result_at(front, front.fastest)))
    common = {}
    for key in ("model", "solver"):
        common[key] = as_text(tree[key])
        tree[key] = GAP + key
    for key in _OF_THE_POINT:
        tree[key] = GAP + key
    for key in _OF_THE_TRACE:
        tree["trace"][key] = GAP + key
    return as_text(tree) + "\n", common


def as_text(tree: object) -> str:
    """Return JSON as documents have it: no spaces, names as they are."""
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
