"""Long work: a progress bar after two seconds, on terminals only."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ckschedule.costs.graph import Graph
from ckschedule.errors import UnsupportedModelError
from ckschedule.result import gap
from ckschedule.simulation import Model
from ckschedule.solvers.base import Progress, Report
from ckschedule.units import TimeUnit, format_time

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_log = logging.getLogger(__name__)

PATIENCE: Final = 2.0
"""Seconds after which a bar appears."""


@contextmanager
def searching(model: Model, label: str) -> Iterator[Progress | None]:
    """Give the callback of a search, and name the way out that commands have.

    Raises
    ------
    UnsupportedModelError
        If the solver cannot take the model.
    """
    _log.info("searching")
    start = time.monotonic()
    try:
        with progress_bar(label, model.time_unit) as progress:
            yield progress
    except UnsupportedModelError as error:
        if not isinstance(model, Graph):
            raise
        raise UnsupportedModelError(
            f"{error} (--solver auto and --solver cp-sat take any graph)"
        ) from error
    _log.info("searched for %.2f s", time.monotonic() - start)


@contextmanager
def progress_bar(label: str, unit: TimeUnit) -> Iterator[Progress | None]:
    """Give a callback that draws on stderr, None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    start = time.monotonic()
    bar: Bar | None = None

    def update(report: Report) -> None:
        nonlocal bar
        if bar is None:
            if time.monotonic() - start < PATIENCE:
                return
            bar = _bar()
            bar.start()
            bar.add_task(label)
        bar.update(
            bar.task_ids[0],
            completed=report.done,
            total=report.total or None,  # without a limit it has no end
            description=label + _news(report, unit),
        )

    try:
        yield update
    finally:
        if bar is not None:
            bar.stop()


def _news(report: Report, unit: TimeUnit) -> str:
    """Return the best schedule and bound so far, in words."""
    if report.makespan is None:
        return ""
    best = f": best {format_time(report.makespan, unit)}"
    if not report.lower_bound:
        return best
    above = gap(report.makespan, report.lower_bound)
    return best + (f", at most {above:.2%} above the optimum" if above else ", optimal")


def _bar() -> "Bar":
    # Importing it takes longer than most solves.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
