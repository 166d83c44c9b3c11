"""Time of a stage: by a stopwatch, or by the roofline of a device it is not run on."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch

from ckschedule.costs.device import Device
from ckschedule.torch_backend.profiling.operators import OperatorCosts


class AbstractClock(ABC):
    """Tells how long something takes."""

    @property
    @abstractmethod
    def repeats(self) -> int:
        """Samples that a median needs."""

    @property
    @abstractmethod
    def warm_up(self) -> int:
        """Runs before the first sample."""

    @property
    @abstractmethod
    def enough(self) -> int:
        """Samples of a group of equal stages after which no more are taken."""

    @abstractmethod
    def started(self) -> AbstractContextManager[Callable[[], int]]:
        """Return a context in which its value tells the nanoseconds since a moment."""

    def time(self, work: Callable[[], Any]) -> int:
        """Return the nanoseconds that ``work`` takes."""
        with self.started() as now:
            start = now()
            kept = work()
            elapsed = now() - start
        del kept  # what it returned is dropped after the clock has stopped
        return elapsed


class Stopwatch(AbstractClock):
    """Wall time, with the accelerator waited for."""

    @property
    def repeats(self) -> int:
        """Samples that a median needs."""
        return 5

    @property
    def warm_up(self) -> int:
        """Runs before the first sample."""
        return 1

    @property
    def enough(self) -> int:
        """Samples of a group of equal stages after which no more are taken."""
        return 10

    @contextmanager
    def started(self) -> Iterator[Callable[[], int]]:
        """Start the stopwatch."""
        yield _wall


class Roofline(AbstractClock):
    """Time on a device by its peak rates; the same on every machine.

    Parameters
    ----------
    device
        Its peak rates.
    """

    def __init__(self, device: Device) -> None:
        self._costs = OperatorCosts(device)

    @property
    def repeats(self) -> int:
        """Samples that a median needs."""
        return 1

    @property
    def warm_up(self) -> int:
        """Runs before the first sample."""
        return 0

    @property
    def enough(self) -> int:
        """Samples of a group of equal stages after which no more are taken."""
        return 1

    @contextmanager
    def started(self) -> Iterator[Callable[[], int]]:
        """Start to count operators."""
        with self._costs:
            yield lambda: self._costs.time


def _wall() -> int:
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return time.perf_counter_ns()
