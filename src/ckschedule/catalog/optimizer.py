"""Static bytes: parameters, gradients and optimiser state by the usual counts.

With P parameters, in bytes:

=============  ==========  =========  ===========================================
precision      parameters  gradients  optimiser
=============  ==========  =========  ===========================================
fp32, tf32     4P          4P         state
fp16, bf16     2P          2P         4P for the fp32 master weights, plus state
=============  ==========  =========  ===========================================

The state is two fp32 moments for ``adamw`` (8P), one for ``momentum`` (4P), nothing for
``sgd``. Mixed precision with Adam is thus 16 bytes per parameter, as in Rajbhandari et
al., "ZeRO", 2020, arXiv 1910.02054, section 3.1. ``none`` counts activations only, as
Chen et al., arXiv 1604.06174, count feature maps.
"""

from typing import Final, Literal, TypeAlias, get_args

from ckschedule.catalog.arguments import check_choice
from ckschedule.costs.checks import as_count
from ckschedule.costs.device import DTYPES, DType
from ckschedule.costs.static import StaticMemory

Optimizer: TypeAlias = Literal["adamw", "momentum", "sgd", "none"]
"""Whose state the static bytes include; ``none`` counts no static bytes at all."""

OPTIMIZERS: Final[tuple[str, ...]] = get_args(Optimizer)
"""All legal optimisers, in the order in which messages list them."""

_STATE: Final = {"adamw": 8, "momentum": 4, "sgd": 0}
_MASTER: Final = 4


def element_size(dtype: DType) -> int:
    """Return the bytes of one stored element.

    Raises
    ------
    InvalidModelError
        If the dtype is unknown.
    """
    check_choice(dtype, DTYPES, "dtype")
    return 2 if dtype in ("fp16", "bf16") else 4


def static_memory(
    *,
    parameters: int,
    dtype: DType = "fp32",
    optimizer: Optimizer = "adamw",
    buffers: int = 0,
) -> StaticMemory:
    """Return the bytes that training holds throughout, whatever the schedule.

    Parameters
    ----------
    parameters
        Number of trained parameters.
    dtype
        Precision of the working weights and of their gradients.
    optimizer
        One of ``adamw``, ``momentum``, ``sgd``, ``none``.
    buffers
        Bytes of running statistics.

    Raises
    ------
    InvalidModelError
        If a number is negative or no integer, or a name is unknown.

    Examples
    --------
    >>> static_memory(parameters=10, dtype="bf16").total
    160
    """
    check_choice(optimizer, OPTIMIZERS, "optimizer")
    parameters = as_count(parameters, "parameters")
    size = element_size(dtype)
    if optimizer == "none":
        return StaticMemory()
    master = _MASTER if size < _MASTER else 0
    return StaticMemory(
        parameters=size * parameters,
        gradients=size * parameters,
        optimizer=(master + _STATE[optimizer]) * parameters,
        buffers=buffers,
    )
