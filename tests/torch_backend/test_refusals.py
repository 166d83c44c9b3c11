"""What a schedule of recomputations cannot follow: refused, saying so."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch.autograd import forward_ad  # noqa: E402 - likewise
from torch_backend.faithful import (  # noqa: E402 - likewise
    PLANS,
    Blocks,
    Wave,
    batch,
    chain_of,
    names_of,
    schedule_of,
    waves,
)

import ckschedule as ck  # noqa: E402 - likewise
from ckschedule.errors import (  # noqa: E402 - likewise
    NoScheduleError,
    PlanMismatchError,
    UnfaithfulStageError,
)


@pytest.fixture
def model() -> Any:
    """Four blocks, all but the last recomputed."""
    made = waves()
    chain = chain_of(names_of(made))
    return ck.apply(made, schedule_of(chain, "all"), chain)


TRANSFORMS: dict[str, Callable[[Any], object]] = {
    "vmap": lambda m: torch.func.vmap(m)(batch()),
    "jvp": lambda m: torch.func.jvp(m, (batch(),), (batch(),)),
    "grad": lambda m: torch.func.grad(lambda x: m(x).sum())(batch()),
    "vjp": lambda m: torch.func.vjp(m, batch()),
    "jacrev": lambda m: torch.func.jacrev(m)(batch()),
}


deprecated = pytest.mark.filterwarnings(
    "ignore:.*torch.jit.script.*:DeprecationWarning"
)
"""Of torch's own, when forward mode is first used."""


@deprecated
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_functions_are_refused(name: str, model: Any) -> None:
    """REFUSE (R71): the message names the limitation and the way out."""
    with pytest.raises(UnfaithfulStageError, match=r"torch\.func.*unapply"):
        TRANSFORMS[name](model)


@deprecated
def test_forward_mode_is_refused(model: Any) -> None:
    """REFUSE (R71): dual numbers would lose their tangents in a recomputation."""
    with (
        forward_ad.dual_level(),
        pytest.raises(UnfaithfulStageError, match=r"forward-mode.*unapply"),
    ):
        model(forward_ad.make_dual(batch(), batch()))  # type: ignore[no-untyped-call]  # torch's


def test_a_model_compiled_as_a_whole_is_exact_or_refused(model: Any) -> None:
    """EXACT or REFUSE (R71): the message says to compile the stages instead."""
    expected = model(batch())
    expected.sum().backward()
    gradients = [p.grad for p in model.parameters()]
    model.zero_grad()
    torch.compiler.reset()
    try:
        y = torch.compile(model, backend="eager")(batch())
    except PlanMismatchError:
        return
    y.sum().backward()
    for p, gradient in zip(model.parameters(), gradients, strict=True):
        assert torch.equal(p.grad, gradient)


# The compiler looks at .grad of every input.
@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")
def test_stages_compiled_before_the_plan_are_close() -> None:
    """EXACT up to rounding (R71): the compiled form is what is computed again."""
    torch.compiler.reset()
    model: Any = waves(3)
    x = batch().requires_grad_()
    model(x).sum().backward()
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    for block in model.blocks:
        block.compile(backend="eager")
    chain = chain_of(names_of(model))
    ck.apply(model, schedule_of(chain, "all"), chain)
    model(x).sum().backward()
    for p, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(p.grad, gradient)


@pytest.mark.parametrize("plan", PLANS)
def test_a_schedule_for_another_number_of_stages_is_refused(plan: str) -> None:
    """REFUSE: before anything is computed."""
    schedule = schedule_of(chain_of(["a", "b", "c"]), plan)
    for stages in ([torch.sin] * 2, [torch.sin] * 4):
        with pytest.raises(PlanMismatchError, match="stage"):
            ck.execute(schedule, stages, batch())


class Skips(Blocks):
    """Leaves out a block, or calls two in another order."""

    def __init__(self) -> None:
        super().__init__(*(Wave() for _ in range(4)))
        self.order = [0, 1, 2, 3]

    def forward(self, x: Tensor) -> Tensor:
        for index in self.order:
            x = self.blocks[index](x)
        return x


@pytest.mark.parametrize("order", [[0, 1, 3], [0, 2, 1, 3], [0, 1, 2], [], [1, 2, 3]])
def test_a_call_that_takes_another_way_is_refused(order: list[int]) -> None:
    """REFUSE: naming the stage that was expected; the next call is a new one."""
    model = Skips()
    chain = chain_of(names_of(model))
    ck.apply(model, schedule_of(chain, "all"), chain)
    model.order = order
    with pytest.raises(PlanMismatchError, match=r"blocks\.\d"):
        model(batch())
    model.order = [0, 1, 2, 3]
    model(batch()).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_the_least_budget_works_and_one_byte_less_names_it() -> None:
    """The ends of the front (R68): right gradients at both, a refusal below."""
    torch.manual_seed(0)
    plain = nn.Sequential(*(nn.Linear(16, 16) for _ in range(3)))
    x = torch.linspace(-1, 1, 64 * 16).view(64, 16)
    plain(x).sum().backward()
    expected = [p.grad for p in plain.parameters()]

    def sequence() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(*(nn.Linear(16, 16) for _ in range(3)))

    points = ck.pareto(ck.profile(sequence(), x, loss=torch.sum)).points
    for point in (points[0], points[-1]):
        model: Any = sequence()
        ck.apply(model, point)
        model(x).sum().backward()
        for p, gradient in zip(model.parameters(), expected, strict=True):
            assert torch.equal(p.grad, gradient)
    model = ck.auto_checkpoint(sequence(), x, loss=torch.sum, budget=points[0].peak)
    model(x).sum().backward()
    for p, gradient in zip(model.parameters(), expected, strict=True):
        assert torch.equal(p.grad, gradient)
    with pytest.raises(NoScheduleError, match=str(points[0].peak)):
        ck.auto_checkpoint(sequence(), x, loss=torch.sum, budget=points[0].peak - 1)
