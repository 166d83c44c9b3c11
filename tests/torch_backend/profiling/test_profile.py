"""A torch model as a chain: bytes by storage, flags, times, and no trace left."""

import random
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

import numpy as np  # noqa: E402 - torch may be missing
from torch import Tensor, nn  # noqa: E402 - likewise
from torch_models import CASES, Case, classify, gpt, lora_mlp, mlp, resnet  # noqa: E402 - likewise
from torch_steps import profiled  # noqa: E402 - likewise

import ckschedule as ck  # noqa: E402 - likewise

ROWS, WIDTH = 4, 8
TENSOR = ROWS * WIDTH * 4
"""Bytes of one float32 activation of `between`."""


def between(*modules: nn.Module) -> ck.Chain:
    """Profile modules between two linear layers; they are stages 2, 3, ..."""
    linears = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
    model = nn.Sequential(linears[0], *modules, linears[1])
    return profiled(model, torch.randn(ROWS, WIDTH), loss=torch.sum)


class Again(nn.Module):
    """One module called again and again."""

    def __init__(self, module: nn.Module, times: int) -> None:
        super().__init__()
        self.inner = module
        self.times = times

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.times):
            x = self.inner(x)
        return x


class Apply(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


# --- flags and saved tensors ------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "needs_input", "needs_output", "saved"),
    [
        (nn.Linear(WIDTH, WIDTH), True, False, 0),
        (nn.ReLU(), False, True, 0),
        (nn.LayerNorm(WIDTH), True, False, ROWS * 2 * 4),  # mean and deviation
        (nn.Tanh(), False, True, 0),
        (nn.Sigmoid(), False, True, 0),
        (nn.Softmax(-1), False, True, 0),
        (nn.GELU(), True, False, 0),
        (nn.Dropout(), False, False, TENSOR),  # the mask, scaled
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else None,
)
def test_flags_say_what_a_backward_reads(
    module: nn.Module, needs_input: bool, needs_output: bool, saved: int
) -> None:
    """A schedule may free the rest."""
    stage = between(module).stages[1]
    (variant,) = stage.variants
    assert (variant.needs_input, variant.needs_output) == (needs_input, needs_output)
    assert variant.saved == saved
    assert stage.output == TENSOR


def test_evaluated_dropout_saves_nothing() -> None:
    """It is the identity then, and no stage of its own."""
    assert [s.name for s in between(nn.Dropout().eval()).stages] == ["0+1", "2"]


def test_frozen_prefix_has_no_backward() -> None:
    """Nothing to differentiate below the first adapter."""
    case = lora_mlp(frozen=2, depth=2)
    chain = profiled(case.model, *case.inputs, loss=case.loss)
    assert [stage.frozen for stage in chain.stages] == [True] * 4 + [False] * 4
    assert all(stage.parameter_gradient == 0 for stage in chain.stages[:4])


# --- storages ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "module",
    [nn.ReLU(inplace=True), nn.Identity(), nn.Unflatten(1, (2, 4)), nn.Flatten()],
    ids=lambda module: type(module).__name__,
)
def test_stage_in_place_or_view_is_merged_into_the_one_before(
    module: nn.Module,
) -> None:
    """Between the two no bytes could be freed."""
    back = nn.Flatten() if isinstance(module, nn.Unflatten) else nn.Identity()
    assert [s.name for s in between(module, back).stages] == ["0+1+2", "3"]


def test_expanded_output_counts_as_its_storage() -> None:
    """An expanded tensor has the bytes of what it repeats."""
    one = Apply(lambda x: x.sum().expand(ROWS, WIDTH))
    chain = between(one)
    assert chain.stages[1].output == 4
    # And the gradient that sum's backward yields is one number.
    assert chain.stages[1].variants[0].saved == 0


def test_view_of_a_larger_tensor_counts_as_the_larger_one() -> None:
    """A kept slice keeps all of its storage."""
    chain = between(Apply(lambda x: torch.cat([x, x, x])[:ROWS]))
    assert chain.stages[1].output == 3 * TENSOR


def test_module_in_a_loop_counts_each_output_and_its_parameters_once() -> None:
    """R27: 1 024 000 B of activations, 10 240 B of output, 1 088 B of parameters."""
    model = Again(nn.Linear(16, 16), 100)
    x = torch.zeros(160, 16)
    chain = profiled(model, x, loss=torch.sum, stages=["inner"])
    outputs = sum(stage.output for stage in chain.stages)
    assert len(chain.stages) == 100
    assert chain.input + outputs == 1_024_000 + 10_240
    assert chain.static.parameters == 1_088
    total = chain.input + outputs + chain.static.total
    assert total == 1_035_328
    # Its gradient is made by the last call, and the others add to it.
    gradients = [stage.parameter_gradient for stage in chain.stages]
    assert gradients == [0] * 99 + [1_088]


def test_complex_numbers_take_eight_bytes() -> None:
    """R67: half of them went missing elsewhere."""
    model = nn.Sequential(
        Apply(torch.fft.fft), Apply(lambda x: 2 * x), Apply(lambda x: torch.fft.ifft(x))
    )
    x = torch.arange(8.0, requires_grad=True)
    chain = profiled(model, x, loss=lambda y: y.real.sum())
    assert [stage.output for stage in chain.stages] == [64, 64, 64]
    assert chain.input == 32


def test_half_precision_takes_two_bytes_and_mixes() -> None:
    """Each tensor in its own width."""
    model = nn.Sequential(
        nn.Linear(8, 16).bfloat16(), Apply(Tensor.float), nn.Linear(16, 8)
    )
    x = torch.randn(4, 8, dtype=torch.bfloat16)
    chain = profiled(model, x, loss=torch.sum)
    assert [s.output for s in chain.stages] == [4 * 16 * 2, 4 * 16 * 4, 4 * 8 * 4]
    assert chain.input == 4 * 8 * 2
    assert chain.stages[0].parameter_gradient == (8 * 16 + 16) * 2


def test_parameters_buffers_and_optimizer_are_static() -> None:
    """They lie there throughout, and count once each."""
    case = resnet()
    parameters = sum(p.nbytes for p in case.model.parameters())
    buffers = sum(b.nbytes for b in case.model.buffers())
    chain = profiled(
        case.model, *case.inputs, loss=case.loss, optimizer="adamw", accumulate=True
    )
    static = chain.static
    assert (static.parameters, static.gradients) == (parameters, parameters)
    assert static.optimizer == 2 * parameters
    # A recomputation reads running statistics as they were: these are kept besides.
    assert buffers < static.buffers <= 2 * buffers


def test_tied_weights_count_once() -> None:
    """Embedding and head share one storage."""
    case = CASES["gpt"]()
    chain = profiled(case.model, *case.inputs, loss=case.loss)
    own = sum(p.nbytes for p in case.model.parameters())  # each parameter once
    assert chain.static.parameters == own


def test_input_given_twice_counts_once() -> None:
    """Two arguments on one storage are one storage."""

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1))

        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            out: Tensor = self.layers(a) + b.sum()
            return out

    x = torch.randn(ROWS, WIDTH)
    assert profiled(Two(), x, x[:2], loss=torch.sum).input == TENSOR


def test_input_that_needs_a_gradient_does_not_hinder_a_plan() -> None:
    """Its gradient is no parameter's."""
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(3)])
    x = torch.randn(ROWS, WIDTH, requires_grad=True)
    chain = profiled(model, x, loss=torch.sum)
    ck.apply(model, ck.solve(chain, "100%"))
    model(x).sum().backward()
    assert x.grad is not None


# --- no trace ---------------------------------------------------------------------


def test_profile_leaves_no_trace() -> None:
    """Random streams, buffers, gradients, flags and inputs are as they were."""
    case = resnet()
    first = nn.Sequential(nn.ReLU(inplace=True), nn.Dropout(0.5), case.model)
    case.model.get_submodule("layer1").eval()
    x = case.inputs[0].clone()
    for number, parameter in enumerate(case.model.parameters()):
        parameter.requires_grad_(number % 3 > 0)
        if number % 2:
            parameter.grad = torch.full_like(parameter, 7.0)

    def state() -> list[object]:
        return [
            x.tolist(),
            torch.get_rng_state().tolist(),
            random.getstate(),
            str(np.random.get_state()),  # noqa: NPY002 - the global stream is meant
            {n: b.tolist() for n, b in first.named_buffers()},
            {n: p.tolist() for n, p in first.named_parameters()},
            {n: (id(p), p.requires_grad) for n, p in first.named_parameters()},
            {n: (id(p.grad), p._version) for n, p in first.named_parameters()},  # noqa: SLF001 - was it written?
            {n: m.training for n, m in first.named_modules()},
            {n: list(m.__dict__) for n, m in first.named_modules()},
            torch.is_grad_enabled(),
        ]

    before = state()
    ck.profile(first, x, loss=case.loss, optimizer="adamw")
    assert state() == before
    assert all(p.grad is None or bool((p.grad == 7).all()) for p in first.parameters())


@pytest.mark.parametrize("build", [mlp, gpt], ids=["chain", "start and end"])
def test_no_hook_of_a_parameter_fires(build: Callable[[], Case]) -> None:
    """A hook that reduces gradients across machines would wait for the others."""
    case = build()
    fired: list[str] = []
    for name, parameter in case.model.named_parameters():
        hooks: Any = parameter  # torch leaves both untyped
        hooks.register_hook(lambda _, name=name: fired.append(name))
        hooks.register_post_accumulate_grad_hook(
            lambda _, name=name: fired.append(name)
        )
    ck.profile(case.model, *case.inputs, loss=case.loss)
    assert fired == []


def test_profile_works_without_gradients_enabled() -> None:
    """Profiling inside of evaluation code is no error."""
    case = mlp()
    with torch.no_grad():
        chain = profiled(case.model, *case.inputs, loss=case.loss)
        assert not torch.is_grad_enabled()
    assert chain == profiled(case.model, *case.inputs, loss=case.loss)


def test_missing_loss_is_warned_of() -> None:
    """What comes after the model is not in the promise."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    with pytest.warns(UserWarning, match="no loss was given"):
        ck.profile(model, torch.ones(2, 4))


def test_models_with_mappings_and_losses_of_their_own_are_profiled() -> None:
    """As language models are called: keywords in, an object with ``loss`` out."""

    class Output:
        def __init__(self, loss: Tensor) -> None:
            self.loss = loss

    class Labelled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3))

        def forward(self, x: Tensor, labels: Tensor) -> Output:
            return Output(classify(labels)(self.layers(x)))

    batch = {"x": torch.ones(2, 4), "labels": torch.tensor([0, 2])}
    chain = profiled(Labelled(), batch)
    assert [stage.name for stage in chain.sequence] == ["layers.0", "layers.1", "end"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"variants": ("matmul",)}, "starts with 'all'"),
        ({"variants": ("all", "most")}, "'most' is unknown"),
        ({"optimizer": "lion"}, "'lion'"),
        ({"loss": lambda y: y}, "one element"),
        ({"loss": lambda y: y.detach().sum()}, "does not need a gradient"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], words: str) -> None:
    """Each message names the culprit."""
    case = mlp(depth=1)
    given = {"loss": case.loss, **settings}
    with pytest.raises(ck.errors.InvalidSettingError, match=words):
        ck.profile(case.model, *case.inputs, **given)  # type: ignore[arg-type]  # wrong on purpose
