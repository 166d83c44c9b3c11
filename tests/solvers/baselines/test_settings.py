"""Settings of all solvers: one kind of error, named, with its value and the way out."""

from collections.abc import Callable

import numpy as np
import pytest

from ckschedule.errors import InvalidSettingError
from ckschedule.solvers.base import AbstractSolver
from ckschedule.solvers.baselines import (
    ChenBudget,
    ChenRecursion,
    EveryNth,
    FirstN,
    UniformSegments,
)
from ckschedule.solvers.chain_dp import ChainDP
from ckschedule.solvers.exhaustive import Exhaustive
from ckschedule.solvers.revolve import Revolve
from ckschedule.solvers.slot_dp import SlotDP

Make = Callable[..., AbstractSolver]

INTEGERS: list[tuple[Make, str, int]] = [
    (EveryNth, "n", 1),
    (FirstN, "n", 1),
    (UniformSegments, "count", 1),
    (ChenRecursion, "k", 1),
    (ChenBudget, "rounds", 1),
    (ChenBudget, "trials", 1),
    (Revolve, "slots", 1),
    (ChainDP, "memory_limit", 0),
    (SlotDP, "memory_limit", 0),
    (SlotDP, "slots", 1),
    (SlotDP, "points", 1),
    (Exhaustive, "max_states", 1),
]
"""Solver, setting, least value."""

REALS: list[tuple[Make, str]] = [(SlotDP, "gap"), (SlotDP, "time_limit")]


@pytest.mark.parametrize(("make", "name", "least"), INTEGERS)
def test_an_integer_below_the_least_is_refused(
    make: Make, name: str, least: int
) -> None:
    """Culprit, value and way out, in this order."""
    with pytest.raises(
        InvalidSettingError,
        match=rf"^\w+: {name} is {least - 1}; give an integer of at least {least}$",
    ):
        make(**{name: least - 1})


@pytest.mark.parametrize("wrong", [2.5, "a", True, 2.0])
@pytest.mark.parametrize(("make", "name", "least"), INTEGERS)
def test_what_is_no_integer_is_refused(
    make: Make, name: str, least: int, wrong: object
) -> None:
    """Found when the solver is made, not in the middle of a search."""
    with pytest.raises(InvalidSettingError, match=f": {name} is {wrong!r}; give an"):
        make(**{name: wrong})


@pytest.mark.parametrize(("make", "name", "least"), INTEGERS)
def test_numpy_integers_become_plain(make: Make, name: str, least: int) -> None:
    """Otherwise two equal solvers would print differently."""
    solver = make(**{name: np.int64(least)})
    assert repr(solver) == repr(make(**{name: least}))


@pytest.mark.parametrize("wrong", [-0.5, float("nan"), "a", True])
@pytest.mark.parametrize(("make", "name"), REALS)
def test_what_is_no_ratio_or_time_is_refused(
    make: Make, name: str, wrong: object
) -> None:
    """The same kind of error as for integers."""
    with pytest.raises(
        InvalidSettingError, match=f"^SlotDP: {name} is {wrong!r}; give a number"
    ):
        make(**{name: wrong})


def test_only_the_time_may_be_without_limit() -> None:
    """An infinite gap would accept any schedule; no limit of time is a wish."""
    assert SlotDP(time_limit=float("inf")).time_limit == float("inf")
    with pytest.raises(InvalidSettingError, match="gap is inf; give a finite ratio"):
        SlotDP(gap=float("inf"))
