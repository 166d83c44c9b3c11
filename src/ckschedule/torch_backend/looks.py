"""What a model's stages were bound to, to see when that has changed."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from torch import nn

from ckschedule.torch_backend.stage import TorchStage

_Children: TypeAlias = tuple[nn.Module | None, ...]
Look: TypeAlias = tuple[nn.Module, type, _Children, int, int, int, int]
"""A module, its class, its children, and how many parameters, buffers and hooks."""


def look_at(stages: Iterable[TorchStage]) -> list[Look]:
    """Return what stages are bound to."""
    return [
        (
            module,
            type(module),
            tuple(module._modules.values()),
            len(module._parameters),
            len(module._buffers),
            len(module._forward_hooks),
            len(module._forward_pre_hooks),
        )
        for stage in stages
        for module in stage.modules
    ]


def looks_different(looks: Sequence[Look]) -> bool:
    """Whether a module was exchanged or changed its class, parts or hooks."""
    # At every step: hence plain comparisons, and no sooner tuples of them.
    for module, kind, children, parameters, buffers, hooks, before in looks:
        if (
            len(module._parameters) != parameters
            or len(module._forward_hooks) != hooks
            or len(module._forward_pre_hooks) != before
            or len(module._buffers) != buffers
            or type(module) is not kind
            or (children and tuple(module._modules.values()) != children)
            or (not children and module._modules)
        ):
            return True
    return False
