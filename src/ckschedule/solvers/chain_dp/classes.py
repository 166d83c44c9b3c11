"""Intervals of equal content, found once so that each is solved once."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.chain_dp.arrays import ChainArrays


@dataclass(frozen=True, kw_only=True)
class IntervalClasses:
    """A number for every interval [s, t]; equal numbers mean equal fronts.

    The empty interval [t + 1, t] has a number as well, since its front holds ``g_t``.

    Attributes
    ----------
    of
        (n + 2, n + 1): class of the interval [s, t].
    count
        Number of classes.
    first
        (count,): the first stage s of one interval of each class.
    starts
        (n + 2,): classes of length d (t = s + d - 1) are numbered from ``starts[d]`` up
        to, and without, ``starts[d + 1]``.
    """

    of: npt.NDArray[np.int32]
    count: int
    first: Ints
    starts: Ints


def interval_classes(arrays: ChainArrays) -> IntervalClasses:
    """Return the classes of all intervals of a chain.

    Two intervals are equal if their stages are, each with its input size and the size
    of the gradient its backward yields. What lies outside does not matter: memory is
    counted relative to it. O(n^2 log n).

    Repeated blocks make classes few: a transformer of L equal blocks has O(L) of them.
    """
    n = arrays.n
    kinds = _stage_kinds(arrays)
    of = np.zeros((n + 2, n + 1), np.int32)
    first: list[Ints] = []
    starts = np.zeros(n + 2, np.int64)
    # Length 0: only the gradient g_t counts, t = 0..n at s = t + 1.
    keys = arrays.g
    rows = np.arange(1, n + 2)
    for length in range(n + 1):
        _, representative, label = np.unique(
            keys, return_index=True, return_inverse=True
        )
        columns = rows + length - 1
        of[rows, columns] = label.reshape(-1) + starts[length]
        first.append(rows[representative])
        starts[length + 1] = starts[length] + len(representative)
        # [s, t + 1] is named by the names of [s, t] and of its last stage.
        rows = rows[: n - length]
        tail = rows + length
        previous = of[rows, tail - 1].astype(np.int64) if length else 0 * rows
        keys = previous * np.int64(n + 1) + kinds[tail]
    return IntervalClasses(
        of=of, count=int(starts[n + 1]), first=np.concatenate(first), starts=starts
    )


def _stage_kinds(arrays: ChainArrays) -> Ints:
    """Return one number a stage, (n + 1,), equal for stages of equal content."""
    rows: dict[tuple[object, ...], int] = {}
    kinds = np.zeros(arrays.n + 1, np.int64)
    for i in range(1, arrays.n + 1):
        variants = slice(arrays.first_variant[i], arrays.first_variant[i + 1])
        key = (
            int(arrays.x[i - 1]),
            int(arrays.g[i - 1]),
            int(arrays.x[i]),
            int(arrays.g[i]),
            int(arrays.parameters[i] - arrays.parameters[i - 1]),
            int(arrays.plain_cost[i]),
            int(arrays.plain_transient[i]),
            *(
                tuple(column[variants].tolist())
                for column in (
                    arrays.saved,
                    arrays.cost,
                    arrays.record_transient,
                    arrays.backward_transient,
                    arrays.needs_input,
                    arrays.needs_output,
                )
            ),
        )
        kinds[i] = rows.setdefault(key, len(rows))
    return kinds
