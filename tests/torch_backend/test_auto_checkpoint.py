"""From a model and a budget to a model that keeps it, in one call."""

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch_models import CASES, Case, mlp  # noqa: E402 - likewise
from torch_steps import (  # noqa: E402 - likewise
    differing,
    forget,
    gradients,
    profiled,
    step_of,
)

import ckschedule as ck  # noqa: E402 - likewise


def deep() -> Case:
    return mlp(depth=6, width=24, batch=64)


def minimum(case: Case) -> int:
    """Return the smallest budget of a model in bytes."""
    chain = profiled(case.model, *case.inputs, loss=case.loss)
    return ck.pareto(chain).minimum.peak


def automatic(case: Case, budget: int | str) -> nn.Module:
    return ck.auto_checkpoint(
        case.model, case.inputs, loss=case.loss, budget=budget, time="a100"
    )


@pytest.mark.parametrize("budget", ["90%", "75%"])
def test_first_step_keeps_the_budget_already(budget: str) -> None:
    """R69: a budget is a promise, and the first step may be the one that breaks."""
    case = deep()
    model = automatic(case, budget)
    assert model is case.model
    plan = ck.plan_of(model)
    assert isinstance(plan, ck.Result)
    step = step_of(model, case.inputs, case.loss)
    first = ck.measure(step, model, inputs=case.inputs)
    assert first.peak == plan.peak
    assert first.peak <= plan.budget


@pytest.mark.parametrize("name", ["mlp", "gpt", "vit", "lora_mlp"])
def test_minimum_budget_is_kept_to_the_byte_with_equal_gradients(name: str) -> None:
    """R68: the front's minimum is the true one."""
    case = CASES[name]()
    least = minimum(case)
    step = step_of(case.model, case.inputs, case.loss)
    expected = gradients(case.model, step)
    model = automatic(case, least)
    found = ck.measure(step, model, inputs=case.inputs)
    forget(model)
    assert found.peak == least
    assert differing(expected, gradients(model, step)) == []


def test_budget_one_byte_below_the_minimum_is_refused_and_names_it() -> None:
    """R68: and the model is left alone."""
    case = deep()
    least = minimum(case)
    with pytest.raises(ck.errors.NoScheduleError, match=f"{least} bytes"):
        automatic(case, least - 1)
    assert ck.plan_of(case.model) is None


@pytest.mark.parametrize("budget", ["100%", "1GiB"])
def test_model_that_fits_is_left_alone(budget: str) -> None:
    """R68: nothing is recomputed, and nothing stands between the caller and torch."""
    case = deep()
    dictionaries = {n: list(m.__dict__) for n, m in case.model.named_modules()}
    assert automatic(case, budget) is case.model
    assert ck.plan_of(case.model) is None
    assert dictionaries == {n: list(m.__dict__) for n, m in case.model.named_modules()}


def test_whole_and_fractional_budgets_and_words_mean_the_same() -> None:
    """R68: a number is a number of bytes."""
    plans = []
    for budget in (80_000, "80000", "80kB"):
        plan = ck.plan_of(automatic(deep(), budget))
        assert isinstance(plan, ck.Result)
        plans.append((plan.budget, plan.peak, plan.makespan))
    assert len(set(plans)) == 1


def test_static_bytes_of_an_optimizer_are_in_the_budget() -> None:
    """What it keeps is not there for activations."""
    case = deep()
    size = sum(p.nbytes for p in case.model.parameters())
    least = minimum(case)
    with pytest.raises(ck.errors.NoScheduleError, match=f"{least + 2 * size} bytes"):
        ck.auto_checkpoint(
            case.model,
            case.inputs,
            loss=case.loss,
            budget=least,
            time="a100",
            optimizer="adamw",
        )


def test_training_goes_on_as_without_a_plan() -> None:
    """Five steps of an optimiser give equal parameters, bit by bit."""
    trained = []
    for planned in (False, True):
        case = CASES["vit"]()
        if planned:
            automatic(case, minimum(case))
        optimizer = torch.optim.AdamW(case.model.parameters(), lr=0.01)
        torch.manual_seed(0)
        for _ in range(5):
            optimizer.zero_grad()
            torch.autograd.backward(case.loss(case.model(*case.inputs)))
            optimizer.step()
        trained.append([p.detach().clone() for p in case.model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*trained, strict=True))


def test_single_tensors_and_mappings_are_inputs() -> None:
    """As profile and the model take them."""

    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(*[nn.Linear(16, 16) for _ in range(6)])

        def forward(self, x: Tensor, scale: Tensor) -> Tensor:
            out: Tensor = self.layers(x) * scale
            return out

    batch = {"x": torch.ones(256, 16), "scale": torch.tensor(2.0)}
    model = ck.auto_checkpoint(
        Named(), batch, loss=torch.sum, budget="85%", time="a100"
    )
    assert ck.plan_of(model) is not None
    assert ck.verify(model, batch, loss=torch.sum).ok
    one = ck.auto_checkpoint(
        nn.Sequential(*[nn.Linear(16, 16) for _ in range(6)]),
        torch.ones(256, 16),
        loss=torch.sum,
        budget="85%",
        time="a100",
    )
    assert ck.plan_of(one) is not None


def test_second_plan_is_refused_until_the_first_is_taken_off() -> None:
    """Two plans at once would each compute what the other one stored."""
    case = deep()
    automatic(case, "80%")
    with pytest.raises(ck.errors.PlanMismatchError):
        automatic(case, "70%")
    ck.unapply(case.model)
    automatic(case, "80%")
