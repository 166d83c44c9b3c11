"""Static bytes per parameter."""

import pytest

from ckschedule.catalog import OPTIMIZERS, static_memory
from ckschedule.catalog.optimizer import Optimizer
from ckschedule.costs.device import DType
from ckschedule.costs.static import StaticMemory
from ckschedule.errors import InvalidModelError


@pytest.mark.parametrize(
    ("optimizer", "dtype", "per_parameter"),
    [
        # ZeRO, section 3.1: 2 + 2 + 12 bytes for mixed precision with Adam.
        ("adamw", "bf16", 16),
        ("adamw", "fp32", 16),
        ("momentum", "fp16", 12),
        ("momentum", "tf32", 12),
        ("sgd", "bf16", 8),
        ("sgd", "fp32", 8),
        ("none", "bf16", 0),
    ],
)
def test_bytes_per_parameter(
    optimizer: Optimizer, dtype: DType, per_parameter: int
) -> None:
    """Weights, gradients, master weights and state."""
    static = static_memory(parameters=7, dtype=dtype, optimizer=optimizer)
    assert static.total == 7 * per_parameter


def test_master_weights_belong_to_the_optimizer() -> None:
    """They exist for its sake."""
    static = static_memory(parameters=10, dtype="bf16", optimizer="sgd", buffers=3)
    assert static == StaticMemory(parameters=20, gradients=20, optimizer=40, buffers=3)


def test_unknown_optimizer_lists_the_known_ones() -> None:
    """The way out is in the message."""
    with pytest.raises(InvalidModelError, match=r"'adam'.*adamw, momentum, sgd, none"):
        static_memory(parameters=1, optimizer="adam")  # type: ignore[arg-type]  # misuse
    assert OPTIMIZERS == ("adamw", "momentum", "sgd", "none")


def test_negative_count_is_refused() -> None:
    """A count is zero or more."""
    with pytest.raises(InvalidModelError, match="parameters is -1"):
        static_memory(parameters=-1)
