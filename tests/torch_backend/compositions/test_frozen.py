"""Frozen parts: trained ones get their gradients, and frozen ones cost nothing."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch_backend.compositions.comparing import (
    DEVICE,
    backward,
    gradients,
    identical,
    plans_of,
)
from torch_models import CASES, Case, gpt, lora_mlp, mlp

import ckschedule as ck
from ckschedule.errors import PlanMismatchError


def _linears() -> tuple[nn.Sequential, torch.Tensor]:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        layers = [nn.Linear(3, 3) for _ in range(4)]
    for frozen in layers[:2]:
        frozen.requires_grad_(False)
    return nn.Sequential(*layers), torch.ones(1, 3)


def test_a_frozen_prefix_is_computed_once_and_gets_no_gradient() -> None:
    """There is no backward that would need anything of it."""
    model, x = _linears()
    expected = gradients(model, (x,), torch.sum)
    chain = ck.profile(model, x, loss=torch.sum, time=DEVICE)

    assert [stage.frozen for stage in chain.stages] == [True, True, False, False]
    for point in ck.pareto(chain).points:
        ck.apply(model, point)
        assert identical(gradients(model, (x,), torch.sum), expected)
        done = ck.measure(lambda: gradients(model, (x,), torch.sum), model).executions
        ck.unapply(model)
        assert (done["0"], done["1"]) == (1, 1)
        assert max(done.values()) <= 2
        assert [p.grad is None for p in model.parameters()] == [True] * 4 + [False] * 4


def test_a_frozen_prefix_is_computed_again_only_to_keep_the_budget() -> None:
    """Its output is a checkpoint as any other, kept where there is memory for it."""
    case = lora_mlp()
    points = plans_of(case).front.points
    prefix = [f"{i}" for i in range(4)]

    again = []
    for point in points:
        ck.apply(case.model, point)
        done = ck.measure(
            lambda: gradients(case.model, case.inputs, case.loss), case.model
        ).executions
        ck.unapply(case.model)
        again.append(any(n > 1 for name, n in done.items() if name in prefix))
    assert again[0]
    assert not again[-1]


@pytest.mark.parametrize("name", ["gpt", "resnet", "vit"])
def test_training_and_evaluation_mode_may_alternate(name: str) -> None:
    """Dropout and batch norm follow the mode of the forward, buffers too."""
    plain, planned = CASES[name](), CASES[name]()
    ck.apply(planned.model, plans_of(planned).least)

    for training in (True, False, True, False):
        for case in (plain, planned):
            case.model.train(training)
        assert identical(
            gradients(planned.model, planned.inputs, planned.loss),
            gradients(plain.model, plain.inputs, plain.loss),
        )
        assert identical([*planned.model.buffers()], [*plain.model.buffers()])


def test_the_mode_may_change_between_forward_and_backward() -> None:
    """A recomputation is in the mode of the forward, and leaves the new one."""
    plain, planned = gpt(), gpt()
    ck.apply(planned.model, plans_of(planned).least)
    found = []
    for case in (plain, planned):
        torch.default_generator.manual_seed(0)
        loss = case.loss(case.model(*case.inputs))
        case.model.eval()
        backward(loss)
        assert not any(module.training for module in case.model.modules())
        found.append([p.grad for p in case.model.parameters()])

    assert identical(*found)


def _first(model: nn.Module) -> nn.Module:
    return model.get_submodule("0")


def _middle(model: nn.Module) -> nn.Module:
    return model.get_submodule("6")


def _block(model: nn.Module) -> nn.Module:
    return model.get_submodule("transformer.h.0")


def _positions(model: nn.Module) -> nn.Module:
    return model.get_submodule("transformer.wpe")


def _after_planning(
    make: Callable[[], Case],
    part: Callable[[nn.Module], nn.Module],
    *,
    trained: bool,
) -> tuple[Case, Case]:
    """Return the plain and the planned case, whose part was switched after planning."""
    plain, planned = make(), make()
    part(planned.model).requires_grad_(not trained)
    ck.apply(planned.model, plans_of(planned).least)
    for case in (plain, planned):
        part(case.model).requires_grad_(trained)
    return plain, planned


@pytest.mark.parametrize(
    ("make", "part", "trained"),
    [
        (mlp, _first, False),
        (mlp, _middle, False),
        (mlp, _middle, True),
        (gpt, _block, False),
        (gpt, _positions, False),
        (gpt, _positions, True),
    ],
)
def test_parts_may_be_frozen_or_trained_after_planning(
    make: Callable[[], Case], part: Callable[[nn.Module], nn.Module], trained: bool
) -> None:
    """The plan has a backward for these stages, whoever wants its gradients."""
    plain, planned = _after_planning(make, part, trained=trained)

    for _ in range(2):
        assert identical(
            gradients(planned.model, planned.inputs, planned.loss),
            gradients(plain.model, plain.inputs, plain.loss),
        )


@pytest.mark.parametrize("make", [mlp, lora_mlp])
def test_training_a_frozen_prefix_after_planning_is_refused(
    make: Callable[[], Case],
) -> None:
    """The plan has no backward for it: its gradient would be missing."""
    _, planned = _after_planning(make, _first, trained=True)

    with pytest.raises(PlanMismatchError, match=r"'0' needs a gradient.*profile"):
        planned.model(*planned.inputs)


def test_a_leaf_that_the_first_stage_closes_over_gets_its_gradient() -> None:
    """It belongs to no module, and the input needs no gradient: it is all there is."""
    scale = torch.full((3,), 2.0, requires_grad=True)

    class Scaled(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * scale

    model, x = _linears()
    model = nn.Sequential(Scaled(), *model)
    backward(model(x).square().sum())
    expected, scale.grad = scale.grad, None

    chain = ck.profile(model, x, loss=lambda out: out.square().sum(), time=DEVICE)
    ck.apply(model, ck.pareto(chain).minimum)
    backward(model(x).square().sum())

    assert identical([scale.grad], [expected])
