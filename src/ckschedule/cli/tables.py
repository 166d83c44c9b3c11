"""Tables for people: rich renderables, numbers with their unit in the heading."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich import box
from rich.table import Table

from ckschedule.budgets import store_all
from ckschedule.cli.selection import Row
from ckschedule.cli.summary import exactly, percent
from ckschedule.costs.chain import Chain
from ckschedule.front import ParetoFront
from ckschedule.operations import Compute
from ckschedule.plotting.scales import byte_scale, time_scale
from ckschedule.simulation import Model, Trace
from ckschedule.units import format_bytes, format_time

_STATIC = ("parameters", "gradients", "optimizer", "buffers")


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
    if chain.static.total:
        text += f", of which {format_bytes(trace.activation_peak)} above static"
    return f"{text} (the feature maps, as Chen et al. count)"


def describe_front(front: ParetoFront) -> dict[str, str]:
    """Return the lines that say what a front proves."""
    kind = "breakpoints of the optimum" if front.exact else "points"
    proof = "exact" if front.exact else f"within {_worst_gap(front):.2%} of the optimum"
    return {
        "front": f"{len(front)} {kind}, {proof}",
        "among": front.scope.sentence,
        "solver": front.solver,
    }


def _worst_gap(front: ParetoFront) -> float:
    return max(
        (p.makespan - p.lower_bound) / p.lower_bound
        if p.lower_bound
        else float(p.makespan > 0)
        for p in front
    )


def front_table(front: ParetoFront, rows: Iterable[Row]) -> Table:
    """Return the chosen points of a front, and storing everything last."""
    rows = list(rows)
    model = front.model
    full = store_all(model) if isinstance(model, Chain) else None
    largest = max(front.fastest.peak, 0 if full is None else full.peak)
    size = byte_scale(largest)
    # The slowest point may take hundreds of times longer than all of interest.
    time = time_scale(front.fastest.makespan, model.time_unit)
    table = ruled_table(
        (
            "point",
            f"peak\n{size.unit}",
            f"above\nstatic\n{size.unit}",
            "overhead\n%",
            f"overhead\n{time.unit}",
            f"makespan\n{time.unit}",
            "recom-\nputed",
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
    lines["recomputed"] = (
        f"{again:,} forwards of {len(trace.recomputations):,} stages"
        if isinstance(model, Chain)
        else f"{again:,} runs of {len(trace.recomputations):,} nodes"
    )
    if isinstance(model, Chain) and (chosen := variants(trace, model)):
        lines["variants"] = ", ".join(
            f"{count:,} stages saving '{name}' only" for name, count in chosen.items()
        )
    return lines


def variants(trace: Trace, chain: Chain) -> dict[str, int]:
    """Return how many stages are recorded with each variant other than their first."""
    chosen: Counter[str] = Counter()
    for operation in trace.schedule:
        if isinstance(operation, Compute) and operation.node.startswith("B"):
            stage = chain.sequence[int(operation.node[1:]) - 1]
            if operation.mode != stage.variants[0].name:
                chosen[operation.mode] += 1
    return dict(chosen)


def live_table(named: Iterable[tuple[str, int]], *, top: int) -> Table:
    """Return the largest values that live at the peak, and the sum of the others."""
    ordered = sorted(named, key=lambda entry: -entry[1])
    total = sum(size for _, size in ordered)
    size = byte_scale(total)
    table = ruled_table(("live at the peak, beside static", size.unit, "%"))
    rest = ordered[top:]
    if rest:
        ordered = [
            *ordered[:top],
            (f"{len(rest)} others", sum(size for _, size in rest)),
        ]
    for name, amount in ordered:
        if amount:
            table.add_row(name, size.text(amount), f"{100 * amount / total:.1f}")
    return table
