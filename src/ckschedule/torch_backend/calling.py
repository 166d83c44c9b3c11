"""How a model is called and where its loss is."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ckschedule.errors import InvalidSettingError

Loss: TypeAlias = Callable[[Any], torch.Tensor]
"""From what the model returns to a scalar; targets are in its closure."""


class NoLossWarning(UserWarning):
    """The promised peak ends at a model's output, for its loss is not known."""


def arguments(
    model: nn.Module, inputs: tuple[Any, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return what a model is called with as ``(args, kwargs)``.

    Parameters
    ----------
    model
        Whose forward's parameters tell how to read a mapping.
    inputs
        Positional; a single mapping goes in as keywords if forward has parameters of
        those names, as batches of tokenised text do.
    """
    if len(inputs) == 1 and isinstance(inputs[0], Mapping):
        parameters = inspect.signature(model.forward).parameters
        anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        if inputs[0] and all(key in parameters or anything for key in inputs[0]):
            return (), dict(inputs[0])
    return inputs, {}


def as_inputs(inputs: Any) -> tuple[Any, ...]:
    """Return inputs as a tuple: a tensor or a mapping is one input."""
    return inputs if isinstance(inputs, tuple) else (inputs,)


def loss_of(returned: Any, loss: Loss | None) -> torch.Tensor | None:
    """Return the scalar that a step differentiates; None if there is none to see.

    Parameters
    ----------
    returned
        By the model.
    loss
        Of that; None: the model returns it, bare or as ``.loss``.

    Raises
    ------
    InvalidSettingError
        If ``loss`` returns anything but a scalar that needs a gradient.
    """
    if loss is None:
        value = returned if isinstance(returned, torch.Tensor) else None
        if value is None:
            value = getattr(returned, "loss", None)
        scalar = isinstance(value, torch.Tensor) and value.numel() == 1
        return value if scalar else None
    value = loss(returned)
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        shape = tuple(value.shape) if isinstance(value, torch.Tensor) else None
        raise InvalidSettingError(
            f"loss returned {type(value).__name__} of shape {shape}; it must return a "
            f"tensor with one element"
        )
    if not value.requires_grad:
        raise InvalidSettingError(
            "the loss does not need a gradient: no parameter is trained, or it was "
            "computed under no_grad"
        )
    return value


def tensors_in(returned: Any) -> list[torch.Tensor]:
    """Return the tensors of what a model returned, also of an object of its own."""
    leaves = pytree.tree_leaves(returned)
    inside = [vars(leaf) for leaf in leaves if hasattr(leaf, "__dict__")]
    found = [*leaves, *pytree.tree_leaves(inside)]
    return [leaf for leaf in found if isinstance(leaf, torch.Tensor)]


def differentiate(returned: Any, loss: torch.Tensor | None) -> None:
    """Run a step's backward: of the loss, or else of everything the model returned.

    Raises
    ------
    InvalidSettingError
        If nothing that it returned needs a gradient.
    """
    if loss is not None:
        torch.autograd.backward(loss)
        return
    roots = [t for t in tensors_in(returned) if t.requires_grad]
    if not roots:
        raise InvalidSettingError(
            "nothing that the model returned needs a gradient; give loss=, or train "
            "some parameter"
        )
    torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])
