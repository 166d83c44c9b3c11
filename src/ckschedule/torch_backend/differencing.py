"""The gradient of a plan beside a difference quotient of the loss."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Final

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ckschedule.costs.chain import Chain
from ckschedule.costs.static import StaticMemory
from ckschedule.errors import InvalidSettingError
from ckschedule.torch_backend.applying import apply, binding_of
from ckschedule.torch_backend.calling import (
    Loss,
    arguments,
    as_inputs,
    differentiate,
    loss_of,
)
from ckschedule.torch_backend.checks import Check
from ckschedule.torch_backend.memo import untouched

_STEP: Final = 1e-6
"""Of the finite differences, relative to the parameters, in float64."""

_DIFFERENCE: Final = 1e-5
"""Relative error that a finite difference in float64 may have."""


def compare_slopes(model: nn.Module, inputs: Any, loss: Loss | None) -> Check:
    """Compare the gradient's direction with a difference quotient of the loss."""
    binding = binding_of(model)
    assert binding.schedule is not None, "applied"
    twin = copy.deepcopy(model).double()
    inputs = pytree.tree_map(_wide, inputs)
    apply(twin, binding.schedule, _without_sizes(binding.chain))
    args, kwargs = arguments(twin, as_inputs(inputs))
    trained = [p for p in twin.parameters() if p.requires_grad]
    generator = torch.Generator().manual_seed(0)
    directions = [
        torch.randn(p.shape, generator=generator, dtype=p.dtype).to(p.device)
        for p in trained
    ]

    def value(shift: float) -> float:
        with untouched([*twin.modules()]), torch.no_grad():
            for p, d in zip(trained, directions, strict=True):
                p.add_(d, alpha=shift)
            found = (
                loss_of(twin(*args, **kwargs), None)
                if loss is None
                else loss(twin(*args, **kwargs))
            )
            for p, d in zip(trained, directions, strict=True):
                p.sub_(d, alpha=shift)
        if found is None:
            raise InvalidSettingError(
                "finite differences need a loss, and the model returns none; give loss="
            )
        return float(found)

    with untouched([*twin.modules()]), torch.enable_grad():
        returned = twin(*args, **kwargs)
        differentiate(returned, loss_of(returned, loss))
    slope = sum(
        float((p.grad * d).sum())
        for p, d in zip(trained, directions, strict=True)
        if p.grad is not None
    )
    quotient = (value(_STEP) - value(-_STEP)) / (2 * _STEP)
    error = abs(slope - quotient) / max(abs(quotient), abs(slope), 1e-12)
    return Check(
        name="finite differences",
        ok=error <= _DIFFERENCE,
        detail=f"slope {slope:.10g}, quotient {quotient:.10g}, relative error "
        f"{error:.2g}",
    )


def _wide(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
        return leaf.detach().double().requires_grad_(leaf.requires_grad)
    return leaf


def _without_sizes(chain: Chain | None) -> Chain:
    """Return the chain without parameter sizes, which differ in another precision."""
    assert chain is not None, "applied with its chain"
    return replace(
        chain,
        stages=[
            replace(
                s,
                parameter_gradient=0,
                variants=[replace(v, backward_transient=None) for v in s.variants],
            )
            for s in chain.stages
        ],
        static=StaticMemory(),
    )
