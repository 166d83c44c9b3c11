"""What the page is told of a front: numbers as text, schedules as packed integers."""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ckschedule.budgets import budget_bytes
from ckschedule.costs.chain import Chain
from ckschedule.costs.encoding import encode
from ckschedule.documents import to_json
from ckschedule.errors import InvalidScheduleError, NoScheduleError
from ckschedule.front import ParetoFront, ParetoPoint
from ckschedule.plotting.ceiling import ceiling
from ckschedule.plotting.timeline import layout_of
from ckschedule.report.points import as_text, document_parts
from ckschedule.schedule import from_codes
from ckschedule.simulation import Trace, as_graph
from ckschedule.units import Budget, format_bytes

MOST_OPERATIONS: Final = 12_000_000
"""Operations of all schedules in a page together, at most: 24 MB in a browser."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A front and what to show beside it.

    Attributes
    ----------
    front
        What the page is about.
    baselines
        Simulated schedules of the same model, by name.
    budgets
        To name in the page, as `ckschedule.solve` takes them.
    title
        None means the model's name.
    """

    front: ParetoFront
    baselines: Mapping[str, Trace] = field(default_factory=dict)
    budgets: Sequence[Budget] = ()
    title: str | None = None

    def __post_init__(self) -> None:
        graph = as_graph(self.front.model)
        for name, trace in self.baselines.items():
            if trace.graph != graph:
                raise InvalidScheduleError(
                    f"baseline {name!r} is a schedule for {trace.graph.name!r}, not "
                    f"for the model of the front; simulate it on that model",
                    index=0,
                )

    @property
    def name(self) -> str:
        """The title."""
        return self.front.model.name if self.title is None else self.title


def facts_of(subject: Subject, shown: Sequence[int]) -> dict[str, Any]:
    """Return what the page shows at once, as plain data.

    Bytes and ticks are texts: a browser's numbers are exact up to 2**53 only.

    Parameters
    ----------
    subject
        What to describe.
    shown
        Indices of the points whose schedules are in the page.
    """
    front, model = subject.front, subject.front.model
    points = front.points
    return {
        "name": subject.name,
        "stages": len(model.sequence) if isinstance(model, Chain) else None,
        "nodes": len(as_graph(model).nodes),
        "timeUnit": model.time_unit,
        "baseTime": str(model.base_time),
        "static": str(model.static.total),
        "exact": front.exact,
        "minimumProved": front.minimum_proved,
        "scope": front.scope.sentence,
        "ceiling": str(ceiling(front)),
        "points": {
            "peak": [str(point.peak) for point in points],
            "makespan": [str(point.makespan) for point in points],
            "executions": [str(point.executions) for point in points],
            "bound": [str(point.lower_bound) for point in points],
        },
        "shown": list(shown),
        "named": named_points(subject),
        "baselines": [
            {
                "name": name,
                "peak": str(trace.peak),
                "makespan": str(trace.makespan),
                "recomputed": sum(trace.recomputations.values()),
            }
            for name, trace in subject.baselines.items()
        ],
    }


def named_points(subject: Subject) -> list[dict[str, Any]]:
    """Return what has a button: label, bytes, and the index of the point or None."""
    front = subject.front
    place = {id(point): k for k, point in enumerate(front.points)}
    found: list[dict[str, Any]] = []
    for label, point in (
        ("least memory", front.minimum),
        ("knee", front.knee),
        ("least time", front.fastest),
    ):
        # One point may be all three.
        if all(entry["point"] != place[id(point)] for entry in found):
            found.append({"label": label, "budget": None, "point": place[id(point)]})
    refuted = front.infeasible
    for budget in subject.budgets:
        limit = budget_bytes(front.model, budget)
        found.append(
            {
                "label": budget if isinstance(budget, str) else format_bytes(limit),
                "budget": str(limit),
                "point": _place(front, limit, place),
                "refuted": front.minimum_proved
                or (refuted is not None and limit <= refuted),
            }
        )
    return found


def _place(front: ParetoFront, limit: int, place: Mapping[int, int]) -> int | None:
    try:
        return place[id(front.at(limit))]
    except NoScheduleError:
        return None


def points_shown(subject: Subject, most: int = MOST_OPERATIONS) -> list[int]:
    """Return the points whose schedules are in the page, by index.

    All of them, or the named ones and as many of the others, evenly spread, as have
    ``most`` operations together.
    """
    points = subject.front.points
    lengths = [len(point.codes) for point in points]
    if sum(lengths) <= most:
        return list(range(len(points)))
    named = {p for entry in named_points(subject) if (p := entry["point"]) is not None}
    room = most - sum(lengths[k] for k in named)
    for step in range(2, len(points) + 1):
        spread = set(range(0, len(points), step)) - named
        if sum(lengths[k] for k in spread) <= room:
            return sorted(spread | named)
    return sorted(named)


def packed(subject: Subject, shown: Sequence[int]) -> str:
    """Return model, tables and schedules as base64 of a zlib stream.

    It begins with the length of a JSON text in four bytes, that text, and spaces up to
    a multiple of four; then come the schedules of ``shown``, each operation two bytes,
    or four where the table is longer, all little-endian.
    """
    front = subject.front
    points = [front.points[k] for k in shown]
    table = np.unique(np.concatenate([point.codes for point in points]))
    wide = len(table) > np.iinfo(np.uint16).max
    head = json.dumps(_tables(front, points, table, wide=wide)).encode()
    head += b" " * (-len(head) % 4)
    squeeze = zlib.compressobj(9)
    parts = [squeeze.compress(len(head).to_bytes(4, "little") + head)]
    for point in points:
        positions = np.searchsorted(table, point.codes)
        data = positions.astype("<u4" if wide else "<u2").tobytes()
        parts.append(squeeze.compress(data))
    parts.append(squeeze.flush())
    return base64.b64encode(b"".join(parts)).decode()


def _tables(
    front: ParetoFront,
    points: Iterable[ParetoPoint],
    table: np.ndarray,
    *,
    wide: bool,
) -> dict[str, Any]:
    """Return what schedules refer to: arrays of the graph, rows, names, texts."""
    encoding = encode(as_graph(front.model))
    layout = layout_of(front.model)
    template, common = document_parts(front)
    operations = json.loads(to_json(from_codes(table, encoding)))["operations"]
    return {
        "template": template,
        "common": common,
        "operations": [as_text(operation) for operation in operations],
        "table": table.tolist(),
        "wide": wide,
        "lengths": [len(point.codes) for point in points],
        "size": encoding.size.tolist(),
        "live": np.flatnonzero(encoding.live).tolist(),
        "time": encoding.time.tolist(),
        "transient": encoding.transient.tolist(),
        "node": encoding.node.tolist(),
        "outputsStart": encoding.outputs_start.tolist(),
        "outputs": encoding.outputs.tolist(),
        "consumesStart": encoding.consumes_start.tolist(),
        "consumes": encoding.consumes.tolist(),
        "kinds": list(layout.kinds),
        "kind": layout.kind.tolist(),
        "valueRow": layout.value_row.tolist(),
        "nodeRow": layout.node_row.tolist(),
        "backward": layout.backward.tolist(),
        "rows": list(layout.rows),
        "chain": isinstance(front.model, Chain),
    }
