"""`profile`: a torch model as a chain, in exact bytes and measured time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from ckschedule.costs.chain import Chain, Stage, Variant
from ckschedule.costs.device import Device, as_device
from ckschedule.errors import InvalidSettingError
from ckschedule.torch_backend.binding import Binding
from ckschedule.torch_backend.calling import Loss, NoLossWarning, arguments
from ckschedule.torch_backend.memo import untouched
from ckschedule.torch_backend.profiling.clock import AbstractClock, Roofline, Stopwatch
from ckschedule.torch_backend.profiling.discovery import find_stages
from ckschedule.torch_backend.profiling.ending import End, measure_end, time_end
from ckschedule.torch_backend.profiling.exchange import exchanged
from ckschedule.torch_backend.profiling.rehearsal import (
    Layout,
)
from ckschedule.torch_backend.profiling.survey import Measured, Survey
from ckschedule.torch_backend.profiling.timing import median
from ckschedule.torch_backend.profiling.uses import Uses
from ckschedule.torch_backend.remembered import remember_stages
from ckschedule.torch_backend.sharding import refuse_sharded
from ckschedule.torch_backend.statics import static_memory
from ckschedule.torch_backend.storages import LiveStorages
from ckschedule.torch_backend.variants import VARIANTS

_SWEEPS = 4
"""Runs of the model until gradients are known as the stages yield them."""


def profile(
    model: nn.Module,
    *inputs: Any,
    loss: Loss | None = None,
    stages: Sequence[str] | None = None,
    time: str | Device = "measured",
    variants: Sequence[str] = ("all",),
    optimizer: str | torch.optim.Optimizer | None = None,
    accumulate: bool = False,
) -> Chain:
    """Return a model's cost as a chain: bytes exact, times measured or estimated.

    Parameters
    ----------
    model
        Any module whose forward calls its stages one after the other. It is left as it
        was: parameters, gradients, buffers, hooks and random streams.
    *inputs
        What it is called with; a single mapping goes in as keywords if its forward has
        parameters of those names.
    loss
        From what the model returns to a scalar, with targets in its closure. None: the
        model returns the loss, bare or as ``.loss``; if it does not, the peak is that
        of a step which starts from gradients of the output, and a warning says so.
    stages
        Names or patterns of modules to cut at: ``["stem", "layers.*"]``. None looks for
        the entries of `nn.Sequential` and `nn.ModuleList`, then for the model's own
        children. What comes before the first is the stage "start", what comes after the
        last, with the loss, the stage "end".
    time
        "measured": medians of repeated runs, the same for all stages of the same
        structure and shapes. A `Device` or its name: the roofline of each operator
        there, for models on meta or fake tensors too.
    variants
        Ways to record a stage: "all", and "matmul", which keeps outputs of matrix
        products, convolutions and attention and computes the rest again in the stage's
        backward (`torch.utils.checkpoint`'s selective checkpointing).
    optimizer
        "sgd", "momentum", "adamw" or a torch optimiser: the bytes of its state.
    accumulate
        Whether gradients exist before the backward, as in all but the first of several
        steps that are accumulated.

    Returns
    -------
    Chain
        Times in nanoseconds. Outputs count by storage. Static bytes hold parameters,
        buffers and copies of those that stages change, gradients that exist, optimiser
        state.

    Raises
    ------
    UnsupportedModelError
        If the modules are no chain; the message names the one that is not.
    UnfaithfulStageError
        If a stage computed twice gives different numbers.
    InvalidSettingError
        If a variant or optimiser is unknown, or the loss is no scalar.

    Notes
    -----
    Every stage is computed where the model calls it, by the functions that the executor
    runs, under a counter of live storages: plainly, recorded, and differentiated on a
    gradient that lies as the next stage yields it. What the model's own code holds
    while a stage runs counts in that stage's transients. The model's output counts as
    held by the caller until the backward has ended, as training loops hold it. What
    kernels take inside themselves is not seen; on CUDA the allocator's rounding and
    workspaces come on top.

    Complexity: O(stages) computations; memory of one recorded stage beyond what the
    model's own code holds.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    >>> chain = profile(model, torch.ones(2, 4), loss=torch.sum)
    >>> [stage.name for stage in chain.sequence]
    ['0', '1', 'end']
    >>> chain.stages[0].output
    32
    """
    if not isinstance(model, nn.Module):
        raise InvalidSettingError(
            f"the model is {model!r}, a {type(model).__name__}; give a torch.nn.Module"
        )
    if loss is not None and not callable(loss):
        raise InvalidSettingError(
            f"loss is {loss!r}; give a function from the model's output to a scalar"
        )
    clock: AbstractClock = (
        Stopwatch() if time == "measured" else Roofline(as_device(time))
    )
    stages = [stages] if isinstance(stages, str) else stages
    variants = (variants,) if isinstance(variants, str) else variants
    _check_variants(variants)
    refuse_sharded(model, "profile")
    args, kwargs = arguments(model, inputs)
    if time == "measured" and any(p.is_meta for p in model.parameters()):
        raise InvalidSettingError(
            "time is 'measured', but the model lies on the meta device and computes "
            "nothing; give a device: time='a100'"
        )
    names = find_stages(model, args, kwargs, stages)
    counter = LiveStorages()
    counter.ignore([*model.parameters(), *model.buffers()])
    survey = Survey(
        counter=counter, variants=variants, accumulate=accumulate, clock=clock
    )
    binding = Binding(model, names, None, follow=survey.follow)
    uses = Uses(binding)
    survey.shared, survey.summed = uses.slots(survey.start_slots)
    survey.wanted = set(binding.stages)
    for _ in range(_SWEEPS):
        with _lent(binding) as aliases, counter:
            end = measure_end(survey, model, args, kwargs, loss)
        uses.see_end(end.leaves, aliases)
        survey.wanted = _unsettled(binding, survey, end, uses)
        if not survey.wanted:
            break
    end = _with_output_held(end, survey, binding)
    if accumulate:
        end = end.with_kept(uses.summed_by_end(survey.start_slots))
    timing = Binding(model, names, None, follow=survey.replay.follow)
    with _lent(timing):
        forward, backward = time_end(survey, model, args, kwargs, loss, clock)
    if not end.has_loss:
        warnings.warn(
            "no loss was given and the model returns none: the promised peak ends at "
            "the model's output, and what a loss computes comes on top",
            NoLossWarning,
            stacklevel=2,
        )
    static = static_memory(model, optimizer, accumulate=accumulate)
    changed = sum(measured.buffers for measured in survey.stages.values())
    remember_stages(model, binding.stages.values())
    return Chain(
        name=type(model).__name__,
        input=counter.bytes_of([*survey.roots, *survey.pinned]),
        stages=_stages(binding, survey, end),
        loss=_timed(end.stage, forward, backward),
        # What a recomputation reads of changed buffers is kept besides.
        static=replace(static, buffers=static.buffers + changed),
    )


def _check_variants(variants: Sequence[str]) -> None:
    for variant in variants:
        if variant not in VARIANTS:
            raise InvalidSettingError(
                f"variant {variant!r} is unknown; choose from {', '.join(VARIANTS)}"
            )
    if not variants or variants[0] != "all":
        raise InvalidSettingError(
            f"variants is {tuple(variants)!r}; it starts with 'all', which saves "
            f"everything"
        )


@contextmanager
def _lent(binding: Binding) -> Iterator[dict[int, torch.Tensor]]:
    """Have the binding on the model, whose own state stays out of what runs inside.

    Yields the aliases of parameters outside of the stages, by the parameters' identity.
    """
    outside = binding.outside
    slots = [(m, n) for m in outside for n in m._parameters]
    binding.install()
    try:
        with untouched(outside), exchanged(slots) as aliases, torch.enable_grad():
            yield aliases
    finally:
        binding.uninstall()


def _unsettled(binding: Binding, survey: Survey, end: End, uses: Uses) -> set[int]:
    """Return stages whose gradients come otherwise than assumed; note how they come."""
    shared, summed = uses.slots(survey.start_slots)
    wanted = {
        index
        for index in binding.stages
        if (shared[index], summed[index])
        != (survey.shared[index], survey.summed[index])
    }
    survey.shared, survey.summed = shared, summed
    yields: tuple[Layout, ...] = end.yields
    for index in sorted(binding.stages, reverse=True):
        recordings = survey.stages[index].recordings
        if not recordings:
            break
        first = next(iter(recordings.values()))
        if first.takes != yields:
            survey.layouts[index] = yields
            wanted.add(index)
        yields = first.yields
    return wanted


def _with_output_held(end: End, survey: Survey, binding: Binding) -> End:
    """Return an end whose held output does not count twice, where that can be said.

    The model's output may be the last stage's, held by the caller and by the schedule.
    Where no saved tensors need it, the schedule may let go of it at once and the end's
    saved tensors stand for what the caller holds, unless that raises the peak of the
    end's forward above that of its backward.
    """
    recordings = survey.stages[binding.last - 1].recordings
    first = next(iter(recordings.values()), None)
    if first is None or first.variant.needs_output:
        return end
    return end.with_output_saved()


def _stages(binding: Binding, survey: Survey, end: End) -> list[Stage]:
    made: list[Stage] = []
    gradient = end.gradient
    for index in sorted(binding.stages, reverse=True):
        measured = survey.stages[index]
        made.append(_stage(binding.names[index - 1], measured, gradient))
        if measured.recordings:
            gradient = next(iter(measured.recordings.values())).input_gradient
    if made[-1].variants:
        # The gradient of the model's input stays to the end, with the first stage's.
        made[-1] = replace(
            made[-1], parameter_gradient=made[-1].parameter_gradient + gradient
        )
    return made[::-1]


def _stage(name: str, measured: Measured, gradient: int) -> Stage:
    samples, held = measured.samples, measured.held
    variants = []
    for kind, recording in measured.recordings.items():
        forward, backward = samples.medians(kind)
        variant = recording.variant
        variants.append(
            replace(
                variant,
                forward=forward,
                backward=backward,
                forward_transient=(variant.forward_transient or 0) + held,
            )
        )
    first = next(iter(measured.recordings.values()), None)
    return Stage(
        name=name,
        output=measured.output,
        forward=median(samples.plain),
        gradient=gradient if variants else 0,
        parameter_gradient=0 if first is None else first.parameter_gradient,
        transient=measured.transient + held,
        variants=variants,
    )


def _timed(stage: Stage, forward: int, backward: int) -> Stage:
    (variant,) = stage.variants
    timed: Variant = replace(variant, forward=forward, backward=backward)
    return replace(stage, forward=forward, variants=(timed,))
