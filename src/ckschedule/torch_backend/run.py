"""One forward and backward of a model under a schedule, within the caller's graph.

The caller's own code runs the model; where it reaches a stage, `Run.call` performs the
schedule's operations up to and including the stage's first computation and joins the
result to the caller's graph by one small `autograd.Function`. The function's backward
performs those up to and including the stage's backward: recomputations first, then the
stage's gradients, which so leave stage by stage. A backward out of order, or once more
over a retained graph, starts again from the input.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import torch

from ckschedule.errors import PlanMismatchError, UnfaithfulStageError
from ckschedule.torch_backend.boundary import ONE_ARGUMENT, Structure, take_call_apart
from ckschedule.torch_backend.layout import is_view_of
from ckschedule.torch_backend.learning import learn
from ckschedule.torch_backend.machine import Machine
from ckschedule.torch_backend.memo import Memo, undisturbed
from ckschedule.torch_backend.stage import TorchStage, Traits
from ckschedule.torch_backend.tape import Call, apply_node

if TYPE_CHECKING:
    from ckschedule.torch_backend.binding import Binding

_TOKEN: Final = torch.empty(0)
"""Saved by every node: torch then refuses a second backward over a freed graph."""


class AbstractRun(ABC):
    """What receives one call of a model and the calls of its stages."""

    @property
    @abstractmethod
    def next(self) -> int:
        """Index of the stage that has to be called next."""

    @abstractmethod
    def call(self, args: Any, kwargs: Any) -> Any:
        """Return what the next stage returns."""

    @abstractmethod
    def finish(self) -> None:
        """Check that the model has called every stage."""


class Run(AbstractRun):
    """One call of a model under a schedule.

    Parameters
    ----------
    binding
        Model, stages and program.
    args, kwargs
        What the model was called with.
    """

    def __init__(self, binding: Binding, args: Any, kwargs: Any) -> None:
        tensors, structure = take_call_apart(args, kwargs, "the model")
        self._binding = binding
        self._machine = Machine(binding, accelerator(tensors))
        self._next = binding.first
        self._given: list[weakref.ref[torch.Tensor]] = []
        self._roots = tensors
        self._start: Memo | None = None
        self._written: tuple[str, list[weakref.ref[torch.Tensor]]] | None = None
        self._start_plain = False
        if binding.has_start:
            self._begin(tensors, structure)

    @property
    def next(self) -> int:
        """Index of the stage that has to be called next."""
        return self._next

    def call(self, args: Any, kwargs: Any) -> Any:
        """Return what the next stage returns, joined to the caller's graph."""
        index, machine = self._next, self._machine
        stage = self._binding.stages[index]
        tensors, structure = take_call_apart(args, kwargs, stage.name)
        if index == self._binding.first:
            if self._binding.has_start:
                tensors = self._arrive(tensors)
            else:
                self._given = [weakref.ref(tensor) for tensor in tensors]
                machine.begin(tensors)
        self._roots = []
        self._check_written()
        call, outer = sources(stage, [ref() for ref in self._given], tensors, structure)
        targets = stage.trained()
        if call.pinned:
            leaves = {id(t): t for t in (*targets, *call.pinned) if t.requires_grad}
            targets = list(leaves.values())
        output, memo = machine.first(index, call, targets)
        assert memo.traits is not None, "known after the first computation"
        self._next = index + 1
        returned = output.tensors
        if index == self._binding.first:
            self._binding.warn_above(index, output.tensors)
        if True in memo.traits.differentiable:
            self._check_trained(index, memo)
            machine.lowest = machine.lowest or index
            returned = join(
                machine, index, memo.traits, returned, [*outer, *memo.targets]
            )
        if memo.traits.mutates:
            self._written = stage.name, self._given
        self._given = [weakref.ref(tensor) for tensor in returned]
        return output.structure.build(returned)

    def finish(self) -> None:
        """Check that the model has called every stage.

        Raises
        ------
        PlanMismatchError
            If it has not.
        """
        self._check_written()
        self._machine.end_forward()
        self._machine.check_sums()
        if self._next < self._binding.last:
            missing = self._binding.stages[self._next].name
            raise PlanMismatchError(
                f"the model returned without calling stage {missing!r}; the plan has "
                f"{self._binding.last - 1} stages and this call took another way"
            )

    def _check_written(self) -> None:
        """Refuse a caller that still holds what a stage should have written on.

        The stage got a copy, so that its input can be used again.
        """
        if self._written is None:
            return
        name, tensors = self._written
        self._written = None
        if any(ref() is not None for ref in tensors):
            raise UnfaithfulStageError(
                f"stage {name!r} changes its input in place, and the model holds that "
                f"input after the stage: what it would find there cannot be provided; "
                f"make one stage of it and the one before, or change it out of place"
            )

    def _check_trained(self, index: int, memo: Memo) -> None:
        if memo.settings.cached and index in self._binding.sharing:
            raise UnfaithfulStageError(
                f"stage {self._binding.stages[index].name!r} shares a parameter with "
                f"another stage under an autocast that casts it once for both: the sum "
                f"of its gradients is not that of separate casts; use "
                f"torch.autocast(..., cache_enabled=False)"
            )
        if index not in self._binding.backwards:
            raise PlanMismatchError(
                f"stage {self._binding.stages[index].name!r} needs a gradient, but the "
                f"plan was made with it frozen; profile the model again"
            )

    # The start: what the model does before its first stage, in the caller's own code.

    def _begin(self, tensors: list[torch.Tensor], structure: Structure) -> None:
        binding, machine = self._binding, self._machine
        stage = binding.stages[1]
        machine.begin(tensors)
        call = Call(
            structure,
            tuple(range(len(tensors))),
            (),
            (),
            tuple([tensor.requires_grad for tensor in tensors]),
        )
        # Only the leaf tensors that it is seen to use are its own: a head's gradients
        # must not wait for the start's backward.
        memo = self._start = machine.remember(1, call, [])
        first = binding.forwards[1].step
        self._start_plain = first.plain and 1 in binding.backwards
        if memo.traits is None:
            with binding.suspended(), undisturbed(memo):
                traits, _, _ = learn(stage, memo, machine.cuts[0], first)
            memo.adopt(stage, traits)
            memo.state = stage.state(traits)

    def _arrive(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """Take what the caller's code computed as the output of the start."""
        binding, machine = self._binding, self._machine
        places = binding.stages[1].places
        assert places is not None, "seen when the start was looked at"
        arrived = [tensors[place] for place in places]
        machine.arrive(1, arrived)
        if self._start_plain:
            # The caller's code has recorded it too. That graph ends with the variables
            # of that code, or is refused: gradients through both round otherwise.
            for tensor in arrived:
                tensor.register_hook(_refuse_second_path)  # type: ignore[no-untyped-call]
            memo = self._start
            assert memo is not None, "remembered when the model was called"
            assert memo.traits is not None, "seen when the start was looked at"
            machine.lowest = 1
            outer = [t for t in self._roots if t.requires_grad]
            arrived = join(machine, 1, memo.traits, arrived, [*outer, *memo.targets])
            tensors = list(tensors)
            for place, tensor in zip(places, arrived, strict=True):
                tensors[place] = tensor
        self._given = [weakref.ref(tensor) for tensor in arrived]
        return tensors


def sources(
    stage: TorchStage,
    given: Sequence[torch.Tensor | None],
    tensors: Sequence[torch.Tensor],
    structure: Structure,
) -> tuple[Call, list[torch.Tensor]]:
    """Tell the tensors of a cut from those that come to a stage from elsewhere.

    Parameters
    ----------
    stage
        The stage.
    given
        What the stage before returned.
    tensors, structure
        The stage's arguments.

    Returns
    -------
    call, outer
        The arguments apart from the cut, and the cut's tensors that need a gradient.

    Raises
    ------
    UnfaithfulStageError
        If one from elsewhere needs a gradient.
    """
    if structure is ONE_ARGUMENT and len(given) == 1 and given[0] is tensors[0]:
        if tensors[0].requires_grad:
            return _NEEDING, [tensors[0]]
        return _CONSTANT, []
    needs = [False] * len(given)
    outer: dict[int, torch.Tensor] = {}
    sources: list[int | None] = []
    pinned = []
    for tensor in tensors:
        source = next((k for k, own in enumerate(given) if own is tensor), None)
        if source is None:
            source = _behind_hook(tensor, given)
        sources.append(source)
        if source is None:
            if tensor.requires_grad and not tensor.is_leaf:
                raise UnfaithfulStageError(
                    f"stage {stage.name!r} takes a tensor of shape "
                    f"{tuple(tensor.shape)} that needs a gradient and is not what "
                    f"the stage before it returned: the model is no chain here; "
                    f"make one stage of what lies between"
                )
            pinned.append(tensor)
        elif tensor.requires_grad:
            needs[source] = True
            outer[source] = tensor
    versions = tuple([tensor._version for tensor in pinned])
    call = Call(structure, tuple(sources), tuple(pinned), versions, tuple(needs))
    return call, [outer[k] for k in sorted(outer)]


def _refuse_second_path(_grad: torch.Tensor) -> None:
    raise UnfaithfulStageError(
        "what the model computes before its first stage is used by the end, too; its "
        "gradient would come in two parts and round otherwise than the plain model's: "
        "pass it through the stages, or give a budget that stores the start"
    )


def _behind_hook(
    tensor: torch.Tensor, given: Sequence[torch.Tensor | None]
) -> int | None:
    """Return which tensor of the cut a module's full backward hook passes on."""
    if tensor.grad_fn is None or "BackwardHook" not in tensor.grad_fn.name():
        return None
    return next(
        (
            k
            for k, own in enumerate(given)
            if own is not None and own.shape == tensor.shape and is_view_of(own, tensor)
        ),
        None,
    )


_NEEDING: Final = Call(ONE_ARGUMENT, (0,), (), (), (True,))
_CONSTANT: Final = Call(ONE_ARGUMENT, (0,), (), (), (False,))
"""One tensor from the stage before, which needs a gradient or does not."""


def join(
    machine: Machine,
    index: int,
    traits: Traits,
    tensors: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
) -> list[torch.Tensor]:
    """Return a stage's outputs as results of one node of the caller's graph."""
    return list(apply_node(StageNode, machine, index, traits, tensors, *inputs))


class StageNode(torch.autograd.Function):
    """The node that stands for a stage in the caller's graph."""

    @staticmethod
    def forward(  # noqa: D102 - torch's
        ctx: Any,
        machine: Machine,
        index: int,
        traits: Traits,
        tensors: Sequence[torch.Tensor],
        *inputs: torch.Tensor,
    ) -> Any:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(_TOKEN)
        ctx.machine, ctx.index = machine, index
        # Other objects than the machine's: theirs would point back to this node.
        results = [tensor.detach() for tensor in tensors]
        if False in traits.differentiable:
            pairs = zip(results, traits.differentiable, strict=True)
            ctx.mark_non_differentiable(*[r for r, needed in pairs if not needed])
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:  # noqa: D102 - torch's
        if torch.is_grad_enabled():
            name = ctx.machine.binding.stages[ctx.index].name
            raise UnfaithfulStageError(
                f"stage {name!r}: gradients of gradients (create_graph=True) cannot be "
                f"had from recomputed stages; take the plan off with unapply(model)"
            )
        _ = ctx.saved_tensors
        keep = torch._C._autograd._get_current_graph_task_keep_graph()
        return (None,) * 4 + tuple(ctx.machine.backward(ctx.index, grads, keep=keep))


def accelerator(tensors: Sequence[torch.Tensor]) -> torch.device | None:
    """Return the accelerator that tensors lie on; None if they lie on none."""
    current = torch.accelerator.current_accelerator()
    if current is None:
        return None
    return next((t.device for t in tensors if t.device.type == current.type), None)
