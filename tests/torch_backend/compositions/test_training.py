"""A training loop around the planned model goes as around the plain one."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_backend.compositions.comparing import (
    Optimizer,
    Plans,
    adamw,
    backward,
    identical,
    momentum,
    plans_of,
    train,
)
from torch_models import CASES, Case

import ckschedule as ck
from ckschedule.errors import UnfaithfulStageError

NAMES = ("mlp", "resnet", "gpt", "lstm", "lora_mlp", "moe", "vit")

_known: dict[tuple[str, bool], Plans] = {}


def _plans(name: str, *, accumulate: bool = False) -> Plans:
    key = name, accumulate
    if key not in _known:
        _known[key] = plans_of(CASES[name](), accumulate=accumulate)
    return _known[key]


def _planned(name: str, which: str, *, accumulate: bool = False) -> Case:
    case = CASES[name]()
    plans = _plans(name, accumulate=accumulate)
    ck.apply(case.model, plans.least if which == "least" else plans.middle)
    return case


@pytest.mark.parametrize("optimizer", [adamw, momentum])
@pytest.mark.parametrize("which", ["least", "middle"])
@pytest.mark.parametrize("name", NAMES)
def test_five_updates_are_those_of_the_plain_model(
    name: str, which: str, optimizer: Optimizer
) -> None:
    """Dropout, batch norm, tied weights and frozen layers show in later steps."""
    expected = train(CASES[name](), optimizer)

    assert identical(train(_planned(name, which), optimizer), expected)


@pytest.mark.parametrize("which", ["least", "middle"])
@pytest.mark.parametrize("name", ["gpt", "resnet", "lora_mlp", "lstm"])
def test_gradients_accumulate_over_micro_batches(name: str, which: str) -> None:
    """A plan for gradients that are there already adds to them as autograd does."""
    expected = train(CASES[name](), adamw, steps=2, micro=3)

    planned = _planned(name, which, accumulate=True)
    assert identical(train(planned, adamw, steps=2, micro=3), expected)


def test_a_plan_for_accumulation_counts_the_gradients_throughout() -> None:
    """Gradients of earlier micro-batches lie there from the first forward on."""
    case = CASES["mlp"]()
    gradients = sum(p.nbytes for p in case.model.parameters())
    counted = _plans("mlp", accumulate=True).least.model
    fresh = _plans("mlp").least.model

    assert isinstance(counted, ck.Chain)
    assert isinstance(fresh, ck.Chain)
    assert counted.static.gradients == gradients
    assert fresh.static.gradients == 0


def _lower_precision(case: Case) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return case.loss(case.model(*case.inputs))


@pytest.mark.parametrize("name", ["mlp", "gpt", "resnet", "vit"])
def test_autocast_is_in_force_in_recomputations(name: str) -> None:
    """The backward runs outside of the context, and so do its recomputations."""
    expected = train(CASES[name](), adamw, steps=3, step=_lower_precision)

    planned = _planned(name, "least")
    assert identical(train(planned, adamw, steps=3, step=_lower_precision), expected)


def test_a_weight_of_several_stages_that_autocast_casts_once_is_refused() -> None:
    """The plain model adds the gradients of all its uses in bfloat16."""
    planned = _planned("lstm", "least")
    with pytest.raises(UnfaithfulStageError, match="cache_enabled=False"):
        backward(_lower_precision(planned))


def _clip(model: torch.nn.Module) -> None:
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)


@pytest.mark.parametrize("before_update", [_clip])
@pytest.mark.parametrize("name", ["gpt", "resnet"])
def test_clipped_gradients_are_those_of_the_plain_model(
    name: str, before_update: Callable[[torch.nn.Module], None]
) -> None:
    """The norm is over all parameters: one gradient too late would change them all."""
    expected = train(CASES[name](), adamw, steps=3, before_update=before_update)

    planned = _planned(name, "least")
    assert identical(
        train(planned, adamw, steps=3, before_update=before_update), expected
    )


@pytest.mark.parametrize("name", ["gpt", "lora_mlp"])
def test_gradients_may_be_zeroed_in_place(name: str) -> None:
    """Gradients that stay are added to, and never replaced."""
    expected = train(CASES[name](), momentum, steps=3, set_to_none=False)

    planned = _planned(name, "least")
    assert identical(train(planned, momentum, steps=3, set_to_none=False), expected)


def test_a_fused_update_per_gradient_meets_complete_gradients() -> None:
    """A hook that steps as soon as a gradient is there sees tied weights once."""

    def run(case: Case) -> list[int]:
        calls: list[int] = []
        for place, parameter in enumerate(case.model.parameters()):

            def update(p: Tensor, place: int = place) -> None:
                calls.append(place)
                assert p.grad is not None
                with torch.no_grad():
                    p -= 0.01 * p.grad
                p.grad = None

            parameter.register_post_accumulate_grad_hook(update)  # type: ignore[no-untyped-call]  # torch's
        torch.default_generator.manual_seed(0)
        for _ in range(2):
            backward(case.loss(case.model(*case.inputs)))
        return calls

    plain, planned = CASES["mlp"](), _planned("mlp", "least")
    assert sorted(run(planned)) == sorted(run(plain))
    assert identical(list(planned.model.parameters()), list(plain.model.parameters()))
