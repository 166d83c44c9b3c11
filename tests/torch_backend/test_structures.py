"""What stages take and return: any structure comes out as the plain model gives it."""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch_backend.faithful import (  # noqa: E402 - likewise
    PLANS,
    Steps,
    assert_exact,
    chain_of,
    schedule_of,
)

import ckschedule as ck  # noqa: E402 - likewise
from ckschedule.errors import CkscheduleError, UnfaithfulStageError  # noqa: E402 - likewise


class Pair(NamedTuple):
    a: Tensor
    b: Tensor


Old = namedtuple("Old", "a b")  # noqa: PYI024 - users have these too


@dataclass
class Record:
    s: Tensor
    y: Tensor


@pytest.fixture(params=PLANS)
def two(request: pytest.FixtureRequest) -> ck.Schedule:
    """A schedule of two stages and a loss."""
    return schedule_of(chain_of(["a", "b"]), request.param)


def ones(count: int) -> Tensor:
    x: Tensor = torch.ones(count, requires_grad=True)
    return x


def test_arguments_of_all_kinds_come_again(two: ck.Schedule) -> None:
    """EXACT (R05): None, numbers and flags keep their places, keywords their names."""
    seen = []

    def f(x: Tensor, n: int, m: None, flag: bool, y: Tensor, *, scale: float) -> Tensor:
        seen.append((n, m, flag, scale))
        return (x**n + y) * scale

    x = torch.full((2,), 3.0, requires_grad=True)
    y = torch.ones(1, requires_grad=True)
    ck.execute(
        two, [f, lambda t: t * 1], x, 2, None, True, y, scale=0.5
    ).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 3]
    assert y.grad is not None
    assert y.grad.tolist() == [1.0]
    assert set(seen) == {(2, None, True, 0.5)}


@pytest.mark.parametrize("kind", [Pair, Old, Record])
def test_named_tuples_and_dataclasses_keep_their_type(
    kind: Callable[..., Any], two: ck.Schedule
) -> None:
    """EXACT (R10): between stages and at the end; a gradient flows through both."""

    def first(x: Tensor) -> Any:
        return kind((x * x).mean(), x * 2)

    def second(pair: Any) -> Any:
        assert type(pair) is kind
        return pair

    x = ones(4)
    out = ck.execute(two, [first, second], x)
    assert type(out) is kind
    s, y = (out.s, out.y) if kind is Record else out
    (s + y.sum()).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.5] * 4


def test_a_dict_keeps_its_keys(two: ck.Schedule) -> None:
    """EXACT (R10)."""
    x = ones(2)
    stages = [lambda x: {"a": x * 2, "b": [x, 3]}, lambda d: {**d, "c": d["a"] + 1}]
    out = ck.execute(two, stages, x)
    assert list(out) == ["a", "b", "c"]
    assert out["b"][1] == 3
    (out["c"] + out["b"][0]).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 3]


def test_constants_and_tensors_without_gradient_pass(two: ck.Schedule) -> None:
    """EXACT (R10): None and 7 arrive, and zeros need no gradient."""
    x = ones(2)
    stages = [lambda x: (x * 2, None, 7, torch.zeros(1)), lambda t: t]
    doubled, nothing, seven, zeros = ck.execute(two, stages, x)
    assert nothing is None
    assert seven == 7
    assert not zeros.requires_grad
    doubled.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2]


def test_integer_tensors_pass_a_cut(two: ck.Schedule) -> None:
    """EXACT (R13): indices have no gradient, and keep their type."""
    x = torch.tensor([1.0, 5, 3], requires_grad=True)
    v, i = ck.execute(two, [torch.sort, lambda t: (t[0] * 1, t[1])], x)
    (v * torch.tensor([0.0, 1, 2])).sum().backward()
    assert i.dtype == torch.int64
    assert not i.requires_grad
    assert x.grad is not None
    assert x.grad.tolist() == [0, 2, 1]


def test_each_layer_of_a_segment_gets_the_output_of_the_one_before() -> None:
    """EXACT (R42): 2x + i six times from 0 is 57, and its slope is 64."""
    stages = [lambda x, i=i: 2 * x + i for i in range(6)]
    for plan in PLANS:
        x = torch.zeros(1, requires_grad=True)
        y = ck.execute(schedule_of(chain_of([*"abcdef"]), plan), stages, x)
        y.backward()
        assert y.item() == 57
        assert x.grad is not None
        assert x.grad.item() == 64


def test_a_control_that_is_used_in_every_step_accumulates() -> None:
    """EXACT (R60): u = m * m added four times, J = sum; at m = 2 both are 16."""

    def start(m: Tensor) -> tuple[Tensor, Tensor]:
        return m, m * m

    def step(state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        m, total = state
        return m, total + m * m

    for plan in PLANS:
        schedule = schedule_of(chain_of([*"abcd"]), plan)
        for value, j, slope in ((1.0, 4, 8), (2.0, 16, 16)):
            m = torch.tensor(value, requires_grad=True)
            _, total = ck.execute(schedule, [start, step, step, step], m)
            total.backward()
            assert (total.item(), m.grad.item()) == (j, slope)


def test_a_list_that_stages_pop_is_never_wrong() -> None:
    """EXACT or REFUSE (R65): a skip stack is emptied once, not by each computation."""
    for plan in PLANS:
        x = torch.tensor(3.0, requires_grad=True)

        def push(x: Tensor) -> tuple[list[Tensor], Tensor]:
            return [x, 2 * x], x

        def pop(state: tuple[list[Tensor], Tensor]) -> tuple[list[Tensor], Tensor]:
            stack, h = state
            return stack, h * stack.pop()

        schedule = schedule_of(chain_of([*"abc"]), plan)
        try:
            stack, h = ck.execute(schedule, [push, pop, pop], x)
            h.backward()
        except CkscheduleError:
            continue
        # h = x * 2x * x: its slope at 3 is 6 * 9.
        assert len(stack) == 0
        assert x.grad is not None
        assert x.grad.item() == 54


def test_a_cache_that_a_stage_appends_to_is_refused() -> None:
    """REFUSE (R12): it would grow again when the stage is computed again."""
    cache: list[Tensor] = []

    def attend(x: Tensor) -> Tensor:
        cache.append(2 * x)
        k = torch.cat(cache)
        out: Tensor = torch.softmax(x @ k.T, -1) @ k
        return out

    for plan in ("least", "all"):
        cache.clear()
        x = torch.eye(2, 3).requires_grad_()
        schedule = schedule_of(chain_of(["a", "b"]), plan)
        with pytest.raises(UnfaithfulStageError, match=r"steps\.0"):
            ck.execute(schedule, [attend, torch.sin], x).sum().backward()
        assert x.grad is None


def test_a_cache_that_is_passed_in_is_refused() -> None:
    """REFUSE (R12): an object of a class of its own may change between computations."""

    class Cache:
        pass

    schedule = schedule_of(chain_of(["a", "b"]), "all")
    with pytest.raises(UnfaithfulStageError, match=r"takes or returns a .*Cache"):
        ck.execute(schedule, [lambda x, c: x, torch.sin], ones(2), Cache())


def test_hidden_states_pass_from_chunk_to_chunk() -> None:
    """EXACT (R66): an LSTM over three chunks, its two states in a tuple."""

    def build() -> nn.Module:
        lstm = nn.LSTM(2, 3)

        def stage(state: Any) -> Any:
            x, hidden, done = state
            out, hidden = lstm(x[:2], hidden)
            return x[2:], hidden, [*done, out]

        def begin(x: Tensor) -> Any:
            zeros = x.new_zeros(1, x.shape[1], 3)
            return stage((x, (zeros, zeros), []))

        model = Steps(begin, stage, stage, lambda state: torch.cat(state[2]))
        model.lstm = lstm
        return model

    def scenario(model: Any) -> list[Any]:
        x = torch.ones(6, 1, 2, requires_grad=True)
        model(x).sum().backward()
        return [x.grad]

    assert_exact(build, scenario)


def test_complex_tensors_pass_a_cut() -> None:
    """EXACT (R67): the gradient of a doubling between two transforms is two."""
    for plan in PLANS:
        schedule = schedule_of(chain_of([*"abc"]), plan)
        x = torch.linspace(-1, 1, 8, requires_grad=True)
        stages = [torch.fft.fft, lambda z: 2 * z, lambda z: torch.fft.ifft(z).real]
        ck.execute(schedule, stages, x).sum().backward()
        assert x.grad is not None
        torch.testing.assert_close(x.grad, torch.full((8,), 2.0))
