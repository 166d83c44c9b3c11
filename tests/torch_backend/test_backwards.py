"""Backwards other than one over the whole graph, and steps that fail."""

import gc
import weakref
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
    assert_refused,
    batch,
    chain_of,
    gradients,
    names_of,
    schedule_of,
    waves,
)

import ckschedule as ck  # noqa: E402 - likewise
from ckschedule.errors import UnfaithfulStageError  # noqa: E402 - likewise


def second_error(y: Any) -> str:
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    return str(caught.value)[:40]


def test_a_retained_graph_is_differentiated_twice() -> None:
    """EXACT (R23): twice the gradient, and torch's error once the graph is freed."""

    def scenario(model: Any) -> list[Any]:
        y = model(batch()).sum()
        y.backward(retain_graph=True)
        y.backward()
        return [second_error(y)]

    assert_exact(waves, scenario)
    assert_exact(lambda: Steps(Wave(), nn.Dropout(0.5), Wave()), scenario)


def test_a_second_backward_without_retaining_raises_as_torch_does() -> None:
    """EXACT (R23): gradients are not doubled silently."""

    def scenario(model: Any) -> list[Any]:
        y = model(batch()).sum()
        y.backward()
        return [second_error(y)]

    assert_exact(waves, scenario)


def test_gradients_of_gradients_are_refused() -> None:
    """REFUSE (R21): naming the stage, before anything is accumulated."""

    def scenario(model: Any) -> list[Any]:
        x = torch.full((1, 4), 2.0, requires_grad=True)
        y = (model(x) ** 2).sum()
        try:
            (g,) = torch.autograd.grad(y, x, create_graph=True)
        finally:
            assert not any(p.grad is not None for p in model.parameters())
        (g * g).sum().backward()
        return []

    assert_refused(waves, scenario, r"blocks\.3.*create_graph")


def test_a_backward_for_some_parameters_is_exact() -> None:
    """EXACT: the last, the first, and then all; tapes of the others do no harm."""

    def scenario(model: Any) -> list[Any]:
        shown: list[Any] = []
        for index in (3, 0, 1):
            y = model(batch()).sum()
            weight = model.blocks[index].linear.weight
            y.backward(inputs=[weight], retain_graph=True)
            shown.append(dict(gradients(model)))
            y.backward()
        return shown

    assert_exact(waves, scenario)


def test_grad_returns_what_backward_accumulates() -> None:
    """EXACT: row by row over a retained graph, too, and for a batch of gradients."""

    def scenario(model: Any) -> list[Any]:
        weight = model.blocks[1].linear.weight
        y = model(batch())
        rows = [
            torch.autograd.grad(y[i, 0], [weight], retain_graph=True)[0]
            for i in range(3)
        ]
        eye = torch.eye(32).view(32, 8, 4)
        rows += torch.autograd.grad(y, [weight], eye, is_grads_batched=True)
        return rows

    assert_never_wrong(waves, scenario)


def test_gradients_accumulate_over_several_backwards() -> None:
    """EXACT: micro-batches."""

    def scenario(model: Any) -> list[Any]:
        for k in range(3):
            model(k * batch()).sum().backward()
        return []

    assert_exact(waves, scenario)


@pytest.mark.parametrize("reverse", [True, False])
def test_two_forwards_before_their_backwards_are_exact(reverse: bool) -> None:
    """EXACT: in either order, with dropout and running statistics."""

    def scenario(model: Any) -> list[Any]:
        outputs = [model(batch()), model(batch() * 2)]
        for y in outputs[::-1] if reverse else outputs:
            (y * y).sum().backward()
        return outputs

    assert_exact(
        lambda: Steps(Wave(), nn.Dropout(0.5), nn.BatchNorm1d(4), Wave()), scenario
    )


def test_two_forwards_in_one_loss_are_exact() -> None:
    """EXACT: beside each other, and one upon the other."""

    def beside(model: Any) -> list[Any]:
        (model(batch()) * model(2 * batch())).sum().backward()
        return []

    def upon(model: Any) -> list[Any]:
        model(model(batch())).sum().backward()
        return []

    assert_exact(waves, beside)
    assert_exact(waves, upon)


class Fails(nn.Module):
    """Raises in the computation that its flag says, having drawn and written."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.fails = False

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = torch.sin(self.norm(x)) * torch.rand(4)
        if self.fails:
            raise ValueError("out of memory")
        return y


@pytest.mark.parametrize("plan", ["least", "all"])
def test_an_exception_in_a_recomputation_leaves_everything_as_it_was(plan: str) -> None:
    """EXACT: streams, buffers, flags and autocast; a later backward over the retained
    graph gives the plain run's gradients."""
    torch.manual_seed(0)
    model: Any = Blocks(Wave(), Fails(), Wave(), nn.Dropout(0.5))
    plain: Any = Blocks(Wave(), Fails(), Wave(), nn.Dropout(0.5))
    plain.load_state_dict(model.state_dict())
    torch.manual_seed(1)
    (plain(batch()) ** 2).sum().backward()
    chain = chain_of(names_of(model))
    ck.apply(model, schedule_of(chain, plan), chain)
    torch.manual_seed(1)
    y = (model(batch()) ** 2).sum()
    model.eval()
    model.blocks[1].fails = True
    state = torch.get_rng_state()
    buffers = {name: b.clone() for name, b in model.named_buffers()}
    with pytest.raises(ValueError, match="out of memory"):
        y.backward(retain_graph=True)
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(module.training for module in model.modules())
    assert not torch.is_autocast_enabled("cpu")
    for name, buffer in model.named_buffers():
        assert torch.equal(buffer, buffers[name])
    model.blocks[1].fails = False
    model.zero_grad()
    y.backward()
    for p, q in zip(plain.parameters(), model.parameters(), strict=True):
        assert p.grad is not None
        assert q.grad is not None
        assert torch.equal(p.grad, q.grad)


def test_an_exception_in_a_forward_leaves_the_model_usable() -> None:
    """EXACT: the next call is a new one, with gradients on."""

    def scenario(model: Any) -> list[Any]:
        model.blocks[1].fails = True
        with pytest.raises(ValueError, match="out of memory"):
            model(batch())
        model.blocks[1].fails = False
        assert torch.is_grad_enabled()
        y = model(batch())
        y.sum().backward()
        return [y]

    assert_exact(lambda: Blocks(Wave(), Fails(), Wave(), Wave()), scenario)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("differentiated", [True, False])
def test_nothing_of_a_step_outlives_it(plan: str, differentiated: bool) -> None:
    """No cycles (R34): with the collector off, tensors die at the backward, or when an
    output is dropped that nobody differentiates."""
    alive: list[weakref.ref[Tensor]] = []

    class Watched(Wave):
        def forward(self, x: Tensor, *factors: Tensor) -> Tensor:
            y = super().forward(x, *factors)
            alive.append(weakref.ref(y))
            return y

    model: Any = Blocks(*(Watched() for _ in range(4)))
    chain = chain_of(names_of(model))
    ck.apply(model, schedule_of(chain, plan), chain)
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            y = model(batch())
            if differentiated:
                y.sum().backward()
                assert not any(ref() is not None for ref in alive)
            del y
            assert not any(ref() is not None for ref in alive)
    finally:
        gc.enable()


def test_a_stage_that_uses_another_stages_tensor_is_refused() -> None:
    """REFUSE: what does not come as an argument would lose its gradient."""

    class Shares(Blocks):
        def forward(self, x: Tensor) -> Tensor:
            first = self.blocks[0](x)
            second = self.blocks[1](first)
            third = self.blocks[2](second, first)
            out: Tensor = self.blocks[3](third)
            return out

    model: Any = Shares(*(Wave() for _ in range(4)))
    chain = chain_of(names_of(model))
    ck.apply(model, schedule_of(chain, "all"), chain)
    with pytest.raises(UnfaithfulStageError, match=r"blocks\.2"):
        model(batch())
