"""Buffers, writing in place and state beside the arguments: never a wrong number."""

from collections.abc import Callable
from functools import partial
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
    names_of,
    schedule_of,
)

import ckschedule as ck  # noqa: E402 - likewise
from ckschedule.errors import CkscheduleError  # noqa: E402 - likewise


def trained(model: Any) -> list[Any]:
    y = model(batch())
    (y * y).sum().backward()
    return [y]


@pytest.mark.parametrize("plan", PLANS)
def test_running_statistics_are_updated_once(plan: str) -> None:
    """EXACT (R03): mean 1.0, variance 1.1, one batch; twice would be 1.9 and 1.19."""
    norm = nn.BatchNorm1d(1)
    stages = [norm, torch.sin, torch.sin]
    x = torch.tensor([[9.0], [11.0]])
    ck.execute(schedule_of(chain_of([*"abc"]), plan), stages, x).sum().backward()
    assert norm.running_mean is not None
    assert norm.running_var is not None
    torch.testing.assert_close(norm.running_mean, torch.tensor([1.0]))
    torch.testing.assert_close(norm.running_var, torch.tensor([1.1]))
    assert norm.num_batches_tracked is not None
    assert norm.num_batches_tracked.item() == 1


def test_buffers_that_forwards_read_and_write_are_exact() -> None:
    """EXACT (R03): batch norms, and the vectors of spectral norms."""
    spectral: Any = nn.utils.parametrizations.spectral_norm

    def build() -> nn.Module:
        return Blocks(
            nn.Sequential(Wave(), nn.BatchNorm1d(4)),
            nn.Sequential(spectral(nn.Linear(4, 4)), nn.Tanh()),
            nn.Sequential(Wave(), nn.BatchNorm1d(4)),
            nn.Sequential(spectral(nn.Linear(4, 4)), nn.Tanh()),
        )

    assert_exact(build, trained)


def test_a_pass_without_gradients_updates_statistics_first() -> None:
    """EXACT (R03): the first pass of a step counts, whether it is differentiated."""

    def scenario(model: Any) -> list[Any]:
        with torch.no_grad():
            model(batch())
        return trained(model)

    assert_exact(
        lambda: Blocks(*(nn.Sequential(Wave(), nn.BatchNorm1d(4)) for _ in range(4))),
        scenario,
    )


@pytest.mark.parametrize("plan", PLANS)
def test_a_stage_that_writes_on_its_input_is_exact(plan: str) -> None:
    """EXACT (R04): (3h)^2 at 1 has slope 18; three times too often would be 162."""
    x = torch.ones(3, requires_grad=True)
    stages = [lambda x: x * 1, lambda h: h.mul_(3).pow(2), lambda y: y * 1]
    schedule = schedule_of(chain_of(["a", "b", "c"]), plan)
    ck.execute(schedule, stages, x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [18, 18, 18]


def test_a_first_stage_that_writes_on_its_input_is_refused() -> None:
    """REFUSE (R04): the caller still holds that input, and would find it unwritten."""
    schedule = schedule_of(chain_of(["a", "b"]), "least")
    h = torch.ones(3, requires_grad=True) * 1
    with pytest.raises(CkscheduleError, match=r"steps\.0.* in place"):
        ck.execute(schedule, [lambda h: h.mul_(3).pow(2), torch.sin], h)
    assert h.tolist() == [1, 1, 1]


def test_a_leaky_relu_in_place_after_a_cut_is_exact() -> None:
    """EXACT (R04): repeated on its own output it would give other numbers."""

    def build() -> nn.Module:
        leaky = [nn.LeakyReLU(0.5, inplace=True) for _ in range(2)]
        return Steps(nn.Linear(4, 4), leaky[0], nn.Linear(4, 4), leaky[1], torch.sin)

    assert_exact(build, trained)


def test_one_buffer_that_all_steps_write_on_is_exact() -> None:
    """EXACT (R63): u0 = 2, four times u *= 1.5, then u^2: both are 102.515625."""

    def step(u: Tensor) -> Tensor:
        u *= 1.5
        return u

    def start(u: Tensor) -> Tensor:
        return step(u.clone())

    for plan in PLANS:
        u0 = torch.tensor(2.0, requires_grad=True)
        stages = [start, step, step, step]
        u = ck.execute(schedule_of(chain_of([*"abcd"]), plan), stages, u0)
        (u * u).backward()
        assert u0.grad is not None
        # u^2 = 1.5^8 u0^2, whose value and slope agree at 2.
        assert ((u * u).item(), u0.grad.item()) == (102.515625, 102.515625)


class Between(Blocks):
    """Writes on the output of its second block before the third takes it."""

    def forward(self, x: Tensor) -> Tensor:
        for index, block in enumerate(self.blocks):
            x = block(x)
            if index == 1:
                x *= 2
        return x


def test_writing_on_a_cut_between_two_stages_is_never_wrong() -> None:
    """EXACT or REFUSE: the second time as well as the first."""
    assert_never_wrong(lambda: Between(*(Wave() for _ in range(4))), trained)
    for plan in PLANS:
        torch.manual_seed(0)
        plain = Between(*(Wave() for _ in range(4)))
        torch.manual_seed(0)
        model = Between(*(Wave() for _ in range(4)))
        chain = chain_of(names_of(model))
        ck.apply(model, schedule_of(chain, plan), chain)
        trained(plain)
        for _ in range(3):
            model.zero_grad()
            try:
                trained(model)
            except CkscheduleError:
                continue
            for p, q in zip(plain.parameters(), model.parameters(), strict=True):
                assert p.grad is not None
                assert q.grad is not None
                assert torch.equal(p.grad, q.grad)


class WrittenInput(Blocks):
    """Uses a stage's input again after the stage has written on it."""

    def __init__(self, *, first: bool) -> None:
        super().__init__(Wave(), Wave(), Wave())
        self.blocks.insert(0 if first else 2, nn.LeakyReLU(0.5, inplace=True))
        self.first = first

    def forward(self, x: Tensor) -> Tensor:
        kept = x
        for block in self.blocks:
            if isinstance(block, nn.LeakyReLU) and not self.first:
                kept = x
            x = block(x)
        return x + kept


@pytest.mark.parametrize("first", [True, False])
def test_an_input_that_a_stage_writes_on_and_others_read_is_never_wrong(
    first: bool,
) -> None:
    """EXACT or REFUSE: the caller's tensor kept its old numbers."""
    assert_never_wrong(lambda: WrittenInput(first=first), trained)


def _four(first: Callable[..., Any], second: Callable[..., Any]) -> nn.Module:
    return Steps(Wave(), first, second, torch.sin)


def test_outputs_that_share_memory_are_never_wrong_when_written_on() -> None:
    """EXACT or REFUSE: a write on one output is a write on its view."""

    def views(x: Tensor) -> tuple[Tensor, Tensor]:
        h = x * 2
        return h, h.view(-1)

    def writes(pair: tuple[Tensor, Tensor]) -> Tensor:
        a, b = pair
        a = a.mul_(3)
        return a.sum(0) + b[:4].sin()

    def adds(pair: tuple[Tensor, Tensor]) -> Tensor:
        a, b = pair
        a.mul_(3)
        return a + b

    stages: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
        (views, writes),
        (lambda x: (x, x), adds),
    ]
    for first, second in stages:
        assert_never_wrong(partial(_four, first, second), trained)


def test_an_output_that_the_caller_writes_on_is_exact() -> None:
    """EXACT: the last layer's backward does not need its output."""

    def scenario(model: Any) -> list[Any]:
        y = model(batch())
        y.mul_(2).add_(1)
        y.sum().backward()
        return [y]

    assert_exact(lambda: Steps(Wave(), torch.sin, nn.Linear(4, 4)), scenario)


class Counts(nn.Module):
    """Counts its calls, and multiplies by more from the fourth on."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        out: Tensor = torch.sin(self.linear(x)) * (1 + max(0, self.calls - 3))
        return out


def test_a_counter_in_a_module_is_never_wrong() -> None:
    """EXACT or REFUSE: a warm-up that ends sooner changes the training."""

    def scenario(model: Any) -> list[Any]:
        shown = []
        for _ in range(3):
            shown += trained(model)
        return [*shown, [block.calls for block in model.blocks]]

    assert_never_wrong(lambda: Blocks(*(Counts() for _ in range(4))), scenario)


class Keeps(nn.Module):
    """Leaves a penalty on its way for the loss, as mixtures of experts do."""

    penalty: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        self.penalty = y.sum()
        out: Tensor = torch.sin(y)
        return out


def test_a_penalty_that_a_stage_leaves_behind_is_never_lost() -> None:
    """EXACT or REFUSE: its gradient went no further than its own stage."""

    def scenario(model: Any) -> list[Any]:
        y = model(batch())
        (y.sum() + model.blocks[1].penalty).backward()
        return [y]

    def refused(model: Any) -> list[Any]:
        try:
            return scenario(model)
        except RuntimeError as error:  # torch refuses it too: a graph already freed
            raise CkscheduleError(str(error)) from error

    assert_never_wrong(lambda: Blocks(*(Keeps() for _ in range(4))), refused)


class FromStart(nn.Module):
    """What it computes before its blocks it uses after them, too."""

    def __init__(self, *, later: bool) -> None:
        super().__init__()
        self.embed = nn.Linear(4, 4)
        self.blocks = nn.ModuleList(Wave() for _ in range(4))
        self.later = later

    def forward(self, x: Tensor) -> Tensor:
        e = torch.sin(self.embed(x))
        h = e
        for index, block in enumerate(self.blocks):
            h = block(h, e) if self.later and index == 2 else block(h)
        out: Tensor = h if self.later else h + e
        return out


@pytest.mark.parametrize("later", [True, False])
def test_what_the_start_computes_keeps_its_gradient_elsewhere(later: bool) -> None:
    """EXACT or REFUSE: a skip from the embedding to the head, or to a later block."""
    names = ["start", *(f"blocks.{i}" for i in range(4))]
    assert_never_wrong(lambda: FromStart(later=later), trained, names=names)


def test_a_skip_from_the_embedding_is_right_with_a_profiled_plan() -> None:
    """EXACT or REFUSE: as above, by `profile` and `apply`."""
    torch.manual_seed(0)
    plain = FromStart(later=False)
    model = FromStart(later=False)
    model.load_state_dict(plain.state_dict())
    trained(plain)
    x = batch()
    try:
        chain = ck.profile(model, x, loss=lambda y: (y * y).sum())
        ck.apply(model, ck.pareto(chain).points[0])
        trained(model)
    except CkscheduleError:
        return
    for p, q in zip(plain.parameters(), model.parameters(), strict=True):
        assert q.grad is not None
        assert torch.equal(p.grad, q.grad)
