"""Training steps of torch models, and what tests ask of a model under a plan."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

import ckschedule as ck

Plan: TypeAlias = ck.Result | ck.ParetoPoint | ck.Schedule
Step: TypeAlias = Callable[[], tuple[Any, Tensor]]


def step_of(model: nn.Module, inputs: Any, loss: Callable[[Any], Tensor]) -> Step:
    """Return a training step that holds the model's output to its end, as users do."""

    def step() -> tuple[Any, Tensor]:
        output = model(*inputs)
        value = loss(output)
        torch.autograd.backward(value)
        return output, value

    return step


def gradients(model: nn.Module, step: Step) -> dict[str, Tensor | None]:
    """Return the gradients of a step, from seed 0, and leave the model without any."""
    forget(model)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        step()
    found = {name: parameter.grad for name, parameter in model.named_parameters()}
    forget(model)
    return found


def forget(model: nn.Module) -> None:
    """Drop all gradients."""
    for parameter in model.parameters():
        parameter.grad = None


def differing(a: dict[str, Tensor | None], b: dict[str, Tensor | None]) -> list[str]:
    """Return the names of gradients that are not equal bit by bit."""
    return [*(a.keys() ^ b.keys()), *(n for n in a if n in b and not _same(a[n], b[n]))]


def _same(a: Tensor | None, b: Tensor | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and torch.equal(a, b)


@contextmanager
def following(
    model: nn.Module, plan: Plan, chain: ck.Chain | None = None
) -> Iterator[None]:
    """Have a model follow a plan inside."""
    ck.apply(model, plan, chain)
    try:
        yield
    finally:
        ck.unapply(model)


def measured(model: nn.Module, inputs: Any, step: Step) -> ck.Measurement:
    """Return what the second step takes: the first one looks at the stages, too."""
    forget(model)
    step()
    forget(model)
    found = ck.measure(step, model, inputs=inputs)
    forget(model)
    return found


def scheduled(chain: ck.Chain, schedule: ck.Schedule) -> dict[str, int]:
    """Return how often a schedule computes each stage but the loss, by its name."""
    nodes = Counter(
        operation.node
        for operation in schedule.operations
        if isinstance(operation, ck.Compute)
    )
    return {s.name: nodes[f"F{i}"] for i, s in enumerate(chain.stages, start=1)}


def profiled(model: nn.Module, *inputs: Any, **settings: Any) -> ck.Chain:
    """Return a model's chain with unit times, so that its schedules are the same."""
    chain = ck.profile(model, *inputs, **settings)
    return replace(
        chain,
        stages=[_unit(stage) for stage in chain.stages],
        loss=_unit(chain.sequence[-1]),
    )


def _unit(stage: ck.Stage) -> ck.Stage:
    # A variant that saves less has the slower backward, or it would always be chosen.
    return replace(
        stage,
        forward=1,
        variants=[
            replace(v, forward=1, backward=2 if v.name == "all" else 3)
            for v in stage.variants
        ],
    )


def sizes(chain: ck.Chain) -> list[Any]:
    """Return all byte counts and flags of a chain, without its times."""
    return [
        chain.input,
        chain.static,
        *(
            replace(
                stage,
                forward=0,
                variants=[replace(v, forward=0, backward=0) for v in stage.variants],
            )
            for stage in chain.sequence
        ),
    ]
