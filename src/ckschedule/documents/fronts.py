"""Pareto fronts as wire models, and back: every point is simulated again."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ckschedule.costs.encoding import encode
from ckschedule.documents.costs import read_model, write_model
from ckschedule.documents.results import compare, whole
from ckschedule.documents.schedules import check_positions, read_table, write_table
from ckschedule.errors import DocumentError, InvalidScheduleError
from ckschedule.front import ParetoFront, ParetoPoint
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
        model=write_model(front.model),
        operations=write_table(from_codes(table, encoding)),
        points=points,
    )


def read_front(body: wire.FrontWire) -> ParetoFront:
    """Return the front of a wire model, every point simulated again.

    Raises
    ------
    DocumentError
        If a recorded number differs from the simulation, or a point is dominated.
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
