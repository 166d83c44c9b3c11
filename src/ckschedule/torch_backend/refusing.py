"""What a model under a plan must not run under, or carry."""

import torch
from torch import nn

from ckschedule.errors import UnfaithfulStageError


def refuse_hooks(stage: str, module: nn.Module) -> None:
    """Refuse hooks on a module of a stage that is made of several.

    Raises
    ------
    UnfaithfulStageError
        If it has any.
    """
    hooks = (
        module._forward_hooks,
        module._forward_pre_hooks,
        module._backward_hooks,
        module._backward_pre_hooks,
    )
    if any(hooks):
        raise UnfaithfulStageError(
            f"stage {stage!r} is made of several modules, and among them is a "
            f"{type(module).__name__} with hooks, which would see what lies between or "
            f"run twice; take them off, or name the modules one by one: stages=[...]"
        )


def refuse_transforms() -> None:
    """Refuse function transforms and forward-mode differentiation.

    Raises
    ------
    UnfaithfulStageError
        If either is active.
    """
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise UnfaithfulStageError(
            "the model runs under torch.func (vmap, grad, jvp, ...), which a schedule "
            "of recomputations cannot follow; take the plan off with unapply(model)"
        )
    if torch.autograd.forward_ad._current_level >= 0:
        raise UnfaithfulStageError(
            "the model runs under forward-mode differentiation, which a schedule of "
            "recomputations cannot follow; take the plan off with unapply(model)"
        )
