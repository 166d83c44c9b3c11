"""Steps of the plain and of the planned model, side by side."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch_models import Case

import ckschedule as ck

DEVICE = "h100"
"""Times from a data sheet: the same plan on every machine and in every process."""

Gradients: TypeAlias = list[Tensor | None]
Optimizer: TypeAlias = Callable[[Iterable[Tensor]], torch.optim.Optimizer]


@dataclass(frozen=True, slots=True)
class Plans:
    """The cheapest plan in memory, and one in the middle of the front."""

    least: ck.ParetoPoint
    middle: ck.ParetoPoint
    front: ck.ParetoFront


def plans_of(case: Case, *, accumulate: bool = False) -> Plans:
    """Return plans for a case's model, which is left as it is."""
    chain = ck.profile(
        case.model,
        *case.inputs,
        loss=case.loss,
        stages=case.stages,
        time=DEVICE,
        accumulate=accumulate,
    )
    front = ck.pareto(chain)
    return Plans(front.minimum, front.points[len(front.points) // 2], front)


def least_plan(
    model: nn.Module,
    *inputs: Any,
    loss: Callable[[Any], Tensor] | None = None,
    stages: Sequence[str] | None = None,
) -> ck.ParetoPoint:
    """Return the cheapest plan in memory of any model."""
    chain = ck.profile(model, *inputs, loss=loss, stages=stages, time=DEVICE)
    return ck.pareto(chain).minimum


def gradients(
    model: nn.Module,
    inputs: Sequence[Any],
    loss: Callable[[Any], Tensor],
    *,
    seed: int = 1,
) -> Gradients:
    """Return loss and parameter gradients of one step from a seed, copied."""
    torch.default_generator.manual_seed(seed)
    model.zero_grad()
    value = loss(model(*inputs))
    backward(value)
    return [value.detach(), *copied(p.grad for p in model.parameters())]


def backward(loss: Tensor) -> None:
    """Differentiate: ``loss.backward()`` has no types."""
    torch.autograd.backward(loss)


def copied(tensors: Iterable[Tensor | None]) -> Gradients:
    """Return copies of tensors; None stays."""
    return [None if t is None else t.detach().clone() for t in tensors]


def identical(first: Gradients, second: Gradients) -> bool:
    """Whether two lists hold the same bits, and None at the same places."""
    return all(
        a is b is None or (a is not None and b is not None and torch.equal(a, b))
        for a, b in zip(first, second, strict=True)
    )


def adamw(parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
    """Return AdamW with a learning rate that shows in few steps."""
    return torch.optim.AdamW(parameters, lr=1e-2)


def momentum(parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
    """Return SGD with momentum."""
    return torch.optim.SGD(parameters, lr=1e-2, momentum=0.9)


def train(
    case: Case,
    optimizer: Optimizer,
    *,
    steps: int = 5,
    micro: int = 1,
    step: Callable[[Case], Tensor] | None = None,
    before_update: Callable[[nn.Module], object] = lambda _: None,
    set_to_none: bool = True,
    seed: int = 3,
) -> Gradients:
    """Train a case's model and return its losses, gradients, parameters and buffers.

    Parameters
    ----------
    case, optimizer
        What is trained, and how.
    steps, micro
        Updates, and backwards before each.
    step
        Computes the loss; None calls the model.
    before_update
        Is given the model whose gradients are complete.
    set_to_none
        How gradients are cleared.
    """
    torch.default_generator.manual_seed(seed)
    model = case.model
    updates = optimizer([p for p in model.parameters() if p.requires_grad])
    schedule = torch.optim.lr_scheduler.StepLR(updates, 2, gamma=0.5)
    seen: Gradients = []
    for _ in range(steps):
        for _ in range(micro):
            loss = case.loss(model(*case.inputs)) if step is None else step(case)
            backward(loss)
            seen.append(loss.detach())
        before_update(model)
        seen += copied(p.grad for p in model.parameters())
        updates.step()
        schedule.step()
        updates.zero_grad(set_to_none=set_to_none)
    return [*seen, *copied(model.parameters()), *copied(model.buffers())]
