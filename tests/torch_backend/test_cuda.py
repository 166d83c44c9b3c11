"""On a CUDA device: bytes by the allocator, gradients within the device's own spread.

The allocator hands out multiples of 512 bytes, and matrix products and convolutions ask
for a workspace that no profile sees: the bounds below allow for both and nothing else.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

import torch_models  # noqa: E402 - torch may be missing
from torch import Tensor, nn  # noqa: E402 - likewise

import ckschedule as ck  # noqa: E402 - likewise

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(
        not torch.cuda.is_available(), reason="needs a CUDA device, and there is none"
    ),
]

DEVICE: Final = "cuda"

ROOF: Final = "a100"
"""Whose rates tell the times: no measured ones, which differ from run to run."""

ROUNDING: Final = 512
"""Bytes: what the allocator rounds each tensor up to."""

TENSORS: Final = 8
"""Live at once in one stage, at most: its input, output, saved tensors, gradients."""

WORKSPACE: Final = 64 * 2**20
"""Bytes that kernels may ask for beside what the step's operators return."""

NOISE: Final = 1e-6
"""Relative difference of gradients that counts as equal where two plain runs agree."""

BUILDERS: Final[Mapping[str, Callable[..., torch_models.Case]]] = {
    "mlp": torch_models.mlp,
    "resnet": torch_models.resnet,
    "vit": torch_models.vit,
    "gpt": torch_models.gpt,
    "lstm": torch_models.lstm,
    "lora_mlp": torch_models.lora_mlp,
}


def large_mlp() -> torch_models.Case:
    """Return a network whose activations are 64 MiB each: far above any rounding."""
    return torch_models.mlp(depth=6, width=1024, batch=16384, device=DEVICE)


def large_resnet() -> torch_models.Case:
    """Return a network of convolutions, the largest activation of which is 64 MiB."""
    return torch_models.resnet(width=16, batch=64, image=256, device=DEVICE)


def chain_of(case: torch_models.Case) -> ck.Chain:
    """Return the case's chain, by rates that are the same in each run."""
    return ck.profile(
        case.model, *case.inputs, loss=case.loss, stages=case.stages, time=ROOF
    )


def step(case: torch_models.Case) -> None:
    """Run forward and backward; the output lives until after the latter."""
    output = case.model(*case.inputs)
    case.loss(output).backward()  # type: ignore[no-untyped-call]  # torch's own


def reset(case: torch_models.Case) -> None:
    """Drop all gradients."""
    for parameter in case.model.parameters():
        parameter.grad = None


def rounding_of(case: torch_models.Case, chain: ck.Chain) -> int:
    """Return the most bytes that rounding adds to a step."""
    owned = [*case.model.parameters(), *case.model.buffers(), *case.inputs]
    return ROUNDING * (2 * len(owned) + TENSORS * (len(chain.stages) + 1))


def present_besides(case: torch_models.Case) -> int:
    """Return bytes on the device that are neither the model's nor its input's.

    Targets of the loss, workspaces that are kept, and the rounding of what lies there.
    """
    owned = [*case.model.parameters(), *case.model.buffers(), *case.inputs]
    allocated: int = torch.cuda.memory_allocated()
    return allocated - sum(tensor.nbytes for tensor in owned)


def gradients(case: torch_models.Case, *, seed: int = 3) -> dict[str, Tensor]:
    """Return the gradients of one step from a seed."""
    reset(case)
    torch.manual_seed(seed)
    step(case)
    found = {
        name: parameter.grad
        for name, parameter in case.model.named_parameters()
        if parameter.grad is not None
    }
    reset(case)
    return found


def distance(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> float:
    """Return the largest difference, relative to the largest entry of its tensor."""
    assert one.keys() == other.keys()
    return max(
        float((one[name] - other[name]).abs().max())
        / (float(one[name].abs().max()) or 1.0)
        for name in one
    )


@pytest.mark.parametrize("build", [large_mlp, large_resnet])
@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_allocated_peak_is_the_predicted_one_but_for_rounding_and_workspace(
    build: Callable[[], torch_models.Case], place: float
) -> None:
    """The bound is stated in bytes, not in a ratio that grows with the model."""
    case = build()
    chain = chain_of(case)
    front = ck.pareto(chain, ck.ChainDP())
    point = front.points[round(place * (len(front) - 1))]
    ck.apply(case.model, point)
    # Looks at the stages, and makes the workspaces that stay.
    step(case)
    reset(case)
    besides, rounding = present_besides(case), rounding_of(case, chain)
    measured = ck.measure(lambda: step(case), case.model, inputs=case.inputs)
    excess = measured.peak - besides - point.peak
    assert -rounding <= excess <= rounding + WORKSPACE
    assert sum(measured.executions.values()) == len(measured.executions) + (
        point.recomputations
    )


def test_requested_bytes_of_a_step_without_workspaces_are_the_predicted_ones() -> None:
    """The allocator also counts what was asked of it, before it rounds."""
    layers = [nn.Tanh() for _ in range(6)]
    model = nn.Sequential(nn.Embedding(64, 1024), *layers).to(DEVICE)
    tokens = torch.arange(64, device=DEVICE).repeat(256)
    chain = ck.profile(model, tokens, loss=torch.mean, time=ROOF)
    point = ck.pareto(chain, ck.ChainDP()).minimum
    ck.apply(model, point)

    def run() -> None:
        output = model(tokens)
        torch.mean(output).backward()

    run()
    for parameter in model.parameters():
        parameter.grad = None
    torch.cuda.synchronize()
    owned = [*model.parameters(), tokens]
    requested = "requested_bytes.all.current"
    besides = torch.cuda.memory_stats()[requested] - sum(t.nbytes for t in owned)
    torch.cuda.reset_peak_memory_stats()
    run()
    torch.cuda.synchronize()
    peak = torch.cuda.memory_stats()["requested_bytes.all.peak"] - besides
    # Only what an embedding's backward and a reduction sort and sum in, a MiB at most.
    assert 0 <= peak - point.peak <= 2**20


def test_budget_is_held() -> None:
    """On the device a budget counts the same bytes as the prediction."""
    case = large_mlp()
    plain = ck.measure_plain(case.model, case.inputs, case.loss)
    chain = chain_of(case)
    budget = round(0.6 * ck.solve(chain, "100%").budget)
    ck.auto_checkpoint(
        case.model, case.inputs, loss=case.loss, budget=budget, time=ROOF
    )
    assert ck.plan_of(case.model) is not None
    besides, rounding = present_besides(case), rounding_of(case, chain)
    measured = ck.measure(lambda: step(case), case.model, inputs=case.inputs)
    assert measured.peak - besides <= budget + rounding + WORKSPACE
    assert measured.peak < 0.75 * plain.peak


@pytest.mark.parametrize("name", BUILDERS)
def test_gradients_lie_within_the_spread_of_plain_steps(name: str) -> None:
    """Kernels that do not repeat their bits are the measure of what may differ."""
    case = BUILDERS[name](device=DEVICE)
    chain = chain_of(case)
    ck.apply(case.model, ck.pareto(chain, ck.ChainDP()).minimum)
    found = ck.verify(case.model, case.inputs, loss=case.loss, repeats=1)
    # Of networks as small as these a workspace is most of the peak.
    assert [c for c in found.checks if not c.ok and c.name != "peak"] == []


@pytest.mark.parametrize("name", ["vit", "gpt"])
def test_dropout_leaves_the_stream_of_the_device_as_the_plain_step_does(
    name: str,
) -> None:
    """Recomputation draws the same masks again, and the caller never sees it."""
    case = BUILDERS[name](device=DEVICE, dropout=0.5)
    expected, again = gradients(case), gradients(case)
    state = torch.cuda.get_rng_state()
    ck.apply(case.model, ck.pareto(chain_of(case), ck.ChainDP()).minimum)
    for _ in range(2):
        planned = gradients(case)
        assert torch.equal(torch.cuda.get_rng_state(), state)
        spread = distance(expected, again)
        assert distance(expected, planned) <= max(4 * spread, NOISE)


def test_profiling_leaves_the_stream_of_the_device_alone() -> None:
    """A profile between two steps changes no number of the second."""
    case = torch_models.vit(device=DEVICE)
    torch.cuda.manual_seed(5)
    state = torch.cuda.get_rng_state()
    chain_of(case)
    assert torch.equal(torch.cuda.get_rng_state(), state)


@pytest.mark.parametrize("cached", [True, False])
def test_autocast_is_entered_again_for_a_recomputation(cached: bool) -> None:
    """The backward runs outside of it, where a stage would compute in float32."""
    case = torch_models.vit(device=DEVICE, dropout=0.1)

    def cast(output: Callable[[], Any]) -> None:
        reset(case)
        torch.manual_seed(3)
        with torch.autocast(DEVICE, torch.bfloat16, cache_enabled=cached):
            loss = output()
        loss.backward()

    def found() -> dict[str, Tensor]:
        cast(lambda: case.loss(case.model(*case.inputs)))
        kept = {n: p.grad for n, p in case.model.named_parameters()}
        assert all(gradient is not None for gradient in kept.values())
        return {n: g for n, g in kept.items() if g is not None}

    expected, again = found(), found()
    with torch.autocast(DEVICE, torch.bfloat16, cache_enabled=cached):
        chain = chain_of(case)
    ck.apply(case.model, ck.pareto(chain, ck.ChainDP()).minimum)
    # Single precision would differ by the unit of bfloat16, 2 ** -8.
    assert distance(expected, found()) <= max(4 * distance(expected, again), NOISE)


@pytest.mark.parametrize("seed", range(5))
def test_noise_of_convolutions_is_not_flagged(seed: int) -> None:
    """Their weight gradients may be summed in another order each time."""
    case = torch_models.resnet(
        width=16, batch=16, image=64, bottleneck=True, device=DEVICE, seed=seed
    )
    ck.apply(case.model, ck.pareto(chain_of(case), ck.ChainDP()).minimum)
    with torch.backends.cudnn.flags(
        enabled=True, benchmark=False, deterministic=False, allow_tf32=True
    ):
        found = ck.verify(case.model, case.inputs, loss=case.loss, repeats=1)
    assert [c for c in found.checks if c.name == "gradients" and not c.ok] == []


class Masking(nn.Module):
    """A dropout whose mask is another one when it is computed again, on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong = False
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        generator = torch.Generator(x.device)
        generator.manual_seed(1 if self.wrong and self.calls > 1 else 0)
        mask = torch.rand(x.shape, generator=generator, device=x.device) < 0.5
        masked: Tensor = 2 * x * mask
        return masked


def test_wrong_mask_is_caught() -> None:
    """The spread that is allowed for noise is far below what a mask changes."""
    masking = Masking()
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), masking, nn.Conv2d(16, 16, 3), nn.Tanh()]
    with torch_models.seeded(0):
        model = nn.Sequential(*layers, nn.Conv2d(16, 1, 3)).to(DEVICE)
        x = torch.randn(4, 3, 32, 32).to(DEVICE)

    def begin(*_: object) -> None:
        masking.calls = 0

    model.register_forward_pre_hook(begin)
    chain = ck.profile(model, x, loss=torch.mean, time=ROOF)
    ck.apply(model, ck.solve(chain, 2**40, ck.EveryNth(1)))
    # What the first step learns is compared with its own recomputation.
    torch.mean(model(x)).backward()
    assert masking.calls > 1
    assert ck.verify(model, x, loss=torch.mean, repeats=1).checks[0].ok
    masking.wrong = True
    found = ck.verify(model, x, loss=torch.mean, repeats=1)
    assert "gradients" in [check.name for check in found.checks if not check.ok]
