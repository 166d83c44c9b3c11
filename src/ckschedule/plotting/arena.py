"""An arena: time across, addresses up, one rectangle a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from ckschedule.budgets import budget_bytes
from ckschedule.costs.chain import Chain
from ckschedule.costs.encoding import encode
from ckschedule.plotting.backend import new_axes
from ckschedule.plotting.scales import Scale, byte_scale, time_scale
from ckschedule.schedule import to_codes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from ckschedule.arena import Arena, Block
    from ckschedule.units import Budget

# Okabe and Ito's palette, told apart by the colour-blind, and grey.
_KINDS: Final = {
    "x": ("outputs", "#0072B2"),
    "s": ("saved tensors", "#56B4E9"),
    "g": ("gradients", "#E69F00"),
    "p": ("parameter gradients", "#CC79A7"),
}
_TRANSIENT: Final = ("transients", "0.45")
_INPUT: Final = ("inputs", "#009E73")
_LIVE: Final = "#000000"
_BUDGET: Final = "#D55E00"
_POSITIONS: Final = "cividis"
"""Dark to light for the colour-blind and in print alike."""

_AGAIN: Final = "//////"
"""Hatching of values that were computed before."""

_FEW: Final = 600
"""Up to so many blocks each has a border; more would be all border."""

_LABELLED: Final = (0.055, 0.035)
"""Share of the axes' width and height from which on a block has its name in it."""


_DARK: Final = 1.4
"""Sum of red, green and blue below which a block's name is white."""


def plot_arena(
    arena: Arena,
    *,
    ax: Axes | None = None,
    time: Literal["makespan", "operations"] = "makespan",
    colour: Literal["kind", "node"] | None = None,
    budget: Budget | None = None,
    title: str | None = None,
) -> Axes:
    """Return axes with the map of an arena drawn on them.

    Parameters
    ----------
    arena
        What to draw.
    ax
        Axes to draw on; None makes a figure of its own, without pyplot.
    time
        The horizontal axis: ``makespan`` in a readable multiple of the model's unit, or
        ``operations`` by their number. A schedule that takes no time is drawn by
        operations.
    colour
        What colours tell: the ``kind`` of a chain's values, or the position of the
        ``node`` that yields a value. None means the kind for chains, the node for other
        graphs, which have no kinds.
    budget
        To mark, as `ckschedule.solve` takes it; static bytes lie outside the arena and
        are taken off.
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
    limit = None
    if budget is not None:
        limit = budget_bytes(arena.model, budget) - arena.model.static.total
    by_kind = (colour or "kind") == "kind" and isinstance(arena.model, Chain)
    clock = _clock(arena, operations=time == "operations")
    view = _View(
        ax=new_axes(width=7.2, height=4.8) if ax is None else ax,
        arena=arena,
        clock=clock,
        size=byte_scale([max(arena.size, limit or 0)]),
        ceiling=1.04 * max(arena.size, limit or 0, 1),
    )
    if by_kind:
        view.by_kind()
    else:
        view.by_node()
    view.live()
    view.top()
    if limit is not None:
        view.budget(limit)
    view.finish(arena.model.name if title is None else title)
    return view.ax


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clock:
    """Where the instants of a schedule stand on the horizontal axis.

    Attributes
    ----------
    edges
        (n_operations + 2,): instant i reaches from entry i to entry i + 1; the last
        one, the end of the schedule, has no width.
    label
        Of the axis.
    """

    edges: Sequence[float]
    label: str


def _clock(arena: Arena, *, operations: bool) -> _Clock:
    trace = arena.trace
    end = len(trace.schedule)
    if operations or trace.makespan == 0:
        return _Clock(edges=[*range(end + 1), end], label="operation")
    encoding = encode(trace.graph)
    codes = to_codes(trace.schedule, encoding)
    ticks = np.where(codes >= 0, encoding.time[np.maximum(codes, 0)], 0)
    unit = time_scale([trace.makespan], trace.graph.time_unit)
    ends = (np.cumsum(ticks) / unit.divisor).tolist()
    return _Clock(edges=[0.0, *ends, ends[-1]], label=f"time ({unit.unit})")


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """Axes with their units.

    Attributes
    ----------
    ax
        Where to draw.
    arena
        What to draw.
    clock, size
        The horizontal axis, and the unit of the vertical one.
    ceiling
        Bytes at which the vertical axis ends.
    """

    ax: Axes
    arena: Arena
    clock: _Clock
    size: Scale
    ceiling: float

    def by_kind(self) -> None:
        """Draw the blocks of a chain: outputs, saved tensors, gradients, transients."""
        for name, colour in (*_KINDS.values(), _TRANSIENT):
            mine = [
                (block, again)
                for block, again in self._blocks()
                if _kind_of(block)[0] == name
            ]
            self._draw(mine, [colour] * len(mine), name)

    def by_node(self) -> None:
        """Draw the blocks by the position of their nodes; inputs and transients apart.

        A bar beside the axes says which colour is which position.
        """
        import matplotlib
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize, to_hex

        graph = self.arena.trace.graph
        place = {node.name: k for k, node in enumerate(graph.nodes, start=1)}
        yields = {
            name: place[nodes[0]] for name, nodes in graph.producers.items() if nodes
        }
        given = set(graph.inputs)
        colours = matplotlib.colormaps[_POSITIONS]
        last = max(2, len(graph.nodes))
        blocks = list(self._blocks())
        lies = [(b, copy) for b, copy in blocks if b.name in given and b.first == 0]
        scratch = [(b, copy) for b, copy in blocks if b.transient]
        apart = {id(block) for block, _ in (*lies, *scratch)}
        made = [(b, copy) for b, copy in blocks if id(b) not in apart]
        shares = [(yields[b.name] - 1) / (last - 1) for b, _ in made]
        self._draw(made, [to_hex(colours(share)) for share in shares], None)
        for mine, (name, colour) in ((lies, _INPUT), (scratch, _TRANSIENT)):
            self._draw(mine, [colour] * len(mine), name)
        figure = self.ax.get_figure(root=True)
        assert figure is not None, "axes belong to a figure"
        scale = ScalarMappable(Normalize(1, last), colours)
        bar = figure.colorbar(scale, ax=self.ax, pad=0.02, aspect=40)
        bar.set_label("node, by position in the graph")

    def live(self) -> None:
        """Draw how many bytes live at each instant, and name the most."""
        edges = self.clock.edges
        # Instants without width, those of frees, would be drawn as needles.
        wide = [i for i in range(len(edges) - 1) if edges[i] < edges[i + 1]]
        load = [int(self.arena.load[i]) / self.size.divisor for i in wide or [0]]
        self.ax.plot(
            [*(edges[i] for i in wide), edges[-1]] if wide else edges[:2],
            [*load, load[-1]],
            drawstyle="steps-post",
            color=_LIVE,
            linewidth=1.1,
            label=f"live bytes: at most {self._amount(self.arena.live_peak)}",
            zorder=4,
        )

    def top(self) -> None:
        """Draw where the arena ends."""
        more = self.arena.fragmentation
        self.ax.axhline(
            self.arena.size / self.size.divisor,
            color=_LIVE,
            linestyle=":",
            linewidth=1.2,
            label=f"arena: {self._amount(self.arena.size)}, {more:.1%} fragmented",
            zorder=4,
        )

    def budget(self, limit: int) -> None:
        """Draw a budget, from which the static bytes are taken."""
        self.ax.axhline(
            limit / self.size.divisor,
            color=_BUDGET,
            linestyle="--",
            linewidth=1.2,
            label=f"budget without static: {self._amount(limit)}",
            zorder=4,
        )

    def finish(self, title: str) -> None:
        """Write title, axes and legend."""
        from matplotlib.patches import Patch

        ax = self.ax
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set_xlabel(self.clock.label)
        ax.set_ylabel(f"address ({self.size.unit})")
        ax.set_xlim(0, max(self.clock.edges[-1], 1e-9))
        ax.set_ylim(0, self.ceiling / self.size.divisor)
        ax.spines[["top", "right"]].set_visible(False)
        handles, labels = ax.get_legend_handles_labels()
        if any(again for _, again in self._blocks()):
            handles.append(
                Patch(facecolor="0.85", edgecolor="white", hatch=_AGAIN, linewidth=0)
            )
            labels.append("computed again")
        ax.legend(
            handles,
            labels,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.14),
            ncols=3,
            fontsize="small",
            frameon=False,
        )

    def _amount(self, size: int) -> str:
        return f"{self.size.text(size)} {self.size.unit}"

    def _blocks(self) -> Iterator[tuple[Block, bool]]:
        """Yield the blocks with bytes, and whether each is a value's later copy."""
        seen: set[str] = set()
        for block in self.arena.blocks:
            again = not block.transient and block.name in seen
            seen.add(block.name)
            if block.size:
                yield block, again

    def _draw(
        self,
        blocks: Sequence[tuple[Block, bool]],
        colours: Sequence[str],
        label: str | None,
    ) -> None:
        """Draw blocks of one sort; later copies are hatched."""
        from matplotlib.collections import PolyCollection

        border = 0.5 if len(self.arena.blocks) <= _FEW else 0.0
        for again in (False, True):
            mine = [
                (block, colour)
                for (block, copy), colour in zip(blocks, colours, strict=True)
                if copy == again
            ]
            if not mine:
                continue
            collection = PolyCollection(
                [self._corners(block) for block, _ in mine],
                facecolors=[colour for _, colour in mine],
                edgecolors="white",
                linewidths=border,
                hatch=_AGAIN if again else None,
                label=label,
                zorder=2,
            )
            # One entry in the legend, whether or not there are copies.
            label = None
            self.ax.add_collection(collection, autolim=False)
        for (block, _), colour in zip(blocks, colours, strict=True):
            self._name(block, colour)

    def _corners(self, block: Block) -> list[tuple[float, float]]:
        left, right = self.clock.edges[block.first], self.clock.edges[block.last + 1]
        low = block.offset / self.size.divisor
        high = (block.offset + block.size) / self.size.divisor
        return [(left, low), (left, high), (right, high), (right, low)]

    def _name(self, block: Block, colour: str) -> None:
        from matplotlib.colors import to_rgb

        (left, low), _, (right, high), _ = self._corners(block)
        across, up = _LABELLED
        wide = right - left >= across * self.clock.edges[-1]
        tall = (high - low) * self.size.divisor >= up * self.ceiling
        if wide and tall and not block.transient:
            self.ax.text(
                (left + right) / 2,
                (low + high) / 2,
                block.name,
                ha="center",
                va="center",
                fontsize="x-small",
                color="white" if sum(to_rgb(colour)) < _DARK else "black",
                # Hatching and the line would cross it.
                bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.8},
                clip_on=True,
                zorder=5,
            )


def _kind_of(block: Block) -> tuple[str, str]:
    return _TRANSIENT if block.transient else _KINDS[block.name[0]]
