"""The four proofs of an executor: flops, bytes, gradients and executions, exactly."""

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from hypothesis import given, settings  # noqa: E402 - torch may be missing
from hypothesis import strategies as st  # noqa: E402 - likewise
from torch import Tensor, nn  # noqa: E402 - likewise
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402 - likewise
from torch_models import CASES, Case, mlp  # noqa: E402 - likewise
from torch_steps import (  # noqa: E402 - likewise
    Step,
    differing,
    following,
    forget,
    gradients,
    measured,
    profiled,
    scheduled,
    step_of,
)

import ckschedule as ck  # noqa: E402 - likewise

CHAINS = ("mlp", "resnet", "vit", "gpt", "lstm", "moe", "lora_mlp")
"""Models that are chains of their blocks."""


class Proved:
    """A model, its step and its front, computed once."""

    def __init__(self, case: Case, **profile: Any) -> None:
        self.case = case
        self.step = step_of(case.model, case.inputs, case.loss)
        self.chain = profiled(case.model, *case.inputs, loss=case.loss, **profile)
        self.front = ck.pareto(self.chain)


@pytest.fixture(scope="module", params=CHAINS)
def proved(request: pytest.FixtureRequest) -> Proved:
    case = CASES[request.param]()
    return Proved(case, stages=None if request.param == "vgg" else case.stages)


def layers(kinds: list[str], widths: list[int]) -> nn.Sequential:
    """Return a chain of single operators; only linear ones change the width."""
    made: list[nn.Module] = []
    width = widths[0]
    for kind, wider in zip(kinds, widths[1:], strict=False):
        if kind == "linear":
            made.append(nn.Linear(width, wider))
            width = wider
        else:
            made.append(nn.ReLU() if kind == "relu" else nn.LayerNorm(width))
    return nn.Sequential(nn.Linear(widths[0], widths[0]), *made)


# --- gradients and executions -----------------------------------------------------


def test_gradients_are_equal_bit_by_bit_along_the_front(proved: Proved) -> None:
    """Recomputing gives the numbers of the first computation, or is no use."""
    model = proved.case.model
    expected = gradients(model, proved.step)
    for point in proved.front:
        with following(model, point):
            assert differing(expected, gradients(model, proved.step)) == []


def test_each_stage_is_computed_as_often_as_the_schedule_says(proved: Proved) -> None:
    """The executor neither adds a computation nor leaves one out."""
    model = proved.case.model
    for point in proved.front:
        with following(model, point):
            found = measured(model, proved.case.inputs, proved.step)
        assert found.executions == scheduled(proved.chain, point.schedule)


# --- bytes ------------------------------------------------------------------------


def test_no_measured_peak_exceeds_its_prediction_or_falls_short_of_it_by_one_percent(
    proved: Proved,
) -> None:
    """A promise that is held, and that wastes nothing."""
    model = proved.case.model
    for point in proved.front:
        with following(model, point):
            peak = measured(model, proved.case.inputs, proved.step).peak
        assert 0.99 * point.peak <= peak <= point.peak


@given(
    kinds=st.lists(st.sampled_from(["linear", "relu", "norm"]), min_size=1, max_size=6),
    widths=st.lists(st.integers(1, 40), min_size=7, max_size=7),
    batch=st.integers(1, 24),
    loss=st.sampled_from(["sum", "squares", "classes"]),
)
@settings(max_examples=12)
def test_peaks_of_linear_relu_and_norm_chains_are_predicted_to_the_byte(
    kinds: list[str], widths: list[int], batch: int, loss: str
) -> None:
    """R74: the simulator's peak is what lives, whatever the sizes and the loss."""
    model = layers(kinds, widths)
    x = torch.randn(batch, widths[0])
    losses = {
        "sum": torch.sum,
        "squares": lambda output: output.square().mean(),
        "classes": lambda output: output.logsumexp(-1).sum(),
    }
    step = step_of(model, (x,), losses[loss])
    front = ck.pareto(profiled(model, x, loss=losses[loss]))
    found = []
    for point in front:
        with following(model, point):
            found.append(measured(model, (x,), step).peak)
    assert found == [point.peak for point in front]


def test_peak_of_a_model_with_wide_output_is_predicted_to_the_byte() -> None:
    """Scores of many classes: the output is the largest tensor, and counts once."""

    def loss(output: Tensor) -> Tensor:
        return nn.functional.mse_loss(output, targets)

    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1000))
    x, targets = torch.randn(32, 8), torch.zeros(32, 1000)
    point = ck.pareto(profiled(model, x, loss=loss)).fastest
    with following(model, point):
        peak = measured(model, (x,), step_of(model, (x,), loss)).peak
    assert peak == point.peak


def test_measured_peaks_fall_along_the_front() -> None:
    """A smaller budget has to pay off in real bytes, not only in simulated ones."""
    case = mlp(depth=6, width=24, batch=32)
    proved = Proved(case)
    peaks = []
    for point in proved.front:
        with following(case.model, point):
            peaks.append(measured(case.model, case.inputs, proved.step).peak)
    assert len(peaks) > 3
    assert peaks == sorted(set(peaks))


@pytest.mark.parametrize("name", ["mlp", "lora_mlp", "gpt", "vit", "moe", "lstm"])
def test_peaks_are_held_with_gradients_present(name: str) -> None:
    """Accumulation: old gradients lie there, and new ones only pass through."""
    case = CASES[name]()
    proved = Proved(case, accumulate=True)
    for point in (proved.front.minimum, proved.front.fastest):
        with following(case.model, point):
            forget(case.model)
            proved.step()
            proved.step()
            found = ck.measure(proved.step, case.model, inputs=case.inputs)
        assert found.peak <= point.peak
    forget(case.model)


# --- flops ------------------------------------------------------------------------


def flops_of(step: Step) -> int:
    with FlopCounterMode(display=False) as counter:
        step()
    return int(counter.get_total_flops())


def forward_flops(model: nn.Sequential, x: Tensor) -> dict[str, int]:
    """Return the forward flops of each child."""
    found = {}
    with torch.no_grad():
        for name, child in model.named_children():
            with FlopCounterMode(display=False) as counter:
                x = child(x)
            found[name] = int(counter.get_total_flops())
    return found


def test_flops_are_those_of_the_plain_step_and_of_the_recomputations() -> None:
    """Exact on the CPU: nothing is computed behind the schedule's back."""
    case = mlp(depth=5, width=16, batch=32)
    assert isinstance(case.model, nn.Sequential)
    proved = Proved(case)
    own = forward_flops(case.model, case.inputs[0])
    plain = flops_of(proved.step)
    recomputed = 0
    for point in proved.front:
        again = sum(
            (count - 1) * own[name]
            for name, count in scheduled(proved.chain, point.schedule).items()
        )
        with following(case.model, point):
            proved.step()
            assert flops_of(proved.step) == plain + again
        recomputed += again
    assert recomputed > 0


# --- variants ---------------------------------------------------------------------


def test_front_with_more_variants_is_nowhere_worse() -> None:
    """Whoever may choose need not choose."""
    case = CASES["vit"]()
    few = Proved(case).front
    many = Proved(case, variants=("all", "matmul")).front
    assert {stage.variants[-1].name for stage in many.model.stages} >= {"matmul"}  # type: ignore[union-attr]  # it is a chain
    for point in few:
        better = [p for p in many if p.peak <= point.peak]
        assert better
        assert better[-1].makespan <= point.makespan


def test_schedules_of_variants_give_equal_gradients_within_their_peaks() -> None:
    """What a variant recomputes inside of a backward is exact as well."""
    case = CASES["vit"]()
    proved = Proved(case, variants=("all", "matmul"))
    expected = gradients(case.model, proved.step)
    used = set()
    for point in proved.front:
        used |= {
            operation.mode
            for operation in point.schedule.operations
            if isinstance(operation, ck.Compute)
        }
        with following(case.model, point):
            peak = measured(case.model, case.inputs, proved.step).peak
            assert differing(expected, gradients(case.model, proved.step)) == []
        assert peak <= point.peak
    assert "matmul" in used
