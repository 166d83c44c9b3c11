"""Tensors at cuts: views, parameters, tensors given twice, other sizes and kinds."""

from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch_backend.faithful import (  # noqa: E402 - likewise
    Blocks,
    Steps,
    Wave,
    assert_exact,
    assert_never_wrong,
    assert_refused,
    batch,
    chain_of,
    schedule_of,
    waves,
)

import ckschedule as ck  # noqa: E402 - likewise
from ckschedule.errors import UnfaithfulStageError  # noqa: E402 - likewise


def trained(model: Any, *inputs: Tensor) -> list[Any]:
    y = model(*inputs)
    (y * y).sum().backward()
    return [y, *(x.grad for x in inputs)]


def test_identities_and_views_at_cuts_are_exact() -> None:
    """EXACT: outputs that are the input, or a part of it."""
    assert_exact(
        lambda: Steps(
            nn.Identity(), Wave(), lambda x: x.t(), lambda x: x[1:], nn.Identity()
        ),
        lambda m: trained(m, batch().requires_grad_()),
    )


def test_one_tensor_given_or_returned_twice_is_exact() -> None:
    """EXACT: both uses add to one gradient."""

    def scenario(model: Any) -> list[Any]:
        x = batch().requires_grad_()
        model(x, x).sum().backward()
        return [x.grad]

    assert_exact(
        lambda: Steps(
            lambda a, b: a * b.sin(), lambda x: (x, x), lambda t: t[0] * t[1].cos()
        ),
        scenario,
    )


class Weights(nn.Module):
    """Returns a parameter beside its input."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.sin(), self.weight


def test_a_stage_that_returns_a_parameter_is_exact() -> None:
    """EXACT: its gradient passes the cut."""
    assert_exact(
        lambda: Steps(Wave(), Weights(), lambda t: t[0] * t[1], torch.sin),
        lambda m: trained(m, batch()),
    )


class Queries(Blocks):
    """Blocks that take a parameter of the model's own, some of them twice."""

    def __init__(self, times: int) -> None:
        super().__init__(*(Wave() for _ in range(4)))
        self.queries = nn.Parameter(torch.full((4,), 0.3))
        self.times = times

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x, *[self.queries] * self.times)
        return x


def test_a_parameter_as_an_argument_gets_its_gradient_once() -> None:
    """EXACT: queries may be learned and common to all blocks."""
    assert_exact(lambda: Queries(1), lambda m: trained(m, batch()))


def test_a_parameter_that_stages_use_twice_each_is_refused() -> None:
    """REFUSE: keys and values in one; the plain backward adds use by use."""
    assert_refused(
        lambda: Queries(2), lambda m: trained(m, batch()), match="in several"
    )


def test_a_parameter_as_an_argument_of_its_own_module_is_exact() -> None:
    """EXACT: the module trains it and takes it; its gradient came twice."""

    class Own(Blocks):
        def forward(self, x: Tensor) -> Tensor:
            for block in self.blocks:
                x = block(x, block.get_parameter("linear.bias"))
            return x

    assert_exact(
        lambda: Own(*(Wave() for _ in range(4))), lambda m: trained(m, batch())
    )


def test_a_plan_of_a_model_with_such_a_parameter_fits_that_model() -> None:
    """EXACT: `auto_checkpoint` applies what it has profiled itself."""
    model: Any = Queries(1)
    point = ck.pareto(ck.profile(model, batch(), loss=torch.sum)).points[0]
    ck.apply(model, point)
    assert ck.plan_of(model) is point


def _cast(dtype: Any) -> nn.Module:
    return waves().to(dtype)


def _given(x: Tensor, model: Any) -> list[Any]:
    return trained(model, x.detach().requires_grad_())


def test_other_sizes_and_kinds_of_numbers_are_exact() -> None:
    """EXACT: no rows, numbers that are none, double and half precision, strides."""
    inputs = [
        (torch.zeros(0, 4), torch.float32),
        (torch.full((2, 4), torch.nan), torch.float32),
        (torch.full((2, 4), torch.inf), torch.float32),
        (batch().double(), torch.float64),
        (batch().bfloat16(), torch.bfloat16),
        (torch.linspace(-1, 1, 32).view(4, 8).t(), torch.float32),
        (torch.linspace(-1, 1, 4).expand(8, 4), torch.float32),
        (torch.linspace(-1, 1, 64).view(4, 16).t()[::2], torch.float32),
    ]
    for x, dtype in inputs:
        assert_exact(partial(_cast, dtype), partial(_given, x))


def test_routing_with_ties_is_never_wrong() -> None:
    """EXACT (R72): experts get other numbers of rows, and equal scores are ties."""

    def routed(x: Tensor) -> Tensor:
        scores = torch.stack([x[:, 0].round(), x[:, 1].round()], 1)
        choice = scores.argmax(1)
        y = torch.zeros_like(x)
        for expert in range(2):
            rows = (choice == expert).nonzero()[:, 0]
            y = y.index_add(0, rows, torch.sin(x[rows] * (expert + 1)))
        out: Tensor = y
        return out

    assert_never_wrong(
        lambda: Steps(Wave(), routed, Wave(), routed), lambda m: trained(m, batch())
    )


def test_a_stage_that_returns_another_shape_when_repeated_is_refused() -> None:
    """REFUSE (R72): the message names stage, output and both shapes."""
    calls = []

    def shrinks(x: Tensor) -> Tensor:
        calls.append(1)
        out: Tensor = torch.sin(x[len(calls) :])
        return out

    schedule = schedule_of(chain_of(["a", "b"]), "all")
    y = ck.execute(schedule, [shrinks, torch.sin], batch().requires_grad_())
    with pytest.raises(UnfaithfulStageError, match=r"steps\.0.*\(7, 4\).*\(6, 4\)"):
        y.sum().backward()
