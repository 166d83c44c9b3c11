"""What the simulator measured of one schedule."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import assert_never

import numpy as np
import numpy.typing as npt

from ckschedule.costs.graph import Graph
from ckschedule.operations import Compute, Free
from ckschedule.schedule import Schedule


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The measurement of a legal schedule; two are equal if graph and schedule are.

    Attributes
    ----------
    graph, schedule
        What was simulated.
    live_during, live_after
        (n_operations,), bytes, static bytes included: the level while an operation
        runs, transient included, and once it has ended.
    peak
        Bytes: the highest level, static bytes included.
    peak_index
        The first operation that reaches it; -1 if it is the level before the first.
    makespan
        Ticks.
    computations
        How often each node ran, by name.
    """

    graph: Graph
    schedule: Schedule
    live_during: npt.NDArray[np.int64] = field(compare=False, repr=False)
    live_after: npt.NDArray[np.int64] = field(compare=False, repr=False)
    peak: int
    peak_index: int
    makespan: int
    computations: dict[str, int] = field(compare=False, repr=False)

    @property
    def overhead(self) -> int:
        """Ticks beyond computing everything once, `Graph.base_time`."""
        return self.makespan - self.graph.base_time

    @property
    def activation_peak(self) -> int:
        """The peak without the static bytes."""
        return self.peak - self.graph.static.total

    @cached_property
    def recomputations(self) -> dict[str, int]:
        """How often each node ran beyond its first time; only nodes that did."""
        return {name: n - 1 for name, n in self.computations.items() if n > 1}

    @property
    def executions(self) -> int:
        """Number of computations of all nodes together."""
        return sum(self.computations.values())

    @cached_property
    def live_at_peak(self) -> dict[str, int]:
        """Bytes by name of the values that live when the peak is reached.

        During a computation these are the values that live before it; what it adds
        stands under "transient of <node>". Static bytes are left out.
        """
        return self.live_at(self.peak_index)

    def live_at(self, index: int) -> dict[str, int]:
        """Return bytes by name of what lives while an operation runs.

        Parameters
        ----------
        index
            Index of the operation; -1 for the state before the first.

        Returns
        -------
        dict
            In order of production; see `live_at_peak`.

        Raises
        ------
        IndexError
            If there is no such operation.
        """
        operations = self.schedule.operations
        if not -1 <= index < len(operations):
            raise IndexError(f"operation {index} of {len(operations)}")
        sizes = {value.name: value.size for value in self.graph.values}
        modes = {
            (node.name, mode.name): mode
            for node in self.graph.nodes
            for mode in node.modes
        }
        live = {name: sizes[name] for name in self.graph.inputs}
        for operation in operations[: max(index, 0)]:
            match operation:
                case Compute(node, mode):
                    for name in modes[node, mode].outputs:
                        live.setdefault(name, sizes[name])
                    for name in modes[node, mode].consumes:
                        del live[name]
                case Free(value):
                    del live[value]
                case _:
                    assert_never(operation)
        if index >= 0:
            match operations[index]:
                case Compute(node, mode):
                    live[f"transient of {node}"] = modes[node, mode].transient or 0
                case Free():
                    pass
                case _:
                    assert_never(operations[index])
        return live
