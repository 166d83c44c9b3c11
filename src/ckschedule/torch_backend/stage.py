"""A stage of a torch model as the executor knows it: what it computes and what it owns.

What has to be known to compute a stage again exactly (its `Traits`) is either learned
when a model is profiled or, for a plan that came from elsewhere, at the first
computation: that one is recorded, looked at and, where the plan says ``plain``, its
saved tensors are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import torch
from torch import nn

if TYPE_CHECKING:
    from ckschedule.torch_backend.tape import Call

_ATTENTION: Final = (
    nn.MultiheadAttention,
    nn.TransformerEncoder,
    nn.TransformerEncoderLayer,
)

Slot: TypeAlias = tuple[nn.Module, str]
"""A parameter or buffer by the module that owns it and its name there."""


Place: TypeAlias = tuple[int, str]
"""The same by the module's position in its stage."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What one computation of a stage showed.

    Modules are named by their position in the stage, so that this keeps none alive.

    Attributes
    ----------
    differentiable
        Which of its output tensors need a gradient.
    mutates
        Whether it changes its input in place: it is given a copy then.
    buffers
        Buffers that it changes: restored for each recomputation.
    used
        Of the start: the parameters that it uses.
    captured
        Leaf tensors that it uses and no module of it owns.
    repeated
        Which of the leaf tensors that gradients are asked for it uses more than once.
    """

    differentiable: tuple[bool, ...]
    mutates: bool = False
    buffers: tuple[Place, ...] = ()
    used: tuple[Place, ...] = ()
    captured: tuple[torch.Tensor, ...] = ()
    repeated: tuple[int, ...] = ()


@dataclass(slots=True, eq=False)
class TorchStage:
    """One stage, bound to the modules that compute it.

    Attributes
    ----------
    name
        As in the chain.
    compute
        The computation itself, not intercepted.
    modules
        Every module whose parameters, buffers and training flag belong to it.
    inner_backward
        Whether parameter gradients are accumulated inside the stage's own backward, as
        FSDP's hooks need it, rather than returned to the caller's graph.
    known
        Traits by what they depend on; see `key`.
    places
        Of the start: which tensors among the first module's arguments it computes;
        None before it was looked at.
    is_start
        Whether it is what the model does before its first module: which leaf tensors
        it uses is then only seen when it runs.
    attends
        Whether it holds an attention of torch.nn, which computes otherwise without
        gradients.
    grad_sensitive
        Whether it computes otherwise without gradients, so that a plain computation is
        a recorded one whose saved tensors are dropped.
    compared
        Whether a plain computation of it has been seen to give what a recorded one
        does.
    """

    name: str
    compute: Callable[..., Any]
    modules: tuple[nn.Module, ...]
    inner_backward: bool = False
    known: dict[Any, Traits] = field(default_factory=dict)
    places: tuple[int, ...] | None = None
    is_start: bool = False
    attends: bool = False
    grad_sensitive: bool = False
    compared: bool = False
    _parameters: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    _watches: dict[Any, list[tuple[dict[str, Any], str]]] = field(default_factory=dict)
    _repeats: bool = False

    def __post_init__(self) -> None:
        """Look up what every step would have to look up."""
        self.attends = any(isinstance(m, _ATTENTION) for m in self.modules)
        slots = self.parameter_slots()
        self._parameters = [(m._parameters, n) for m, n in slots]
        distinct = {id(m._parameters[n]) for m, n in slots}
        self._repeats = len(distinct) < len(slots)

    # A module's dictionaries are read directly: its iterators cost ten times as much,
    # at every stage of every step, and parameters may be exchanged meanwhile.

    def parameter_slots(self) -> list[Slot]:
        """Return where its parameters are."""
        return [(m, n) for m in self.modules for n in m._parameters]

    def buffer_slots(self) -> list[Slot]:
        """Return where its buffers are."""
        return [(m, n) for m in self.modules for n in m._buffers]

    def trained(self) -> list[torch.Tensor]:
        """Return its parameters that need a gradient, each once."""
        found = [
            p
            for parameters, name in self._parameters
            if (p := parameters[name]) is not None and p.requires_grad
        ]
        return list({id(p): p for p in found}.values()) if self._repeats else found

    def place(self, slot: Slot) -> Place:
        """Return a slot by its module's position."""
        module, name = slot
        return next(i for i, own in enumerate(self.modules) if own is module), name

    def slots(self, places: Iterable[Place]) -> list[Slot]:
        """Return the slots at some places."""
        return [(self.modules[position], name) for position, name in places]

    def used(self, traits: Traits) -> list[torch.Tensor]:
        """Return the leaf tensors that only looking has shown it to use."""
        own = [m._parameters[name] for m, name in self.slots(traits.used)]
        return [*(p for p in own if p is not None), *traits.captured]

    def key(self, training: tuple[bool, ...], call: Call, targets: int) -> Any:
        """Return what traits depend on.

        Parameters
        ----------
        training
            Training flags.
        call
            The stage's arguments.
        targets
            How many other tensors are known to.
        """
        if not self.is_start:
            return training, call.needs_grad, call.constants, targets
        flags = [
            p.requires_grad for d, n in self._parameters if (p := d[n]) is not None
        ]
        return training, call.needs_grad, call.constants, tuple(flags)

    def _watched(self, traits: Traits) -> list[tuple[dict[str, Any], str]]:
        """Return parameters and those buffers that it does not change itself."""
        watched = self._watches.get(traits.buffers)
        if watched is None:
            changing = set(traits.buffers)
            watched = self._watches[traits.buffers] = self._parameters + [
                (module._buffers, name)
                for position, module in enumerate(self.modules)
                for name in module._buffers
                if (position, name) not in changing
            ]
        return watched

    def state(self, traits: Traits) -> tuple[Any, ...]:
        """Return which parameters and buffers it has, and their versions."""
        if self.inner_backward:
            return ()  # FSDP exchanges parameters around each computation
        watched = [tensors[name] for tensors, name in self._watched(traits)]
        return tuple(
            [
                (id(t), t._version, t.data_ptr()) if t is not None else None
                for t in (*watched, *traits.captured)
            ]
        )

    def state_names(self, traits: Traits) -> list[str]:
        """Return names for the entries of `state`."""
        names = [name for _, name in self._watched(traits)]
        return names + ["a leaf tensor"] * len(traits.captured)

    def training_flags(self) -> tuple[bool, ...]:
        """Return the training flags of all its modules."""
        return tuple([module.training for module in self.modules])


def all_modules(modules: Iterable[nn.Module]) -> tuple[nn.Module, ...]:
    """Return modules with everything inside them, each once."""
    return tuple({id(s): s for m in modules for s in m.modules()}.values())
