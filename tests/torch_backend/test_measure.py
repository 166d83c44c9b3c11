"""Measured peaks against the allocator's own events, and what counts in them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch.profiler import ProfilerActivity, profile  # noqa: E402 - likewise
from torch_models import CASES, Case, lora_mlp, mlp  # noqa: E402 - likewise
from torch_steps import (  # noqa: E402 - likewise
    Step,
    following,
    forget,
    profiled,
    step_of,
)

import ckschedule as ck  # noqa: E402 - likewise


def allocated(step: Step) -> int:
    """Return the highest sum of the CPU allocator's events during a step, in bytes."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as events:
        kept = step()
    del kept
    recorded = events.profiler.kineto_results.events()
    live = peak = 0
    changes = [e for e in recorded if e.name() == "[memory]"]
    for event in sorted(changes, key=lambda event: event.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return peak


def resident(model: nn.Module, inputs: Any) -> int:
    """Return the bytes that lie there before a step."""
    tensors = [*model.parameters(), *model.buffers(), *inputs]
    return sum({t.data_ptr(): t.nbytes for t in tensors}.values())


@pytest.mark.parametrize("name", ["mlp", "vit", "gpt", "moe", "lora_mlp"])
def test_plain_peak_is_that_of_the_allocators_events(name: str) -> None:
    """An oracle of torch's own: sums of its allocations and frees, in order."""
    case = CASES[name]()
    step = step_of(case.model, case.inputs, case.loss)
    step()
    forget(case.model)
    expected = resident(case.model, case.inputs) + allocated(step)
    forget(case.model)
    found = ck.measure(step, case.model, inputs=case.inputs)
    forget(case.model)
    # Workspaces inside of kernels are the allocator's alone; targets that lie there
    # before the step are seen by the counter alone.
    assert found.peak == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("build", [mlp, lora_mlp])
def test_planned_peak_is_that_of_the_allocators_events(
    build: Callable[..., Case],
) -> None:
    """The executor's own objects hide nothing from the counter."""
    # No targets: these lie there before the step, where the allocator's events end.
    case = replace(build(width=32, batch=1024), loss=lambda y: y.square().mean())
    step = step_of(case.model, case.inputs, case.loss)
    front = ck.pareto(profiled(case.model, *case.inputs, loss=case.loss))
    for point in (front.minimum, front.fastest):
        with following(case.model, point):
            forget(case.model)
            step()
            forget(case.model)
            highest = resident(case.model, case.inputs) + allocated(step)
            forget(case.model)
            found = ck.measure(step, case.model, inputs=case.inputs)
            forget(case.model)
        assert found.peak == point.peak
        # A generator's state takes 5 kB, and is nothing that an operator returns.
        assert point.peak <= highest <= point.peak + 4 * torch.get_rng_state().nbytes


def test_peak_of_one_linear_layer_is_derived_by_hand() -> None:
    """Input, parameters, output, loss and both gradients; nothing else lives."""
    model = nn.Linear(8, 8, bias=False)
    x = torch.ones(4, 8)
    step = step_of(model, (x,), torch.sum)
    # x and the output: 128 each; the weight and its gradient: 256 each; the loss and
    # the gradient that the engine starts from: 4 each.
    assert ck.measure(step, model, inputs=x).peak == 2 * 128 + 2 * 256 + 2 * 4


def test_gradients_optimizer_state_and_inputs_count_from_the_start() -> None:
    """All that lies there is part of a step's memory."""
    case = mlp()
    size = sum(p.nbytes for p in case.model.parameters())
    optimizer = torch.optim.AdamW(case.model.parameters())
    step = step_of(case.model, case.inputs, case.loss)
    step()
    optimizer.step()

    def idle() -> None:
        return

    found = ck.measure(idle, case.model, inputs=case.inputs, optimizer=optimizer)
    counters = 4 * sum(1 for _ in case.model.parameters())  # a step number each
    assert found.peak == 4 * size + counters + case.inputs[0].nbytes
    assert ck.measure(idle).peak == 0


def test_view_and_expanded_tensors_count_their_storage_once() -> None:
    """An expanded tensor is as large as what it repeats."""
    x = torch.ones(16)

    def step() -> list[Tensor]:
        return [x.view(4, 4), x.expand(8, 16), x[2:], x.add_(1)]

    assert ck.measure(step, inputs=[x, x[4:]]).peak == 64


def test_times_are_measured_when_asked_for() -> None:
    """Steps under the counter are slow and not among them."""
    case = mlp()
    step = step_of(case.model, case.inputs, case.loss)
    calls = []

    def counted() -> object:
        calls.append(1)
        return step()

    assert ck.measure(counted, case.model).time is None
    assert len(calls) == 1
    timed = ck.measure(counted, case.model, repeats=3)
    assert len(calls) == 5
    assert timed.time is not None
    assert timed.time > 0
    assert "peak" in str(timed)


def test_measurement_of_a_plan_names_its_recomputations() -> None:
    """Executions are those of one step, however often it was run before."""
    case = mlp()
    point = ck.pareto(profiled(case.model, *case.inputs, loss=case.loss)).minimum
    step = step_of(case.model, case.inputs, case.loss)
    with following(case.model, point):
        first = ck.measure(step, case.model, repeats=2)
        second = ck.measure(step, case.model)
    assert first.executions == second.executions
    assert sum(first.executions.values()) > len(first.executions)
    assert "recomputations" in str(first)


def test_measuring_the_plain_step_leaves_the_model_alone() -> None:
    """No gradient, no buffer, no random number is left behind."""
    case = CASES["resnet"]()
    buffers = {n: b.clone() for n, b in case.model.named_buffers()}
    stream = torch.get_rng_state()
    found = ck.measure_plain(case.model, case.inputs, case.loss)
    assert all(p.grad is None for p in case.model.parameters())
    assert all(torch.equal(b, buffers[n]) for n, b in case.model.named_buffers())
    assert torch.equal(stream, torch.get_rng_state())
    step = step_of(case.model, case.inputs, case.loss)
    own = ck.measure(step, case.model, inputs=case.inputs)
    assert found.peak == own.peak
