"""A chain as the slot DP's kernels take it: bytes, and times in whole ticks."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.chain_dp.arrays import ChainArrays


class Columns(NamedTuple):
    """`ChainArrays` with costs in multiples of its ``tick``, executions not counted.

    A tuple, since compiled code takes tuples of arrays as they are. ``plain`` and
    ``cost`` are times by stage and by variant, ``forward`` prefix sums of ``plain``.
    """

    frozen: int
    x: Ints
    g: Ints
    parameters: Ints
    plain: Ints
    plain_transient: Ints
    forward: Ints
    first_variant: Ints
    saved: Ints
    cost: Ints
    record_transient: Ints
    backward_transient: Ints
    needs_input: Ints
    needs_output: Ints
    split: Ints


class Rows(NamedTuple):
    """A grid as kernels take it; see `ckschedule.solvers.slot_dp.kernel`.

    ``unit`` and ``scale`` are bytes of one index and ticks of one unit of cost, and
    ``theta`` is that of `Frame`. By table and interval, (2, n + 2, n + 1): a row has
    the indices ``low`` to ``high``, index k stands in ``pool`` at ``base + k``, and its
    entry is ``origin`` plus what stands there times ``step``, a power of two.
    ``origin`` is the entry at ``high``.
    """

    unit: int
    scale: int
    theta: Ints
    low: Ints
    high: Ints
    base: Ints
    origin: npt.NDArray[np.int32]
    step: npt.NDArray[np.int32]
    pool: npt.NDArray[np.uint16]


def columns(arrays: ChainArrays) -> Columns:
    """Return the columns of a chain."""
    plain = arrays.plain_cost // arrays.weight
    return Columns(
        frozen=arrays.frozen,
        x=arrays.x,
        g=arrays.g,
        parameters=arrays.parameters,
        plain=plain,
        plain_transient=arrays.plain_transient,
        forward=np.cumsum(plain),
        first_variant=arrays.first_variant,
        saved=arrays.saved,
        cost=arrays.cost // arrays.weight,
        record_transient=arrays.record_transient,
        backward_transient=arrays.backward_transient,
        needs_input=arrays.needs_input,
        needs_output=arrays.needs_output,
        split=arrays.split,
    )
