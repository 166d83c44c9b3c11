"""One stage rehearsed: recorded and differentiated alone, as a run does it.

What it is measured on and timed on are the executor's own functions, within one node of
a small graph: gradients come in as the next stage yields them, and leave to where the
stage before would take them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge

from ckschedule.torch_backend import tape as tapes
from ckschedule.torch_backend.run import StageNode
from ckschedule.torch_backend.stage import TorchStage, Traits
from ckschedule.torch_backend.storages import LiveStorages
from ckschedule.torch_backend.tape import Call, Output, Tape, apply_node

Layout: TypeAlias = tuple[torch.Size, tuple[int, ...], int, torch.dtype] | None
"""Shape, strides, elements in storage and dtype of a gradient; None for no gradient."""


@dataclass(slots=True)
class Subject:
    """A stage that is measured, and all that surrounds it.

    Attributes
    ----------
    counter
        Active.
    stage, call, traits
        What is measured.
    copies
        Returns tensors like those of the stage's input that nobody else holds.
    targets
        Leaf tensors to differentiate by; none of the caller's, for ``grad`` is set.
    shared
        Those of them that later stages use too: their gradients are there before.
    summed
        Those that earlier stages use too.
    around
        Entered around each computation: puts streams and buffers as they were.
    frees_input
        Whether nothing else holds the input once the backward has ended.
    accumulate
        Whether gradients are there already.
    """

    counter: LiveStorages
    stage: TorchStage
    call: Call
    traits: Traits
    copies: Callable[[], list[torch.Tensor]]
    targets: Sequence[torch.Tensor]
    shared: Sequence[torch.Tensor]
    summed: Sequence[torch.Tensor]
    around: Callable[[], AbstractContextManager[None]]
    frees_input: bool
    accumulate: bool


class Rehearsal:
    """One stage recorded and differentiated as the executor does it.

    Parameters
    ----------
    subject
        The stage.
    variant
        One of `tape.VARIANTS`.
    layouts
        Of the output's gradients as the next stage yields them; None: like the outputs.

    Attributes
    ----------
    takes
        Layouts of the gradients of each output, once joined.
    box
        Gradients of the input's tensors that need one, once differentiated.
    """

    def __init__(
        self, subject: Subject, variant: str, layouts: Sequence[Layout] | None
    ) -> None:
        self._subject = subject
        self._variant = variant
        self._layouts = layouts
        self._tape: Tape | None = None
        self._edges: list[GradientEdge] = []
        self._given: list[torch.Tensor] = []
        self.takes: tuple[Layout, ...] = ()
        self.box: list[torch.Tensor | None] = []
        for target in subject.targets:
            target.grad = torch.zeros_like(target) if subject.accumulate else None
        self._cut = subject.copies()
        self._held: Output | None = None

    def record(self) -> Output:
        """Compute the stage and keep its saved tensors."""
        with self._subject.around():
            output, self._tape = record_subject(self._subject, self._cut, self._variant)
        return output

    def hold(self, output: Output) -> None:
        """Keep the output until the backward has ended, as what holds it does."""
        self._held = output

    def _let_go(self) -> None:
        """Let go of what the executor lets go of before gradients are added up."""
        self._held = None
        if self._subject.frees_input:
            self._cut.clear()

    def join(self, output: Output, at_start: Callable[[], None] | None = None) -> int:
        """Make the node and the gradients that come to it; return their bytes.

        Parameters
        ----------
        output
            From `record`.
        at_start
            Called when the stage's own backward begins. The gradients then come from a
            later node, as in a run, so that the engine lets go of them in time, and
            later stages that share parameters are rehearsed before.
        """
        subject = self._subject
        grads = _gradients(output.tensors, subject.traits, self._layouts)
        self.takes = tuple([layout_of(grad) for grad in grads])
        size = subject.counter.bytes_of([g for g in grads if g is not None])
        assert self._tape is not None, "recorded before"
        solo = _Solo(
            subject, self._tape, self._variant, at_start or _nothing, self._let_go
        )
        self._tape = None
        exact = at_start is not None
        self._connect(solo, output, self.box, grads, later=exact)
        if exact:
            self._precede(grads)
        return size

    def _connect(
        self,
        solo: _Solo,
        output: Output,
        box: list[torch.Tensor | None],
        grads: Sequence[torch.Tensor | None],
        *,
        later: bool,
    ) -> None:
        subject = self._subject
        needs = subject.call.needs_grad
        needed = [t for t, needed in zip(self._cut, needs, strict=True) if needed]
        nodes = apply_node(
            StageNode,
            solo,
            0,
            subject.traits,
            output.tensors,
            *sink(box, needed),
            *subject.targets,
        )
        pairs = [(n, g) for n, g in zip(nodes, grads, strict=True) if g is not None]
        if not pairs:
            return
        if not later:
            self._edges += [get_gradient_edge(node) for node, _ in pairs]
            self._given += [grad for _, grad in pairs]
            return
        layouts = [layout_of(grad) for _, grad in pairs]
        device = output.tensors[0].device
        root = apply_node(_Later, layouts, device, *[node for node, _ in pairs])
        self._edges.append(get_gradient_edge(root))
        self._given.append(torch.ones(()))

    def _precede(self, grads: Sequence[torch.Tensor | None]) -> None:
        """Have gradients of shared parameters there first.

        What is made last runs first. A module that is all shared is one that is called
        again and again: its own backward tells best how its gradients come.
        """
        subject = self._subject
        if subject.shared and len(subject.shared) == len(subject.targets):
            # Twice, for the sum of two gradients lies otherwise than one of them does.
            for _ in range(2):
                with subject.around():
                    output, tape = record_subject(subject, self._cut, self._variant)
                twin = _Solo(subject, tape, self._variant, _nothing, _nothing)
                self._connect(twin, output, _Discard(), grads, later=True)
            return
        for target in subject.shared:
            self._edges.append(get_gradient_edge(apply_node(_Earlier, target)))
            self._given.append(torch.ones(()))

    def differentiate(self) -> None:
        """Run the backward; gradients come to rest in the box and the targets."""
        if self._edges:
            torch.autograd.backward(self._edges, self._given)

    def yields(self) -> tuple[Layout, ...]:
        """Return the layouts of the gradients of the input's tensors."""
        box = iter(self.box)
        return tuple(
            [
                layout_of(next(box, None)) if needed else None
                for needed in self._subject.call.needs_grad
            ]
        )

    def clear(self) -> None:
        """Let go of everything."""
        self._tape = None
        self._edges.clear()
        self._given.clear()
        self._cut.clear()
        self.box.clear()
        for target in self._subject.targets:
            target.grad = None


def layout_of(grad: torch.Tensor | None) -> Layout:
    """Return how a gradient lies in memory."""
    if grad is None:
        return None
    elements = grad.untyped_storage().nbytes() // grad.element_size()
    return grad.shape, grad.stride(), elements, grad.dtype


def sink(box: list[Any], tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Return a cut's tensors as the stage before would; gradients go to a box."""
    if not tensors:
        return ()
    root = torch.empty(0, requires_grad=True)
    return tuple(apply_node(_Sink, box, root, *tensors))


class _Sink(torch.autograd.Function):
    """Takes the place of the stage before: receives gradients and holds them."""

    @staticmethod
    def forward(
        ctx: Any, box: list[Any], _root: torch.Tensor, *tensors: torch.Tensor
    ) -> Any:
        ctx.box = box
        ctx.set_materialize_grads(False)
        return tuple([tensor.detach() for tensor in tensors])

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:
        ctx.box[:] = grads
        return (None, None, *[None] * len(grads))


class _Solo:
    """The machine behind one node that is differentiated alone."""

    def __init__(
        self,
        subject: Subject,
        tape: Tape,
        variant: str,
        at_start: Callable[[], None],
        at_end: Callable[[], None],
    ) -> None:
        self._subject = subject
        self._tape: Tape | None = tape
        self._variant = variant
        self._at_start = at_start
        self._at_end = at_end

    def backward(
        self, _index: int, grads: Sequence[torch.Tensor | None], *, keep: bool
    ) -> list[torch.Tensor | None]:
        """Differentiate the stage, for its node."""
        del keep
        tape, self._tape = self._tape, None
        assert tape is not None, "asked once"
        self._at_start()
        with nullcontext() if self._variant == "all" else self._subject.around():
            found = tapes.backward(self._subject.stage, tape, grads)
        self._at_end()
        return found


class _Later(torch.autograd.Function):
    """Stands for the next stage: makes the gradients that come to the one rehearsed."""

    @staticmethod
    def forward(
        ctx: Any, layouts: Sequence[Layout], device: torch.device, *nodes: torch.Tensor
    ) -> Any:
        ctx.layouts, ctx.device = layouts, device
        return nodes[0].new_zeros((), dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, _grad: torch.Tensor) -> Any:
        return (None, None, *[_made(layout, ctx.device) for layout in ctx.layouts])


class _Discard(list[Any]):
    """A box that keeps nothing."""

    def __setitem__(self, key: Any, value: Any) -> None:
        return


class _Earlier(torch.autograd.Function):
    """Stands for a later stage that shares a parameter: its gradient is there first."""

    @staticmethod
    def forward(ctx: Any, parameter: torch.Tensor) -> Any:
        ctx.save_for_backward(parameter)
        return parameter.new_zeros((), dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, _grad: torch.Tensor) -> Any:
        (parameter,) = ctx.saved_tensors
        return torch.ones_like(parameter)


def _nothing() -> None:
    return


def record_subject(
    subject: Subject, cut: list[torch.Tensor], variant: str
) -> tuple[Output, Tape]:
    """Record a stage on a cut, which it may write on only if it was given a copy."""
    given = [tensor.clone() for tensor in cut] if subject.traits.mutates else cut
    return tapes.record(subject.stage, subject.call, given, subject.targets, variant)


def _gradients(
    tensors: Sequence[torch.Tensor], traits: Traits, layouts: Sequence[Layout] | None
) -> list[torch.Tensor | None]:
    grads: list[torch.Tensor | None] = []
    for place, (tensor, needed) in enumerate(
        zip(tensors, traits.differentiable, strict=True)
    ):
        if not needed:
            grads.append(None)
        elif layouts is None:
            grads.append(torch.ones_like(tensor))
        elif (layout := layouts[place]) is None:
            grads.append(None)
        else:
            grads.append(_made(layout, tensor.device))
    return grads


def _made(layout: Layout, device: torch.device) -> torch.Tensor | None:
    if layout is None:
        return None
    shape, strides, elements, dtype = layout
    return torch.ones(elements, dtype=dtype, device=device).as_strided(shape, strides)
