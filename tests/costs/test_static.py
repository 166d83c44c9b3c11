"""Static memory is counted, summed and checked."""

import re
from typing import Any

import numpy as np
import pytest

from ckschedule import StaticMemory
from ckschedule.errors import InvalidModelError
from ckschedule.units import INT64_MAX

FIELDS = ["parameters", "gradients", "optimizer", "buffers"]


def test_the_total_is_the_sum_of_all_parts() -> None:
    """Budgets include it."""
    static = StaticMemory(parameters=1, gradients=20, optimizer=300, buffers=4000)
    assert static.total == 4321


def test_nothing_is_the_default() -> None:
    """A model without parameters."""
    assert StaticMemory().total == 0


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    "bad", [-1, 1.0, float("nan"), True, "1", None, np.float64(1), 2**63], ids=repr
)
def test_each_part_is_a_whole_number(field: str, bad: int) -> None:
    """The message names the part and its value."""
    with pytest.raises(
        InvalidModelError, match=re.escape(f"static {field} is {bad!r}")
    ):
        StaticMemory(**{field: bad})


@pytest.mark.parametrize("field", FIELDS)
def test_numpy_integers_become_plain_ones(field: str) -> None:
    """They would wrap at their own width."""
    given: dict[str, Any] = {field: np.int32(2**31 - 1)}
    static = StaticMemory(**given)
    assert type(getattr(static, field)) is int
    assert static == StaticMemory(**{field: 2**31 - 1})


def test_the_sum_has_to_fit_into_64_bits() -> None:
    """Each part does."""
    assert StaticMemory(parameters=INT64_MAX).total == INT64_MAX
    with pytest.raises(InvalidModelError, match="sum of the static bytes"):
        StaticMemory(parameters=INT64_MAX, buffers=1)
