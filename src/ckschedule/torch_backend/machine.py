"""The tensors of one run and the operations that make and free them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from ckschedule.errors import PlanMismatchError, UnfaithfulStageError
from ckschedule.torch_backend import tape as tapes
from ckschedule.torch_backend.ambient import (
    Settings,
    Streams,
    read_settings,
    read_streams,
)
from ckschedule.torch_backend.layout import copies
from ckschedule.torch_backend.learning import learn
from ckschedule.torch_backend.leaves import find_leaves, sequence_number
from ckschedule.torch_backend.memo import (
    Memo,
    alike,
    check_repeated,
    check_unchanged,
    copied_buffers,
    fingerprint,
    form_of,
    is_as_it_was,
    repeated,
)
from ckschedule.torch_backend.program import FORWARD, FREE, Leg, Step
from ckschedule.torch_backend.sharding import reshard
from ckschedule.torch_backend.stage import TorchStage
from ckschedule.torch_backend.tape import Call, Output, Tape

if TYPE_CHECKING:
    from ckschedule.torch_backend.binding import Binding


class Machine:
    """Performs a program's steps on the tensors of one forward and its backward.

    Parameters
    ----------
    binding
        Stages and program.
    device
        Accelerator whose random stream counts; None for none.

    Attributes
    ----------
    cuts
        ``x_i`` that are live, by i, as tensors without a graph.
    lowest
        The first stage that has a backward in this run; 0 before it was reached.
    """

    def __init__(self, binding: Binding, device: torch.device | None) -> None:
        self.binding = binding
        self.cuts: dict[int, list[torch.Tensor]] = {}
        self.lowest = 0
        self._device = device
        self._kinds = ("cpu",) if device is None else ("cpu", device.type)
        self._position = 0
        self._broken = False
        self._versions: dict[int, tuple[int, ...]] = {}
        self._tapes: dict[int, tuple[Tape, str]] = {}
        self._memos: dict[int, Memo] = {}
        self._latest: Memo | None = None
        self._settings: Settings | None = None
        self._origin: list[torch.Tensor] = []
        self._streams: Streams | None = None

    # Forward, in the caller's order.

    def begin(self, tensors: Sequence[torch.Tensor]) -> None:
        """Set the chain's input ``x_0``; it is kept to the end."""
        self._origin = [tensor.detach() for tensor in tensors]
        self._keep(0, self._origin)

    def remember(self, index: int, call: Call, targets: Sequence[torch.Tensor]) -> Memo:
        """Note the state around a stage before it is computed first."""
        stage = self.binding.stages[index]
        self.end_forward()
        assert self._streams is not None, "read just now"
        training = stage.training_flags()
        traits = stage.known.get(stage.key(training, call, len(targets)))
        if traits is None:
            slots, everything, state = stage.buffer_slots(), targets, ()
        else:
            slots = stage.slots(traits.buffers)
            everything = [*targets, *stage.used(traits)]
            state = stage.state(traits)
        memo = Memo(
            call=call,
            settings=read_settings(self._kinds, self._settings),
            before=self._streams,
            device=self._device,
            training=training,
            targets=tuple(everything),
            state=state,
            buffers=copied_buffers(slots) if slots else (),
            traits=traits,
        )
        self._settings = memo.settings
        self._memos[index] = self._latest = memo
        return memo

    def end_forward(self) -> None:
        """Note the random streams: what the last stage drew is known now."""
        self._streams = read_streams(self._device, self._streams)
        if self._latest is not None:
            self._latest.after = self._streams
            self._latest = None

    def first(
        self, index: int, call: Call, targets: Sequence[torch.Tensor]
    ) -> tuple[Output, Memo]:
        """Perform the steps up to and including a stage's first computation.

        Parameters
        ----------
        index, call
            The stage and its arguments.
        targets
            Leaf tensors that need a gradient.

        Raises
        ------
        PlanMismatchError
            If the schedule does not compute this stage next.
        UnfaithfulStageError
            If it cannot be repeated exactly.
        """
        leg = self.binding.forwards[index]
        self._travel(leg)
        step, stage = leg.step, self.binding.stages[index]
        memo = self.remember(index, call, targets)
        cut = self.cuts[index - 1]
        running = self.binding.suspend()
        try:
            if memo.traits is None:
                traits, output, tape = learn(stage, memo, cut, step)
                memo.adopt(stage, traits)
                memo.state = stage.state(traits)
                self._versions[index - 1] = _versions(cut)
            else:
                output, tape = self._compute(stage, memo, cut, step)
                if _versions(cut) != self._versions[index - 1]:
                    raise UnfaithfulStageError(
                        f"stage {stage.name!r} changed its input in place, which it "
                        f"did not do before; its input cannot be recovered"
                    )
        finally:
            self.binding.resume(running)
        memo.form = form_of(output.tensors)
        if step.plain and memo.fingerprint is None and not stage.compared:
            # Until a plain computation has been seen to give what a recorded one does.
            memo.fingerprint = fingerprint(output.tensors)
            memo.plain = True
        self._finish(index, output.tensors, tape, step)
        self._leave(leg)
        return output, memo

    def arrive(self, index: int, tensors: Sequence[torch.Tensor]) -> None:
        """Perform the steps up to a stage that the caller's code has just computed."""
        leg = self.binding.forwards[index]
        self._travel(leg)
        self._memos[index].form = form_of(tensors)
        self._finish(index, [tensor.detach() for tensor in tensors], None, leg.step)
        self._leave(leg)

    def check_sums(self) -> None:
        """Refuse sums of gradients that would round otherwise than the plain model's.

        Raises
        ------
        UnfaithfulStageError
            If a leaf tensor is used several times in one stage and in another, too:
            the plain backward adds one use after the other, a plan stage by stage.
        """
        repeating = [m for m in self._memos.values() if m.traits and m.traits.repeated]
        if not repeating:
            return
        users = Counter(id(t) for m in self._memos.values() for t in m.targets)
        for memo in repeating:
            assert memo.traits is not None, "it repeats"
            for position in memo.traits.repeated:
                if users[id(memo.targets[position])] > 1:
                    shape = tuple(memo.targets[position].shape)
                    raise UnfaithfulStageError(
                        f"a leaf tensor of shape {shape} is used in several stages, "
                        f"and more than once in one of them: its gradient would be "
                        f"summed in another order than by the plain model; make one "
                        f"stage of those that use it"
                    )

    # Backward, in the order in which the engine asks for it.

    def backward(
        self, index: int, grads: Sequence[torch.Tensor | None], *, keep: bool
    ) -> list[torch.Tensor | None]:
        """Perform the steps up to and including a stage's backward.

        Parameters
        ----------
        index
            The stage.
        grads
            Of each of its output tensors.
        keep
            Whether the caller's graph is retained: the input is kept then.

        Returns
        -------
        list of torch.Tensor or None
            Gradients of the cut's tensors that need one, then of the targets.
        """
        leg = self.binding.backwards[index]
        if self._broken or self._position > leg.start + len(leg.before):
            self._restart()
        try:
            self._travel(leg)
            tape, variant = self._tapes.pop(index)
            stage, memo = self.binding.stages[index], self._memos[index]
            # A variant computes parts of the stage again within its backward.
            if variant == "all" or is_as_it_was(stage, memo):
                result = tapes.backward(stage, tape, grads)
            else:
                with repeated(stage, memo):
                    result = tapes.backward(stage, tape, grads)
            self._leave(leg)
        except BaseException:
            self._break()
            raise
        if index == self.lowest and not keep:
            self._release()
        return result

    def _travel(self, leg: Leg) -> None:
        """Perform the steps that lead to the one at a leg's end."""
        if self._position == leg.start:
            for step in leg.before:
                self._perform(step)
            return
        # Some backward was left out: go on from where the run stands.
        goal = leg.start + len(leg.before)
        while self._position < goal:
            self._perform(self.binding.steps[self._position])
            self._position += 1

    def _leave(self, leg: Leg) -> None:
        """Free what the schedule frees right after a leg's last step."""
        for index in leg.frees:
            self.cuts.pop(index, None)
        self._position = leg.end

    def _perform(self, step: Step) -> None:
        if step.kind == FREE:
            if step.stage:
                self.cuts.pop(step.stage, None)
        elif step.kind != FORWARD:
            # A backward met here was not asked for: its saved tensors just end.
            self._tapes.pop(step.stage, None)
        elif step.stage < self.binding.last:
            self._again(step)

    def _again(self, step: Step) -> None:
        """Compute a stage again."""
        index = step.stage
        stage, memo = self.binding.stages[index], self._memos.get(index)
        if memo is None or index - 1 not in self.cuts:
            raise PlanMismatchError(
                f"the plan computes stage {index} ({stage.name!r}) before the model "
                f"reaches it, or without its input"
            )
        cut = self.cuts[index - 1]
        if _versions(cut) != self._versions[index - 1]:
            raise UnfaithfulStageError(
                f"the input of stage {stage.name!r} was changed in place after the "
                f"stage before it was computed; it cannot be computed again"
            )
        check_unchanged(stage, memo)
        number = 0 if memo.fingerprint is None else sequence_number()
        output, tape = self._repeat(stage, memo, cut, step)
        if stage.inner_backward and tape is None and index >= self.binding.first:
            reshard(stage)
        try:
            check_repeated(stage, memo, output)
            if tape is not None and (number or index < self.binding.first):
                _check_leaves(stage, tape, number)
        except UnfaithfulStageError:
            stage.known.clear()  # it is looked at again, should there be a next step
            raise
        stage.compared = stage.compared or (memo.plain and tape is not None)
        self._finish(index, output.tensors, tape, step)

    def _repeat(
        self, stage: TorchStage, memo: Memo, cut: Sequence[torch.Tensor], step: Step
    ) -> tuple[Output, Tape | None]:
        """Compute a stage as it was computed first."""
        if is_as_it_was(stage, memo):
            found = self._compute(stage, memo, cut, step)
        else:
            with repeated(stage, memo):
                found = self._compute(stage, memo, cut, step)
        if memo.fingerprint is None or stage.grad_sensitive or found[1] is not None:
            return found
        if alike(memo.fingerprint, fingerprint(found[0].tensors)):
            return found
        # Other kernels may run where nothing needs a gradient: it is recorded, then.
        stage.grad_sensitive = True
        return self._repeat(stage, memo, cut, step)

    def _compute(
        self, stage: TorchStage, memo: Memo, cut: Sequence[torch.Tensor], step: Step
    ) -> tuple[Output, Tape | None]:
        traits, call = memo.traits, memo.call
        assert traits is not None, "learned at the first computation"
        if traits.mutates:
            cut = copies(cut)
        if step.plain or True not in traits.differentiable:
            return tapes.plain(stage, call, cut), None
        # The schedule keeps what the saved tensors hold; a changed leaf is refused.
        held = not traits.mutates and step.stage in self.binding.holds_input
        output, tape = tapes.record(
            stage, call, cut, memo.targets, step.mode, keeps_input=held
        )
        if tuple([edge is not None for edge in tape.outputs]) != traits.differentiable:
            stage.known.clear()
            raise UnfaithfulStageError(
                f"stage {stage.name!r}: other outputs need a gradient than when it was "
                f"looked at; run the step once more, and it is looked at again"
            )
        return output, tape

    def _finish(
        self,
        index: int,
        tensors: list[torch.Tensor],
        tape: Tape | None,
        step: Step,
    ) -> None:
        self.binding.executions[index] += 1
        if index not in self.cuts:
            self._keep(index, tensors)
        if tape is not None:
            self._tapes[index] = tape, step.mode

    def _keep(self, index: int, tensors: list[torch.Tensor]) -> None:
        self.cuts[index] = tensors
        self._versions[index] = _versions(tensors)

    def _restart(self) -> None:
        self._break()
        self._broken = False
        self._position = 0
        versions = self._versions[0]
        self._keep(0, self._origin)
        # What the input was when the model was called, not what it is now.
        self._versions[0] = versions

    def _break(self) -> None:
        self._broken = True
        self.cuts.clear()
        self._tapes.clear()

    def _release(self) -> None:
        self._break()
        self._memos.clear()
        self._origin = []


def _versions(tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
    if len(tensors) == 1:
        return (tensors[0]._version,)
    return tuple([tensor._version for tensor in tensors])


def _check_leaves(stage: TorchStage, tape: Tape, number: int) -> None:
    known = {id(tensor) for tensor in (*tape.parameters, *tape.inputs)}
    if find_leaves(stage, tape, known, number).unnamed:
        raise UnfaithfulStageError(
            f"stage {stage.name!r} uses another leaf tensor when it is computed again "
            f"than at first; its gradient would be lost"
        )
