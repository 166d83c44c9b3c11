"""The plain run of a model beside its runs under schedules; helpers of the tests here.

A run under a schedule passes in two ways only: with the numbers of the plain run, bit
by bit, or with an error of ckschedule's.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, linspace, nn  # noqa: E402 - torch may be missing

import ckschedule as ck  # noqa: E402 - likewise

Build: TypeAlias = "Callable[[], nn.Module]"
"""Makes a model, always the same: it is drawn after a seed."""

Scenario: TypeAlias = "Callable[[Any], Sequence[Any]]"
"""Trains a model and returns what has to agree besides gradients and buffers."""

PLANS: Final = ("least", "all", "store")
"""Least memory, everything recomputed once, nothing recomputed."""


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


class Steps(nn.Module):
    """Stages in a row, run plainly or by ``ck.execute``."""

    def __init__(self, *stages: Callable[..., Any]) -> None:
        super().__init__()
        self.steps = nn.ModuleList(
            s if isinstance(s, nn.Module) else Function(s) for s in stages
        )
        self.schedule: ck.Schedule | None = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.schedule is not None:
            return ck.execute(self.schedule, list(self.steps), *args, **kwargs)
        first, *others = self.steps
        value = first(*args, **kwargs)
        for step in others:
            value = step(value)
        return value


class Wave(nn.Module):
    """A linear layer and a sine, which keeps its input for its backward."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: Tensor, *factors: Tensor) -> Tensor:
        y = torch.sin(self.linear(x))
        for factor in factors:
            y = y * factor.sigmoid()
        out: Tensor = y
        return out


class Blocks(nn.Module):
    """Modules in a list, called one after another."""

    def __init__(self, *blocks: nn.Module) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


def waves(count: int = 4) -> Blocks:
    return Blocks(*(Wave() for _ in range(count)))


def batch() -> Tensor:
    """Eight rows of four numbers between -1 and 1."""
    return linspace(-1, 1, 32).view(8, 4)


def chain_of(names: Sequence[str], *, frozen: int = 0) -> ck.Chain:
    """A chain of equal stages, whose first ones may have no backward."""
    trained = [ck.Variant(saved=3, backward=1)]
    return ck.Chain(
        input=1,
        stages=[
            ck.Stage(
                name=name,
                output=1,
                forward=1,
                variants=[] if index < frozen else trained,
            )
            for index, name in enumerate(names)
        ],
    )


def schedule_of(chain: ck.Chain, plan: str) -> ck.Schedule:
    """One of `PLANS` for a chain."""
    if plan == "least":
        return ck.pareto(chain).points[0].schedule
    solver = ck.RecomputeAll() if plan == "all" else ck.StoreAll()
    return ck.solve(chain, 10**9, solver).raise_for_status().schedule


def names_of(model: nn.Module) -> list[str]:
    """The stages of `Steps` and `Blocks`."""
    kind = "steps" if isinstance(model, Steps) else "blocks"
    children = model.get_submodule(kind).named_children()
    return [f"{kind}.{name}" for name, _ in children]


def assert_exact(
    build: Build, scenario: Scenario, *, names: Sequence[str] = (), frozen: int = 0
) -> None:
    """Every run under a schedule gives what the plain run gives."""
    expected = observed(build, scenario, None)
    for label, put in ways(build, names, frozen):
        compare(label, expected, observed(build, scenario, put))


def assert_refused(
    build: Build, scenario: Scenario, match: str, *, names: Sequence[str] = ()
) -> None:
    """Every run under a schedule that recomputes ends in an error of ckschedule's."""
    for label, put in ways(build, names, 0):
        if "store" not in label:
            with pytest.raises(ck.errors.CkscheduleError, match=match):
                observed(build, scenario, put)


def assert_never_wrong(
    build: Build, scenario: Scenario, *, names: Sequence[str] = (), frozen: int = 0
) -> None:
    """Every run under a schedule gives the plain run's numbers or is refused."""
    expected = observed(build, scenario, None)
    for label, put in ways(build, names, frozen):
        try:
            got = observed(build, scenario, put)
        except ck.errors.CkscheduleError:
            continue
        compare(label, expected, got)


def ways(
    build: Build, names: Sequence[str], frozen: int
) -> Iterator[tuple[str, Callable[[Any], object]]]:
    """Ways to have a model follow a schedule: by name, what puts the schedule on it."""
    model = build()
    chain = chain_of(names or names_of(model), frozen=frozen)
    for plan in PLANS:
        schedule = schedule_of(chain, plan)
        if isinstance(model, Steps):
            yield f"execute {plan}", partial(_executed, schedule)
        yield f"apply {plan}", partial(ck.apply, plan=schedule, chain=chain)


def _executed(schedule: ck.Schedule, model: Steps) -> None:
    model.schedule = schedule


def observed(
    build: Build, scenario: Scenario, put: Callable[[Any], object] | None
) -> list[Any]:
    """What two runs of a scenario show: traits are learned in the first of them."""
    seed(0)
    model: Any = build()
    if put is not None:
        put(model)
    shown: list[Any] = []
    for step in range(2):
        seed(1 + step)
        model.zero_grad()
        shown.append(list(scenario(model)))
        shown.append(dict(gradients(model)))
        shown.append({name: b.clone() for name, b in model.named_buffers()})
        shown.append([torch.rand(2), random.random(), np.random.random()])  # noqa: NPY002 - the global stream
    return shown


def gradients(model: nn.Module) -> Mapping[str, Tensor | None]:
    return {
        name: None if p.grad is None else p.grad.clone()
        for name, p in model.named_parameters()
    }


def seed(number: int) -> None:
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002 - the global stream


def compare(path: str, expected: Any, got: Any) -> None:
    """Fail where two structures differ in type, dtype, shape or a single bit."""
    assert type(expected) is type(got), path
    if isinstance(expected, Tensor):
        assert expected.dtype == got.dtype, path
        assert expected.requires_grad == got.requires_grad, path
        torch.testing.assert_close(
            got, expected, rtol=0, atol=0, equal_nan=True, msg=lambda m: f"{path}: {m}"
        )
    elif isinstance(expected, Mapping):
        assert expected.keys() == got.keys(), path
        for key, value in expected.items():
            compare(f"{path}.{key}", value, got[key])
    elif isinstance(expected, list | tuple):
        assert len(expected) == len(got), path
        for index, value in enumerate(expected):
            compare(f"{path}[{index}]", value, got[index])
    else:
        assert expected == got, path
