"""Memory over a schedule: what lives, stacked, with the budget and the peak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from ckschedule.budgets import budget_bytes
from ckschedule.plotting.backend import new_axes
from ckschedule.plotting.scales import Scale, byte_scale
from ckschedule.plotting.timeline import (
    CHAIN_KINDS,
    GRAPH_KINDS,
    Axis,
    Clock,
    Timeline,
    clock_of,
    timeline_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ckschedule.costs.encoding import Ints
    from ckschedule.simulation import Model, Trace
    from ckschedule.units import Budget

# Okabe and Ito's palette, told apart by the colour-blind; by lightness in print, too.
_COLOURS: Final = dict(
    zip(
        (*CHAIN_KINDS, *GRAPH_KINDS),
        ("#0072B2", "#56B4E9", "#E69F00", "#CC79A7", "#009E73", "#56B4E9"),
        strict=True,
    )
)
_STATIC: Final = ("static", "0.82")
_TRANSIENT: Final = ("transients", "0.35")
_BUDGET: Final = "#D55E00"
_PEAK: Final = "#000000"
_STAGES: Final = "cividis"
"""Dark to light for the colour-blind and in print alike."""

_GROUPS: Final = 8
"""Bands of neighbouring stages, at most: more would not be told apart."""

_MOSTLY: Final = 0.6
"""Share of static bytes from which on the axis begins above zero."""

_COLUMNS: Final = 2_000
"""Operations that are drawn one by one; of more, the highest in each column is."""


def plot_memory(
    trace: Trace,
    model: Model,
    *,
    ax: Axes | None = None,
    time: Axis = "makespan",
    by: Literal["kind", "stage"] = "kind",
    budget: Budget | None = None,
    title: str | None = None,
) -> Axes:
    """Return axes with the memory of a schedule over time drawn on them.

    Parameters
    ----------
    trace, model
        A simulated schedule and the model that it is for.
    ax
        Axes to draw on; None makes a figure of its own, without pyplot.
    time
        The horizontal axis: ``makespan`` in a readable multiple of the model's unit, or
        ``operations`` by their number. A schedule that takes no time is drawn by
        operations.
    by
        What is stacked beside static bytes and transients: the ``kind`` of values, or
        the ``stage`` they belong to (the node, in a graph), in up to eight groups.
    budget
        To mark, as `ckschedule.solve` takes it.
    title
        None means the model's name.

    Returns
    -------
    matplotlib.axes.Axes
        ``ckschedule.plotting.save_plot`` writes its figure.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    InvalidBudgetError
        If the budget cannot be read.
    """
    limit = None if budget is None else budget_bytes(model, budget)
    view = _View(
        ax=new_axes(width=7.2, height=4.2) if ax is None else ax,
        trace=trace,
        timeline=timeline_of(trace, model),
        clock=clock_of(trace, time),
        size=byte_scale([max(trace.peak, limit or 0)]),
    )
    view.stack(view.kinds() if by == "kind" else view.groups())
    if limit is not None:
        view.budget(limit)
    view.peak()
    view.finish(model.name if title is None else title, max(trace.peak, limit or 0))
    return view.ax


@dataclass(frozen=True, slots=True, kw_only=True)
class _Band:
    """Bytes over the operations, with their name and colour."""

    name: str
    colour: str
    bytes: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """Axes with their units, and what is drawn on them."""

    ax: Axes
    trace: Trace
    timeline: Timeline
    clock: Clock
    size: Scale

    def kinds(self) -> list[_Band]:
        """Return a band a kind of values."""
        names = self.timeline.layout.kinds
        return [
            _Band(name=name, colour=_COLOURS[name], bytes=level)
            for name, level in zip(names, self.timeline.levels, strict=True)
        ]

    def groups(self) -> list[_Band]:
        """Return a band a group of neighbouring stages; inputs are the first's."""
        import matplotlib
        from matplotlib.colors import to_hex

        line = self.timeline
        n, count = len(line.node), len(line.layout.rows)
        groups = min(_GROUPS, count)
        group = np.maximum(line.layout.value_row, 0) * groups // count
        change = np.zeros((groups, n + 1), np.int64)
        sizes = np.array([v.size for v in self.trace.graph.values], np.int64)
        where, size = group[line.value], sizes[line.value]
        np.add.at(change, (where, line.born + 1), size)
        ends = line.died < n
        np.subtract.at(change, (where[ends], line.died[ends] + 1), size[ends])
        levels = np.cumsum(change, axis=1)[:, :n]
        palette = matplotlib.colormaps[_STAGES]
        edges = [-(-g * count // groups) for g in range(groups + 1)]
        noun = "node" if line.layout.kinds == GRAPH_KINDS else "stage"
        return [
            _Band(
                name=_numbers(noun, edges[g] + 1, edges[g + 1]),
                colour=to_hex(palette(g / max(1, groups - 1))),
                bytes=levels[g],
            )
            for g in range(groups)
        ]

    def stack(self, bands: list[_Band]) -> None:
        """Draw static bytes, the bands and transients on top of each other."""
        n = len(self.timeline.node)
        static = np.full(n, self.trace.graph.static.total, np.int64)
        whole = [
            _Band(name=_STATIC[0], colour=_STATIC[1], bytes=static),
            *bands,
            _Band(
                name=_TRANSIENT[0], colour=_TRANSIENT[1], bytes=self.timeline.transient
            ),
        ]
        edges, shown = self._columns()
        low = np.zeros(len(edges))
        for band in whole:
            if not band.bytes.any():
                continue
            level = band.bytes[shown] / self.size.divisor
            high = low + np.append(level, level[-1:])
            self.ax.fill_between(
                edges,
                low,
                high,
                step="post",
                facecolor=band.colour,
                # A hair of its own colour: without it white lines show between.
                edgecolor=band.colour,
                linewidth=0.2,
                label=band.name if band.name != _STATIC[0] else self._static(),
                zorder=2,
            )
            low = high

    def _columns(self) -> tuple[np.ndarray, Ints]:
        """Return edges of columns and the operation that each of them shows."""
        edges, n = self.clock.edges, len(self.timeline.node)
        if n <= _COLUMNS:
            return edges, np.arange(n)
        grid = np.linspace(0, edges[-1], _COLUMNS + 1)
        column = np.minimum(
            np.searchsorted(grid, edges[:-1], side="right") - 1, _COLUMNS - 1
        )
        # The operation that runs at a column's left edge, or a higher one within it.
        shown = np.clip(
            np.searchsorted(edges, grid[:-1], side="right") - 1, 0, n - 1
        ).astype(np.int64)
        level = self.trace.live_during
        order = np.lexsort((level, column))
        last = np.flatnonzero(np.diff(column[order], append=-1))
        best = order[last]
        higher = level[best] > level[shown[column[best]]]
        shown[column[best][higher]] = best[higher]
        return grid, shown

    def budget(self, limit: int) -> None:
        """Draw a budget."""
        self.ax.axhline(
            limit / self.size.divisor,
            color=_BUDGET,
            linestyle="--",
            linewidth=1.3,
            label=f"budget: {self._amount(limit)}",
            zorder=4,
        )

    def peak(self) -> None:
        """Mark the first instant of the most memory."""
        trace = self.trace
        at = 0.0
        if trace.peak_index >= 0:
            left, right = self.clock.edges[trace.peak_index : trace.peak_index + 2]
            at = float(left + right) / 2
        self.ax.plot(
            [at],
            [trace.peak / self.size.divisor],
            linestyle="none",
            marker="v",
            markersize=7,
            color=_PEAK,
            markeredgecolor="white",
            label=f"peak: {self._amount(trace.peak)}",
            zorder=5,
            clip_on=False,
        )

    def finish(self, title: str, highest: int) -> None:
        """Write title, axes and legend."""
        ax = self.ax
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set_xlabel(self.clock.label)
        ax.set_ylabel(f"memory ({self.size.unit})")
        ax.set_xlim(0, max(float(self.clock.edges[-1]), 1e-9))
        static, top = self.trace.graph.static.total, max(highest, 1)
        bottom = 0.0
        if static > _MOSTLY * top:
            # The rest would be a strip at the top; a tenth of the axis is left.
            bottom = max(0.0, static - (top - static) / 9)
            ax.annotate(
                f"axis begins at {bottom / self.size.divisor:,.{self.size.decimals}f} "
                f"{self.size.unit}",
                (0.01, 0.015),
                xycoords="axes fraction",
                fontsize="x-small",
                zorder=6,
            )
        ax.set_ylim(
            bottom / self.size.divisor,
            (top + 0.06 * (top - bottom)) / self.size.divisor,
        )
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0,
            fontsize="small",
            frameon=False,
            # As they lie upon each other.
            reverse=True,
        )

    def _static(self) -> str:
        return f"static: {self._amount(self.trace.graph.static.total)}"

    def _amount(self, size: int) -> str:
        return f"{self.size.text(size)} {self.size.unit}"


def _numbers(noun: str, first: int, last: int) -> str:
    return f"{noun} {first}" if first == last else f"{noun}s {first} to {last}"
