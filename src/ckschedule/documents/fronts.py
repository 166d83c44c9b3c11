"""Pareto fronts as wire models, and back: every point is simulated again."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ckschedule.costs import Chain
from ckschedule.costs.encoding import encode
from ckschedule.documents.costs import read_model, write_model
from ckschedule.documents.results import compare, whole
from ckschedule.documents.schedules import check_positions, read_table, write_table
from ckschedule.errors import DocumentError, InvalidScheduleError
from ckschedule.pareto import ParetoFront, ParetoPoint
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
            store_all=whole(point.store_all, f"points[{k}].store_all"),
            sequence=np.searchsorted(table, point.codes).tolist(),
        )
        for k, point in enumerate(front.points)
    ]
    return wire.FrontWire(
        kind="front",
        scope=front.scope,
        exact=bool(front.exact),
        minimum_budget=whole(front.minimum_budget, "minimum_budget"),
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
        minimum_budget=body.minimum_budget,
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
        store_all=body.store_all,
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
    if front.minimum_budget > front.points[0].peak:
        raise DocumentError(
            f"minimum_budget is {front.minimum_budget}, but points[0] keeps "
            f"{front.points[0].peak} bytes"
        )
    for k, point in enumerate(front.points):
        _check_point(point, front.model, f"points[{k}]")


def _check_point(point: ParetoPoint, model: Model, where: str) -> None:
    encoding = encode(as_graph(model))
    codes = point.codes
    # Compiled code checks no bounds.
    low, high = -len(encoding.size), len(encoding.time) - 1
    if codes.size and not (low <= codes.min() and codes.max() <= high):
        raise DocumentError(f"{where}: a code lies outside [{low}, {high}]")
    try:
        peak, makespan, executions = measure(encoding, codes)
    except InvalidScheduleError as error:
        raise DocumentError(f"{where}: the simulator refuses it: {error}") from error
    compare(f"{where}.peak", point.peak, peak)
    compare(f"{where}.makespan", point.makespan, makespan)
    compare(f"{where}.executions", point.executions, executions)
    if isinstance(model, Chain):
        # A graph has no store-everything schedule of its own to compare with.
        compare(f"{where}.store_all", point.store_all, model.store_all_time)
    if point.lower_bound > makespan:
        raise DocumentError(
            f"{where}.lower_bound is {point.lower_bound}, but its schedule takes "
            f"{makespan}"
        )
