"""The bytes of one stage, measured on the executor's own functions.

Every figure is a rise of live storages over the level before (`LiveStorages`). A flag
(`needs_input`, `needs_output`) is found by letting go of the tensor: what autograd does
not keep dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from ckschedule.costs.chain import Variant
from ckschedule.torch_backend import tape as tapes
from ckschedule.torch_backend.memo import Fingerprint, fingerprint
from ckschedule.torch_backend.profiling.rehearsal import (
    Layout,
    Rehearsal,
    Subject,
    record_subject,
)
from ckschedule.torch_backend.storages import LiveStorages


@dataclass(frozen=True, slots=True)
class StageBytes:
    """Bytes of a stage recorded in one variant.

    Attributes
    ----------
    output, gradient, parameter_gradient
        As in `costs.Stage`.
    input_gradient
        Bytes of the gradient that it yields for its input.
    yields
        Layout of that gradient, for each of the input's tensors.
    takes
        Layouts of the output's gradients that it was measured with.
    fingerprint
        Of the outputs.
    variant
        The rest, without times.
    """

    output: int
    gradient: int
    parameter_gradient: int
    input_gradient: int
    yields: tuple[Layout, ...]
    takes: tuple[Layout, ...]
    fingerprint: Fingerprint = field(compare=False)
    variant: Variant


def measure_plain(subject: Subject) -> tuple[int, int, Fingerprint]:
    """Return output bytes, transient and fingerprint of a plain computation."""
    counter, cut = subject.counter, subject.copies()
    before = counter.live
    counter.reset()
    with subject.around():
        output = tapes.plain(subject.stage, subject.call, cut)
    transient = counter.peak - before
    return counter.bytes_of(output.tensors), transient, fingerprint(output.tensors)


def measure_flags(subject: Subject, variant: str) -> tuple[bool, bool]:
    """Return whether a recorded stage keeps its input alive, and its output."""
    counter, cut = subject.counter, subject.copies()
    with subject.around():
        output, tape = record_subject(subject, cut, variant)
    size, before = counter.bytes_of(output.tensors), counter.live
    del output
    needs_output = before - counter.live < size
    size, before = counter.bytes_of(cut), counter.live
    cut.clear()
    needs_input = before - counter.live < size
    del tape
    return needs_input, needs_output


def measure_recording(
    subject: Subject, variant: str, layouts: Sequence[Layout] | None
) -> StageBytes:
    """Return the bytes of a stage recorded in one variant; see `Rehearsal`."""
    counter = subject.counter
    needs_input, needs_output = measure_flags(subject, variant)
    rehearsal = Rehearsal(subject, variant, layouts)
    before = counter.live
    counter.reset()
    output = rehearsal.record()
    transient = counter.peak - before
    size = counter.bytes_of(output.tensors)
    saved = counter.live - before - size
    mark = fingerprint(output.tensors)
    levels = _Levels(counter)
    gradient = rehearsal.join(output, levels.start)
    # A schedule cannot free an output while saved tensors hold it.
    if needs_output:
        rehearsal.hold(output)
    del output
    rehearsal.differentiate()
    own = [
        target.grad
        for target in subject.targets
        if target.grad is not None and _allocates(subject, target)
    ]
    result = StageBytes(
        output=size,
        gradient=gradient,
        parameter_gradient=counter.bytes_of(own),
        input_gradient=counter.bytes_of([g for g in rehearsal.box if g is not None]),
        yields=rehearsal.yields(),
        takes=rehearsal.takes,
        fingerprint=mark,
        variant=Variant(
            name=variant,
            saved=saved,
            backward=0,
            needs_input=needs_input,
            needs_output=needs_output,
            forward_transient=transient,
            backward_transient=levels.rise(),
        ),
    )
    rehearsal.clear()
    return result


def _allocates(subject: Subject, target: torch.Tensor) -> bool:
    """Whether the stage is the first in a backward to make a gradient that stays.

    Of parameters in several stages the engine sums gradients beside those that are
    there, until the last of the stages has added to them.
    """
    if any(target is other for other in subject.shared):
        return False
    return not subject.accumulate or any(target is o for o in subject.summed)


class _Levels:
    """The level when a backward begins, and the rise above it."""

    def __init__(self, counter: LiveStorages) -> None:
        self._counter = counter
        self._before: int | None = None

    def start(self) -> None:
        self._counter.reset()
        self._before = self._counter.live

    def rise(self) -> int:
        return 0 if self._before is None else self._counter.peak - self._before
