"""Exact packing: rectangles of fixed place in time and free addresses, by CP-SAT.

Each block is a rectangle whose horizontal side is its lifetime; no two overlap; the
height of all is least. Two reductions come first and lose nothing: a block that lives
together with every other one lies at the bottom, and all sizes are divided by their
greatest common divisor, for some lowest packing has only sums of sizes as offsets.
"""

import os
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Final

import numpy as np

from ckschedule.arena.best_fit import Blocks, Packing
from ckschedule.costs.encoding import Ints
from ckschedule.errors import SolverFaultError
from ckschedule.result import Stop
from ckschedule.solvers.deadline import Deadline

_WORKERS: Final = 8
"""Search threads, at most: CP-SAT's strategies complement each other up to about so
many."""


@dataclass(frozen=True, kw_only=True)
class Proved:
    """An exact search's outcome.

    Attributes
    ----------
    packing
        The lowest one that is known.
    bound
        Units: no packing is lower.
    stop
        Why the search ended.
    """

    packing: Packing
    bound: int
    stop: Stop


def pack_exactly(blocks: Blocks, start: Packing, time_limit: float) -> Proved:
    """Return the lowest packing, or the lowest one found in time.

    Parameters
    ----------
    blocks
        What to pack.
    start
        A packing to begin with, which is returned if nothing lower is found.
    time_limit
        Seconds.

    Notes
    -----
    Exponential in the worst case. It ends at once where ``start`` is as high as the
    most that is taken at one instant.
    """
    floor = int(blocks.load.max(initial=0))
    if start.height == floor:
        return Proved(packing=start, bound=floor, stop=Stop.FINISHED)
    always, rest = _split(blocks)
    base = int(blocks.size[always].sum())
    unit = int(np.gcd.reduce(blocks.size[rest]))
    small = replace(blocks.subset(rest), size=blocks.size[rest] // unit)
    most = (start.height - base) // unit
    hints = _lowered(blocks, start, always)[rest] // unit
    with Deadline(time_limit) as deadline:
        found, least = _search(small, most, hints, deadline)
        stop = deadline.stop
    # The search knows of heights in whole units only.
    bound = max(floor, base + unit * least)
    packing = start
    if found is not None:
        offset = np.zeros(len(blocks), np.int64)
        offset[rest] = base + found * unit
        offset[always] = np.cumsum(blocks.size[always]) - blocks.size[always]
        height = int((offset + blocks.size).max())
        if height < start.height:
            packing = Packing(offset=offset, height=height, method="CP-SAT")
    if packing.height == bound:
        stop = Stop.FINISHED
    elif stop is Stop.FINISHED:
        # CP-SAT leaves a little of its time unused.
        stop = Stop.TIME_LIMIT
    return Proved(packing=packing, bound=bound, stop=stop)


def _split(blocks: Blocks) -> tuple[Ints, Ints]:
    """Return the blocks that live together with all others, and the others of size."""
    solid = np.flatnonzero(blocks.size > 0)
    latest, earliest = blocks.first[solid].max(), blocks.last[solid].min()
    everywhere = (blocks.first[solid] <= earliest) & (blocks.last[solid] >= latest)
    return solid[everywhere], solid[~everywhere]


def _lowered(blocks: Blocks, start: Packing, always: Ints) -> Ints:
    """Return the offsets of ``start`` with ``always`` taken out, the rest let down."""
    offset = start.offset.copy()
    for k in always.tolist():
        offset[start.offset > start.offset[k]] -= blocks.size[k]
    return offset


def _search(
    blocks: Blocks, most: int, hints: Ints, deadline: Deadline
) -> tuple[Ints | None, int]:
    """Return offsets below ``most``, if there are, and the height's lower bound."""
    from ortools.sat.python import cp_model

    floor = int(blocks.load.max(initial=0))
    model = cp_model.CpModel()
    height = model.new_int_var(floor, most, "height")
    model.add_hint(height, most)
    lives, lies, offsets = [], [], []
    instants = np.unique(np.concatenate([blocks.first, blocks.last + 1]))
    first = np.searchsorted(instants, blocks.first).tolist()
    after = np.searchsorted(instants, blocks.last + 1).tolist()
    for k, size in enumerate(blocks.size.tolist()):
        offset = model.new_int_var(0, most - size, f"offset {k}")
        model.add_hint(offset, int(hints[k]))
        model.add(offset + size <= height)
        lives.append(
            model.new_fixed_size_interval_var(first[k], after[k] - first[k], f"t {k}")
        )
        lies.append(model.new_fixed_size_interval_var(offset, size, f"a {k}"))
        offsets.append(offset)
    model.add_no_overlap_2d(lives, lies)
    model.minimize(height)
    solver = cp_model.CpSolver()
    parameters: Any = solver.parameters
    parameters.max_time_in_seconds = max(deadline.remaining, 1e-3)
    parameters.num_workers = min(_WORKERS, os.cpu_count() or 1)
    parameters.random_seed = 0
    # Ctrl-C is the deadline's.
    parameters.catch_sigint_signal = False
    status = deadline.run(lambda: solver.solve(model), solver.stop_search)
    least = floor
    # Bounds are doubles: they can be trusted as far as these are exact.
    if isfinite(solver.best_objective_bound) and most < 2**53:
        least = max(floor, round(solver.best_objective_bound))
    if status == cp_model.UNKNOWN:
        return None, least
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise SolverFaultError(
            f"CP-SAT calls the packing {solver.status_name(status)}, but best fit has "
            f"one"
        )
    return np.array([solver.value(offset) for offset in offsets], np.int64), least
