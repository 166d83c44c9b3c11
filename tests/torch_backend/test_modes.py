"""What a stage computes under: gradient mode, autocast, defaults, training flags."""

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch_backend.faithful import (  # noqa: E402 - likewise
    PLANS,
    Blocks,
    Steps,
    Wave,
    assert_exact,
    assert_never_wrong,
    batch,
    chain_of,
    schedule_of,
    waves,
)

import ckschedule as ck  # noqa: E402 - likewise
from ckschedule.torch_backend.applying import binding_of  # noqa: E402 - likewise


def trained(model: Any) -> list[Any]:
    y = model(batch())
    (y * y).sum().backward()
    return [y]


@pytest.mark.parametrize("plan", PLANS)
def test_an_input_without_gradient_trains_the_first_stage(plan: str) -> None:
    """EXACT (R02): ten rows of four ones are a gradient of 120 in all."""
    linear = nn.Linear(4, 3)
    schedule = schedule_of(chain_of(["a", "b"]), plan)
    y = ck.execute(schedule, [linear, lambda y: y * 1], torch.ones(10, 4))
    assert y.requires_grad
    y.sum().backward()
    assert linear.weight.grad is not None
    assert linear.weight.grad.sum().item() == 120


def test_a_backward_outside_of_autocast_recomputes_inside() -> None:
    """EXACT (R06): bfloat16 again, and weights' gradients in float32."""

    def scenario(model: Any) -> list[Any]:
        x = batch().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            y = model(x)
        assert y.dtype == torch.bfloat16
        y.float().sum().backward()
        return [y, x.grad]

    assert_exact(
        lambda: Steps(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 8), nn.Linear(8, 4)),
        scenario,
    )


def test_a_forward_outside_of_autocast_is_recomputed_outside() -> None:
    """EXACT: a scaler's context around the backward changes nothing."""

    def scenario(model: Any) -> list[Any]:
        y = model(batch())
        with torch.autocast("cpu", torch.bfloat16):
            y.sum().backward()
        return [y, torch.is_autocast_enabled("cpu")]

    assert_exact(lambda: Blocks(*(nn.Linear(4, 4) for _ in range(4))), scenario)


@pytest.mark.parametrize("plan", PLANS)
def test_the_default_dtype_is_put_back_for_a_recomputation(plan: str) -> None:
    """EXACT (R58): ones of the default dtype are float64 again."""

    def stage(x: Tensor) -> Tensor:
        out: Tensor = x * torch.ones(2) * 3
        return out

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        schedule = schedule_of(chain_of(["a", "b"]), plan)
        y = ck.execute(schedule, [stage, lambda y: y * 1], x)
    finally:
        torch.set_default_dtype(before)
    y.sum().backward()
    assert torch.get_default_dtype() == before
    assert x.grad is not None
    assert x.grad.dtype == torch.float64
    assert x.grad.tolist() == [3, 3]


def test_a_frozen_prefix_is_computed_once() -> None:
    """EXACT (R07): it has no gradients, and storing its output repeats none of it."""
    for plan in PLANS:
        torch.manual_seed(0)
        model: Any = nn.Sequential(*(nn.Linear(3, 3) for _ in range(4)))
        model[:2].requires_grad_(False)
        chain = chain_of([*"0123"], frozen=2)
        x = torch.ones(1, 3)
        model(x).sum().backward()
        expected = [p.grad for p in model.parameters()]
        model.zero_grad()
        ck.apply(model, schedule_of(chain, plan), chain)
        model(x).sum().backward()
        got = [p.grad for p in model.parameters()]
        assert got[:4] == [None] * 4
        for a, b in zip(expected[4:], got[4:], strict=True):
            assert torch.equal(a, b)
        # The schedule of least memory may compute even the prefix again; no other does.
        executions = binding_of(model).executions[1:5]
        assert plan == "least" or executions[:2] == [1, 1]
        assert max(executions) <= 2


def test_calls_without_gradients_run_as_before() -> None:
    """EXACT (R30): no_grad and inference in a loop, then a step of training."""

    def scenario(model: Any) -> list[Any]:
        with torch.no_grad():
            shown = [model(batch()), model(batch())]
        with torch.inference_mode():
            shown.append(model(batch()).clone())
        return [*shown, *trained(model)]

    assert_exact(waves, scenario)


def test_a_plan_is_followed_in_evaluation_mode() -> None:
    """EXACT (R31): dropout is off, gradients are on, stages are recomputed."""

    def scenario(model: Any) -> list[Any]:
        model.eval()
        x = batch().requires_grad_()
        model(x).sum().backward()
        return [x.grad]

    def build() -> nn.Module:
        return Blocks(*(nn.Sequential(Wave(), nn.Dropout(0.5)) for _ in range(4)))

    assert_exact(build, scenario)
    model = build()
    names = [f"blocks.{i}" for i in range(4)]
    chain = chain_of(names)
    ck.apply(model, schedule_of(chain, "all"), chain)
    scenario(model)
    assert sum(binding_of(model).executions) > len(names)


def test_a_change_to_evaluation_before_the_backward_is_exact() -> None:
    """EXACT: dropout and batch norm are recomputed as they were; flags stay off."""

    def scenario(model: Any) -> list[Any]:
        model.train()
        y = model(batch())
        model.eval()
        y.sum().backward()
        return [[module.training for module in model.modules()]]

    assert_exact(
        lambda: Blocks(
            *(nn.Sequential(Wave(), nn.BatchNorm1d(4), nn.Dropout(0.5)) for _ in "abc")
        ),
        scenario,
    )


class Branches(nn.Module):
    """Computes otherwise where no gradient is needed."""

    def __init__(self, *, by_mode: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.by_mode = by_mode

    def forward(self, x: Tensor) -> Tensor:
        y = torch.sin(self.linear(x))
        trained = torch.is_grad_enabled() if self.by_mode else y.requires_grad
        out: Tensor = y if trained else y * 2
        return out


@pytest.mark.parametrize("by_mode", [True, False])
def test_a_stage_that_asks_for_the_gradient_mode_is_never_wrong(by_mode: bool) -> None:
    """EXACT or REFUSE: it is computed plainly from its second step on."""
    assert_never_wrong(
        lambda: Blocks(*(Branches(by_mode=by_mode) for _ in range(4))), trained
    )


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_are_never_wrong(kind: type[nn.Module]) -> None:
    """EXACT or REFUSE: on the CPU an LSTM without gradients has another kernel."""

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer: Any = kind(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.layer(x)[0]
            return y

    def scenario(model: Any) -> list[Any]:
        y = model(batch().view(4, 2, 4))
        y.sum().backward()
        return [y]

    assert_never_wrong(lambda: Blocks(*(Layer() for _ in range(3))), scenario)


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_a_transformer_layer_of_torchs_is_exact(mode: str) -> None:
    """EXACT: its fast path without gradients gives other numbers."""

    def build() -> nn.Module:
        layers = [
            nn.TransformerEncoderLayer(4, 2, 8, 0.1, batch_first=True) for _ in range(3)
        ]
        return Blocks(*layers).train(mode == "train")

    def scenario(model: Any) -> list[Any]:
        y = model(batch().view(2, 4, 4))
        (y * y).sum().backward()
        return [y]

    assert_exact(build, scenario)
