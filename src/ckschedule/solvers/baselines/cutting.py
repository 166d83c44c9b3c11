"""Cutting a chain into segments, and the schedule that recomputes segment by segment.

What is cut are the *steps*: the stages that have a backward, without the loss. The loss
always belongs to the last segment, and a frozen prefix runs once, before the first.
"""

from collections.abc import Sequence

from ckschedule.costs.chain import Chain
from ckschedule.schedule import Schedule
from ckschedule.solvers.base import as_setting
from ckschedule.solvers.emission import Emission


def segments(n: int, size: int) -> tuple[int, ...]:
    """Return the lengths of segments of ``size`` steps, the remainder last.

    Parameters
    ----------
    n
        Steps, zero or more.
    size
        Steps a segment, at least one.

    Raises
    ------
    InvalidSettingError
        If ``size`` is no integer of at least one.

    Examples
    --------
    >>> segments(24, 7)
    (7, 7, 7, 3)
    """
    size = as_setting(size, "segments: size", least=1)
    whole, rest = divmod(n, size)
    return (size,) * whole + (rest,) * (rest > 0)


def torch_segments(n: int, count: int) -> tuple[int, ...]:
    """Return the lengths into which torch's ``checkpoint_sequential`` cuts.

    All have ``n // count`` steps, and the last also takes the remainder. Where torch
    fails, for more segments than steps, every step is a segment.

    Parameters
    ----------
    n
        Steps, zero or more.
    count
        Segments asked for, at least one.

    Raises
    ------
    InvalidSettingError
        If ``count`` is no integer of at least one.

    Examples
    --------
    >>> torch_segments(24, 5)
    (4, 4, 4, 4, 8)
    """
    count = min(as_setting(count, "torch_segments: count", least=1), n)
    if count == 0:
        return ()
    size = n // count
    return (*(size,) * (count - 1), n - size * (count - 1))


def steps(chain: Chain) -> int:
    """Return the number of stages that have a backward, the loss not counted."""
    return len(chain.stages) - chain.frozen_prefix


def spans(chain: Chain, lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last stage of each segment, the loss in the last one.

    Parameters
    ----------
    chain
        The chain that is cut.
    lengths
        Steps of each segment; their sum is ``steps(chain)``.
    """
    first = chain.frozen_prefix + 1
    cut: list[tuple[int, int]] = []
    for length in lengths:
        cut.append((first, first + length - 1))
        first += length
    n = len(chain.sequence)
    if not cut:
        return [(n, n)]
    cut[-1] = (cut[-1][0], n)
    return cut


def write_segments(
    chain: Chain, lengths: Sequence[int], *, recomputed: int | None = None
) -> Schedule:
    """Return the schedule that keeps segment inputs and recomputes the rest once.

    Chen et al., Algorithm 1 (arXiv 1604.06174). The last segment is recorded in the
    forward pass: its backward comes next, so nothing of it is recomputed.

    Parameters
    ----------
    chain
        Any chain; O(stages).
    lengths
        Steps of each segment, see `spans`.
    recomputed
        How many leading segments are run without saving and recomputed; the others
        are recorded in the forward pass. None, or too many: all but the last.
    """
    cut = spans(chain, lengths)
    plain = len(cut) - 1 if recomputed is None else min(recomputed, len(cut) - 1)
    emission = Emission(chain)
    emission.plain(1, chain.frozen_prefix)
    for first, last in cut[:plain]:
        emission.keep(first - 1)
        emission.plain(first, last)
    for first, last in cut[plain:]:
        emission.record(first, last)
    for first, last in reversed(cut[plain:]):
        emission.backward(last, first)
    for first, last in reversed(cut[:plain]):
        emission.forget(first - 1)
        emission.record(first, last)
        emission.backward(last, first)
    return emission.schedule()
