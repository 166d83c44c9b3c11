"""Tables for people: rich renderables, numbers with their unit in the heading."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich import box
from rich.table import Table

from ckschedule.budgets import store_all
from ckschedule.cli.plans import joined, stage_plans
from ckschedule.cli.selection import Row
from ckschedule.cli.solvers import short_name
from ckschedule.cli.summary import (
    counted,
    exactly,
    gap_percent,
    percent,
    scope_name,
    stage_range,
)
from ckschedule.costs.chain import Chain
from ckschedule.front import ParetoFront
from ckschedule.plotting.scales import byte_scale, time_scale
from ckschedule.simulation import Model, Trace
from ckschedule.units import format_bytes, format_time

_STATIC: Final = ("parameters", "gradients", "optimizer", "buffers")

_LONGEST: Final = 40
"""Rows of a plan to print."""

_CHECKPOINTS: Final = {"yes": "kept", "later": "kept later", "no": "freed"}


def facts_table(facts: Mapping[str, str]) -> Table:
    """Return a grid of names and what there is to say about each."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in facts.items():
        table.add_row(name, text)
    return table


def ruled_table(headings: Sequence[str], *, left: Sequence[int] = (0,)) -> Table:
    """Return an empty table; columns in ``left`` hold text, all others numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for i, heading in enumerate(headings):
        if i in left:
            table.add_column(heading, overflow="fold", vertical="top")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    return table


def describe_model(model: Model) -> dict[str, str]:
    """Return the lines that say what a model is."""
    if isinstance(model, Chain):
        size = f"chain of {len(model.sequence)} stages, the loss included"
    else:
        size = f"graph of {len(model.nodes)} nodes"
    facts = {"model": f"{model.name}, {size}", "static memory": describe_static(model)}
    facts["one iteration"] = (
        f"{format_time(model.base_time, model.time_unit)} if nothing is recomputed"
    )
    if isinstance(model, Chain):
        facts["store all"] = describe_store_all(model)
    return facts


def describe_static(model: Model) -> str:
    """Return the static bytes, in all and by part."""
    parts = [
        f"{part} {format_bytes(size)}"
        for part in _STATIC
        if (size := getattr(model.static, part))
    ]
    total = format_bytes(model.static.total)
    if not parts:
        return "none counted"
    return f"{total}: {', '.join(parts)}"


def describe_store_all(chain: Chain) -> str:
    """Return the peak of storing everything and its part that is not static."""
    trace = store_all(chain)
    text = f"peak {format_bytes(trace.peak)}"
    if not chain.static.total:
        return f"{text} (the feature maps, as Chen et al. count)"
    return f"{text}, of which {format_bytes(trace.activation_peak)} above static"


def describe_front(front: ParetoFront) -> dict[str, str]:
    """Return the lines that say what a front proves."""
    if front.exact:
        proof = f"{len(front)} breakpoints of the optimum, exact"
    else:
        optimal = sum(point.gap == 0 for point in front)
        worst = gap_percent(max(point.gap for point in front))
        proof = (
            f"{counted(len(front), 'point')}, {optimal} of them optimal, the others at "
            f"most {worst} above the optimum"
        )
    return {
        "front": f"{proof}, among {scope_name(front.scope)}",
        "solver": short_name(front.solver),
    }


def front_table(front: ParetoFront, rows: Iterable[Row]) -> Table:
    """Return the chosen points of a front, and storing everything last."""
    rows = list(rows)
    model = front.model
    full = store_all(model) if isinstance(model, Chain) else None
    shown = [
        size for row in rows for size in (row.point.peak, row.point.activation_peak)
    ]
    size = byte_scale([*shown, 0 if full is None else full.peak])
    # The slowest point may take hundreds of times longer than all of interest.
    time = time_scale([front.fastest.makespan], model.time_unit)
    table = ruled_table(
        (
            "point",
            f"peak\n{size.unit}",
            f"above\nstatic\n{size.unit}",
            "overhead\n%",
            f"overhead\n{time.unit}",
            f"makespan\n{time.unit}",
            "recom-\nputed",
            *(() if front.exact else ("above\noptimum",)),
        )
    )
    for row in rows:
        point = row.point
        table.add_row(
            ", ".join(row.labels),
            size.text(point.peak),
            size.text(point.activation_peak),
            percent(point.overhead, model.base_time, unit=""),
            time.text(point.overhead),
            time.text(point.makespan),
            f"{point.recomputations:,}",
            *(() if front.exact else (gap_percent(point.gap),)),
            style="bold" if row.labels[0].startswith(("within", "at most")) else None,
        )
    if full is not None:
        table.add_row(
            "store all",
            size.text(full.peak),
            size.text(full.activation_peak),
            percent(full.makespan - model.base_time, model.base_time, unit=""),
            time.text(full.makespan - model.base_time),
            time.text(full.makespan),
            "0",
            style="dim",
        )
    return table


def trace_lines(
    trace: Trace, model: Model, *, budget: int | None = None
) -> dict[str, str]:
    """Return the lines that say what a schedule costs."""
    static, unit = model.static.total, model.time_unit
    overhead = trace.makespan - model.base_time
    lines = {"peak": exactly(trace.peak)}
    if static:
        lines["peak"] += (
            f": {format_bytes(static)} static and "
            f"{format_bytes(trace.activation_peak)} above"
        )
    if budget is not None:
        room = budget - trace.peak
        lines["budget"] = f"{exactly(budget)}, " + (
            f"{format_bytes(room)} unused"
            if room >= 0
            else f"exceeded by {format_bytes(-room)}"
        )
    lines["makespan"] = (
        f"{format_time(trace.makespan, unit)}, of which "
        f"{format_time(overhead, unit)} overhead "
        f"({percent(overhead, model.base_time)} over storing everything)"
    )
    again = sum(trace.recomputations.values())
    run, of = ("forward", "stage") if isinstance(model, Chain) else ("run", "node")
    lines["recomputed"] = (
        f"{counted(again, run)} of {counted(len(trace.recomputations), of)}"
        if again
        else "nothing"
    )
    return lines


def plan_table(trace: Trace, chain: Chain) -> Table:
    """Return what becomes of each stage, neighbours with one plan joined."""
    table = ruled_table(
        ("stages", "count", "saved tensors", "saved as", "output"), left=(0, 2, 3, 4)
    )
    runs = list(joined(stage_plans(trace, chain)))
    for indices, plan in runs[:_LONGEST]:
        saved = "kept"
        if plan.recomputed:
            times = "once" if plan.recomputed == 1 else f"{plan.recomputed:,} times"
            saved = f"recomputed {times}"
        elif plan.variant is None:
            saved = "none"
        table.add_row(
            stage_range(chain, indices),
            f"{len(indices):,}",
            saved,
            plan.variant or "-",
            _CHECKPOINTS[plan.checkpoint],
        )
    if len(runs) > _LONGEST:
        rest = sum(len(indices) for indices, _ in runs[_LONGEST:])
        table.add_row("others (--json lists all)", f"{rest:,}", "", "", "")
    return table


def live_table(named: Iterable[tuple[str, int]], *, top: int) -> Table:
    """Return the largest values that live at the peak, and the sum of the others."""
    ordered = sorted(named, key=lambda entry: -entry[1])
    total = sum(size for _, size in ordered)
    size = byte_scale([total])
    table = ruled_table(("live at the peak, beside static", size.unit, "%"))
    rest = ordered[top:]
    if rest:
        ordered = [
            *ordered[:top],
            (f"{counted(len(rest), 'other')}", sum(size for _, size in rest)),
        ]
    for name, amount in ordered:
        if amount:
            table.add_row(name, size.text(amount), f"{100 * amount / total:.1f}")
    return table
