"""Models that change after a plan was made, and models that are seldom seen."""

import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing

import ckschedule as ck  # noqa: E402 - likewise
from ckschedule.errors import UnfaithfulStageError, UnsupportedModelError  # noqa: E402


class Block(nn.Module):
    """A residual block."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.down(torch.tanh(self.up(x)))
        return out


X = torch.linspace(-1, 1, 128).view(16, 8)


def planned(make: Callable[[], nn.Module] = Block) -> Any:
    """Four blocks under the plan of least memory."""
    torch.manual_seed(0)
    model = nn.Sequential(*[make() for _ in range(4)])
    return ck.apply(model, ck.pareto(ck.profile(model, X, loss=torch.sum)).minimum)


def test_adapters_that_are_added_after_planning_are_trained() -> None:
    """EXACT: parts of a stage that the plan has not seen get their gradients."""

    class Adapter(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner
            self.scale = nn.Parameter(torch.full((16,), 0.5))

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.inner(x) * self.scale
            return out

    model = planned()
    model(X).sum().backward()
    model.zero_grad()
    for block in model:
        block.up = Adapter(block.up)
    model(X).sum().backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters()}
    ck.unapply(model).zero_grad()
    model(X).sum().backward()
    for name, parameter in model.named_parameters():
        assert torch.equal(found[name], parameter.grad), name


def test_a_hook_that_is_added_after_planning_is_seen() -> None:
    """REFUSE: by us where a stage is computed plainly, else by torch."""
    model, kept = planned(), []
    model[1].up.register_forward_hook(lambda _m, _i, out: kept.append(out))
    with pytest.raises(RuntimeError, match=r"leaves a tensor behind|second time"):
        (model(X).sum() + kept[0].square().sum()).backward()


def test_an_output_that_needs_a_gradient_only_later_is_refused() -> None:
    """REFUSE: a penalty that is a constant during warm-up."""

    class Penalised(Block):
        on = False

        def forward(self, state: Any) -> Any:
            x, penalty = state
            x = super().forward(x)
            return x, penalty + x.square().mean() if Penalised.on else penalty

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Penalised() for _ in range(3)])

        def forward(self, x: Tensor) -> Tensor:
            state: Any = (x, torch.zeros(()))
            for block in self.blocks:
                state = block(state)
            out: Tensor = state[0].sum() + state[1]
            return out

    model = Model()
    ck.apply(model, ck.pareto(ck.profile(model, X)).minimum)
    model(X).backward()
    Penalised.on = True
    try:
        with pytest.raises(UnfaithfulStageError, match="other outputs"):
            model(X).backward()
    finally:
        Penalised.on = False


def test_cached_parametrizations_are_refused() -> None:
    """REFUSE: the cache would keep what a plain computation has made."""
    model = planned()
    with (
        torch.nn.utils.parametrize.cached(),
        pytest.raises(UnfaithfulStageError, match="cached"),
    ):
        model(X)


def test_another_thread_may_evaluate_meanwhile() -> None:
    """EXACT: its calls are not those of the training step."""
    model, failures = planned(), []
    model(X).sum().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    done = threading.Event()

    def evaluate() -> None:
        with torch.no_grad():
            while not done.is_set():
                try:
                    model(X)
                except Exception as error:
                    failures.append(error)
                    return

    thread = threading.Thread(target=evaluate)
    thread.start()
    try:
        for _ in range(20):
            model.zero_grad()
            model(X).sum().backward()
            for p, grad in zip(model.parameters(), expected, strict=True):
                assert torch.equal(p.grad, grad)
    finally:
        done.set()
        thread.join()
    assert not failures


def test_parts_that_were_idle_when_profiled_do_not_hinder_a_plan() -> None:
    """EXACT: an expert without tokens has a parameter and no gradient."""

    class Idle(Block):
        def __init__(self) -> None:
            super().__init__()
            self.expert = nn.Linear(8, 8)

    model = planned(Idle)
    model(X).sum().backward()
    assert all(block.expert.weight.grad is None for block in model)


def test_sparse_gradients_are_counted_and_exact() -> None:
    """EXACT: an embedding of many rows of which few are used."""
    torch.manual_seed(0)
    model: Any = nn.Sequential(
        nn.Embedding(50, 8, sparse=True), Block(), Block(), Block()
    )
    tokens = torch.arange(6)
    model(tokens).sum().backward()
    expected = model[0].weight.grad.to_dense()
    model.zero_grad()
    ck.apply(model, ck.pareto(ck.profile(model, tokens, loss=torch.sum)).minimum)
    model(tokens).sum().backward()
    assert torch.equal(model[0].weight.grad.to_dense(), expected)


def test_profiling_leaves_no_buffer_behind() -> None:
    """Statistics that are set at the first call are set by the first step."""

    class Lazy(Block):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", None)
            self.mean: Tensor | None

        def forward(self, x: Tensor) -> Tensor:
            if self.mean is None:
                self.mean = x.mean().detach()
            return super().forward(x)

    model: Any = nn.Sequential(*[Lazy() for _ in range(3)])
    ck.profile(model, X, loss=torch.sum)
    assert all(block.mean is None for block in model)


def test_scripted_modules_are_refused_by_name() -> None:
    """They cannot be looked into."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of torch.jit itself
        traced = torch.jit.trace(Block(), X)
    with pytest.raises(UnsupportedModelError, match=r"torch\.jit"):
        ck.profile(nn.Sequential(traced, Block()), X, loss=torch.sum)
