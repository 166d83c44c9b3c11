"""Segments of about sqrt(n) steps, and the memory they never exceed."""

from dataclasses import dataclass
from math import isqrt

from ckschedule.costs.chain import Chain
from ckschedule.schedule import Schedule
from ckschedule.solvers.base import AbstractConstruction, as_setting
from ckschedule.solvers.baselines.cutting import segments, steps, write_segments


@dataclass(frozen=True, slots=True)
class SqrtSegments(AbstractConstruction):
    """Cut into segments of ``sqrt(n x / (x + s))`` steps, rounded up.

    Here x and s are the means of output and saved bytes over the n steps. With s = 0
    this is sqrt(n) segments, section 4.1 of Chen et al. (arXiv 1604.06174); saved
    tensors make a step in a segment dearer than a checkpoint, and segments shorter.
    Every forward runs at most twice, those of the last segment once; on uniform
    chains memory stays within `sqrt_bound`.

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = SqrtSegments().schedule(chain)
    >>> simulate(chain, schedule).recomputations
    {'F1': 1, 'F2': 1}
    """

    def schedule(self, chain: Chain) -> Schedule:
        """Return the schedule; O(stages)."""
        n = steps(chain)
        own = chain.stages[chain.frozen_prefix :]
        # Sums instead of means: the rule depends on their ratio only.
        size = sqrt_segment(
            n,
            sum(stage.output for stage in own),
            sum(stage.variants[0].saved for stage in own),
        )
        return write_segments(chain, segments(n, size))


def sqrt_segment(n: int, output: int, saved: int) -> int:
    """Return the least m with ``m^2 (output + saved) >= n output``, at least 1.

    Parameters
    ----------
    n
        Steps, zero or more.
    output, saved
        Bytes of a step's output and further saved tensors; both zero count as s = 0.
    """
    if output + saved == 0:
        output = 1
    least_square = -(-n * output // (output + saved))
    return max(1, _root_up(least_square))


def sqrt_bound(n: int, output: int, saved: int, gradient: int) -> int:
    """Return bytes that `SqrtSegments` never exceeds on a uniform chain.

    Parameters
    ----------
    n
        Stages, at least one, all equal, before a loss without bytes.
    output, saved, gradient
        x, s and g: bytes of a stage's output, of what it saves beyond input and
        output, and of its output's gradient. The chain's input has at most x bytes,
        needs no gradient, and there are no parameter gradients; forward transients are
        the default, and backward transients at most the default g.

    Returns
    -------
    int
        ``2 sqrt(n x (x + s)) + (x + s) + 2 g``, the root rounded up; static bytes not
        included. Exact integer arithmetic.

    Raises
    ------
    InvalidSettingError
        If ``n`` is no integer of at least one.

    Notes
    -----
    Let m be the segment size, k = ceil(n / m) and l = n - (k - 1) m <= m the steps of
    the last segment. Levels, the input counted as the first checkpoint:

    - forward pass through segment j < k: j checkpoints, the running output and the
      next one, at most (k + 1) x, which the next line covers since l >= 1;
    - last segment: k x + l (x + s), then its gradient g and the one being made, g;
    - segment j < k: j x + m (x + s) + 2 g, largest for j = k - 1.

    Let S = sqrt(n x (x + s)) and r = S / (x + s), so that m = ceil(r): n x / m <= S
    and (m - 1)(x + s) < S. If l = m, then k x = n x / m <= S, and the last segment
    takes at most 2 S + (x + s) + 2 g. If l < m, then k x < S + x and l (x + s) < S,
    hence less than 2 S + x + 2 g. The others: (k - 1) x < n x / m <= S and
    m (x + s) < S + (x + s). So rounding costs one stage, x + s, and no checkpoint; if
    the backward transient is the least possible, one g less is needed.

    Examples
    --------
    >>> sqrt_bound(100, 1, 0, 1)
    23
    """
    as_setting(n, "sqrt_bound: n", least=1)
    return _root_up(4 * n * output * (output + saved)) + output + saved + 2 * gradient


def _root_up(square: int) -> int:
    """Return the square root, rounded up."""
    return isqrt(square - 1) + 1 if square > 0 else 0
