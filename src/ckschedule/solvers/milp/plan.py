"""Between schedules and what runs in each stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ckschedule.costs.encoding import Encoding, Ints
from ckschedule.schedule import from_codes
from ckschedule.simulation import measure
from ckschedule.solvers.completion import complete
from ckschedule.solvers.milp.fixing import Flags

if TYPE_CHECKING:
    from ckschedule.schedule import Schedule
    from ckschedule.solvers.pebbling import Pebbling


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A staged schedule and what it comes to.

    Attributes
    ----------
    again
        (n, n), by stage and node: what runs, first computations included.
    codes
        The schedule, encoded.
    peak, makespan
        Simulated bytes, static ones included, and ticks.
    """

    encoding: Encoding
    again: Flags
    codes: Ints
    peak: int
    makespan: int

    @property
    def schedule(self) -> Schedule:
        """The schedule."""
        return from_codes(self.codes, self.encoding)


def plan(pebbling: Pebbling, again: Flags) -> Plan:
    """Return the schedule that runs this and frees everything early."""
    _, nodes = np.nonzero(again)
    codes = complete(pebbling.encoding, pebbling.mode[nodes])
    peak, makespan, _ = measure(pebbling.encoding, codes)
    return Plan(
        encoding=pebbling.encoding,
        again=again,
        codes=codes,
        peak=peak,
        makespan=makespan,
    )


def staged(pebbling: Pebbling, codes: Ints) -> Flags | None:
    """Return what a schedule runs in each stage; None if it is not a staged one."""
    n = len(pebbling)
    number = {int(mode): i for i, mode in enumerate(pebbling.mode.tolist())}
    again = np.zeros((n, n), bool)
    stage, last = 0, -1
    for code in codes.tolist():
        if code < 0:
            continue
        node = number.get(code)
        if node is None or node > stage or node <= last:
            return None
        again[stage, node] = True
        last = node
        if node == stage:
            stage, last = stage + 1, -1
            if stage == n:
                break
    return again if stage == n else None
