"""Schedules of published graphs: how good, how well proved, beside published results.

Run ``CKSCHEDULE_DATA=<folder> python bench/quality.py``; see bench/README.md.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from measure import (
    ProcessDiedError,
    arguments,
    console,
    in_child,
    seconds,
    selected,
    write_results,
)
from rich.table import Table

import ckschedule as ck
from ckschedule.importers.node_link import import_node_link

DATA: Final = "CKSCHEDULE_DATA"
"""Environment variable: folder of the published graphs, as bench/README.md lists."""

FILES: Final[Mapping[str, str]] = {
    "VGG16": "checkmate/vgg16_256_224_224_3.json",
    "VGG19": "checkmate/vgg19_256_224_224_3.json",
    "U-Net": "checkmate/vgg_unet_32_416_608_3.json",
    "SegNet": "checkmate/segnet_32_416_608_3.json",
    "FCN8": "checkmate/fcn_8_vgg_32_416_608_3.json",
    "ResNet50": "checkmate/resnet50_256_224_224_3.json",
    "MobileNet": "checkmate/mobilenet_512_224_224_3.json",
    "layered-100": "random_layered/n100.json",
    "layered-250": "random_layered/n250.json",
    "layered-500": "random_layered/n500.json",
    "layered-1000": "random_layered/n1000.json",
}

PROVEN: Final = 0.0
"""Largest gap of a row that asks for a proof."""

_ROUNDING: Final = 0.0005
"""Percent: half the last digit of the required overheads."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One graph at one budget.

    Attributes
    ----------
    graph
        Key of `FILES`, or the number of forward nodes of Checkmate's unit chain.
    budget
        Percent of the naive peak, or bytes for a unit chain.
    order
        "given" or "free".
    limit
        Seconds.
    overhead
        Required, percent over the base time; None: reported only.
    gap
        Required, percent of the bound; None: none.
    published
        Of others, for the table.
    solver
        "" for the order's own: RetentionCpSat, or AutoSolver for a free order.
    """

    graph: str | int
    budget: int
    order: str = "given"
    limit: float = 10.0
    overhead: float | None = None
    gap: float | None = None
    bounded: bool = False
    published: str = ""
    solver: str = ""
    within: float = field(default=2.0, repr=False)

    @property
    def name(self) -> str:
        """As rows are selected."""
        graph = f"path-{self.graph}" if isinstance(self.graph, int) else self.graph
        return f"{self.solver or self.order}/{graph}@{self.budget}"


GIVEN: Final = (
    Row(graph="VGG16", budget=90, overhead=1.968, gap=PROVEN),
    Row(graph="VGG19", budget=80, overhead=4.851, gap=PROVEN),
    Row(graph="U-Net", budget=80, overhead=1.984, gap=PROVEN),
    Row(graph="U-Net", budget=50, limit=20, overhead=6.967, gap=PROVEN),
    Row(graph="SegNet", budget=80, overhead=0.207, gap=PROVEN),
    Row(graph="SegNet", budget=50, overhead=40.66, gap=PROVEN),
    Row(
        graph="FCN8",
        budget=90,
        overhead=0.029,
        gap=PROVEN,
        published="Checkmate 0.0 in 6.3 s, Moccasin 0.0 in 3.1 s, FastSA 0.1",
    ),
    Row(
        graph="FCN8",
        budget=80,
        overhead=0.136,
        gap=PROVEN,
        published="Checkmate 0.1 in 5.6 s, Moccasin 0.1 in 3.1 s, FastSA 0.1",
    ),
    Row(graph="FCN8", budget=70, overhead=0.892, gap=PROVEN, published="FastSA 3.0"),
    Row(graph="FCN8", budget=65, overhead=1.617, gap=PROVEN),
    Row(
        graph="ResNet50",
        budget=90,
        limit=30,
        overhead=0.108,
        gap=PROVEN,
        published="Checkmate 0.1 in 434 s, Moccasin 0.2 in 65 s, FastSA 0.2",
    ),
    Row(
        graph="ResNet50",
        budget=80,
        limit=300,
        overhead=0.335,
        bounded=True,
        published="Checkmate 0.3 in 485 s, Moccasin 0.3 in 69 s, FastSA 0.4",
    ),
    Row(graph="ResNet50", budget=70, limit=300, published="FastSA 0.8"),
    Row(graph="MobileNet", budget=90, limit=120, gap=1.0),
    Row(graph="MobileNet", budget=70, limit=120, gap=1.0),
    Row(graph="MobileNet", budget=50, limit=120, gap=1.0),
    Row(
        graph="layered-100",
        budget=90,
        limit=20,
        overhead=0.789,
        gap=PROVEN,
        published="Checkmate 0.8 in 18.5 s, Moccasin 0.8 in 9.3 s",
    ),
    Row(
        graph="layered-100",
        budget=80,
        limit=20,
        overhead=2.296,
        gap=PROVEN,
        published="Checkmate 2.3 in 22.7 s, Moccasin 2.3 in 9.5 s",
    ),
    Row(
        graph="layered-250",
        budget=90,
        limit=200,
        overhead=0.904,
        gap=PROVEN,
        published="Checkmate 0.9 in 685 s, Moccasin 0.9 in 55 s",
    ),
    Row(
        graph="layered-250",
        budget=80,
        limit=200,
        overhead=4.899,
        published="Moccasin 4.9 in 640 s",
    ),
)
"""Order of first computations as in the file."""

FREE: Final = (
    Row(graph="layered-100", budget=90, overhead=0.0, published="FastSA 0.0 in 12 s"),
    Row(graph="layered-100", budget=80, overhead=0.3, published="FastSA 0.3 in 12 s"),
    Row(graph="layered-250", budget=90, overhead=0.0, published="FastSA 0.0 in 15 s"),
    Row(graph="layered-250", budget=80, overhead=0.0, published="FastSA 0.0 in 15 s"),
    Row(graph="layered-500", budget=90, overhead=0.03, published="FastSA 0.03 in 21 s"),
    Row(graph="layered-500", budget=80, overhead=2.3, published="FastSA 2.3 in 21 s"),
    Row(graph="layered-1000", budget=90, overhead=0.4, published="FastSA 0.4 in 36 s"),
    Row(graph="layered-1000", budget=80, overhead=2.5, published="FastSA 2.5 in 36 s"),
)
"""Any order."""

UNIT: Final[Mapping[tuple[int, int], int]] = {
    **{(8, b): t for b, t in zip(range(3, 11), (45, 26, 22, 21, 20, 19, 18, 17))},  # noqa: B905 - eight of each
    (16, 4): 67,
    (16, 6): 47,
    (32, 6): 111,
    (64, 8): 224,
    (100, 12): 326,
    (1000, 12): 4641,
    (1000, 52): 2951,
}
"""Makespan of Checkmate's unit chains by number of forward nodes and budget: the closed
form of Griewank and Walther 2000."""


def rows() -> list[Row]:
    """Return all rows."""
    first = [
        Row(graph=name, budget=90, order="free", limit=1.0, solver="first", within=0.0)
        for name in FILES
    ]
    free = [
        Row(
            **{
                **_fields(row),
                "order": "free",
                "limit": 60.0 if row.graph in ("layered-100", "layered-250") else 120.0,
            }
        )
        for row in FREE
    ]
    paths = [
        Row(
            graph=k,
            budget=budget,
            order="free",
            limit=0.23 if (k, budget) == (8, 4) else 60.0,
            overhead=100 * (ticks / (2 * k + 1) - 1),
            gap=PROVEN,
            within=0.0 if (k, budget) == (8, 4) else 2.0,
            published="Checkmate 26 in 9.4 h, 0.23 s partitioned"
            if (k, budget) == (8, 4)
            else "",
        )
        for (k, budget), ticks in UNIT.items()
    ]
    least = Row(graph=8, budget=2, order="free", limit=1.0, within=0.0)
    return [*first, *GIVEN, *free, *paths, least]


def _fields(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def main() -> None:
    options = arguments("Schedules of graphs.", repeat="always 1").parse_args()
    chosen = {row.name: row for row in rows()}
    data = os.environ.get(DATA)
    terminal = console()
    records: list[dict[str, object]] = []
    table = Table(
        *("row", "overhead %", "bound %", "gap %", "status", "wall"),
        *("required %", "limit", "passed", "published"),
        title="extra time over computing every node once",
    )
    path = None
    for name in selected(list(chosen), options.rows):
        row = chosen[name]
        if data is None and isinstance(row.graph, str):
            terminal.print(f"{name}: skipped, {DATA} names no folder of graphs")
            continue
        with terminal.status(name):
            try:
                record = in_child(partial(solved, row, data))
            except ProcessDiedError as error:
                record = {"name": name, "passed": False, "error": str(error)}
        records.append(record)
        # A run takes half an hour: what is measured is kept if it is interrupted.
        path = write_results("quality", records, options.out)
        table.add_row(*_cells(row, record))
    terminal.print(table)
    terminal.print(f"written to {path}")


def solved(row: Row, data: str | None) -> dict[str, object]:
    """Return how a row went; runs in a process of its own."""
    # Compiled kernels and libraries are loaded before the clock starts.
    for order in ("given", "free"):
        _solver(row, 0.5, order).search(ck.catalog.training_path(3), 4)
    graph, budget = _instance(row, data)
    solver = _solver(row, row.limit, row.order)
    start = time.perf_counter()
    result = ck.solve(graph, budget, solver)
    wall = time.perf_counter() - start
    base = graph.base_time
    percent: Callable[[int], float] = lambda ticks: 100 * (ticks / base - 1)  # noqa: E731 - short
    bound = result.lower_bound
    overhead = None if result.makespan is None else percent(result.makespan)
    gap = None if result.gap is None else 100 * result.gap
    checks = [wall <= row.limit + row.within]
    if row.graph == 8 and row.budget == 2:
        checks.append(result.status is ck.Status.INFEASIBLE)
    else:
        checks.append(overhead is not None)
    if row.overhead is not None:
        checks.append(overhead is not None and overhead <= row.overhead + _ROUNDING)
    if row.gap is not None:
        checks.append(gap is not None and gap <= row.gap)
    if row.bounded:
        checks.append(bound is not None and bound > base)
    return {
        "name": row.name,
        "row": asdict(row),
        "nodes": len(graph.nodes),
        "bytes": budget,
        "status": str(result.status),
        "scope": str(result.scope),
        "stop": str(result.stop),
        "solver": result.solver,
        "makespan": result.makespan,
        "lower_bound": bound,
        "bound_source": result.bound_source,
        "peak": result.peak,
        "overhead": overhead,
        "bound": None if bound is None else percent(bound),
        "gap": gap,
        "wall": wall,
        "passed": all(checks),
    }


def _solver(row: Row, limit: float, order: str) -> ck.AbstractSolver:
    if row.solver == "first":
        return ck.GreedyEviction(order=order)
    if order == "given":
        return ck.RetentionCpSat(time_limit=limit)
    return ck.AutoSolver(order=order, time_limit=limit)


def _instance(row: Row, data: str | None) -> tuple[ck.Graph, int]:
    if isinstance(row.graph, int):
        return ck.catalog.training_path(row.graph), row.budget
    assert data is not None, "checked before"
    path = Path(data) / FILES[row.graph]
    # The literature on these graphs runs backward nodes again, too.
    graph = import_node_link(path, recompute_backward=True)
    naive = ck.solve(graph, 2**62, ck.StoreAll()).raise_for_status()
    return graph, naive.peak * row.budget // 100


def _cells(row: Row, record: Mapping[str, Any]) -> Sequence[str]:
    if "error" in record:
        return (row.name, record["error"])

    def number(key: str) -> str:
        return "-" if record[key] is None else f"{record[key]:.3f}"

    return (
        row.name,
        number("overhead"),
        number("bound"),
        number("gap"),
        record["status"],
        seconds(record["wall"]),
        "-" if row.overhead is None else f"{row.overhead:.3f}",
        seconds(row.limit),
        "yes" if record["passed"] else "NO",
        row.published,
    )


if __name__ == "__main__":
    main()
