"""Times of stages; those of equal structure and shapes share one median.

Noise between equal stages would be worse than noise in their common time: it would make
a solver tell them apart, and a front of a few points one of thousands.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ckschedule.torch_backend import tape as tapes
from ckschedule.torch_backend.profiling.clock import AbstractClock
from ckschedule.torch_backend.profiling.rehearsal import (
    Layout,
    Rehearsal,
    Subject,
)


@dataclass(eq=False, slots=True)
class Samples:
    """Nanoseconds of a group of equal stages.

    Attributes
    ----------
    plain
        Of forwards that save nothing.
    forward, backward
        By variant.
    """

    plain: list[int] = field(default_factory=list)
    forward: dict[str, list[int]] = field(default_factory=dict)
    backward: dict[str, list[int]] = field(default_factory=dict)

    def medians(self, variant: str) -> tuple[int, int]:
        """Return the median forward and backward of a variant."""
        return median(self.forward[variant]), median(self.backward[variant])


def median(samples: Sequence[int]) -> int:
    """Return the lower median: a sample that occurred."""
    return statistics.median_low(samples)


def time_stage(
    subject: Subject,
    clock: AbstractClock,
    variants: Sequence[str],
    layouts: Sequence[Layout] | None,
    samples: Samples,
) -> None:
    """Add to a group's samples the times of one stage."""
    if len(samples.plain) >= clock.enough:
        return
    for repeat in range(-clock.warm_up, clock.repeats):
        cut = subject.copies()
        with subject.around():
            elapsed = clock.time(lambda: tapes.plain(subject.stage, subject.call, cut))  # noqa: B023
        # One at a time: samples of different kinds meet the same state of the machine.
        if repeat >= 0:
            samples.plain.append(elapsed)
        for variant in variants:
            forward, backward = _time_recording(subject, clock, variant, layouts)
            if repeat >= 0:
                samples.forward.setdefault(variant, []).append(forward)
                samples.backward.setdefault(variant, []).append(backward)


def _time_recording(
    subject: Subject,
    clock: AbstractClock,
    variant: str,
    layouts: Sequence[Layout] | None,
) -> tuple[int, int]:
    rehearsal = Rehearsal(subject, variant, layouts)
    made = []
    forward = clock.time(lambda: made.append(rehearsal.record()))
    rehearsal.join(made.pop())
    backward = clock.time(rehearsal.differentiate)
    rehearsal.clear()
    return forward, backward


def signature(subject: Subject) -> Any:
    """Return what stages have in common that take the same time."""
    stage, call = subject.stage, subject.call
    return (
        tuple((type(module), module.training) for module in stage.modules),
        tuple(module.extra_repr() for module in stage.modules),
        tuple(
            (_form(parameter), parameter.requires_grad)
            for module, name in stage.parameter_slots()
            if (parameter := module._parameters[name]) is not None
        ),
        tuple(_form(tensor) for tensor in (*subject.copies(), *call.pinned)),
        call.sources,
        call.needs_grad,
        len(subject.shared),
        # Functions: two steps of a sequence of callables are alike if they are one.
        None if stage.modules else stage.compute,
    )


def _form(tensor: torch.Tensor) -> Any:
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.device
