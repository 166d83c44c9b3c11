"""A schedule: stages down, operations across, and what is held in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ckschedule.plotting.backend import new_axes
from ckschedule.plotting.timeline import (
    CHAIN_KINDS,
    Axis,
    Clock,
    Timeline,
    clock_of,
    timeline_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from ckschedule.costs.encoding import Ints
    from ckschedule.simulation import Model, Trace

# Okabe and Ito's palette or tints of it: told apart by the colour-blind, and in grey
# print by their lightness.
_SAVED: Final = ("saved tensors held", "#A9D5F0")
_OUTPUT: Final = ("output held", "#D5D5D5")
_FORWARD: Final = ("forward", "#0072B2")
_AGAIN: Final = ("recompute", "#E69F00")
_BACKWARD: Final = ("backward", "#000000")
_VALUE: Final = ("value held", "#D5D5D5")
_FIRST: Final = ("compute", "#0072B2")

_MANY: Final = 3_000
"""Operations up to which each is a rectangle; more are a grid of cells."""

_GRID: Final = (360, 640)
"""Rows and columns of cells, at most: two dots each of a printed figure."""

_NAMED: Final = 26
"""Stages up to which each row has its name."""

_LETTERS: Final = 24
"""Of a name, so that names do not take the picture's place."""

_THICK, _THIN = 0.92, 0.5
"""Heights of operations and of what is held, in rows."""


def plot_schedule(
    trace: Trace,
    model: Model,
    *,
    ax: Axes | None = None,
    time: Axis = "makespan",
    title: str | None = None,
) -> Axes:
    """Return axes with a schedule drawn on them.

    A row a stage of a chain, or a node of a graph, from the top. Forwards, recomputed
    forwards and backwards are blocks; outputs and saved tensors are bars from where
    they are computed to where they are released. Outputs include the checkpoints: they
    are the long bars. What backwards yield is left out.

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
    """
    view = _View(
        ax=new_axes(width=7.2, height=4.2) if ax is None else ax,
        timeline=timeline_of(trace, model),
        clock=clock_of(trace, time),
    )
    layers = [layer for layer in view.layers() if len(layer.row)]
    if len(trace.schedule) <= _MANY:
        view.rectangles(layers)
    else:
        view.cells(layers)
    view.finish(model.name if title is None else title, layers)
    return view.ax


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """Blocks of one sort: (n_blocks,) rows, and where they begin and end across."""

    name: str
    colour: str
    height: float
    row: Ints
    left: npt.NDArray[np.float64]
    right: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """Axes, and what is drawn on them."""

    ax: Axes
    timeline: Timeline
    clock: Clock

    def layers(self) -> Iterator[_Layer]:
        """Yield what is drawn, from the bottom."""
        line = self.timeline
        chain = line.layout.kinds == CHAIN_KINDS
        held = [(_OUTPUT, 0), (_SAVED, 1)] if chain else [(_VALUE, 0), (_VALUE, 1)]
        edges = self.clock.edges
        for (name, colour), kind in held:
            mine = line.layout.kind[line.value] == kind
            mine &= line.layout.value_row[line.value] >= 0
            # From the end of the computation to the start of what releases it.
            yield _Layer(
                name=name,
                colour=colour,
                height=_THIN,
                row=line.layout.value_row[line.value[mine]],
                left=edges[line.born[mine] + 1],
                right=edges[np.minimum(line.died[mine], len(line.node))],
            )
        runs = np.flatnonzero(line.node >= 0)
        back = line.layout.backward[line.node[runs]] == 1
        again = line.again[runs]
        for (name, colour), which in (
            (_FORWARD if chain else _FIRST, ~back & ~again),
            (_AGAIN, ~back & again),
            (_BACKWARD, back),
        ):
            at = runs[which]
            yield _Layer(
                name=name,
                colour=colour,
                height=_THICK,
                row=line.layout.node_row[line.node[at]],
                left=edges[at],
                right=edges[at + 1],
            )

    def rectangles(self, layers: list[_Layer]) -> None:
        """Draw every block."""
        from matplotlib.collections import PolyCollection

        least = float(self.clock.edges[-1]) / _GRID[1]
        for layer in layers:
            low = layer.row + 1 - layer.height / 2
            high = layer.row + 1 + layer.height / 2
            # What takes no time is seen as well.
            right = np.maximum(layer.right, layer.left + least)
            corners = np.stack(
                [
                    np.stack([layer.left, low], axis=1),
                    np.stack([layer.left, high], axis=1),
                    np.stack([right, high], axis=1),
                    np.stack([right, low], axis=1),
                ],
                axis=1,
            )
            self.ax.add_collection(
                PolyCollection(
                    list(corners), facecolors=layer.colour, linewidths=0, zorder=2
                ),
                autolim=False,
            )

    def cells(self, layers: list[_Layer]) -> None:
        """Draw a grid of cells, each with the topmost of what is in it."""
        from matplotlib.colors import ListedColormap

        rows = len(self.timeline.layout.rows)
        high, wide = min(rows, _GRID[0]), _GRID[1]
        end = float(self.clock.edges[-1])
        grid = np.zeros((high, wide), np.uint8)
        for k, layer in enumerate(layers, start=1):
            left = np.minimum((layer.left / end * wide).astype(np.int64), wide - 1)
            right = np.ceil(layer.right / end * wide).astype(np.int64)
            right = np.clip(right, left + 1, wide)
            change = np.zeros((high, wide + 1), np.int64)
            row = layer.row * high // rows
            np.add.at(change, (row, left), 1)
            np.add.at(change, (row, right), -1)
            grid[np.cumsum(change, axis=1)[:, :-1] > 0] = k
        self.ax.imshow(
            grid,
            cmap=ListedColormap(["#FFFFFF", *(layer.colour for layer in layers)]),
            vmin=0,
            vmax=len(layers),
            interpolation="nearest",
            aspect="auto",
            extent=(0, end, rows + 0.5, 0.5),
            zorder=1,
        )

    def finish(self, title: str, layers: list[_Layer]) -> None:
        """Write title, axes and legend."""
        from matplotlib.patches import Patch

        ax, names = self.ax, self.timeline.layout.rows
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set_xlabel(self.clock.label)
        ax.set_xlim(0, max(float(self.clock.edges[-1]), 1e-9))
        ax.set_ylim(len(names) + 0.5, 0.5)
        if len(names) <= _NAMED:
            ax.set_yticks(
                range(1, len(names) + 1),
                [_shortened(name) for name in names],
                fontsize="small" if len(names) <= _NAMED // 2 else "x-small",
                # Names are text, never formulas: "$x$" stays as it is.
                parse_math=False,
            )
        else:
            chain = self.timeline.layout.kinds == CHAIN_KINDS
            ax.set_ylabel("stage" if chain else "node")
            ticks = [1, *(int(y) for y in ax.get_yticks() if 1 < y < len(names))]
            step = ticks[-1] - ticks[-2] if len(ticks) > 2 else 1
            ticks = [y for y in ticks if y == 1 or y > step / 2]
            ticks = [y for y in ticks if len(names) - y > step / 2]
            ax.set_yticks([*ticks, len(names)])
        ax.spines[["top", "right"]].set_visible(False)
        seen = dict.fromkeys((layer.name, layer.colour) for layer in layers)
        ax.legend(
            handles=[
                Patch(facecolor=colour, label=name) for name, colour in reversed(seen)
            ],
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0,
            fontsize="small",
            frameon=False,
        )


def _shortened(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
