"""Pareto fronts as wire models, and back: every point is simulated again."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ckschedule.costs.encoding import encode
from ckschedule.documents.costs import read_model, write_model
from ckschedule.documents.results import compare, whole, whole_or_none
from ckschedule.documents.schedules import check_positions, read_table, write_table
from ckschedule.errors import DocumentError, InvalidScheduleError
from ckschedule.front import Answer, ParetoFront, ParetoPoint
from ckschedule.result import Status
from ckschedule.schedule import Schedule, from_codes, to_codes
from ckschedule.simulation import as_graph, measure

if TYPE_CHECKING:
    import numpy.typing as npt

    from ckschedule.documents import wire
    from ckschedule.simulation import Model


def write_front(front: ParetoFront) -> wire.FrontWire:
    """Return the wire model of a front.

    Raises
    ------
    DocumentError
        If the front contradicts itself or the simulator.
    """
    from ckschedule.documents import wire

    _check(front)
    encoding = encode(as_graph(front.model))
    table = np.unique(np.concatenate([point.codes for point in front.points]))
    points = [
        wire.PointWire(
            peak=whole(point.peak, f"points[{k}].peak"),
            makespan=whole(point.makespan, f"points[{k}].makespan"),
            executions=whole(point.executions, f"points[{k}].executions"),
            lower_bound=whole(point.lower_bound, f"points[{k}].lower_bound"),
            sequence=np.searchsorted(table, point.codes).tolist(),
        )
        for k, point in enumerate(front.points)
    ]
    return wire.FrontWire(
        kind="front",
        scope=front.scope,
        exact=bool(front.exact),
        base_time=front.model.base_time,
        solver=front.solver,
        infeasible=whole_or_none(front.infeasible, "infeasible"),
        stop=front.stop,
        answers=[
            wire.AnswerWire(
                budget=whole(answer.budget, f"answers[{k}].budget"),
                status=answer.status,
                lower_bound=whole_or_none(
                    answer.lower_bound, f"answers[{k}].lower_bound"
                ),
            )
            for k, answer in enumerate(front.answers)
        ],
        model=write_model(front.model),
        operations=write_table(from_codes(table, encoding)),
        points=points,
    )


def read_front(body: wire.FrontWire) -> ParetoFront:
    """Return the front of a wire model, every point simulated again.

    Raises
    ------
    DocumentError
        If a recorded number differs from the simulation, a point is dominated, or an
        answer contradicts the points.
    """
    model = read_model(body.model)
    compare("base_time", body.base_time, model.base_time)
    try:
        table = to_codes(Schedule(read_table(body.operations)), encode(as_graph(model)))
    except InvalidScheduleError as error:
        raise DocumentError(f"operations: {error}") from error
    front = ParetoFront(
        model=model,
        points=[
            _read_point(point, table, model, f"points[{k}].sequence")
            for k, point in enumerate(body.points)
        ],
        scope=body.scope,
        exact=body.exact,
        solver=body.solver,
        infeasible=body.infeasible,
        stop=body.stop,
        answers=[
            Answer(
                budget=answer.budget,
                status=answer.status,
                lower_bound=answer.lower_bound,
            )
            for answer in body.answers
        ],
    )
    _check(front)
    return front


def _read_point(
    body: wire.PointWire, table: npt.NDArray[np.int64], model: Model, where: str
) -> ParetoPoint:
    check_positions(body.sequence, len(table), where)
    return ParetoPoint(
        model=model,
        codes=table[np.array(body.sequence, np.int64)],
        peak=body.peak,
        makespan=body.makespan,
        executions=body.executions,
        lower_bound=body.lower_bound,
    )


def _check(front: ParetoFront) -> None:
    """Refuse a front that contradicts itself or the simulator."""
    if not front.points:
        raise DocumentError("the front has no points; it needs at least one")
    # Before the simulations: rising peaks bound how many points can be made up.
    for k, (before, after) in enumerate(pairwise(front.points), start=1):
        if before.peak >= after.peak or before.makespan <= after.makespan:
            raise DocumentError(
                f"points[{k}] has peak {after.peak} and makespan {after.makespan} "
                f"after {before.peak} and {before.makespan}; peaks rise and makespans "
                f"fall"
            )
    for k, point in enumerate(front.points):
        _check_point(point, front.model, f"points[{k}]")
        if front.exact and point.lower_bound != point.makespan:
            raise DocumentError(
                f"exact is true, but points[{k}].lower_bound is {point.lower_bound} "
                f"for a makespan of {point.makespan}"
            )
    _check_answers(front)


def _check_answers(front: ParetoFront) -> None:
    """Refuse answers that contradict each other or the points."""
    least, refuted = front.minimum.peak, front.infeasible
    if refuted is not None and refuted >= least:
        raise DocumentError(
            f"infeasible is {refuted}, but points[0] keeps {least} bytes"
        )
    for k, (before, after) in enumerate(pairwise(front.answers), start=1):
        if before.budget >= after.budget:
            raise DocumentError(
                f"answers[{k}].budget is {after.budget} after {before.budget}; budgets "
                f"rise"
            )
    for k, answer in enumerate(front.answers):
        _check_answer(answer, front, f"answers[{k}]")


def _check_answer(answer: Answer, front: ParetoFront, where: str) -> None:
    within = [point for point in front.points if point.peak <= answer.budget]
    solved = answer.status in (Status.OPTIMAL, Status.FEASIBLE)
    if solved != bool(within):
        raise DocumentError(
            f"{where}.status is {str(answer.status)!r}, but {len(within)} points keep "
            f"{answer.budget} bytes"
        )
    bound = answer.lower_bound
    if not within:
        return
    fastest = within[-1].makespan
    if bound is not None and bound > fastest:
        raise DocumentError(
            f"{where}.lower_bound is {bound}, but a point within its budget takes "
            f"{fastest}"
        )
    if answer.status is Status.OPTIMAL and bound != fastest:
        raise DocumentError(
            f"{where}.status is 'optimal' with lower_bound {bound}, but the fastest "
            f"point within its budget takes {fastest}"
        )


def _check_point(point: ParetoPoint, model: Model, where: str) -> None:
    encoding = encode(as_graph(model))
    try:
        peak, makespan, executions = measure(encoding, point.codes)
    except InvalidScheduleError as error:
        raise DocumentError(f"{where}: the simulator refuses it: {error}") from error
    compare(f"{where}.peak", point.peak, peak)
    compare(f"{where}.makespan", point.makespan, makespan)
    compare(f"{where}.executions", point.executions, executions)
    if point.lower_bound > makespan:
        raise DocumentError(
            f"{where}.lower_bound is {point.lower_bound}, but its schedule takes "
            f"{makespan}"
        )
