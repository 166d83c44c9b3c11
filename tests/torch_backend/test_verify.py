"""`verify` finds what a plan must not do, and says why memory did not go down."""

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch_models import CASES, mlp  # noqa: E402 - likewise
from torch_steps import profiled  # noqa: E402 - likewise

import ckschedule as ck  # noqa: E402 - likewise

X = torch.linspace(-1, 1, 64 * 16, dtype=torch.float64).view(64, 16)


class Drifting(nn.Module):
    """A layer whose later calls under recomputation differ a little, or do more.

    Parameters
    ----------
    what
        What goes wrong while `wrong` is set.
    """

    seen: Tensor

    def __init__(self, what: str = "") -> None:
        super().__init__()
        self.linear = nn.Linear(16, 16)
        self.what = what
        self.wrong = False
        self.calls = 0
        self.register_buffer("seen", torch.zeros(1, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        out: Tensor = self.linear(x).tanh()
        # In a step of four layers under a plan, one is computed again: an even call.
        again = self.wrong and self.calls % 2 == 0
        if self.what == "value" and again:
            out = out * (1 + 1e-7)
        if self.what == "gradient" and self.wrong:
            out = out + 1e-3 * (x - x.detach())
        return out


def drifting(what: str) -> tuple[nn.Sequential, Drifting]:
    """Return a model whose second layer goes wrong on demand, under the least plan."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        layers = [Drifting() for _ in range(5)]
    layers[1].what = what
    model = nn.Sequential(*layers).double()
    chain = profiled(model, X, loss=torch.sum)
    ck.apply(model, ck.pareto(chain).minimum)
    # The first step learns; only what comes after it is not looked at as closely.
    model(X).sum().backward()
    for parameter in model.parameters():
        parameter.grad = None
    return model, layers[1]


def failed(verification: ck.Verification) -> list[str]:
    return [check.name for check in verification.checks if not check.ok]


@pytest.mark.parametrize("name", ["mlp", "resnet", "vit", "gpt", "lora_mlp", "moe"])
def test_plan_at_the_minimum_is_verified(name: str) -> None:
    """Everything is equal bit by bit, and the budget is kept."""
    case = CASES[name]()
    chain = profiled(case.model, *case.inputs, loss=case.loss)
    ck.apply(case.model, ck.solve(chain, ck.pareto(chain).minimum.peak))
    found = ck.verify(case.model, case.inputs, loss=case.loss, repeats=1)
    assert found.raise_for_status() is found
    assert found.ok
    assert found.budget == found.predicted
    assert found.measured.peak <= found.predicted
    assert "ok     gradients" in str(found)


@pytest.mark.parametrize("name", ["mlp", "gpt", "vit"])
def test_finite_differences_agree_with_the_gradients_of_a_plan(name: str) -> None:
    """An oracle that shares nothing with autograd."""
    case = CASES[name]()
    chain = profiled(case.model, *case.inputs, loss=case.loss)
    ck.apply(case.model, ck.pareto(chain).minimum)
    found = ck.verify(
        case.model, case.inputs, loss=case.loss, finite_differences=True, repeats=0
    )
    assert found.ok, str(found)
    assert "finite differences" in str(found)


def test_plan_with_gradients_present_is_verified() -> None:
    """Accumulation: the step that is tried has gradients, too."""
    case = mlp()
    chain = profiled(case.model, *case.inputs, loss=case.loss, accumulate=True)
    ck.apply(case.model, ck.solve(chain, ck.pareto(chain).minimum.peak))
    found = ck.verify(case.model, case.inputs, loss=case.loss, repeats=0)
    assert found.ok, str(found)


def test_relative_error_of_one_in_ten_million_is_found() -> None:
    """Float64, bit by bit: no tolerance lets a wrong recomputation through."""
    model, layer = drifting("value")
    layer.calls, layer.wrong = 0, True
    # Wrong in one plain run of two as well, so this is seen against the first one.
    found = ck.verify(model, X, loss=torch.sum, repeats=0)
    assert "gradients" in failed(found) or "loss" in failed(found)
    with pytest.raises(ck.errors.VerificationError, match="differs by"):
        found.raise_for_status()


def test_unequal_recomputation_is_seen_when_a_stage_is_first_looked_at() -> None:
    """No step is needed: profiling computes each stage more than once."""
    layers = [Drifting("value"), Drifting(), Drifting()]
    layers[0].wrong = True
    model = nn.Sequential(*layers).double()
    with pytest.raises(ck.errors.UnfaithfulStageError, match="'0'"):
        ck.profile(model, X, loss=torch.sum)


def test_buffer_that_a_plan_leaves_otherwise_is_found() -> None:
    """Statistics of one batch counted twice train another model."""
    model, layer = drifting("")
    assert ck.verify(model, X, loss=torch.sum, repeats=0).ok

    def count(module: Drifting, *_: object) -> None:
        if ck.plan_of(model) is not None and module.wrong:
            module.seen.add_(1)

    layer.register_forward_hook(count)
    layer.wrong = True
    with pytest.raises(ck.errors.UnfaithfulStageError, match="seen was changed"):
        ck.verify(model, X, loss=torch.sum, repeats=0)


def test_random_stream_that_a_plan_moves_is_found() -> None:
    """Later layers and later steps would draw other numbers."""
    model, _ = drifting("")

    def draw(*_: object) -> None:
        if ck.plan_of(model) is not None:
            torch.rand(1)

    model.register_forward_hook(draw)
    found = ck.verify(model, X, loss=torch.sum, repeats=0)
    assert failed(found) == ["random streams"]


def test_wrong_gradient_is_found_by_finite_differences() -> None:
    """The same error in both runs: only the difference quotient can tell."""
    model, layer = drifting("gradient")
    layer.wrong = True
    found = ck.verify(model, X, loss=torch.sum, finite_differences=True, repeats=0)
    assert "finite differences" in failed(found)
    assert "gradients" not in failed(found)


def test_verifying_leaves_the_model_alone() -> None:
    """Parameters, gradients, buffers, streams and inputs are as they were."""
    case = CASES["resnet"]()
    x = case.inputs[0].clone().requires_grad_()
    chain = profiled(case.model, case.inputs[0], loss=case.loss)
    ck.apply(case.model, ck.pareto(chain).minimum)
    for parameter in case.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    state = {n: t.clone() for n, t in case.model.state_dict().items()}
    stream = torch.get_rng_state()
    ck.verify(case.model, case.inputs, loss=case.loss, finite_differences=True)
    now = case.model.state_dict()
    assert all(torch.equal(state[n], now[n]) for n in state)
    assert torch.equal(stream, torch.get_rng_state())
    assert all(
        p.grad is not None and bool((p.grad == 1).all())
        for p in case.model.parameters()
    )
    assert x.grad is None
    assert ck.plan_of(case.model) is not None


def test_model_without_a_plan_is_refused() -> None:
    case = mlp()
    with pytest.raises(ck.errors.PlanMismatchError, match="follows no plan"):
        ck.verify(case.model, case.inputs, loss=case.loss)


# --- why memory did not go down ---------------------------------------------------


def notes(model: nn.Module, x: Tensor, solver: ck.AbstractSolver) -> str:
    """Return what verify says of a baseline's plan."""
    chain = profiled(model, x, loss=torch.sum)
    ck.apply(model, ck.solve(chain, "1GiB", solver))
    return "\n".join(ck.verify(model, x, loss=torch.sum, repeats=0).notes)


def blocks(count: int = 8, width: int = 16) -> nn.Sequential:
    return nn.Sequential(
        *[
            nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))
            for _ in range(count)
        ]
    )


def test_one_segment_saves_nothing_and_the_notes_say_so() -> None:
    """R08: when the whole network is computed again, everything is stored."""
    model = nn.Sequential(blocks(), nn.Identity())
    x = torch.ones(256, 16)
    chain = profiled(model, x, loss=torch.sum, stages=["0"])
    whole = ck.Schedule(
        operations=(
            ck.Compute("F1", "plain"),
            ck.Compute("F2", "all"),
            ck.Free("x2"),
            ck.Compute("B2", "all"),
            ck.Free("x1"),
            ck.Compute("F1", "all"),
            ck.Free("x1"),
            ck.Compute("B1", "all"),
        )
    )
    ck.apply(model, whole, chain)
    found = ck.verify(model, x, loss=torch.sum, repeats=0)
    assert found.measured.executions == {"0": 2}
    assert found.measured.peak >= found.plain.peak
    assert "did not go down" in found.notes[0]
    assert any("one segment" in note for note in found.notes)


def test_plan_that_recomputes_nothing_is_named() -> None:
    """R08: its budget is larger than what is needed."""
    words = notes(blocks(), torch.ones(256, 16), ck.StoreAll())
    assert "recomputes nothing" in words


def test_parameters_that_dominate_are_named() -> None:
    """R08: no schedule frees them."""
    words = notes(blocks(width=64), torch.ones(2, 64), ck.RecomputeAll())
    assert "parameters" in words
    assert "recomputation frees none of that" in words


def test_plan_that_saves_needs_no_note() -> None:
    """R08: many short segments are less than half."""
    assert notes(blocks(), torch.ones(1024, 16), ck.SqrtSegments()) == ""
