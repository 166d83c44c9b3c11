"""A planned model is still the user's: names, types, copies, files, memory."""

import copy
import gc
import io
import weakref
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn
from torch_backend.compositions.comparing import (
    DEVICE,
    adamw,
    backward,
    gradients,
    identical,
    least_plan,
    plans_of,
    train,
)
from torch_models import CASES, Case, Gpt, classify, gpt, mlp

import ckschedule as ck
from ckschedule.errors import PlanMismatchError


def _names(model: nn.Module) -> tuple[list[str], list[str], list[str], list[type]]:
    return (
        [name for name, _ in model.named_parameters()],
        [*model.state_dict()],
        [name for name, _ in model.named_modules()],
        [type(module) for module in model.modules()],
    )


@pytest.mark.parametrize("name", ["gpt", "resnet", "lstm", "mlp"])
def test_names_keys_and_types_stay(name: str) -> None:
    """Checkpoints of weights, optimiser groups and isinstance depend on them."""
    case = CASES[name]()
    before = _names(case.model)
    own = [list(module.__dict__) for module in case.model.modules()]

    ck.apply(case.model, plans_of(case).least)
    applied = _names(case.model)
    gradients(case.model, case.inputs, case.loss)
    ck.unapply(case.model)

    assert applied == before == _names(case.model)
    assert [list(module.__dict__) for module in case.model.modules()] == own


def _copied(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model)


def _saved(model: nn.Module) -> nn.Module:
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    # The whole model, not its weights only.
    loaded: nn.Module = torch.load(file, weights_only=False)
    return loaded


@pytest.mark.parametrize("duplicate", [_copied, _saved])
def test_copies_are_plain_models_that_train(
    duplicate: Callable[[nn.Module], nn.Module],
) -> None:
    """They share nothing with the original, and follow no plan."""
    case, plain = gpt(), gpt()
    ck.apply(case.model, plans_of(case).least)
    twin = duplicate(case.model)

    assert type(twin) is Gpt
    assert ck.plan_of(twin) is None
    assert _names(twin) == _names(plain.model)
    held = Case(name="twin", model=twin, inputs=case.inputs, loss=case.loss)
    assert identical(train(held, adamw, steps=2), train(plain, adamw, steps=2))
    # Nor did training it reach the original.
    assert identical([*case.model.parameters()], [*gpt().model.parameters()])


@pytest.mark.parametrize("duplicate", [_copied, _saved])
def test_a_copy_can_follow_a_plan_of_its_own(
    duplicate: Callable[[nn.Module], nn.Module],
) -> None:
    """Beside the original, which keeps its plan."""
    case = gpt()
    expected = gradients((plain := gpt()).model, plain.inputs, plain.loss)
    least = plans_of(case).least
    ck.apply(case.model, least)
    twin = duplicate(case.model)

    ck.auto_checkpoint(
        twin, case.inputs, loss=case.loss, budget=least.peak, time=DEVICE
    )

    assert ck.plan_of(twin) is not None
    assert ck.plan_of(case.model) is least
    assert identical(gradients(twin, case.inputs, case.loss), expected)
    ck.unapply(twin)
    assert identical(gradients(twin, case.inputs, case.loss), expected)
    assert identical(gradients(case.model, case.inputs, case.loss), expected)


def test_weights_go_from_a_planned_to_a_plain_model_and_back() -> None:
    """A run may be resumed without the plan."""
    planned, plain = gpt(), gpt(seed=1)
    ck.apply(planned.model, plans_of(planned).least)
    plain.model.load_state_dict(planned.model.state_dict())
    expected = gradients(plain.model, planned.inputs, planned.loss)

    assert identical(gradients(planned.model, planned.inputs, planned.loss), expected)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (lambda: gpt(depth=4), "parameters"),
        (lambda: gpt(depth=2), r"'transformer\.h\.2'"),
        (lambda: gpt(width=32), r"stage 2 \('transformer\.h\.0'\)"),
        (lambda: gpt(vocabulary=13), "parameters"),
        (mlp, r"'transformer\.h\.0'"),
    ],
    ids=["deeper", "shallower", "wider", "vocabulary", "another kind"],
)
def test_a_plan_for_another_model_is_refused(
    other: Callable[[], Case], difference: str
) -> None:
    """Before the first step, and by the first difference."""
    plan = plans_of(gpt()).least
    model = other().model

    with pytest.raises(PlanMismatchError, match=difference):
        ck.apply(model, plan)
    assert ck.plan_of(model) is None


def _batch(case: Case, batch: int, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    (text,) = case.inputs
    x = torch.cat([text, text])[:batch, :tokens].contiguous()
    return x, x.roll(1)


@pytest.fixture
def planned() -> Case:
    """A GPT for 200 tokens whose plan was made for 2 times 128."""
    case = gpt(tokens=200)
    x, targets = _batch(case, 2, 128)
    ck.apply(case.model, least_plan(case.model, x, loss=classify(targets)))
    return case


@pytest.mark.parametrize("tokens", [64, 128, 200])
@pytest.mark.parametrize("batch", [1, 2, 4])
@pytest.mark.filterwarnings("ignore:.*profiled:UserWarning")
def test_gradients_are_exact_at_other_sizes_than_profiled(
    planned: Case, batch: int, tokens: int
) -> None:
    """A plan says what to keep, whatever its size."""
    x, targets = _batch(planned, batch, tokens)
    expected = gradients(gpt(tokens=200).model, (x,), classify(targets))

    assert identical(gradients(planned.model, (x,), classify(targets)), expected)


def test_the_peak_rises_with_the_sequence(planned: Case) -> None:
    """What was promised for 128 tokens holds for 64."""
    peaks = []
    for tokens in (64, 128):
        x, targets = _batch(planned, 2, tokens)
        loss = classify(targets)
        gradients(planned.model, (x,), loss)

        def step(x: torch.Tensor = x, loss: Callable[..., torch.Tensor] = loss) -> None:
            backward(loss(planned.model(x)))

        peaks.append(ck.measure(step, planned.model, inputs=(x,)).peak)
    assert peaks[0] < peaks[1]


@pytest.mark.parametrize(("batch", "tokens"), [(2, 200), (4, 128)])
def test_a_larger_input_than_profiled_is_warned_of_once(
    planned: Case, batch: int, tokens: int
) -> None:
    """The promised peak does not hold for it."""
    x, targets = _batch(planned, batch, tokens)

    with pytest.warns(UserWarning, match="profiled"):
        gradients(planned.model, (x,), classify(targets))
    gradients(planned.model, (x,), classify(targets))


def test_inputs_up_to_the_profiled_size_are_not_warned_of(planned: Case) -> None:
    """The promised peak holds for them."""
    for batch, tokens in ((2, 128), (2, 64), (1, 128)):
        x, targets = _batch(planned, batch, tokens)
        gradients(planned.model, (x,), classify(targets))


# Leaks.


@pytest.fixture
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _live() -> int:
    return sum(issubclass(type(item), torch.Tensor) for item in gc.get_objects())


@pytest.mark.parametrize("name", ["gpt", "resnet", "lstm", "lora_mlp"])
@pytest.mark.parametrize("used", [True, False])
@pytest.mark.usefixtures("_no_collector")
def test_steps_leave_no_tensors_behind(name: str, used: bool) -> None:
    """Neither a graph that was used nor one that was dropped is part of a cycle."""
    case = CASES[name]()
    ck.apply(case.model, plans_of(case).least)
    gc.collect()
    live = []
    for _ in range(5):
        loss = case.loss(case.model(*case.inputs))
        if used:
            backward(loss)
        case.model.zero_grad()
        del loss
        live.append(_live())

    assert live == [live[0]] * 5


@pytest.mark.usefixtures("_no_collector")
def test_activations_die_right_after_the_backward() -> None:
    """And not only when the loss does."""
    case = gpt()
    ck.apply(case.model, plans_of(case).least)
    gradients(case.model, case.inputs, case.loss)
    seen: list[weakref.ref[torch.Tensor]] = []
    for block in case.model.get_submodule("transformer.h").children():
        block.register_forward_hook(lambda _m, _a, out: seen.append(weakref.ref(out)))

    loss = case.loss(case.model(*case.inputs))
    backward(loss)

    assert len(seen) == 3
    assert not any(reference() is not None for reference in seen)


def test_a_model_that_was_planned_can_be_freed() -> None:
    """Nothing of the package holds it: the collector finds it."""
    case = gpt()
    model = weakref.ref(case.model)
    weight = weakref.ref(next(case.model.parameters()))
    ck.apply(case.model, plans_of(case).least)
    gradients(case.model, case.inputs, case.loss)
    ck.unapply(case.model)

    del case
    gc.collect()

    assert model() is None
    assert weight() is None
