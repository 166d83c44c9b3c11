"""Writing operations for a chain: sweeps and backwards that free as early as they may.

A construction decides what to keep and what to run; when an output can be freed
follows from that and from what the live saved tensors hold, and is decided here only.
"""

from ckschedule.costs.chain import Chain
from ckschedule.costs.lowering import PLAIN
from ckschedule.operations import Compute, Free, Operation
from ckschedule.schedule import Schedule


class Emission:
    """The operations of one schedule while they are being written.

    Stages are recorded in their first variant. An output that is neither kept nor held
    by live saved tensors is freed once the stage after it has run; the output that a
    sweep ends with lives until then. Every step is O(1) per operation, without
    recursion.

    Parameters
    ----------
    chain
        The chain that the operations are for.
    """

    __slots__ = (
        "_backward",
        "_free",
        "_holds_input",
        "_holds_output",
        "_kept",
        "_live",
        "_operations",
        "_plain",
        "_record",
        "_taped",
    )

    def __init__(self, chain: Chain) -> None:
        stages = chain.sequence
        n = len(stages)
        # Objects are made once per stage: a long schedule repeats few operations.
        # Index 0 belongs to the input, which no operation computes or frees.
        first = [stage.variants[0].name if stage.variants else "" for stage in stages]
        self._plain = [Compute(f"F{i}", PLAIN) for i in range(n + 1)]
        self._record = [Compute(f"F{i}", v) for i, v in enumerate(["", *first])]
        self._backward = [Compute(f"B{i}", v) for i, v in enumerate(["", *first])]
        self._free = [Free(f"x{i}") for i in range(n + 1)]
        # One entry more than stages, so that "the stage after" always exists.
        self._holds_input = [False] * (n + 2)
        self._holds_output = [False] * (n + 2)
        for i, stage in enumerate(stages, start=1):
            if stage.variants:
                self._holds_input[i] = stage.variants[0].needs_input
                self._holds_output[i] = stage.variants[0].needs_output
        self._live = bytearray(n + 2)
        self._kept = bytearray(n + 2)
        self._taped = bytearray(n + 2)
        self._operations: list[Operation] = []

    def keep(self, i: int) -> None:
        """Make output i a checkpoint: it is not freed before `forget`."""
        self._kept[i] = 1

    def forget(self, i: int) -> None:
        """Let output i be freed after its next use."""
        self._kept[i] = 0

    def plain(self, first: int, last: int) -> None:
        """Run stages ``first..last`` without saving; nothing if the range is empty."""
        for i in range(first, last + 1):
            self._operations.append(self._plain[i])
            self._live[i] = 1
            self._release(i - 1)

    def record(self, first: int, last: int) -> None:
        """Run stages ``first..last`` and save what their backwards need."""
        for i in range(first, last + 1):
            self._operations.append(self._record[i])
            self._live[i] = self._taped[i] = 1
            self._release(i - 1)

    def backward(self, last: int, first: int) -> None:
        """Run the backwards of stages ``last`` down to ``first``."""
        for i in range(last, first - 1, -1):
            # No forward follows, so an output that nothing holds can go before.
            self._release(i)
            self._operations.append(self._backward[i])
            self._taped[i] = 0
            self._release(i)
            self._release(i - 1)

    def schedule(self) -> Schedule:
        """Return all that has been written."""
        return Schedule(self._operations)

    def _release(self, i: int) -> None:
        if (
            self._live[i]
            and not self._kept[i]
            and not (self._taped[i] and self._holds_output[i])
            and not (self._taped[i + 1] and self._holds_input[i + 1])
        ):
            self._live[i] = 0
            self._operations.append(self._free[i])
