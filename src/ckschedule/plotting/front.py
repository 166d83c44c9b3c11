"""A Pareto front: peak memory against time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from ckschedule.budgets import budget_bytes, store_all
from ckschedule.costs.chain import Chain
from ckschedule.errors import NoScheduleError
from ckschedule.plotting.backend import new_axes
from ckschedule.plotting.ceiling import ceiling, entry
from ckschedule.plotting.scales import Scale, byte_scale, time_scale
from ckschedule.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from matplotlib.axes import Axes

    from ckschedule.front import ParetoFront, ParetoPoint
    from ckschedule.units import Budget

# Okabe and Ito's palette, told apart by the colour-blind; shapes differ as well.
_LINE: Final = "#0072B2"
_KNEE: Final = "#D55E00"
_MINIMUM: Final = "#000000"
_STORED: Final = "#009E73"
_BUDGET: Final = "#CC79A7"
_OVERHEAD: Final = "#E69F00"
_STATIC: Final = "0.88"

_FEW: Final = 150
"""Up to so many points each is drawn; more would run together."""


def plot_front(
    front: ParetoFront,
    *,
    ax: Axes | None = None,
    time: Literal["overhead", "makespan"] = "overhead",
    budgets: Sequence[Budget] = (),
    overheads: Sequence[Fraction] = (),
    title: str | None = None,
) -> Axes:
    """Return axes with the front drawn on them.

    Parameters
    ----------
    front
        What to draw.
    ax
        Axes to draw on; None makes a figure of its own, without pyplot.
    time
        The vertical axis: ``overhead`` in percent over storing everything, or
        ``makespan`` in a readable multiple of the model's unit. A model that takes no
        time is drawn by makespan.
    budgets
        Budgets to mark, as `ckschedule.solve` takes them, each with the point that
        answers it.
    overheads
        Extra times to mark, 3/10 for 30 % of the base time, likewise.
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
        If a budget cannot be read.
    """
    limits = [budget_bytes(front.model, budget) for budget in budgets]
    answers = [_answer(front, limit) for limit in limits]
    base = front.model.base_time
    times = [base + int(share * base) for share in overheads]
    quickest = [front.within_time(allowed) for allowed in times]
    stored = store_all(front.model) if isinstance(front.model, Chain) else None
    right = max(front.fastest.peak, 0 if stored is None else stored.peak, *limits, 1)
    relative = time == "overhead" and base > 0
    view = _View(
        ax=new_axes() if ax is None else ax,
        size=byte_scale([right]),
        clock=time_scale([front.minimum.makespan], front.model.time_unit),
        base=base if relative else None,
        ceiling=ceiling(front, [*answers, *quickest])
        if relative
        else front.minimum.makespan,
    )
    view.curve(front, right)
    view.static(front.model.static.total)
    view.minimum(front)
    view.mark(front.knee.peak, front.knee.makespan, "knee", _KNEE, "D")
    for limit, point in zip(limits, answers, strict=True):
        view.budget(limit, point)
    for share, allowed, point in zip(overheads, times, quickest, strict=True):
        view.overhead(share, allowed, point)
    if stored is not None:
        view.mark(stored.peak, stored.makespan, "store all", _STORED, "^")
    view.finish(front.model.name if title is None else title)
    return view.ax


def _answer(front: ParetoFront, limit: int) -> ParetoPoint | None:
    try:
        return front.at(limit)
    except NoScheduleError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """Axes with their units.

    Attributes
    ----------
    ax
        Where to draw.
    size, clock
        Units of memory and of makespans.
    base
        Ticks of which overheads are percentages; None draws makespans.
    ceiling
        Ticks at which the vertical axis ends.
    """

    ax: Axes
    size: Scale
    clock: Scale
    base: int | None
    ceiling: int

    def height(self, makespan: int) -> float:
        """Return where a makespan stands on the vertical axis."""
        if self.base is None:
            return makespan / self.clock.divisor
        return 100 * (makespan - self.base) / self.base

    def amount(self, size: int) -> str:
        """Return bytes with their unit."""
        return f"{self.size.text(size)} {self.size.unit}"

    def curve(self, front: ParetoFront, right: int) -> None:
        """Draw the least time as a function of memory, up to ``right`` bytes."""
        peaks = [point.peak / self.size.divisor for point in front]
        heights = [self.height(point.makespan) for point in front]
        self.ax.plot(
            [*peaks, right / self.size.divisor],
            [*heights, heights[-1]],
            drawstyle="steps-post",
            color=_LINE,
            linewidth=1.6,
            zorder=2,
        )
        if len(front) <= _FEW:
            self.ax.plot(peaks, heights, ".", markersize=5, color=_LINE)

    def static(self, static: int) -> None:
        """Shade the bytes that no schedule can free."""
        if static:
            self.ax.axvspan(
                0,
                static / self.size.divisor,
                color=_STATIC,
                linewidth=0,
                label=f"static: {self.amount(static)}",
                zorder=0,
            )

    def minimum(self, front: ParetoFront) -> None:
        """Draw the point of least memory, or where the curve leaves the axis to it."""
        least = front.minimum
        shown = entry(front, self.ceiling).peak
        label = "minimum" if front.minimum_proved else "least found"
        self.mark(least.peak, least.makespan, label, _MINIMUM, "s", at=shown)

    def mark(
        self,
        peak: int,
        makespan: int,
        label: str,
        color: str,
        shape: str,
        *,
        at: int | None = None,
    ) -> None:
        """Draw a schedule, at its peak or ``at`` another; name it in the legend."""
        if self.base is None:
            cost = f"{self.clock.text(makespan)} {self.clock.unit}"
        else:
            cost = f"{self.height(makespan):+.1f} %"
        beyond = " (beyond the axis)" if makespan > self.ceiling else ""
        self.ax.plot(
            [(peak if at is None else at) / self.size.divisor],
            [self.height(min(makespan, self.ceiling))],
            linestyle="none",
            marker=shape,
            markersize=8,
            color=color,
            markeredgecolor="white",
            label=f"{label}: {self.amount(peak)}, {cost}{beyond}",
            zorder=4,
            clip_on=False,
        )

    def budget(self, limit: int, point: ParetoPoint | None) -> None:
        """Draw a budget and the point that answers it."""
        line = self.ax.axvline(
            limit / self.size.divisor,
            color=_BUDGET,
            linestyle="--",
            linewidth=1,
            zorder=1,
        )
        within = f"within {format_bytes(limit)}"
        if point is None:
            line.set_label(f"{within}: nothing fits")
        else:
            self.mark(point.peak, point.makespan, within, _BUDGET, "o")

    def overhead(
        self, share: Fraction, allowed: int, point: ParetoPoint | None
    ) -> None:
        """Draw an extra time and the point that answers it."""
        line = self.ax.axhline(
            self.height(allowed), color=_OVERHEAD, linestyle="--", linewidth=1, zorder=1
        )
        within = f"at most +{float(100 * share):g} %"
        if point is None:
            line.set_label(f"{within}: nothing is as fast")
        else:
            self.mark(point.peak, point.makespan, within, _OVERHEAD, "v")

    def finish(self, title: str) -> None:
        """Write title, axes and legend."""
        ax = self.ax
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set_xlabel(f"peak memory ({self.size.unit})")
        if self.base is None:
            ax.set_ylabel(f"makespan ({self.clock.unit})")
        else:
            ax.set_ylabel("overhead over storing everything (%)")
            ax.set_ylim(bottom=0)
        top = self.height(self.ceiling)
        if ax.get_ylim()[1] > 1.1 * top > 0:
            ax.set_ylim(top=top)
        ax.set_xlim(left=0)
        ax.grid(visible=True, color="0.9", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="best", fontsize="small", framealpha=0.95)
