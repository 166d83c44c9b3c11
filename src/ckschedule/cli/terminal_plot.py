"""Plots in the terminal, as wide as it is."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from rich.console import Console

from ckschedule.costs.encoding import encode
from ckschedule.front import ParetoFront
from ckschedule.plotting.ceiling import ceiling, entry
from ckschedule.plotting.scales import byte_scale, time_scale
from ckschedule.schedule import to_codes
from ckschedule.simulation import Model, Trace

_HEIGHT: Final = 18
_WIDEST: Final = 120
_SAMPLES: Final = 2000
"""Points drawn at most: more than dots across any terminal."""


def show_front(front: ParetoFront, console: Console) -> None:
    """Print the front: overhead over peak memory."""
    size = byte_scale([front.fastest.peak])
    base = front.model.base_time
    points = list(front)
    if base:
        top = ceiling(front)
        points = points[points.index(entry(front, top)) :]
        heights = [100 * (p.makespan - base) / base for p in points]
        label = "overhead, %"
        if top < front.minimum.makespan:
            label += f"   (beyond it up to {front.minimum.overhead / base:+.0%})"
    else:
        label, heights = "makespan", [float(p.makespan) for p in points]
    peaks = [point.peak / size.divisor for point in points]
    xs, ys = _steps(peaks, heights)
    knee = points.index(front.knee)
    _print(
        console,
        xs,
        ys,
        x_label=f"peak memory, {size.unit}   (o knee)",
        y_label=label,
        mark=(peaks[knee], heights[knee]),
    )


def show_memory(
    trace: Trace, model: Model, console: Console, budget: int | None
) -> None:
    """Print the level of memory over the time of a schedule."""
    encoding = encode(trace.graph)
    codes = to_codes(trace.schedule, encoding)
    spent = np.where(codes >= 0, encoding.time[np.maximum(codes, 0)], 0)
    ends = np.cumsum(spent)
    size = byte_scale([max(trace.peak, budget or 0)])
    clock = time_scale([trace.makespan], model.time_unit)
    if trace.makespan:
        times, label = ends / clock.divisor, f"time, {clock.unit}"
    else:
        times, label = np.arange(len(ends), dtype=float), "operation"
    level = trace.live_during / size.divisor
    # Of many operations keep the highest level in each slice: the peak must show.
    step = max(1, len(level) // _SAMPLES)
    starts = np.arange(0, len(level), step)
    highest = np.maximum.reduceat(level, starts) if len(level) else level
    _print(
        console,
        times[starts].tolist(),
        highest.tolist(),
        x_label=label + ("" if budget is None else "   (dashes: budget)"),
        y_label=f"live memory, {size.unit}",
        level=None if budget is None else budget / size.divisor,
    )


def _steps(xs: Sequence[float], ys: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the corners of the step function that holds each y until the next x."""
    corners = list(zip(xs, ys, strict=True))
    path = [corners[0]]
    for (_, before), (x, y) in pairwise(corners):
        path += [(x, before), (x, y)]
    return [x for x, _ in path], [y for _, y in path]


def _print(
    console: Console,
    xs: Sequence[float],
    ys: Sequence[float],
    *,
    x_label: str,
    y_label: str,
    mark: tuple[float, float] | None = None,
    level: float | None = None,
) -> None:
    # Importing it takes a fifth of a second.
    import plotext

    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(min(console.width, _WIDEST) - 1, _HEIGHT)
    figure.title(y_label)
    figure.label(x_label)
    figure.draw(figure.signal(xs, ys, marker="braille").lines())
    if level is not None:
        ends = [xs[0], xs[-1]]
        figure.draw(figure.signal(ends, [level, level], marker="-").lines())
    if mark is not None:
        figure.draw(figure.signal([mark[0]], [mark[1]], marker="o"))
    text = plotext.uncolorize(str(figure.build()))
    figure.clear()
    console.print(text.rstrip("\n"), soft_wrap=True)
