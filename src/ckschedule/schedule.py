"""Schedules: finite sequences of operations, independent of whether they are legal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckschedule.costs.encoding import Encoding
from ckschedule.errors import InvalidScheduleError
from ckschedule.operations import Compute, Free, Operation


@dataclass(frozen=True, slots=True)
class Schedule:
    """Operations in the order in which they run.

    Attributes
    ----------
    operations
        Any finite sequence; kept as a tuple.

    Examples
    --------
    >>> len(Schedule([Compute("F1", "plain"), Free("x1")]))
    2
    """

    operations: Sequence[Operation]

    def __post_init__(self) -> None:
        object.__setattr__(self, "operations", tuple(self.operations))

    def __len__(self) -> int:
        return len(self.operations)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)


def to_codes(schedule: Schedule, encoding: Encoding) -> npt.NDArray[np.int64]:
    """Return a schedule as one integer an operation.

    A computation is its mode's index; freeing value v is ``-1 - v``.

    Raises
    ------
    InvalidScheduleError
        If an operation names a node, mode or value that the graph does not have.
    """
    modes, values = encoding.mode_index, encoding.graph.value_index
    # A long schedule repeats few operations: each distinct one is looked up once.
    known: dict[Operation, int] = {}
    codes = np.empty(len(schedule), np.int64)
    for i, operation in enumerate(schedule.operations):
        try:
            code = known.get(operation)
        except TypeError:
            raise InvalidScheduleError(
                f"operation {i}: {operation!r} holds something else than names", index=i
            ) from None
        if code is None:
            match operation:
                case Compute(node, mode):
                    code = modes.get((node, mode))
                case Free(value):
                    position = values.get(value)
                    code = None if position is None else -1 - position
                case _:
                    raise InvalidScheduleError(
                        f"operation {i} is {operation!r}, a "
                        f"{type(operation).__name__}; give a Compute or a Free",
                        index=i,
                    )
            if code is None:
                raise InvalidScheduleError(
                    f"operation {i}: {operation} names something that the graph "
                    f"{encoding.graph.name!r} does not have",
                    index=i,
                )
            known[operation] = code
        codes[i] = code
    return codes


def from_codes(codes: npt.NDArray[np.int64], encoding: Encoding) -> Schedule:
    """Return the schedule that `to_codes` gave these codes for."""
    distinct: dict[int, Operation] = {
        code: (
            Compute(*encoding.modes[code])
            if code >= 0
            else Free(encoding.graph.values[-1 - code].name)
        )
        for code in np.unique(codes).tolist()
    }
    return Schedule([distinct[code] for code in codes.tolist()])
