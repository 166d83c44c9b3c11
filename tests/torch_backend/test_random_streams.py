"""Stages that draw random numbers: the same ones again, and the streams as if once."""

import random
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch_backend.faithful import (  # noqa: E402 - likewise
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
from ckschedule.errors import UnfaithfulStageError  # noqa: E402 - likewise


def trained(model: Any) -> list[Any]:
    y = model(batch())
    (y * y).sum().backward()
    return [y]


@pytest.mark.parametrize("plan", ["least", "all", "store"])
def test_a_dropout_mask_is_drawn_again_and_the_stream_goes_on(plan: str) -> None:
    """EXACT (R01): the bias has a gradient where the output is not zero, and the next
    number is the plain run's."""
    torch.manual_seed(0)
    linear = nn.Linear(64, 64)
    stages = [nn.Sequential(linear, nn.Dropout(0.5)), nn.Identity()]
    schedule = schedule_of(chain_of(["a", "b"]), plan)
    torch.manual_seed(1)
    y = ck.execute(schedule, stages, torch.ones(1, 64))
    y.sum().backward()
    assert linear.bias.grad is not None
    assert torch.equal(linear.bias.grad != 0, y[0] != 0)
    assert int((y != 0).sum()) == 36
    torch.testing.assert_close(torch.rand(1), torch.tensor([0.788085]))


def test_dropout_in_several_stages_is_exact() -> None:
    """EXACT (R01): each stage's own part of the stream is put back, in any order."""
    assert_exact(
        lambda: Steps(*(nn.Sequential(Wave(), nn.Dropout(0.5)) for _ in range(4))),
        trained,
    )


def test_the_global_streams_of_python_and_numpy_are_put_back() -> None:
    """EXACT (R73): stochastic depth draws from these."""

    def skipped(x: Tensor) -> Tensor:
        return x.exp() if random.random() < 0.5 else (2 * x).exp()

    def scaled(x: Tensor) -> Tensor:
        normal, uniform = np.random.normal(), np.random.random()  # noqa: NPY002 - the global stream
        out: Tensor = torch.sin(x * float(normal + uniform))
        return out

    assert_exact(lambda: Steps(Wave(), skipped, scaled, skipped, scaled), trained)


def test_stochastic_depth_is_never_wrong_over_twenty_seeds() -> None:
    """EXACT (R73): half of the seeds are wrong where the stream is not put back."""

    def stage(x: Tensor) -> Tensor:
        return x.exp() if random.random() < 0.5 else (2 * x).exp()

    schedule = schedule_of(chain_of(["a", "b"]), "all")
    for number in range(20):
        expected = torch.ones(1, requires_grad=True)
        random.seed(number)
        torch.sin(stage(expected)).backward()
        x = torch.ones(1, requires_grad=True)
        random.seed(number)
        ck.execute(schedule, [stage, torch.sin], x).backward()
        assert x.grad is not None
        assert expected.grad is not None
        assert torch.equal(x.grad, expected.grad)


def test_a_stage_that_seeds_anew_is_exact() -> None:
    """EXACT: the stream after the backward is the plain run's, seeded in a stage."""

    def seeds(x: Tensor) -> Tensor:
        torch.manual_seed(7)
        out: Tensor = torch.sin(x * torch.rand(4))
        return out

    assert_exact(lambda: Steps(Wave(), seeds, nn.Dropout(0.5), torch.sin), trained)


def test_a_stream_that_a_stage_forks_is_never_wrong() -> None:
    """EXACT or REFUSE: the stream is the same after such a stage as before it, and yet
    the stage depends on it."""

    class Forks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            with torch.random.fork_rng(devices=[]):
                mask = torch.rand(4)
            out: Tensor = torch.sin(self.linear(x)) * mask
            return out

    assert_never_wrong(
        lambda: Steps(Forks(), nn.Dropout(0.5), Forks(), nn.Dropout(0.5)), trained
    )


class OwnGenerator(nn.Module):
    """Draws from a generator that only it knows."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.generator = torch.Generator()
        self.generator.manual_seed(1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = torch.sin(self.linear(x)) * torch.rand(
            4, generator=self.generator
        )
        return out


def test_a_generator_of_a_stages_own_is_refused() -> None:
    """REFUSE: nobody else can put it back."""
    assert_never_wrong(lambda: Blocks(*(OwnGenerator() for _ in range(4))), trained)


def test_a_stage_that_was_refused_is_refused_again() -> None:
    """REFUSE: a caller that skips a failed batch must not train on wrong gradients."""
    model: Any = Blocks(*(OwnGenerator() for _ in range(4)))
    chain = chain_of(names_of(model))
    ck.apply(model, schedule_of(chain, "all"), chain)
    for _ in range(3):
        y = model(batch())
        with pytest.raises(UnfaithfulStageError, match=r"blocks\.\d"):
            y.sum().backward()
