"""Compiled stages under a plan, and what is refused of compiling a planned model."""

import copy
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn
from torch_backend.compositions.comparing import (
    DEVICE,
    Gradients,
    backward,
    gradients,
    identical,
    least_plan,
    plans_of,
)
from torch_models import Case, gpt, mlp

import ckschedule as ck
from ckschedule.errors import PlanMismatchError

pytestmark = [
    # The compiler's own imports use what torch has deprecated.
    pytest.mark.filterwarnings(
        "ignore:`torch.jit.script.*` is deprecated:DeprecationWarning"
    ),
    # It looks at the gradient of whatever enters a compiled module, plan or no plan.
    pytest.mark.filterwarnings(
        "ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"
    ),
]

EAGER = "aot_eager"
"""Traces and differentiates as the compiler does, and then runs torch's own kernels."""


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def _blocks(case: Case) -> list[nn.Module]:
    return [*case.model.get_submodule("transformer.h").children()]


def _compile(case: Case, backend: str) -> None:
    for block in _blocks(case):
        block.compile(backend=backend)


def _close(first: Gradients, second: Gradients) -> None:
    for a, b in zip(first, second, strict=True):
        assert a is not None
        assert b is not None
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(
    "backend", [EAGER, pytest.param("inductor", marks=pytest.mark.slow)]
)
def test_compiled_blocks_follow_a_plan(backend: str) -> None:
    """Fused kernels round otherwise: close to eager, equal from step to step."""
    # Without dropout: compiled kernels draw other masks than eager ones.
    expected = gradients((c := gpt(dropout=0.0)).model, c.inputs, c.loss)
    case = gpt(dropout=0.0)
    _compile(case, backend)

    least = plans_of(case).least
    ck.auto_checkpoint(
        case.model, case.inputs, loss=case.loss, budget=least.peak, time=DEVICE
    )
    first = gradients(case.model, case.inputs, case.loss)
    again = gradients(case.model, case.inputs, case.loss)

    assert ck.plan_of(case.model) is not None
    _close(first, expected)
    assert identical(again, first)


def _counted(case: Case, *, wrap: bool) -> list[int]:
    """Compile the blocks; return what grows by one with each compiled computation."""
    calls: list[int] = []

    def backend(
        graph: torch.fx.GraphModule, _inputs: list[torch.Tensor]
    ) -> Callable[..., object]:
        def run(*args: object) -> object:
            calls.append(1)
            found: object = graph(*args)
            return found

        return run

    blocks = case.model.get_submodule("transformer.h")
    for name, block in [*blocks.named_children()]:
        if wrap:
            setattr(blocks, name, torch.compile(block, backend=backend))
        else:
            block.compile(backend=backend)
    return calls


@pytest.mark.parametrize("wrap", [False, True], ids=["module.compile", "torch.compile"])
def test_compiled_blocks_run_compiled_when_computed_again(wrap: bool) -> None:
    """A recomputation in eager mode would lose the compiler's gain, and its numbers."""
    plan = plans_of(gpt(dropout=0.0)).least
    expected = gradients((c := gpt(dropout=0.0)).model, c.inputs, c.loss)
    case = gpt(dropout=0.0)
    calls = _counted(case, wrap=wrap)
    ck.apply(case.model, plan)
    _close(gradients(case.model, case.inputs, case.loss), expected)

    calls.clear()
    gradients(case.model, case.inputs, case.loss)

    # Stage 1 is the start, 5 the end with the loss; 2 to 4 are the blocks.
    blocks = [
        operation
        for operation in plan.schedule
        if isinstance(operation, ck.Compute) and operation.node in ("F2", "F3", "F4")
    ]
    assert len(calls) == len(blocks) > 3


def test_blocks_stay_compiled_when_they_are_profiled() -> None:
    """Counting their bytes must not switch the compiler off."""
    case = gpt(dropout=0.0)
    calls = _counted(case, wrap=False)
    plans_of(case)

    calls.clear()
    gradients(case.model, case.inputs, case.loss)

    assert len(calls) == 3


def test_a_plan_can_be_made_before_the_blocks_are_compiled() -> None:
    """Bytes differ a little then; gradients do not."""
    expected = gradients((c := gpt(dropout=0.0)).model, c.inputs, c.loss)
    plan = plans_of(gpt(dropout=0.0)).least
    case = gpt(dropout=0.0)
    _compile(case, EAGER)

    ck.apply(case.model, plan)

    _close(gradients(case.model, case.inputs, case.loss), expected)


def test_taking_the_plan_off_leaves_the_blocks_compiled() -> None:
    """What stands in the compiled call is put back as it was."""
    case = gpt()
    plan = plans_of(case).least
    _compile(case, EAGER)
    compiled = [block._compiled_call_impl for block in _blocks(case)]  # noqa: SLF001 - no public name

    ck.unapply(ck.apply(case.model, plan))

    found = [block._compiled_call_impl for block in _blocks(case)]  # noqa: SLF001
    assert all(a is b for a, b in zip(found, compiled, strict=True))


def _whole(case: Case) -> Callable[..., object]:
    return torch.compile(case.model, backend=EAGER)


def _whole_in_place(case: Case) -> Callable[..., object]:
    case.model.compile(backend=EAGER)
    return case.model


def _blocks_late(case: Case) -> Callable[..., object]:
    _compile(case, EAGER)
    return case.model


@pytest.mark.parametrize("compiled", [_whole, _whole_in_place, _blocks_late])
@pytest.mark.parametrize("known", [False, True], ids=["first call", "second call"])
def test_compiling_after_the_plan_is_refused(
    compiled: Callable[[Case], Callable[..., object]], known: bool
) -> None:
    """The compiler would trace through the schedule, and so make it meaningless."""
    case = gpt()
    ck.apply(case.model, plans_of(case).least)
    if known:
        gradients(case.model, case.inputs, case.loss)
    model = compiled(case)

    with pytest.raises(PlanMismatchError, match="compile its stages"):
        model(*case.inputs)


def test_a_compiled_step_around_a_planned_model_is_refused() -> None:
    """Compiling the loss with the model compiles the model as a whole."""
    case = gpt()
    ck.apply(case.model, plans_of(case).least)

    @torch.compile(backend=EAGER)
    def step() -> torch.Tensor:
        return case.loss(case.model(*case.inputs))

    with pytest.raises(PlanMismatchError, match="compile its stages"):
        step()


def test_a_model_compiled_as_a_whole_follows_no_plan() -> None:
    """Its stages are gone in one graph."""
    case = gpt()
    plan = plans_of(case).least
    case.model.compile(backend=EAGER)
    ck.apply(case.model, plan)

    with pytest.raises(PlanMismatchError, match="compile its stages"):
        case.model(*case.inputs)


def test_a_copy_of_a_planned_model_compiles_as_a_whole() -> None:
    """Copies are plain models."""
    expected = gradients((c := gpt(dropout=0.0)).model, c.inputs, c.loss)
    case = gpt(dropout=0.0)
    ck.apply(case.model, plans_of(case).least)
    twin = copy.deepcopy(case.model)

    compiled = torch.compile(twin, backend=EAGER)
    value = case.loss(compiled(*case.inputs))
    backward(value)

    _close([value.detach(), *(p.grad for p in twin.parameters())], expected)


def _mapped(model: nn.Module, x: torch.Tensor) -> None:
    torch.func.vmap(model)(x[:, None])


def _forward_mode(model: nn.Module, x: torch.Tensor) -> None:
    torch.func.jvp(model, (x,), (x,))


@pytest.mark.parametrize("transform", [_mapped, _forward_mode])
def test_function_transforms_are_refused(
    transform: Callable[[nn.Module, torch.Tensor], None],
) -> None:
    """They would see the stages' results as constants."""
    case = mlp()
    ck.apply(case.model, least_plan(case.model, *case.inputs, loss=case.loss))

    with pytest.raises(RuntimeError, match=r"torch\.func"):
        transform(case.model, *case.inputs)
