"""The fronts of all intervals of a chain, solved by length on all cores."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Final, TypeAlias

import numpy as np

from ckschedule.costs.encoding import Ints
from ckschedule.errors import ResourceLimitError
from ckschedule.solvers.base import Progress, Report
from ckschedule.solvers.chain_dp.arrays import ChainArrays
from ckschedule.solvers.chain_dp.classes import IntervalClasses, interval_classes
from ckschedule.units import format_bytes

POINT_BYTES: Final = 16
"""Bytes of one breakpoint: memory and cost."""

LONG: Final = 100
"""From this many stages on an interval is worth the work of more than one thread."""

FEW: Final = 4
"""With fewer intervals a thread than this, the last one to finish is waited for."""


@dataclass(kw_only=True)
class _Scratch:
    """Arrays of one worker, grown when a front outgrows them."""

    out_memory: Ints
    out_cost: Ints
    working_memory: Ints
    working_cost: Ints
    spare_memory: Ints
    spare_cost: Ints

    @classmethod
    def empty(cls, points: int) -> "_Scratch":
        return cls(
            **{
                name: np.empty(points, np.int64)
                for name in cls.__dataclass_fields__  # all six alike
            }
        )


@dataclass(frozen=True, kw_only=True)
class FrontTables:
    """Fronts of all interval classes, memory relative to what lies outside.

    Attributes
    ----------
    arrays, classes
        What they belong to.
    start, size, shift
        (2, n_classes): where each front stands, its length, and the bytes to add to its
        memory. Table 0 is A of the recurrence, table 1 is R.
    memory, cost
        (n_points,): all fronts, each with memory ascending and cost descending.
    """

    arrays: ChainArrays
    classes: IntervalClasses
    start: Ints
    size: Ints
    shift: Ints
    memory: Ints
    cost: Ints

    def root(self) -> tuple[Ints, Ints]:
        """Return memory and cost of the whole chain, its input not counted."""
        whole = self.classes.of[1, self.arrays.n]
        points = slice(self.start[0, whole], self.start[0, whole] + self.size[0, whole])
        return self.memory[points] + self.shift[0, whole], self.cost[points]


_FORESIGHT: Final = (32, 64, 128)
"""Lengths after which the size of all fronts is estimated."""

_Batch: TypeAlias = tuple[Ints, Ints, Ints, Ints]
"""Starts and sizes of fronts, (2, k) by table and class, then their points."""

_Share: TypeAlias = tuple[int, int, int, int]
"""What one worker does of a length: the first class and the step from one to the next,
then the number of its part of their cuts, and into how many parts those are divided."""


class _Pool:
    """Growing store of fronts, resized in place so that it is never there twice."""

    def __init__(self, limit: int, what: str) -> None:
        self.memory = np.empty(1 << 16, np.int64)
        self.cost = np.empty(1 << 16, np.int64)
        self.used = 0
        self._limit = limit
        self._what = what

    def demand(self, points: int) -> None:
        """Refuse to hold so many points where the limit does not allow it."""
        if points * POINT_BYTES > self._limit:
            raise ResourceLimitError(
                f"{self._what} take about {format_bytes(points * POINT_BYTES)}, more "
                f"than {format_bytes(self._limit)}; raise ChainDP(memory_limit=...) to "
                f"that, or bracket the optimum with SlotDP()"
            )

    def append(self, memory: Ints, cost: Ints) -> int:
        start, self.used = self.used, self.used + len(memory)
        if self.used > len(self.memory):
            self.demand(self.used)
            room = min(self.used * 3 // 2, self._limit // POINT_BYTES)
            # Nothing but this object holds the arrays between two lengths.
            self.memory.resize(room, refcheck=False)
            self.cost.resize(room, refcheck=False)
        self.memory[start : self.used] = memory
        self.cost[start : self.used] = cost
        return start


def solve_fronts(
    arrays: ChainArrays,
    *,
    cap: int,
    memory_limit: int,
    progress: Progress | None = None,
) -> FrontTables:
    """Return the fronts of all intervals.

    Parameters
    ----------
    arrays
        The chain.
    cap
        Bytes above the input: points that need more are left out.
    memory_limit
        Bytes that the fronts may take.
    progress
        Told of finished work.

    Raises
    ------
    ResourceLimitError
        If the fronts would take more than ``memory_limit``; where that can be foreseen,
        soon.

    Notes
    -----
    O(n^2) classes of intervals (fewer where stages repeat), each the merge of up to n
    pairs of fronts. Intervals of one length are independent and are shared out between
    threads; where they are few and long, as in a chain of equal stages, each interval's
    cuts are, and the threads' fronts are joined. The kernel holds no lock.
    """
    from ckschedule.solvers.chain_dp import kernel

    classes = interval_classes(arrays)
    tables = np.zeros((3, 2, classes.count), np.int64)
    start, size, shift = tables
    _set_shifts(arrays, classes, shift)
    pool = _Pool(memory_limit, f"the exact fronts of {arrays.n} stages")
    _empty_intervals(arrays, classes, pool, start, size)
    workers = min(os.cpu_count() or 1, 8)
    scratch = [_Scratch.empty(1 << 14) for _ in range(workers)]
    columns = _columns(arrays)

    def solve_share(length: int, worker: int, share: _Share) -> list[_Batch]:
        offset, stride, part, parts = share
        total = int(classes.starts[length + 1] - classes.starts[length])
        many = len(range(offset, total, stride))
        out_start, out_size = np.zeros((2, 2, many), np.int64)
        batches, done = [], 0
        mine = scratch[worker]
        while done < many:
            upto, written = kernel.solve_length(
                length,
                offset,
                stride,
                done,
                part,
                parts,
                cap,
                classes.of,
                classes.first,
                classes.starts,
                start,
                size,
                shift,
                pool.memory,
                pool.cost,
                *columns,
                mine.out_memory,
                mine.out_cost,
                out_start,
                out_size,
                mine.working_memory,
                mine.working_cost,
                mine.spare_memory,
                mine.spare_cost,
            )
            if upto == done:
                mine = scratch[worker] = _Scratch.empty(2 * len(mine.out_memory))
                continue
            batches.append(
                (
                    out_start[:, done:upto],
                    out_size[:, done:upto],
                    mine.out_memory[:written].copy(),
                    mine.out_cost[:written].copy(),
                )
            )
            done = upto
        return batches

    with ThreadPoolExecutor(workers) as threads:
        for length in range(1, arrays.n + 1):
            total = int(classes.starts[length + 1] - classes.starts[length])
            shares = _shares(length, total, workers)
            solved = list(
                threads.map(solve_share, repeat(length), range(workers), shares)
            )
            if shares[0][-1] > 1:
                # Each worker knows all classes by some of their cuts.
                whole = _gather(solved[0])
                for batches in solved[1:]:
                    whole = kernel.join(whole, _gather(batches), cap)
                shares, solved = shares[:1], [[whole]]
            for (offset, stride, _, _), batches in zip(shares, solved, strict=True):
                _store(batches, classes, length, offset, stride, pool, start, size)
            _mirror(arrays, classes, length, start, size)
            if length in _FORESIGHT:
                pool.demand(pool.used + _points_to_come(classes, size, length))
            if progress is not None:
                progress(Report(length, arrays.n))
    return FrontTables(
        arrays=arrays,
        classes=classes,
        start=start,
        size=size,
        shift=shift,
        memory=pool.memory[: pool.used],
        cost=pool.cost[: pool.used],
    )


def _shares(length: int, total: int, workers: int) -> list[_Share]:
    """Return how the ``total`` classes of a length are shared out."""
    if length >= LONG and total < FEW * workers:
        return [(0, 1, part, workers) for part in range(workers)]
    stride = min(workers, total)
    return [(offset, stride, 0, 1) for offset in range(stride)]


def _points_to_come(classes: IntervalClasses, size: Ints, length: int) -> int:
    """Return a cautious estimate of the points of all fronts beyond a length.

    The mean size of a front has grown like a power of the length so far; counted are
    three quarters of what that gives for all longer intervals.
    """

    def mean(d: int) -> float:
        return float(size[0, classes.starts[d] : classes.starts[d + 1]].mean())

    now, before = mean(length), mean(length // 2)
    if not before:
        return 0
    power = min(max(np.log2(now / before), 0.0), 2.0) if now else 0.0
    lengths = np.arange(length + 1, len(classes.starts) - 1)
    many = np.diff(classes.starts)[length + 1 :]
    return int((many * now * (lengths / length) ** power).sum() * 3 / 4)


def _columns(arrays: ChainArrays) -> tuple[object, ...]:
    return (
        arrays.frozen,
        arrays.x,
        arrays.g,
        arrays.parameters,
        arrays.plain_transient,
        arrays.forward_cost,
        arrays.first_variant,
        arrays.saved,
        arrays.cost,
        arrays.record_transient,
        arrays.backward_transient,
        arrays.needs_input,
        arrays.needs_output,
        arrays.split,
        arrays.plain_cost,
    )


def _set_shifts(arrays: ChainArrays, classes: IntervalClasses, shift: Ints) -> None:
    # R(s, t) = x_{s-1} + A(s, t) unless stage s splits the tables, and R(t+1, t) is
    # A(t+1, t).
    lengths = np.repeat(
        np.arange(arrays.n + 1), np.diff(classes.starts[: arrays.n + 2])
    )
    shared = (lengths > 0) & (arrays.split[np.minimum(classes.first, arrays.n)] == 0)
    shift[1, shared] = arrays.x[classes.first[shared] - 1]


def _empty_intervals(
    arrays: ChainArrays, classes: IntervalClasses, pool: _Pool, start: Ints, size: Ints
) -> None:
    from ckschedule.solvers.chain_dp.kernel import PAD, UNBOUNDED

    memory, cost = np.full(1 + PAD, UNBOUNDED), np.zeros(1 + PAD, np.int64)
    for c in range(int(classes.starts[1])):
        memory[0] = arrays.g[int(classes.first[c]) - 1]
        start[:, c] = pool.append(memory, cost)
        size[:, c] = 1


def _gather(batches: list[_Batch]) -> _Batch:
    """Return one batch instead of several."""
    ends = np.cumsum([len(memory) for _, _, memory, _ in batches])
    begins, sizes, memory, cost = zip(*batches, strict=True)
    return (
        np.hstack(
            [b + end - len(m) for b, end, m in zip(begins, ends, memory, strict=True)]
        ),
        np.hstack(sizes),
        np.concatenate(memory),
        np.concatenate(cost),
    )


def _store(
    batches: list[_Batch],
    classes: IntervalClasses,
    length: int,
    offset: int,
    stride: int,
    pool: _Pool,
    start: Ints,
    size: Ints,
) -> None:
    k = 0
    for begins, sizes, memory, cost in batches:
        many = sizes.shape[1]
        these = classes.starts[length] + offset + stride * np.arange(k, k + many)
        size[:, these] = sizes
        start[:, these] = pool.append(memory, cost) + begins
        k += many


def _mirror(
    arrays: ChainArrays, classes: IntervalClasses, length: int, start: Ints, size: Ints
) -> None:
    """Let table R of unsplit intervals share table A's front."""
    these = np.arange(classes.starts[length], classes.starts[length + 1])
    shared = these[arrays.split[classes.first[these]] == 0]
    start[1, shared] = start[0, shared]
    size[1, shared] = size[0, shared]
