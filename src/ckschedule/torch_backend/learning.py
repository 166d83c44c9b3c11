"""Looking at a stage's first computation: what has to be known to repeat it."""

import itertools
import weakref
from collections.abc import Sequence
from typing import Any

import torch

from ckschedule.errors import UnfaithfulStageError
from ckschedule.torch_backend.layout import copies, is_view_of
from ckschedule.torch_backend.leaves import find_leaves, sequence_number
from ckschedule.torch_backend.memo import Memo, fingerprint, undisturbed
from ckschedule.torch_backend.program import Step
from ckschedule.torch_backend.stage import Slot, TorchStage, Traits
from ckschedule.torch_backend.tape import Output, Tape, record


def learn(
    stage: TorchStage, memo: Memo, given: Sequence[torch.Tensor], step: Step
) -> tuple[Traits, Output, Tape | None]:
    """Compute a stage for the first time and return what that showed.

    Parameters
    ----------
    stage, memo
        What to compute, and what surrounds it; ``memo.buffers`` are copies of all the
        stage's buffers, made before.
    given
        The tensors of its input. If the stage changes them in place, they are put back,
        though their versions are not.
    step
        How the schedule computes it. A plain step is recorded all the same, to see
        which outputs need a gradient, and its saved tensors are dropped.

    Raises
    ------
    UnfaithfulStageError
        If it uses what another stage computed without taking it as an argument.
    """
    call, targets = memo.call, memo.targets
    start = sequence_number()
    variant = "all" if step.plain else step.mode
    # On the tensors themselves: kernels choose by alignment, too, and a copy may get
    # other bits. A stage that writes on them is computed once more, on copies.
    spare = copies(given)
    versions = [tensor._version for tensor in given]
    output, tape = record(stage, call, given, targets, variant)
    mutates = [tensor._version for tensor in given] != versions
    if mutates:
        _refuse_overlap(stage, given)
        for tensor, original in zip(given, spare, strict=True):
            tensor.data.copy_(original)
        with undisturbed(memo):
            output, tape = record(stage, call, spare, targets, variant)
    del spare
    differentiable = tuple([edge is not None for edge in tape.outputs])
    known = {id(target) for target in tape.parameters}
    captured, repeated, recurrent = find_leaves(stage, tape, known, start)
    stage.grad_sensitive = stage.grad_sensitive or recurrent
    tape.parameters = [*tape.parameters, *captured]
    positions = [i for i, t in enumerate(tape.parameters) if id(t) in repeated]
    used: list[Slot] = []
    if stage.is_start:
        used, captured = _owned_by(stage, captured)
    _refuse_hooks(stage, captured)
    memo.fingerprint = fingerprint(output.tensors)
    kept: Tape | None = tape
    if step.plain or True not in differentiable:
        entry = _entry(tape)
        kept = None
        del tape
        if entry is not None and entry() is not None:
            raise UnfaithfulStageError(
                f"stage {stage.name!r} leaves a tensor behind that its input's "
                f"gradient depends on (in an attribute, a list, a hook); that gradient "
                f"would be lost: return the tensor from the stage"
            )
    traits = Traits(
        differentiable=differentiable,
        mutates=mutates,
        buffers=tuple(
            stage.place((module, name))
            for (module, name), value in memo.buffers
            if _changed(module._buffers[name], value)
        ),
        used=tuple(stage.place(slot) for slot in used),
        captured=captured,
        repeated=tuple(positions),
    )
    return traits, output, kept


def _owned_by(
    stage: TorchStage, leaves: Sequence[torch.Tensor]
) -> tuple[list[Slot], tuple[torch.Tensor, ...]]:
    """Tell parameters of the stage's modules from other leaf tensors."""
    slots = {id(m._parameters[n]): (m, n) for m, n in stage.parameter_slots()}
    used = [slots[id(leaf)] for leaf in leaves if id(leaf) in slots]
    return used, tuple(leaf for leaf in leaves if id(leaf) not in slots)


def _entry(tape: Tape) -> weakref.ref[Any] | None:
    """Return the node by which the input enters a graph, weakly.

    It lives as long as anything that was computed from the input.
    """
    if not tape.inputs or isinstance(tape.inputs[0], torch.Tensor):
        return None
    return weakref.ref(tape.inputs[0].node)


def _refuse_hooks(stage: TorchStage, captured: Sequence[torch.Tensor]) -> None:
    for leaf in captured:
        if leaf._backward_hooks:
            raise UnfaithfulStageError(
                f"stage {stage.name!r} uses a leaf tensor of shape "
                f"{tuple(leaf.shape)} that has hooks and belongs to no module of the "
                f"stage; register it there as a parameter"
            )


def _refuse_overlap(stage: TorchStage, given: Sequence[torch.Tensor]) -> None:
    pairs = itertools.combinations(given, 2)
    if any(is_view_of(one, other) for one, other in pairs):
        raise UnfaithfulStageError(
            f"stage {stage.name!r} changes its input in place, and tensors of that "
            f"input share memory; change it out of place, or return copies before"
        )


def _changed(buffer: torch.Tensor | None, before: torch.Tensor) -> bool:
    if buffer is None or buffer.shape != before.shape or buffer.dtype != before.dtype:
        return True
    # Where values cannot be looked at, any write counts.
    return buffer.is_meta or not torch.equal(buffer, before)
