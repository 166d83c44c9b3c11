"""Computing a stage plainly, recording it, and its backward.

These functions are what the executor runs and what the profiler measures: the predicted
peak is that of the same code.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import nn
from torch.autograd.graph import (
    GradientEdge,
    get_gradient_edge,
)

from ckschedule.errors import UnfaithfulStageError
from ckschedule.torch_backend.boundary import ONE_ARGUMENT, Structure, take_apart
from ckschedule.torch_backend.layout import copies, is_view_of
from ckschedule.torch_backend.stage import Slot, TorchStage
from ckschedule.torch_backend.variants import selectively


@dataclass(slots=True)
class Call:
    """The arguments of a stage, apart from the tensors that cross the cut.

    Attributes
    ----------
    structure
        Of ``(args, kwargs)``.
    sources
        For each tensor among them, its index among the tensors of the cut, or None for
        one that comes from elsewhere and is kept for the whole step.
    pinned
        Those from elsewhere, in order.
    versions
        Their version counters when the stage was first computed.
    needs_grad
        Which tensors of the cut need a gradient.
    """

    structure: Structure
    sources: tuple[int | None, ...]
    pinned: tuple[torch.Tensor, ...]
    versions: tuple[int, ...]
    needs_grad: tuple[bool, ...]

    @property
    def constants(self) -> tuple[Any, ...]:
        """What is not a tensor among the arguments, and may be a switch."""
        return tuple(
            [c for c in self.structure.leaves if isinstance(c, (bool, int, str))]
        )

    def arguments(self, cut: Sequence[torch.Tensor]) -> tuple[Any, Any]:
        """Return new ``(args, kwargs)`` with the tensors of the cut in place."""
        if self.structure is ONE_ARGUMENT and not self.pinned:
            return (cut[0],), {}
        pinned = iter(self.pinned)
        tensors = [
            next(pinned) if source is None else cut[source] for source in self.sources
        ]
        args, kwargs = self.structure.build(tensors)
        return args, kwargs


@dataclass(slots=True)
class Output:
    """What a stage returned, cut off from any graph."""

    tensors: list[torch.Tensor]
    structure: Structure


@dataclass(slots=True)
class Tape:
    """The saved tensors of a recorded stage: the inner graph, by its edges.

    Edges, not tensors: a leaf would keep the stage's input alive, and an output itself,
    though the backward may need neither.

    Attributes
    ----------
    outputs
        Edge of each output tensor; None for one that needs no gradient.
    inputs
        Edge of each tensor of the cut that needs a gradient, or that tensor.
    parameters
        What gradients are asked for besides, in the order in which they return.
    received
        Gradients of the inputs, where the backward accumulates by itself.
    """

    outputs: list[GradientEdge | None]
    inputs: Sequence[GradientEdge | torch.Tensor]
    parameters: list[torch.Tensor]
    received: list[torch.Tensor | None] = field(default_factory=list)


class _Enter(torch.autograd.Function):
    """Start of an inner graph: its outputs are no leaves, so nothing keeps them."""

    @staticmethod
    def forward(
        ctx: Any,
        received: list[Any] | None,
        _root: torch.Tensor,
        *tensors: torch.Tensor,
    ) -> Any:
        ctx.received = received
        ctx.set_materialize_grads(False)
        return tuple([tensor.detach() for tensor in tensors])

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:
        # Gradients are taken at its edges; only where all of a stage's are accumulated
        # does the engine come through here.
        if ctx.received is None:
            raise UnfaithfulStageError(
                "a tensor that a stage left behind (in an attribute, a list, a hook) "
                "was differentiated: its gradient would not reach the stages before; "
                "return it from the stage"
            )
        ctx.received[:] = grads
        return (None, None, *[None] * len(grads))


_set_grad: Final = torch._C._set_grad_enabled
"""What `torch.set_grad_enabled` calls; that makes an object for each call besides."""

_ROOT: Final = torch.empty(0, requires_grad=True)
"""Makes inner graphs need gradients whatever enters them; it never gets one."""


def plain(stage: TorchStage, call: Call, cut: Sequence[torch.Tensor]) -> Output:
    """Compute a stage without saving anything for its backward."""
    if stage.grad_sensitive:
        return record(stage, call, cut, ())[0]
    args, kwargs = call.arguments(cut)
    compute = _slowly(stage.compute) if stage.attends else stage.compute
    before = torch.is_grad_enabled()
    _set_grad(False)
    forget_casts()
    try:
        returned = compute(*args, **kwargs)
    finally:
        _set_grad(before)
        forget_casts()
    tensors, structure = take_apart(returned, stage.name)
    return Output(_owned([tensor.detach() for tensor in tensors], cut), structure)


def _slowly(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a computation whose attention of torch.nn is that with gradients."""

    def slow(*args: Any, **kwargs: Any) -> Any:
        fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            return compute(*args, **kwargs)
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)

    return slow


def record(
    stage: TorchStage,
    call: Call,
    cut: Sequence[torch.Tensor],
    parameters: Sequence[torch.Tensor],
    variant: str = "all",
    *,
    keeps_input: bool = False,
) -> tuple[Output, Tape]:
    """Compute a stage and keep what its backward needs.

    Parameters
    ----------
    stage, call
        What to compute on what.
    cut
        Tensors of the stage's input, cut off from any graph.
    parameters
        Leaf tensors to differentiate by.
    variant
        One of `VARIANTS`.
    keeps_input
        Whether the input is known to stay alive until the backward, so that the inner
        graph may hold it: that is faster than an entry which does not.
    """
    compute = stage.compute if variant == "all" else selectively(stage.compute)
    received: list[torch.Tensor | None] = []
    before = torch.is_grad_enabled()
    _set_grad(True)
    forget_casts()
    try:
        edges: Sequence[GradientEdge | torch.Tensor]
        if keeps_input and not stage.inner_backward:
            inner, edges = _leaves(cut, call.needs_grad)
        else:
            box = received if stage.inner_backward else None
            inner, edges = _enter(cut, call.needs_grad, box)
        args, kwargs = call.arguments(inner)
        if stage.inner_backward or not _hooked(parameters):
            targets = list(parameters)
            returned = compute(*args, **kwargs)
        else:
            with _aliased(stage, parameters) as targets:
                returned = compute(*args, **kwargs)
    finally:
        _set_grad(before)
        forget_casts()
    tensors, structure = take_apart(returned, stage.name)
    outputs = [_edge(tensor) if tensor.requires_grad else None for tensor in tensors]
    output = Output(_owned([tensor.detach() for tensor in tensors], cut), structure)
    return output, Tape(outputs, edges, targets, received)


def backward(
    stage: TorchStage, tape: Tape, grads: Sequence[torch.Tensor | None]
) -> list[torch.Tensor | None]:
    """Return the gradients of a recorded stage; its saved tensors end.

    Parameters
    ----------
    stage
        The stage.
    tape
        From `record`.
    grads
        Of each output tensor; None where there is none.

    Returns
    -------
    list of torch.Tensor or None
        Of the inputs that need one, then of the parameters.
    """
    edges, given = [], []
    for edge, grad in zip(tape.outputs, grads, strict=True):
        if edge is not None and grad is not None:
            edges.append(edge)
            given.append(grad)
    if not edges:
        return [None] * (len(tape.inputs) + len(tape.parameters))
    if stage.inner_backward:
        torch.autograd.backward(edges, given)
        return [*tape.received, *[None] * len(tape.parameters)]
    targets = [*tape.inputs, *tape.parameters]
    if not targets:
        return []
    # What `torch.autograd.grad` does, without its 30 us of checks at every stage.
    found = torch.autograd.Variable._execution_engine.run_backward(
        tuple(edges),
        tuple(given),
        False,  # the inner graph is not retained
        False,  # and no graph of the gradients is made
        tuple(targets),
        True,  # some may be unused
        accumulate_grad=False,
    )
    return list(found)


def forget_casts() -> None:
    """Have autocast cast parameters anew: its kept casts belong to another graph.

    One made without gradients would even lose them, silently.
    """
    if torch._C._is_any_autocast_enabled():
        torch.clear_autocast_cache()


def apply_node(node: type[torch.autograd.Function], *args: Any) -> Any:
    """Return ``node.apply(*args)``, without what that does for function transforms.

    A model that runs under one is refused before it reaches a stage.
    """
    return super(torch.autograd.Function, node).apply(*args)  # type: ignore[misc]


def _hooked(parameters: Sequence[torch.Tensor]) -> bool:
    return any([parameter._backward_hooks for parameter in parameters])


def _leaves(
    cut: Sequence[torch.Tensor], needs_grad: Sequence[bool]
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    inner, leaves = [], []
    for tensor, needed in zip(cut, needs_grad, strict=True):
        if needed:
            tensor = tensor.detach().requires_grad_()
            leaves.append(tensor)
        inner.append(tensor)
    return inner, leaves


def _enter(
    cut: Sequence[torch.Tensor], needs_grad: Sequence[bool], received: list[Any] | None
) -> tuple[list[torch.Tensor], list[GradientEdge]]:
    entering = [t for t, needed in zip(cut, needs_grad, strict=True) if needed]
    if not entering:
        return list(cut), []
    if received is not None:
        received.extend([None] * len(entering))
    entered = apply_node(_Enter, received, _ROOT, *entering)
    # All are of one node, which the first edge keeps alive.
    first = get_gradient_edge(entered[0])
    edges = [
        GradientEdge(first.node, place, first.ownership_token)
        for place in range(len(entered))
    ]
    if len(cut) == 1:
        return list(entered), edges
    inner = iter(entered)
    return [
        next(inner) if needed else tensor
        for tensor, needed in zip(cut, needs_grad, strict=True)
    ], edges


def _edge(tensor: torch.Tensor) -> GradientEdge:
    node = tensor.grad_fn
    if node is None or isinstance(node, torch._C._FunctionBase):
        return get_gradient_edge(tensor)  # which keeps such nodes alive
    return GradientEdge(node, tensor.output_nr)


def _owned(
    tensors: list[torch.Tensor], cut: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """Copy outputs that are the input, or a view of it: a cut owns its bytes."""
    if len(tensors) == len(cut) == 1 and not is_view_of(tensors[0], cut[0]):
        return tensors
    lent = [
        place
        for place, tensor in enumerate(tensors)
        if any([is_view_of(tensor, given) for given in cut])
    ]
    if lent:
        fresh = copies([tensors[place] for place in lent])
        for place, tensor in zip(lent, fresh, strict=True):
            tensors[place] = tensor
    return tensors


@contextmanager
def _aliased(
    stage: TorchStage, parameters: Sequence[torch.Tensor]
) -> Iterator[list[torch.Tensor]]:
    """Have parameters with hooks stand aside: theirs run in the caller's graph only."""
    hooked = {
        id(p): p.detach().requires_grad_()
        for p in parameters
        if p._backward_hooks and isinstance(p, nn.Parameter)
    }
    swapped: list[tuple[Slot, nn.Parameter]] = []
    for module, name in stage.parameter_slots():
        own = module._parameters[name]
        if own is not None and id(own) in hooked:
            module._parameters[name] = hooked[id(own)]  # type: ignore[assignment]  # lent
            swapped.append(((module, name), own))
    try:
        yield [hooked.get(id(p), p) for p in parameters]
    finally:
        for (module, name), own in swapped:
            module._parameters[name] = own
