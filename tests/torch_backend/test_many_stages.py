"""Long chains and many schedules: exactly the schedule's operations, and the plain
run's gradients."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from strategies import chains  # noqa: E402 - torch may be missing
from torch import Tensor, nn  # noqa: E402 - likewise
from torch_backend.faithful import (  # noqa: E402 - likewise
    Blocks,
    Steps,
    batch,
    chain_of,
    names_of,
    observed,
    schedule_of,
)

import ckschedule as ck  # noqa: E402 - likewise
from ckschedule.torch_backend.applying import binding_of  # noqa: E402 - likewise


class Layer(nn.Module):
    """Linear, tanh and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.dropout = nn.Dropout(0.25)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.dropout(torch.tanh(self.linear(x)))
        return y


def computations(schedule: ck.Schedule, stages: int) -> list[int]:
    """How often a schedule computes each stage."""
    counts = [0] * (stages + 1)
    for operation in schedule:
        if isinstance(operation, ck.Compute) and operation.node.startswith("F"):
            index = int(operation.node[1:])
            if index <= stages:
                counts[index] += 1
    return counts[1:]


def schedules(chain: ck.Chain, share: float) -> list[ck.Schedule]:
    """The exact one for a budget between the least and the largest, and heuristics."""
    points = ck.pareto(chain).points
    made = [points[int(share * (len(points) - 1))].schedule]
    for solver in (
        ck.RecomputeAll(),
        ck.EveryNth(2),
        ck.SqrtSegments(),
        ck.StoreAll(),
    ):
        result = ck.solve(chain, 10**9, solver)
        if result.schedule is not None:
            made.append(result.schedule)
    return made


@settings(max_examples=50)
@given(
    chains(max_stages=7, variants=1, frozen=False),
    st.floats(0, 1),
)
def test_random_schedules_give_the_plain_runs_numbers(
    chain: ck.Chain, share: float
) -> None:
    """Gradients, the next random numbers and executions, for five schedules a chain."""
    chain = renamed(chain)
    stages = len(chain.stages)

    def scenario(model: Any) -> list[Any]:
        x = batch().requires_grad_()
        y = model(x)
        (y * y).sum().backward()
        return [y, x.grad]

    def build() -> Steps:
        return Steps(*(Layer() for _ in range(stages)))

    expected = observed(build, scenario, None)
    for schedule in schedules(chain, share):

        def follow(model: Any, schedule: ck.Schedule = schedule) -> None:
            model.schedule = schedule

        got = observed(build, scenario, follow)
        same(expected, got)
        model = build()
        ck.apply(model, schedule, chain_of(names_of(model)))
        scenario(model)
        assert binding_of(model).executions[1:-1] == computations(schedule, stages)


def renamed(chain: ck.Chain) -> ck.Chain:
    """The chain with the executor's one way to record a stage."""

    def one(stage: ck.Stage) -> ck.Stage:
        return replace(stage, variants=[replace(v, name="all") for v in stage.variants])

    return replace(
        chain, stages=[one(s) for s in chain.stages], loss=one(chain.sequence[-1])
    )


def same(expected: Any, got: Any) -> None:
    if isinstance(expected, Tensor):
        assert torch.equal(expected, got)
    elif isinstance(expected, dict):
        assert expected.keys() == got.keys()
        for key, value in expected.items():
            same(value, got[key])
    elif isinstance(expected, list):
        for a, b in zip(expected, got, strict=True):
            same(a, b)
    else:
        assert expected == got


@pytest.mark.parametrize("slots", [2, 3, 5])
def test_a_schedule_of_revolves_advances_as_often_as_the_binomial_rule_says(
    slots: int,
) -> None:
    """EXACT (R35): 8 steps, 3 slots take 11 advances and 8 recordings."""
    chain = chain_of([f"steps.{i}" for i in range(8)])
    result = ck.solve(chain, 10**9, ck.Revolve(slots=slots)).raise_for_status()
    assert result.schedule is not None

    def build() -> Steps:
        return Steps(*(Layer() for _ in range(8)))

    def scenario(model: Any) -> list[Any]:
        y = model(batch())
        (y * y).sum().backward()
        return [y]

    def follow(model: Any) -> None:
        ck.apply(model, result.schedule, chain)

    same(observed(build, scenario, None), observed(build, scenario, follow))
    model = build()
    follow(model)
    scenario(model)
    executions = binding_of(model).executions[1:-1]
    assert executions == computations(result.schedule, 8)
    assert slots != 3 or sum(executions) == 11 + 8


def test_five_thousand_stages_need_no_deep_recursion() -> None:
    """EXACT (R36): a gradient of one passes through all of them."""
    count = 5000
    stages = [lambda x: x * 1.0] * count
    chain = chain_of([f"steps.{i}" for i in range(count)])
    result = ck.solve(chain, 10**9, ck.SqrtSegments()).raise_for_status()
    assert result.schedule is not None
    x = torch.ones(1, requires_grad=True)
    ck.execute(result.schedule, stages, x).backward()
    assert x.grad is not None
    assert x.grad.item() == 1.0


def test_a_long_chain_that_is_never_differentiated_dies_quietly() -> None:
    """EXACT (R36): dropping the output frees a node at a time."""
    count = 2000
    model: Any = Blocks(*(nn.Identity() for _ in range(count)))
    chain = chain_of(names_of(model))
    ck.apply(model, schedule_of(chain, "store"), chain)
    y = model(torch.ones(1, requires_grad=True))
    del y
    y = model(torch.ones(1, requires_grad=True))
    assert y.requires_grad
