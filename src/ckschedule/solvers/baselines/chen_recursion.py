"""Chen's recursion: memory of a logarithm of the stages, for as many more forwards.

Chen, Xu, Zhang, Guestrin: Training Deep Nets with Sublinear Memory Cost,
arXiv 1604.06174, section 4.3: g(n) = k + g(n / (k + 1)), so g(n) = k log_{k+1} n.
"""

from collections import Counter
from dataclasses import dataclass

from ckschedule.costs.chain import Chain
from ckschedule.schedule import Schedule
from ckschedule.solvers.base import AbstractConstruction, as_setting
from ckschedule.solvers.baselines.cutting import spans, steps
from ckschedule.solvers.emission import Emission


@dataclass(frozen=True, slots=True)
class ChenRecursion(AbstractConstruction):
    """Cut into k + 1 parts, keep the k outputs between them, and do so in each part.

    Parts are equal up to one step, the longer ones first; they are reversed from the
    last to the first, each cut again when its turn comes. A part of one step is
    recorded. At most ``recursion_checkpoints(n, k)`` outputs are kept besides the
    input, and ``recursion_forwards(n, k)`` forwards of the n steps run. Nothing is
    recomputed of the very last step.

    Attributes
    ----------
    k
        Outputs kept at each level, at least one.

    Raises
    ------
    InvalidSettingError
        If ``k`` is no integer of at least one.

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> from ckschedule.simulation import simulate
    >>> chain = uniform(stages=4, saved=1)
    >>> schedule = ChenRecursion().schedule(chain)
    >>> simulate(chain, schedule).recomputations
    {'F1': 2, 'F2': 1, 'F3': 1}
    """

    k: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_setting(self.k, "ChenRecursion: k", least=1))

    def schedule(self, chain: Chain) -> Schedule:
        """Return the schedule; O(n log n) operations."""
        cells = spans(chain, (1,) * steps(chain))
        emission = Emission(chain)
        emission.plain(1, chain.frozen_prefix)
        emission.keep(chain.frozen_prefix)
        pending = [(0, len(cells))]
        while pending:
            start, length = pending.pop()
            first, last = cells[start]
            if length == 1:
                emission.forget(first - 1)
                emission.record(first, last)
                emission.backward(last, first)
                continue
            parts = _parts(length, self.k)
            for part in parts[:-1]:
                pending.append((start, part))
                begin, start = start, start + part
                emission.plain(cells[begin][0], cells[start][0] - 1)
                emission.keep(cells[start][0] - 1)
            pending.append((start, parts[-1]))
        return emission.schedule()


def recursion_checkpoints(n: int, k: int = 1) -> int:
    """Return ``k ceil(log_{k+1} n)``: outputs kept at most, the input not counted.

    A part of n steps has parts of at most ceil(n / (k + 1)), so d levels reach one
    step as soon as (k + 1)^d >= n, and each level keeps at most k outputs.

    Parameters
    ----------
    n, k
        Steps and outputs kept a level, at least one each.

    Raises
    ------
    InvalidSettingError
        If one of them is no integer of at least one.

    Examples
    --------
    >>> recursion_checkpoints(1024)
    10
    """
    n = as_setting(n, "recursion_checkpoints: n", least=1)
    k = as_setting(k, "recursion_checkpoints: k", least=1)
    levels, reach = 0, 1
    while reach < n:
        levels, reach = levels + 1, reach * (k + 1)
    return k * levels


def recursion_forwards(n: int, k: int = 1) -> int:
    """Return how many forwards of the n steps `ChenRecursion` runs.

    ``T(n) = n + A(n)``, where the plain sweeps obey
    ``A(m) = m - last + sum over the parts of A(part)`` and A(1) = 0.

    Parameters
    ----------
    n, k
        Steps and outputs kept a level, at least one each.

    Raises
    ------
    InvalidSettingError
        If one of them is no integer of at least one.

    Notes
    -----
    O(k log n): a level has parts of at most two lengths.

    Examples
    --------
    >>> recursion_forwards(1024)
    6144
    """
    total = n = as_setting(n, "recursion_forwards: n", least=1)
    k = as_setting(k, "recursion_forwards: k", least=1)
    level = Counter({n: 1})
    while any(length > 1 for length in level):
        below: Counter[int] = Counter()
        for length, times in level.items():
            parts = _parts(length, k)
            total += times * (length - parts[-1])
            for part in parts:
                below[part] += times
        level = below
    return total


def _parts(length: int, k: int) -> list[int]:
    """Return the lengths of up to k + 1 parts, the longer ones first."""
    count = min(length, k + 1)
    size, longer = divmod(length, count)
    return [size + 1] * longer + [size] * (count - longer)
