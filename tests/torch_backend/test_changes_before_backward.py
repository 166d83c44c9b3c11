"""State that changes between forward and backward: never a wrong gradient."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch_backend.faithful import (  # noqa: E402 - likewise
    Blocks,
    Wave,
    assert_never_wrong,
    assert_refused,
    batch,
    waves,
)


class Offset(nn.Module):
    """Reads a buffer and a frozen parameter, and writes on neither."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("offset", torch.ones(4))
        self.frozen = nn.Parameter(torch.ones(4), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = torch.sin(self.linear(x) + self.offset + self.frozen)
        return y


def _write_buffer(block: Any) -> None:
    block.offset.mul_(2)


def _replace_buffer(block: Any) -> None:
    block.offset = block.offset * 2


def _write_frozen(block: Any) -> None:
    with torch.no_grad():
        block.frozen.mul_(2)


def _replace_parameter(block: Any) -> None:
    block.linear.weight = nn.Parameter(block.linear.weight.detach().clone())


def _replace_data(block: Any) -> None:
    block.linear.weight.data = block.linear.weight.data * 2


@pytest.mark.parametrize(
    "change",
    [
        _write_buffer,
        _replace_buffer,
        _write_frozen,
        _replace_parameter,
        _replace_data,
    ],
)
def test_state_that_changes_before_the_backward_is_never_wrong(
    change: Callable[[Any], None],
) -> None:
    """EXACT or REFUSE: the plain graph keeps what it has read, or does not need it."""

    def scenario(model: Any) -> list[Any]:
        # A step before it: what a stage shows is looked at in the first one.
        model(batch()).sum().backward()
        model.zero_grad()
        weights = [block.linear.weight for block in model.blocks]
        y = model(batch())
        for block in model.blocks:
            change(block)
        y.sum().backward()
        return [weight.grad for weight in weights]

    assert_never_wrong(lambda: Blocks(*(Offset() for _ in range(4))), scenario)


def test_parameters_lent_to_a_call_get_the_gradients() -> None:
    """EXACT or REFUSE: `functional_call` takes them away before the backward."""

    def scenario(model: Any) -> list[Any]:
        model(batch()).sum().backward()
        lent = {
            name: (2 * p.detach()).requires_grad_()
            for name, p in model.named_parameters()
        }
        torch.func.functional_call(model, lent, (batch(),)).sum().backward()
        return [p.grad for p in lent.values()]

    assert_never_wrong(waves, scenario)


def test_a_step_of_the_optimizer_before_the_backward_is_refused() -> None:
    """REFUSE: the message names the stage and the parameter."""

    def scenario(model: Any) -> list[Any]:
        y = model(batch())
        with torch.no_grad():
            for p in model.parameters():
                p.add_(1)
        y.sum().backward()
        return []

    # The last stage is recorded at once and needs no parameter: torch sees nothing.
    assert_refused(
        lambda: Blocks(Wave(), Wave(), Wave(), nn.Tanh()),
        scenario,
        r"blocks\.\d.*(weight|bias) was changed or exchanged",
    )


def test_an_input_that_changes_before_the_backward_is_never_wrong() -> None:
    """REFUSE: x_0 is the caller's own tensor."""

    def scenario(model: Any) -> list[Any]:
        x = batch()
        y = model(x)
        x.zero_()
        y.sum().backward()
        return []

    assert_refused(waves, scenario, r"blocks\.0")
