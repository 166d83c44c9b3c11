"""Promised against measured: peaks and times of plans on real models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from ckschedule.errors import DocumentError
from ckschedule.plotting.backend import new_axes
from ckschedule.plotting.scales import Scale, byte_scale, time_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ckschedule.result import Result

Quantity: TypeAlias = Literal["peak", "time", "time ratio"]
"""Bytes, nanoseconds, or times the plain step."""

# Okabe and Ito's palette; each with a shape of its own, for print and the colour-blind.
_LOOKS: Final = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#E69F00", "D"),
    ("#CC79A7", "v"),
    ("#56B4E9", "P"),
    ("#000000", "X"),
)
_BAND: Final = 10
"""Percent that the shaded band reaches to both sides of equality."""

_KEYS: Final[Mapping[Quantity, tuple[str, str]]] = {
    "peak": ("predicted_peak", "measured_peak"),
    "time": ("predicted_time", "measured_time"),
    "time ratio": ("predicted_time_ratio", "measured_time_ratio"),
}


class Measured(Protocol):
    """What is read of a `ckschedule.Measurement`."""

    @property
    def peak(self) -> int:
        """Bytes."""

    @property
    def time(self) -> int | None:
        """Nanoseconds; None if no step was timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A promise and what was measured of it.

    Attributes
    ----------
    predicted, measured
        Above zero: bytes, nanoseconds, or ratios; hence floats as well.
    group
        What it is drawn with in one colour, such as the family of the model.
    """

    predicted: float
    measured: float
    group: str = ""

    @property
    def excess(self) -> float:
        """What was measured beyond the promise, as a ratio of it; 0.1 for 10 %."""
        return self.measured / self.predicted - 1


def pair_of(
    result: Result,
    measured: Measured,
    quantity: Literal["peak", "time"] = "peak",
    *,
    group: str = "",
) -> Pair | None:
    """Return what a plan promised and a step under it took.

    Parameters
    ----------
    result
        With a schedule, for a chain in nanoseconds where times are compared.
    measured
        As `ckschedule.measure_step` returns it, or ``measured`` of a
        `ckschedule.Verification`. A step does not show an optimiser's state: it is
        added.
    quantity
        What to compare.
    group
        Of the pair.

    Returns
    -------
    Pair or None
        None where there is nothing to compare: no time was measured, the model's times
        are no nanoseconds, or the plan promised none.

    Raises
    ------
    NoScheduleError
        If the result has no schedule.
    """
    trace = result.raise_for_status()
    if quantity == "peak":
        total = measured.peak + result.model.static.optimizer
        return Pair(predicted=trace.peak, measured=total, group=group)
    if not measured.time or not trace.makespan or result.model.time_unit != "ns":
        return None
    return Pair(predicted=trace.makespan, measured=measured.time, group=group)


def pairs_of_rows(rows: Iterable[Mapping[str, Any]], quantity: Quantity) -> list[Pair]:
    """Return the pairs of a benchmark's rows, as ``bench/fidelity.py`` writes them.

    Rows without the quantity, such as those of plain steps, are left out; ``family`` is
    the group.

    Raises
    ------
    DocumentError
        If a number is none, or not above zero.
    """
    promised, found = _KEYS[quantity]
    pairs = []
    for k, row in enumerate(rows):
        if promised not in row or found not in row:
            continue
        for key in (promised, found):
            number = row[key]
            if not isinstance(number, (int, float)) or not number > 0:
                raise DocumentError(
                    f"rows[{k}].{key} is {number!r}; write a number above zero"
                )
        pairs.append(
            Pair(
                predicted=row[promised],
                measured=row[found],
                group=str(row.get("family", "")),
            )
        )
    return pairs


def plot_fidelity(
    pairs: Sequence[Pair],
    quantity: Quantity = "peak",
    *,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Return axes with what was measured against what was promised.

    Parameters
    ----------
    pairs
        What to draw; at least one.
    quantity
        What their numbers are.
    ax
        Axes to draw on; None makes a figure of its own, without pyplot.
    title
        None means the quantity.

    Returns
    -------
    matplotlib.axes.Axes
        Both axes logarithmic, equality a line, ten percent to both sides shaded.
        ``ckschedule.plotting.save_plot`` writes its figure.

    Raises
    ------
    ValueError
        If there are no pairs.
    MissingDependencyError
        If matplotlib is not installed.
    """
    if not pairs:
        raise ValueError("there are no pairs to draw; give at least one")
    if ax is None:
        ax = new_axes(width=4.8, height=4.4)
    numbers = [n for pair in pairs for n in (pair.predicted, pair.measured)]
    scale = _scale(numbers, quantity)
    low, high = min(numbers) / scale.divisor / 1.3, max(numbers) / scale.divisor * 1.3
    share = 1 + _BAND / 100
    ax.fill_between(
        [low, high],
        [low / share, high / share],
        [low * share, high * share],
        color="0.88",
        linewidth=0,
        label=f"within {_BAND} %",
        zorder=0,
    )
    ax.plot([low, high], [low, high], color="0.35", linewidth=1, zorder=1)
    groups = dict.fromkeys(pair.group for pair in pairs)
    for k, group in enumerate(groups):
        mine = [pair for pair in pairs if pair.group == group]
        colour, shape = _LOOKS[k % len(_LOOKS)]
        worst = max(mine, key=lambda pair: abs(pair.excess)).excess
        ax.plot(
            [pair.predicted / scale.divisor for pair in mine],
            [pair.measured / scale.divisor for pair in mine],
            linestyle="none",
            marker=shape,
            markersize=6,
            color=colour,
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=f"{group or 'plans'}: {len(mine)}, worst {_percent(worst)}",
            zorder=3,
        )
    _finish(ax, quantity, scale, (low, high))
    ax.set_title(quantity if title is None else title, loc="left", fontsize="medium")
    return ax


def _percent(excess: float) -> str:
    return "0 %" if excess == 0 else f"{100 * excess:+.2g} %"


def _scale(numbers: Sequence[float], quantity: Quantity) -> Scale:
    if quantity == "time ratio":
        return Scale(unit="times the plain step")
    largest = [int(max(numbers))]
    return byte_scale(largest) if quantity == "peak" else time_scale(largest, "ns")


def _finish(
    ax: Axes, quantity: Quantity, scale: Scale, ends: tuple[float, float]
) -> None:
    """Write axes and legend."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    noun = "peak memory" if quantity == "peak" else "time"
    ax.set_xscale("log")
    ax.set_yscale("log")
    # A decade or less has ticks at 1, 2 and 5.
    steps = (1.0, 2.0, 5.0) if ends[1] < 100 * ends[0] else (1.0,)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=steps))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)
    ax.set_aspect("equal")
    ax.set_xlabel(f"promised {noun} ({scale.unit})")
    ax.set_ylabel(f"measured {noun} ({scale.unit})")
    ax.grid(visible=True, color="0.92", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper left", fontsize="small", framealpha=0.95)
