"""Schedules of chains as nested checkpoints, or why a schedule is none.

Every sweep of forwards after the first one recomputes stages a to t, where t is the
next to be reversed. If those stages last ran in one sweep, as part of which they may be
run again, the sweeps nest: ``checkpoint(a to t)`` within the checkpoint of the sweep
that ran them before. All persistent schedules are of this form: a cut at q runs stages
s to q - 1 plainly and, once all that comes after is reversed, once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from ckschedule.costs.chain import Chain
from ckschedule.costs.lowering import PLAIN, saved_name
from ckschedule.errors import UnsupportedModelError
from ckschedule.operations import Compute, Free, Operation
from ckschedule.schedule import Schedule

_BEFORE_ALL: Final = -1
"""Sweep of a stage that has not run yet; sweeps go by their first operation's index."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Stages that are run without saving, and run again for their backwards.

    Attributes
    ----------
    first, stop
        Positions in the chain's stages: ``range(first, stop)``, counted from zero.
    depth
        Number of checkpoints around these stages, this one included.
    """

    first: int
    stop: int
    depth: int


def checkpoints(chain: Chain, schedule: Schedule) -> tuple[Checkpoint, ...]:
    """Return the nested checkpoints that compute what a schedule computes.

    Parameters
    ----------
    chain
        The chain that the schedule is for.
    schedule
        A legal one: the simulator accepts it.

    Returns
    -------
    tuple of Checkpoint
        In order of the first stage, each followed by those inside it. A stage runs
        once more for each checkpoint around it; the loss is in none.

    Raises
    ------
    UnsupportedModelError
        If the schedule is not of this form, or records a variant other than the first;
        the message names the first operation at fault.

    Notes
    -----
    Linear in the operations, without recursion.
    """
    reader = _Reader(chain)
    for index, operation in enumerate(schedule):
        reader.read(index, operation)
    return _nested(reader.finish())


def _nested(spans: Sequence[tuple[int, int]]) -> tuple[Checkpoint, ...]:
    found: list[Checkpoint] = []
    around: list[int] = []
    for first, stop in sorted(spans, key=lambda span: (span[0], -span[1])):
        while around and around[-1] <= first:
            around.pop()
        around.append(stop)
        found.append(Checkpoint(first, stop, len(around)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Step:
    """What a computation does to a stage of the chain, counted from one."""

    stage: int
    forward: bool
    variant: int | None = None


class _Reader:
    """The sweeps of a schedule while its operations are being read."""

    __slots__ = (
        "_first",
        "_last",
        "_next",
        "_recorded",
        "_source",
        "_spans",
        "_start",
        "_steps",
        "_sweep",
        "_tapes",
    )

    def __init__(self, chain: Chain) -> None:
        n = len(chain.sequence)
        self._steps: dict[Operation, _Step] = {}
        self._tapes: dict[str, int] = {}
        for i, stage in enumerate(chain.sequence, start=1):
            self._steps[Compute(f"F{i}", PLAIN)] = _Step(i, forward=True)
            for v, variant in enumerate(stage.variants):
                forward = _Step(i, forward=True, variant=v)
                self._steps[Compute(f"F{i}", variant.name)] = forward
                backward = _Step(i, forward=False, variant=v)
                self._steps[Compute(f"B{i}", variant.name)] = backward
                self._tapes[saved_name(i, stage, v)] = i
        self._next = n  # stage whose backward comes next
        self._recorded = bytearray(n + 1)
        self._sweep = [_BEFORE_ALL] * (n + 1)  # the sweep that last ran each stage
        self._start: int | None = None  # index of the open sweep's first operation
        self._source = _BEFORE_ALL  # the sweep that ran its stages before
        self._first = self._last = 0  # stages that it has run
        self._spans: list[tuple[int, int]] = []

    def read(self, index: int, operation: Operation) -> None:
        """Take in the next operation, or refuse it."""
        if isinstance(operation, Free):
            if operation.value in self._tapes:
                i = self._tapes[operation.value]
                _refuse(
                    index, operation, f"drops saved tensors before B{i} has used them"
                )
            return
        step = self._steps[operation]
        if not step.forward:
            self._reverse(index, operation, step.stage)
            return
        if step.variant:
            _refuse(
                index,
                operation,
                "records a variant other than the stage's first one; a checkpoint of "
                "whole stages saves all of them: solve the chain with one variant",
            )
        self._run(index, operation, step)

    def finish(self) -> list[tuple[int, int]]:
        """Return the recomputed ranges of positions, in the order of their sweeps."""
        if self._start is not None:
            raise UnsupportedModelError(
                f"operation {self._start}: begins a sweep of forwards that no backward "
                f"follows; nested checkpoints recompute for a backward only"
            )
        return self._spans

    def _run(self, index: int, operation: Operation, step: _Step) -> None:
        i = step.stage
        if self._start is None:
            self._open(index, operation, i)
        elif i != self._last + 1:
            _refuse(
                index,
                operation,
                f"comes after F{self._last} with no backward between them; in nested "
                f"checkpoints only F{self._last + 1} can",
            )
        if i > self._next:
            _refuse(index, operation, f"runs a stage again whose B{i} has run")
        if self._recorded[i]:
            _refuse(index, operation, "runs a stage again whose saved tensors are live")
        if self._sweep[i] != self._source:
            _refuse(
                index,
                operation,
                f"belongs to a sweep from operation {self._start} whose stages last "
                f"ran in two: from operation {self._source} and from operation "
                f"{self._sweep[i]}; nested checkpoints recompute a part of one",
            )
        assert self._start is not None, "opened above"
        self._sweep[i] = self._start
        self._recorded[i] = step.variant is not None
        self._last = i

    def _open(self, index: int, operation: Operation, i: int) -> None:
        if self._recorded[self._next]:
            _refuse(
                index,
                operation,
                f"recomputes while B{self._next} can run; nested checkpoints recompute "
                f"when a backward needs it",
            )
        self._start, self._first = index, i
        self._source = self._sweep[i]

    def _reverse(self, index: int, operation: Operation, i: int) -> None:
        if self._start is not None:
            if self._last != i:
                _refuse(
                    index,
                    operation,
                    f"comes after a sweep that ended with F{self._last}; in nested "
                    f"checkpoints it ends with the stage that is reversed next",
                )
            if self._source != _BEFORE_ALL:
                self._spans.append((self._first - 1, i))
            self._start = None
        self._recorded[i] = 0
        self._next = i - 1


def _refuse(index: int, operation: Operation, reason: str) -> NoReturn:
    raise UnsupportedModelError(f"operation {index}: {operation} {reason}")
