"""A schedule with its memory: two pictures over one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckschedule.plotting.backend import new_axes
from ckschedule.plotting.memory import plot_memory
from ckschedule.plotting.schedule import plot_schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ckschedule.plotting.timeline import Axis
    from ckschedule.simulation import Model, Trace
    from ckschedule.units import Budget


def plot_plan(
    trace: Trace,
    model: Model,
    *,
    time: Axis = "makespan",
    budget: Budget | None = None,
    title: str | None = None,
) -> Axes:
    """Return axes with the memory of a schedule, above it in the same figure.

    Parameters
    ----------
    trace, model, time, budget, title
        As `plot_memory` takes them.

    Returns
    -------
    matplotlib.axes.Axes
        The memory's, in a figure of its own; ``ckschedule.plotting.save_plot`` writes
        both.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    InvalidBudgetError
        If the budget cannot be read.
    """
    only = new_axes(width=7.6, height=7.0)
    figure = only.get_figure(root=True)
    assert figure is not None, "new axes have a figure"
    only.remove()
    above: Axes
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 3))
    plot_memory(trace, model, ax=above, time=time, budget=budget, title=title)
    plot_schedule(trace, model, ax=below, time=time, title="")
    above.set_xlabel("")
    return above
