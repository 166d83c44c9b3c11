"""Exported torch modules run stages as often as scheduled, and change no gradient."""

import random
import subprocess
import sys
import weakref
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from strategies import chains

import ckschedule as ck
from ckschedule.exporting import export

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

WIDTH = 3


def load(source: str) -> Callable[[Any, Any], Any]:
    scope: dict[str, Any] = {}
    exec(compile(source, "<exported>", "exec"), scope)
    run: Callable[[Any, Any], Any] = scope["run"]
    return run


class Toys:
    """Stages ``tanh(x w)`` that count their calls; those of the prefix are frozen."""

    def __init__(self, chain: ck.Chain) -> None:
        make = torch.Generator().manual_seed(0)
        shape = (WIDTH, WIDTH)
        self.weights = [torch.randn(shape, generator=make) for _ in chain.stages]
        for weight, stage in zip(self.weights, chain.stages, strict=True):
            weight.requires_grad_(not stage.frozen)
        self.input = torch.randn(shape, generator=make)
        self.input.requires_grad_(chain.input_gradient)
        self.calls: Counter[str] = Counter()

    def stages(self) -> list[Callable[[Any], Any]]:
        return [partial(self.stage, i, w) for i, w in enumerate(self.weights, start=1)]

    def stage(self, i: int, weight: Any, x: Any) -> Any:
        self.calls[f"F{i}"] += 1
        return torch.tanh(x @ weight)

    def gradients(self, run: Callable[[Any, Any], Any]) -> list[Any]:
        """Return all gradients of a loss of what ``run`` returns."""
        leaves = [t for t in (self.input, *self.weights) if t.requires_grad]
        loss = (run(self.stages(), self.input) ** 2).sum()
        if not leaves:
            return []
        loss.backward()
        found = [leaf.grad for leaf in leaves]
        for leaf in leaves:
            leaf.grad = None
        return found


def plain(stages: list[Callable[[Any], Any]], x: Any) -> Any:
    for stage in stages:
        x = stage(x)
    return x


@given(chain=chains(variants=1, max_stages=9))
@settings(max_examples=40)
def test_stages_run_as_often_as_scheduled(chain: ck.Chain) -> None:
    """At the ends and the knee of the front; gradients agree to the bit."""
    front = ck.pareto(chain, solver=ck.ChainDP())
    toys = Toys(chain)
    expected = toys.gradients(plain)
    for point in (front.minimum, front.knee, front.fastest):
        toys.calls.clear()
        found = toys.gradients(load(export(point, to="torch")))
        assert len(found) == len(expected)
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
        scheduled = point.trace.computations
        assert toys.calls == {f: n for f, n in scheduled.items() if f in toys.calls}
        assert len(toys.calls) == len(chain.stages)


def nested() -> Callable[[Any, Any], Any]:
    """Return ``run`` of four stages: 1 runs four times, 2 three times, 3 twice."""
    chain = ck.catalog.uniform(stages=4)
    result = ck.solve(chain, "100%", ck.Revolve(slots=1))
    assert [result.raise_for_status().computations[f"F{i}"] for i in (1, 2, 3, 4)] == [
        4,
        3,
        2,
        1,
    ]
    return load(export(result, to="torch"))


def test_a_sequential_is_a_list_of_stages() -> None:
    """A model of as many modules as the plan has stages needs no list."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(4)]
    model = torch.nn.Sequential(*layers)
    x = torch.ones(2, WIDTH)
    assert torch.equal(nested()(model, x), model(x))
    with pytest.raises(ValueError, match="3 stages given; the plan is for 4"):
        nested()(model[:3], x)


def test_buffers_are_updated_as_often_as_their_stage_runs() -> None:
    """As the docstring warns."""
    norm = torch.nn.BatchNorm1d(WIDTH)
    linear = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(3)]
    nested()([linear[0], norm, *linear[1:]], torch.rand(4, WIDTH)).sum().backward()
    assert norm.num_batches_tracked == 3


def test_random_numbers_of_torch_are_drawn_as_before() -> None:
    """Those of Python are not, as the docstring warns."""

    def gradient(run: Callable[[Any, Any], Any], draw: Callable[[], Any]) -> Any:
        torch.manual_seed(0)
        random.seed(0)
        x = torch.ones(WIDTH, requires_grad=True)
        run([lambda x: torch.tanh(x * draw())] * 4, x).sum().backward()
        return x.grad

    for draw, same in ((lambda: torch.rand(()), True), (random.random, False)):
        agree = torch.equal(gradient(plain, draw), gradient(nested(), draw))
        assert agree == same


def test_hooks_of_a_checkpoint_s_last_stage_fire_once() -> None:
    """Recomputing stops inside it, as the docstring warns."""
    fired: Counter[int] = Counter()
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(4)]
    for i, layer in enumerate(layers, start=1):
        layer.register_forward_hook(lambda *_, i=i: fired.update([i]))
    nested()(layers, torch.ones(2, WIDTH)).sum().backward()
    assert fired == {1: 3, 2: 2, 3: 1, 4: 1}


def test_what_saves_nothing_is_not_recomputed() -> None:
    """As the docstring warns."""
    calls: Counter[str] = Counter()

    def shift(x: Any) -> Any:
        calls["shift"] += 1
        return x + 1

    nested()([shift] * 4, torch.ones(2, requires_grad=True)).sum().backward()
    assert calls == {"shift": 4}


def test_every_backward_recomputes() -> None:
    """As the docstring warns; without gradients nothing is."""
    toys = Toys(ck.catalog.uniform(stages=4))
    loss = nested()(toys.stages(), toys.input).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert toys.calls == {"F1": 7, "F2": 5, "F3": 3, "F4": 1}
    toys.calls.clear()
    with torch.no_grad():
        nested()(toys.stages(), toys.input)
    assert toys.calls == {"F1": 1, "F2": 1, "F3": 1, "F4": 1}


def test_changing_the_input_of_a_checkpoint_in_place_is_refused() -> None:
    """By torch, as the docstring warns."""
    x = torch.ones(2, WIDTH)
    stages = [torch.nn.ReLU(inplace=True)]
    stages += [torch.nn.Linear(WIDTH, WIDTH) for _ in range(3)]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        nested()(stages, x).sum().backward()


@pytest.mark.parametrize(("kind", "live"), [(tuple, [4, 6, 8]), (list, [2, 4, 6, 8])])
def test_tuples_between_stages_are_released(
    kind: Callable[[Any], Any], live: list[int]
) -> None:
    """Lists are not, as the docstring warns.

    Of eight stages, 1 to 4, 5 to 6 and 7 are in checkpoints, and stage 3 in one of its
    own inside the first: x4 and x6 are kept for these, x8 is the result, and x2 is to
    be recomputed.
    """
    outputs: list[weakref.ref[Any]] = []

    def stage(pair: Any) -> Any:
        made = torch.tanh(pair[0])
        outputs.append(weakref.ref(made))
        return kind([made, pair[1] * 2])

    chain = ck.catalog.uniform(stages=8)
    run = load(export(ck.ChenRecursion().schedule(chain), to="torch", chain=chain))
    x = torch.ones(WIDTH, requires_grad=True)
    result = run([stage] * 8, kind([x, x]))
    found = [i for i, made in enumerate(outputs, start=1) if made() is not None]
    assert found == live
    result[0].sum().backward()
    assert x.grad is not None


ALONE = """
import sys
sys.modules["ckschedule"] = None  # importing it would fail
scope = {}
exec(compile(sys.stdin.read(), "<exported>", "exec"), scope)
import torch
calls = []
def stage(x):
    calls.append(0)
    return torch.tanh(x)
x = torch.ones(2, requires_grad=True)
scope["run"]([stage] * 4, x).sum().backward()
print(len(calls))
"""


def test_the_module_stands_alone() -> None:
    """Torch is all that it imports."""
    result = ck.solve(ck.catalog.uniform(stages=4), "100%", ck.Revolve(slots=1))
    answer = subprocess.run(
        [sys.executable, "-I", "-c", ALONE],
        input=export(result, to="torch"),
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["10"]
