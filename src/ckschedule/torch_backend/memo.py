"""What a stage's first computation left behind so that it can be repeated exactly."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import nn

from ckschedule.errors import UnfaithfulStageError
from ckschedule.torch_backend.ambient import (
    Settings,
    Streams,
    read_settings,
    read_streams,
    replayed_streams,
)
from ckschedule.torch_backend.stage import Slot, TorchStage, Traits
from ckschedule.torch_backend.tape import Call, Output

_TOLERANCE = 1e-2
"""Relative: how far a recomputed output's magnitude may lie from the first on a device
whose kernels need not repeat their bits."""

Fingerprint: TypeAlias = tuple[int | float, ...]
"""Of a stage's outputs: bits on the CPU, magnitudes elsewhere."""


@dataclass(slots=True)
class Memo:
    """One stage of one run.

    Attributes
    ----------
    call, settings
        Arguments and settings of torch.
    before, after
        Random streams around the computation; ``after`` is None until they were read.
    device
        Accelerator whose stream counts.
    training
        Training flags of the stage's modules.
    targets
        Leaf tensors that the stage differentiates by, in order.
    state
        Of its parameters and unchanged buffers: which they are, and their versions.
    buffers
        Buffers that it changes, as they were.
    traits
        What it showed, here or when it was profiled; None until then.
    form
        Shape and dtype of each output.
    fingerprint
        Of the outputs; None unless this computation was the first to be seen.
    plain
        Whether the fingerprint is of a plain computation.
    """

    call: Call
    settings: Settings
    before: Streams
    device: torch.device | None
    training: tuple[bool, ...]
    targets: tuple[torch.Tensor, ...]
    state: tuple[Any, ...]
    buffers: tuple[tuple[Slot, torch.Tensor], ...]
    traits: Traits | None
    after: Streams | None = None
    form: tuple[tuple[torch.Size, torch.dtype], ...] = ()
    fingerprint: Fingerprint | None = None
    plain: bool = False

    def adopt(self, stage: TorchStage, traits: Traits) -> None:
        """Take over what the first computation showed."""
        key = stage.key(self.training, self.call, len(self.targets))
        stage.known[key] = traits
        self.traits = traits
        self.targets = (*self.targets, *stage.used(traits))
        changing = stage.slots(traits.buffers)
        self.buffers = tuple(kept for kept in self.buffers if kept[0] in changing)


@contextmanager
def repeated(stage: TorchStage, memo: Memo) -> Iterator[None]:
    """Set everything around a stage as it was, and back again."""
    with ExitStack() as stack:
        stack.enter_context(memo.settings.entered())
        stack.enter_context(replayed_streams(memo.before, memo.after, memo.device))
        if stage.training_flags() != memo.training:
            stack.enter_context(_trained_as(stage, memo.training))
        if memo.buffers:
            stack.enter_context(buffers_as(memo.buffers))
        yield


@contextmanager
def undisturbed(memo: Memo) -> Iterator[None]:
    """Have random streams and buffers as they were, within and afterwards."""
    with replayed_streams(memo.before, None, memo.device), buffers_as(memo.buffers):
        yield


@contextmanager
def untouched(modules: Sequence[nn.Module]) -> Iterator[None]:
    """Have random streams and the modules' buffers unchanged by what runs inside."""
    device = next(
        (
            p.device
            for m in modules
            for p in m.parameters(recurse=False)
            if p.device.type not in ("cpu", "meta")
        ),
        None,
    )
    before = [(module, dict(module._buffers)) for module in modules]
    kept = [
        ((module, name), buffer)
        for module, buffers in before
        for name, buffer in buffers.items()
        if buffer is not None
    ]
    try:
        streams = replayed_streams(read_streams(device, None), None, device)
        with streams, buffers_as(kept):
            yield
    finally:
        # Also those that were registered, or set for the first time, inside.
        for module, buffers in before:
            module._buffers.clear()
            module._buffers.update(buffers)


def is_as_it_was(stage: TorchStage, memo: Memo) -> bool:
    """Whether nothing has to be set to compute a stage again.

    Most stages draw no random numbers and change no buffers; setting nothing is fast.
    """
    return (
        memo.before is memo.after
        and not memo.buffers
        and read_settings(memo.settings.kinds, memo.settings) is memo.settings
        and stage.training_flags() == memo.training
    )


def check_repeated(stage: TorchStage, memo: Memo, output: Output) -> None:
    """Refuse a recomputation that is seen to differ from the first computation.

    Raises
    ------
    UnfaithfulStageError
        If an output has another shape or dtype, or another fingerprint where one was
        taken.
    """
    form = form_of(output.tensors)
    if form != memo.form:
        for index, (first, again) in enumerate(zip(memo.form, form, strict=False)):
            if first != again:
                raise UnfaithfulStageError(
                    f"stage {stage.name!r}: output {index} was {_words(first)} at "
                    f"first and {_words(again)} when computed again"
                )
        raise UnfaithfulStageError(
            f"stage {stage.name!r} returned {len(memo.form)} tensors at first and "
            f"{len(form)} when computed again"
        )
    if memo.fingerprint is None:
        return
    mark = fingerprint(output.tensors)
    if not alike(memo.fingerprint, mark):
        # Where the first computation was plain, the next one will be recorded.
        stage.grad_sensitive = stage.grad_sensitive or memo.plain
    check_alike(stage, memo, mark)


def check_alike(
    stage: TorchStage, memo: Memo, mark: Fingerprint, besides: str = ""
) -> None:
    """Refuse a fingerprint that is not that of the first computation, if it has one.

    Parameters
    ----------
    stage, memo
        What was computed.
    mark
        Of another computation.
    besides
        What else may be the cause, for the message.

    Raises
    ------
    UnfaithfulStageError
        If they differ.
    """
    if memo.fingerprint is not None and not alike(memo.fingerprint, mark):
        raise UnfaithfulStageError(
            f"stage {stage.name!r} gave other numbers when it was computed again: it "
            f"reads or changes something that is not among its arguments (a list, a "
            f"counter, a generator of its own){besides}"
        )


def form_of(
    tensors: Sequence[torch.Tensor],
) -> tuple[tuple[torch.Size, torch.dtype], ...]:
    """Return shape and dtype of each tensor."""
    return tuple([(tensor.shape, tensor.dtype) for tensor in tensors])


def fingerprint(tensors: Sequence[torch.Tensor]) -> Fingerprint:
    """Return numbers that tell whether tensors are equal; O(bytes)."""
    marks: list[int | float] = []
    for tensor in tensors:
        if tensor.is_meta or type(tensor) is not torch.Tensor:
            continue
        if tensor.device.type == "cpu":
            dense = tensor.detach().resolve_conj().resolve_neg().contiguous()
            marks.append(zlib.crc32(dense.flatten().view(torch.uint8).numpy().data))
        elif tensor.is_floating_point():
            marks.append(float(tensor.detach().abs().sum(dtype=torch.float64)))
    return tuple(marks)


def alike(first: Fingerprint, again: Fingerprint) -> bool:
    """Whether two fingerprints may be of equal tensors."""
    return len(first) == len(again) and all(
        a == b
        if isinstance(a, int)
        else abs(a - b) <= _TOLERANCE * max(abs(a), abs(b)) or a != a
        for a, b in zip(first, again, strict=True)
    )


def _words(form: tuple[torch.Size, torch.dtype]) -> str:
    shape, dtype = form
    return f"{tuple(shape)} of {str(dtype).removeprefix('torch.')}"


def check_unchanged(stage: TorchStage, memo: Memo) -> None:
    """Refuse to compute a stage again with other parameters, buffers or arguments.

    Raises
    ------
    UnfaithfulStageError
        If one was changed or exchanged since the stage was first computed.
    """
    assert memo.traits is not None, "known after the first computation"
    if stage.state(memo.traits) != memo.state:
        raise UnfaithfulStageError(
            f"stage {stage.name!r}: {_first_changed(stage, memo)} was changed or "
            f"exchanged between forward and backward: step the optimizer after the "
            f"backward, or leave a stage alone that writes on it by itself"
        )
    for tensor, version in zip(memo.call.pinned, memo.call.versions, strict=True):
        if tensor._version != version:
            raise UnfaithfulStageError(
                f"stage {stage.name!r}: an argument of shape {tuple(tensor.shape)} was "
                f"changed in place since the stage was first computed"
            )


def _first_changed(stage: TorchStage, memo: Memo) -> str:
    assert memo.traits is not None, "known after the first computation"
    now, names = stage.state(memo.traits), stage.state_names(memo.traits)
    pairs = zip(names, now, memo.state, strict=True)
    return next(name for name, mine, theirs in pairs if mine != theirs)


@contextmanager
def _trained_as(stage: TorchStage, flags: Sequence[bool]) -> Iterator[None]:
    now = stage.training_flags()
    for module, flag in zip(stage.modules, flags, strict=True):
        module.training = flag
    try:
        yield
    finally:
        for module, flag in zip(stage.modules, now, strict=True):
            module.training = flag


def copied_buffers(slots: Sequence[Slot]) -> tuple[tuple[Slot, torch.Tensor], ...]:
    """Return copies of the buffers that stand in some slots, with those."""
    return tuple(
        ((module, name), buffer.clone())
        for module, name in slots
        if (buffer := module._buffers[name]) is not None
    )


@contextmanager
def buffers_as(kept: Sequence[tuple[Slot, torch.Tensor]]) -> Iterator[None]:
    """Lend copies of buffers: what runs inside may update those, and only those."""
    now = [module._buffers[name] for (module, name), _ in kept]
    for (module, name), value in kept:
        module._buffers[name] = value.clone()
    try:
        yield
    finally:
        for ((module, name), _), buffer in zip(kept, now, strict=True):
            module._buffers[name] = buffer
