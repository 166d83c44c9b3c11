"""Hooks of modules and tensors: they run as often as without a plan."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch_backend.faithful import (  # noqa: E402 - likewise
    PLANS,
    Blocks,
    Build,
    Wave,
    assert_exact,
    assert_never_wrong,
    batch,
    chain_of,
    schedule_of,
    waves,
)

import ckschedule as ck  # noqa: E402 - likewise


def hooked(build: Build, put: Callable[[Any, list[int]], None]) -> Build:
    """A model with hooks, and the list ``calls`` in which they count."""

    def made() -> nn.Module:
        model: Any = build()
        model.calls = [0]
        put(model, model.calls)
        return model  # type: ignore[no-any-return]  # a module with an attribute more

    return made


def trained(model: Any) -> list[Any]:
    y = model(batch().requires_grad_())
    y.sum().backward()
    return [y, list(model.calls)]


def count(calls: list[int]) -> None:
    calls[0] += 1


def on_parameters(model: Any, calls: list[int]) -> None:
    def halves(g: Tensor) -> Tensor:
        count(calls)
        return g * 0.5

    for p in model.parameters():
        p.register_hook(halves)


def after_accumulation(model: Any, calls: list[int]) -> None:
    def halves(p: Any) -> None:
        count(calls)
        p.grad.mul_(0.5)

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(halves)


@pytest.mark.parametrize("put", [on_parameters, after_accumulation])
def test_hooks_of_parameters_run_once(
    put: Callable[[Any, list[int]], None],
) -> None:
    """EXACT: a hook that halves gives a half, not a quarter."""
    assert_exact(hooked(waves, put), trained)


@pytest.mark.parametrize("put", [on_parameters, after_accumulation])
def test_hooks_of_shared_parameters_run_once(
    put: Callable[[Any, list[int]], None],
) -> None:
    """EXACT (R09): one weight in two stages."""

    def build() -> nn.Module:
        model = waves()
        first, last = model.blocks[0], model.blocks[3]
        assert isinstance(first, Wave)
        assert isinstance(last, Wave)
        last.linear.weight = first.linear.weight
        return model

    assert_exact(hooked(build, put), trained)


@pytest.mark.parametrize("plan", PLANS)
def test_a_module_that_is_called_twice_has_its_hook_run_once(plan: str) -> None:
    """EXACT (R09): l(l(x)), each call a stage; the gradient is twos."""

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2, bias=False)
            nn.init.constant_(self.layer.weight, 0.5)

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.layer(self.layer(x))
            return y

    model = Twice()
    calls = [0]
    model.get_parameter("layer.weight").register_hook(lambda g: count(calls))  # type: ignore[no-untyped-call]  # torch's
    chain = chain_of(["layer", "layer#2"])
    ck.apply(model, schedule_of(chain, plan), chain)
    model(torch.ones(1, 2)).sum().backward()
    assert calls == [1]
    assert model.layer.weight.grad is not None
    assert model.layer.weight.grad.tolist() == [[2, 2], [2, 2]]


class Listed(nn.Module):
    """Reads its parameter from a list of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(4))
        self.weights = [self.weight]

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = torch.sin(x @ self.weights[0])
        return out


def test_a_hooked_parameter_that_a_module_keeps_elsewhere_is_never_lost() -> None:
    """EXACT or REFUSE: an alias in the module's dictionary is not what it reads."""

    def put(model: Any, calls: list[int]) -> None:
        for p in model.parameters():
            p.register_hook(lambda g: count(calls))

    assert_never_wrong(
        hooked(lambda: Blocks(*(Listed() for _ in range(4))), put), trained
    )


def test_forward_hooks_of_a_stages_module_run_once() -> None:
    """EXACT: before and after it, and of the model itself."""

    def put(model: Any, calls: list[int]) -> None:
        for module in (model, *model.blocks):
            module.register_forward_hook(lambda *_: count(calls))
            module.register_forward_pre_hook(lambda *_: count(calls))

    assert_exact(hooked(waves, put), trained)


@pytest.mark.parametrize(
    "register", ["register_full_backward_hook", "register_full_backward_pre_hook"]
)
def test_backward_hooks_of_modules_run_once_or_are_refused(register: str) -> None:
    """EXACT or REFUSE: of the model, of stages, and of modules inside them."""

    def of(modules: Callable[[Any], list[nn.Module]]) -> Build:
        def put(model: Any, calls: list[int]) -> None:
            for module in modules(model):
                getattr(module, register)(lambda *_: count(calls))

        return hooked(waves, put)

    assert_exact(of(lambda model: [model]), trained)
    assert_exact(of(lambda model: [block.linear for block in model.blocks]), trained)
    assert_never_wrong(of(lambda model: [*model.blocks]), trained)


def test_hooks_of_inputs_and_outputs_are_exact() -> None:
    """EXACT: they belong to the caller's graph."""

    def scenario(model: Any) -> list[Any]:
        x: Any = batch().requires_grad_()
        calls = [0]
        x.register_hook(lambda g: count(calls))
        y = model(x)
        y.register_hook(lambda g: g * 0.5)
        y.sum().backward()
        return [calls, x.grad]

    assert_exact(waves, scenario)


def test_outputs_of_stages_that_hooks_keep_are_exact() -> None:
    """EXACT: as parts of the loss, and with their own gradients retained."""

    def scenario(model: Any) -> list[Any]:
        kept: list[Tensor] = []

        def keep(_module: object, _inputs: object, y: Tensor) -> None:
            y.retain_grad()
            kept.append(y)

        handles = [block.register_forward_hook(keep) for block in model.blocks]
        y = model(batch())
        for handle in handles:
            handle.remove()
        (y.sum() + sum((h * h).sum() for h in kept)).backward()
        return [h.grad for h in kept]

    assert_exact(waves, scenario)
