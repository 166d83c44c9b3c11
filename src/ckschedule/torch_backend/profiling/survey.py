"""One call of the model in which every stage is measured where it stands."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch

from ckschedule.costs.lowering import PLAIN
from ckschedule.torch_backend.ambient import (
    read_settings,
    read_streams,
    replayed_streams,
)
from ckschedule.torch_backend.binding import Binding
from ckschedule.torch_backend.boundary import take_apart
from ckschedule.torch_backend.layout import copies
from ckschedule.torch_backend.learning import learn
from ckschedule.torch_backend.memo import (
    Memo,
    alike,
    check_alike,
    copied_buffers,
    undisturbed,
    untouched,
)
from ckschedule.torch_backend.profiling.clock import AbstractClock
from ckschedule.torch_backend.profiling.exchange import exchanged
from ckschedule.torch_backend.profiling.measurement import (
    StageBytes,
    measure_plain,
    measure_recording,
)
from ckschedule.torch_backend.profiling.rehearsal import (
    Layout,
    Subject,
    sink,
)
from ckschedule.torch_backend.profiling.replay import Replay
from ckschedule.torch_backend.profiling.timing import Samples, signature, time_stage
from ckschedule.torch_backend.program import FORWARD, Step
from ckschedule.torch_backend.run import AbstractRun, accelerator, sources
from ckschedule.torch_backend.stage import TorchStage, Traits
from ckschedule.torch_backend.storages import LiveStorages, uncounted
from ckschedule.torch_backend.tape import Call

_OTHERWISE: Final = ", or computes otherwise without gradients"
"""What else may be the cause where a plain computation meets a recorded one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One stage.

    Attributes
    ----------
    output, transient
        Bytes of the plain forward.
    recordings
        By variant; empty for a frozen stage.
    held
        Bytes that the model's own code held while the stage ran, beyond its input.
    buffers
        Bytes of the buffers that it changes.
    samples
        Times, shared by all stages like it.
    """

    output: int
    transient: int
    recordings: dict[str, StageBytes]
    held: int
    buffers: int
    samples: Samples


@dataclass(slots=True)
class Survey:
    """What is asked of a model, and what was found so far.

    Attributes
    ----------
    counter
        Active while the model runs.
    variants, accumulate, clock
        As `profile` was told.
    shared
        For each stage, slots of parameters whose gradients later stages make.
    summed
        Likewise, of parameters whose gradients earlier stages make too.
    start_slots
        Slots of the parameters that the start was seen to use.
    layouts
        For each stage, of its output's gradients, where they are known not to lie
        like the outputs.
    wanted
        Stages to measure; the others are only computed.
    stages
        What was found.
    pinned
        Tensors that stages take from elsewhere: kept for the whole step.
    roots
        What the model was called with.
    last_storages, last_bytes, last_needs
        Storages of the last stage's output, weakly, their bytes, and which of its
        tensors need a gradient.
    box
        Receives the gradients of that output.
    """

    counter: LiveStorages
    variants: Sequence[str]
    accumulate: bool
    clock: AbstractClock
    shared: dict[int, set[tuple[int, str]]] = field(default_factory=dict)
    summed: dict[int, set[tuple[int, str]]] = field(default_factory=dict)
    start_slots: set[tuple[int, str]] = field(default_factory=set)
    layouts: dict[int, Sequence[Layout]] = field(default_factory=dict)
    wanted: set[int] = field(default_factory=set)
    stages: dict[int, Measured] = field(default_factory=dict)
    pinned: list[torch.Tensor] = field(default_factory=list)
    roots: list[torch.Tensor] = field(default_factory=list)
    last_storages: list[weakref.ref[torch.UntypedStorage]] = field(default_factory=list)
    last_bytes: int = 0
    last_needs: tuple[bool, ...] = ()
    box: list[torch.Tensor | None] = field(default_factory=list)
    older: dict[int, weakref.ref[torch.Tensor]] = field(default_factory=dict)
    replay: Replay = field(default_factory=Replay)
    groups: dict[Any, Samples] = field(default_factory=dict)

    def frees(self, index: int) -> bool:
        """Return whether a stage's output is held by none of its own saved tensors."""
        before = self.stages.get(index)
        return before is not None and not any(
            recording.variant.needs_output for recording in before.recordings.values()
        )

    def last_alive(self) -> int:
        """Return the bytes of the last stage's output that something still holds."""
        storages = [ref() for ref in self.last_storages]
        return sum(storage.nbytes() for storage in storages if storage is not None)

    def follow(self, binding: Binding, args: Any, kwargs: Any) -> AbstractRun:
        """Return what receives a call of the model."""
        return _SurveyRun(self, binding, args, kwargs)


class _SurveyRun(AbstractRun):
    """Measures each stage on the arguments that the model gives it."""

    def __init__(
        self, survey: Survey, binding: Binding, args: Any, kwargs: Any
    ) -> None:
        self._survey = survey
        self._binding = binding
        self._next = binding.first
        self._given: list[torch.Tensor] = []
        tensors, structure = take_apart((args, kwargs), "the model")
        survey.roots = tensors
        survey.counter.track(tensors)
        if binding.has_start:
            needs = tuple([tensor.requires_grad for tensor in tensors])
            call = Call(structure, tuple(range(len(tensors))), (), (), needs)
            self._measure(1, call, tensors, held=0)

    @property
    def next(self) -> int:
        """Index of the stage that has to be called next."""
        return self._next

    def call(self, args: Any, kwargs: Any) -> Any:
        """Measure the next stage and return what it returns."""
        survey, index = self._survey, self._next
        stage = self._binding.stages[index]
        tensors, structure = take_apart((args, kwargs), stage.name)
        if index == self._binding.first:
            tensors = self._first(tensors)
        call, _ = sources(stage, self._given, tensors, structure)
        self._pin(call)
        cut = self._given
        held = survey.counter.live - survey.counter.bytes_of(
            [*survey.roots, *survey.pinned, *cut]
        )
        output, traits = self._measure(index, call, cut, held)
        self._next = index + 1
        survey.older |= {id(tensor): weakref.ref(tensor) for tensor in cut}
        del tensors, cut, call
        needed = [
            t for t, d in zip(output.tensors, traits.differentiable, strict=True) if d
        ]
        if index == self._binding.last - 1:
            joined = iter(sink(survey.box, needed))
        else:
            joined = iter([tensor.detach().requires_grad_() for tensor in needed])
        returned = [
            next(joined) if d else tensor
            for tensor, d in zip(output.tensors, traits.differentiable, strict=True)
        ]
        survey.replay.note(index, output.structure, returned)
        if self._next < self._binding.last:
            self._given = returned
            return output.structure.build(returned)
        # From here on the model's code alone holds the output, as it will in a run.
        survey.replay.keep([tensor.detach() for tensor in output.tensors])
        storages = {
            tensor.untyped_storage()._cdata: tensor.untyped_storage()
            for tensor in returned
        }
        survey.last_storages = [weakref.ref(storage) for storage in storages.values()]
        survey.last_bytes = survey.counter.bytes_of(returned)
        survey.last_needs = traits.differentiable
        self._given = []
        survey.counter.reset()
        return output.structure.build(returned)

    def finish(self) -> None:
        """Nothing is left to check: `find_stages` has seen the model's calls."""

    def _first(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        if not self._binding.has_start:
            self._given = list(tensors)
            # What the model made for its first stage is kept like what it was given.
            self._survey.roots = [*self._survey.roots, *tensors]
            return tensors
        places = self._binding.stages[1].places
        assert places is not None, "seen when the start was measured"
        tensors = list(tensors)
        for place in places:
            tensors[place] = tensors[place].detach().requires_grad_()
        self._given = [tensors[place] for place in places]
        return tensors

    def _pin(self, call: Call) -> None:
        known = {id(tensor) for tensor in self._survey.pinned}
        self._survey.pinned += [t for t in call.pinned if id(t) not in known]
        self._survey.counter.track(call.pinned)

    def _measure(
        self, index: int, call: Call, cut: Sequence[torch.Tensor], held: int
    ) -> tuple[Any, Traits]:
        """Measure a stage; return its output and what it showed."""
        survey, stage = self._survey, self._binding.stages[index]
        # The start's own parameters are those that it is seen to use.
        trained = [] if index < self._binding.first else stage.trained()
        later = _named(stage, survey.shared.get(index, set()))
        earlier = _named(stage, survey.summed.get(index, set()))
        detached = [tensor.detach() for tensor in cut]
        with (
            self._binding.suspended(),
            torch.enable_grad(),
            untouched(stage.modules),
            exchanged(stage.parameter_slots()) as aliases,
        ):
            own = [aliases[id(parameter)] for parameter in trained]
            call = _lent(call)
            leaves = [t for t in (*own, *call.pinned) if t.requires_grad]
            targets = list({id(t): t for t in leaves}.values())
            memo = _memo(stage, call, targets, detached)
            with replayed_streams(memo.before, None, memo.device):
                traits, output, tape = learn(
                    stage, memo, detached, Step(FORWARD, index, PLAIN, True)
                )
            del tape
            memo.adopt(stage, traits)
            shared = {id(aliases[key]) for key in later if key in aliases}
            summed = {id(aliases[key]) for key in earlier if key in aliases}
            if index < self._binding.first:
                survey.start_slots = {
                    (id(module), name) for module, name in stage.slots(traits.used)
                }
            if index in survey.wanted:
                subject = Subject(
                    counter=survey.counter,
                    stage=stage,
                    call=call,
                    traits=traits,
                    copies=lambda: copies(detached),
                    targets=memo.targets,
                    shared=[t for t in memo.targets if id(t) in shared],
                    summed=[t for t in memo.targets if id(t) in summed],
                    around=lambda: undisturbed(memo),
                    frees_input=survey.frees(index - 1),
                    accumulate=survey.accumulate,
                )
                kept = [tensor.grad for tensor in traits.captured]
                survey.stages[index] = self._figures(index, subject, memo, held)
                for tensor, grad in zip(traits.captured, kept, strict=True):
                    tensor.grad = grad
        return output, traits

    def _figures(self, index: int, subject: Subject, memo: Memo, held: int) -> Measured:
        survey = self._survey
        output, transient, mark = measure_plain(subject)
        if memo.fingerprint is not None and not alike(memo.fingerprint, mark):
            # Other kernels may run where nothing needs a gradient.
            subject.stage.grad_sensitive = True
            check_alike(subject.stage, memo, measure_plain(subject)[2], _OTHERWISE)
            output, transient, mark = measure_plain(subject)
        check_alike(subject.stage, memo, mark, _OTHERWISE)
        layouts = survey.layouts.get(index)
        recordings = {}
        if any(subject.traits.differentiable):
            for variant in survey.variants:
                try:
                    found = measure_recording(subject, variant, layouts)
                except RuntimeError as error:
                    # Such as an operator in place on what the variant would save.
                    if variant == "all" or "selective" not in str(error):
                        raise
                    continue
                recordings[variant] = found
                check_alike(subject.stage, memo, found.fingerprint, _OTHERWISE)
        subject.stage.compared = True
        # Bytes tell stages apart that look alike and compute otherwise.
        look = (signature(subject), output, transient, *recordings.values())
        samples = survey.groups.setdefault(look, Samples())
        with uncounted():
            time_stage(subject, survey.clock, tuple(recordings), layouts, samples)
        return Measured(
            output=output,
            transient=transient,
            recordings=recordings,
            held=held,
            buffers=sum(b.untyped_storage().nbytes() for _, b in memo.buffers),
            samples=samples,
        )


def _named(stage: TorchStage, slots: set[tuple[int, str]]) -> set[int]:
    return {
        id(module._parameters[name])
        for module, name in stage.parameter_slots()
        if (id(module), name) in slots
    }


def _memo(
    stage: TorchStage,
    call: Call,
    targets: Sequence[torch.Tensor],
    cut: Sequence[torch.Tensor],
) -> Memo:
    device = accelerator(cut)
    return Memo(
        call=call,
        settings=read_settings(("cpu",)),
        before=read_streams(device, None),
        device=device,
        training=stage.training_flags(),
        targets=tuple(targets),
        state=(),
        buffers=copied_buffers(stage.buffer_slots()),
        traits=None,
    )


def _lent(call: Call) -> Call:
    """Return a call whose pinned leaf tensors are aliases: those get gradients."""
    return replace(
        call,
        pinned=tuple(
            [t.detach().requires_grad_() if t.requires_grad else t for t in call.pinned]
        ),
    )
