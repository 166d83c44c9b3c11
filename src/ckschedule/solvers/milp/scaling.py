"""A program in floating point: how it is scaled, and what multipliers prove."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.sparse import diags_array

from ckschedule.solvers.milp.layout import Floats

if TYPE_CHECKING:
    from ckschedule.solvers.milp.program import Program

LARGEST: Final = 2.0**16
"""Bytes and ticks are divided by powers of two until none is larger."""

TOLERANCE: Final = 1e-6
"""HiGHS's own: of a variable from an integer, and of a row from its bound."""

SLACK: Final = 1e-8
"""How far, as a part of `LARGEST`, a budget is moved that is no small integer."""


@dataclass(frozen=True, kw_only=True)
class Scaled:
    """Powers of two by which a program's numbers are divided: exactly, hence.

    Attributes
    ----------
    byte, time
        For units of bytes, and for costs.
    slack
        Scaled bytes by which budgets are raised or lowered to keep clear of
        tolerances.
    """

    byte: float
    time: float
    slack: float


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What multipliers of the rows prove about all solutions.

    Attributes
    ----------
    least
        Cost that none undercuts, safely rounded.
    reduced
        (columns,): by how much more if the column is 1, or, if negative, if it is 0.
    """

    least: float
    reduced: Floats

    def bounds(self, cost: float, binary: int) -> tuple[Floats, Floats]:
        """Return what the first columns are, at least and at most, up to a cost."""
        over = np.abs(self.reduced[:binary]) + self.least > cost
        low = (over & (self.reduced[:binary] < 0)).astype(np.float64)
        high = 1.0 - (over & (self.reduced[:binary] > 0)).astype(np.float64)
        return low, high


def scale(program: Program) -> Scaled:
    """Return how a program is best scaled.

    Notes
    -----
    Within `LARGEST` units nothing is divided, and no sum of sizes lies between a
    budget and half a unit more: the slack is what rounding can add up to, but no more
    than that half, and raising the budget by it admits no further schedule.
    """
    most = float(
        max(program.room, 1, abs(program.matrix).max() if program.matrix.nnz else 1)
    )
    byte = _power(most)
    if byte == 1:
        # Each variable of a row may lie off by the tolerance.
        slack = min(0.5, max(1e-5, 4 * TOLERANCE * program.room))
    else:
        slack = SLACK * LARGEST
    time = _power(float(program.cost.max(initial=1)))
    return Scaled(byte=byte, time=time, slack=slack)


def _power(most: float) -> float:
    power = 1.0
    while most / power > LARGEST:
        power *= 2
    return power


def column_scale(program: Program, scaled: Scaled) -> Floats:
    """Return what a program's solutions are multiplied by for HiGHS."""
    factor = np.ones(len(program.cost))
    factor[program.binary :] = 1 / scaled.byte
    return factor


def scaled_matrix(program: Program, scaled: Scaled) -> Any:
    """Return the scaled matrix, CSR."""
    row = np.where(program.is_level, 1 / scaled.byte, 1.0)
    column = 1 / column_scale(program, scaled)
    return (diags_array(row) @ program.matrix @ diags_array(column)).tocsr()


def safe_ticks(bound: float, program: Program, scaled: Scaled) -> int | None:
    """Return a dual bound in ticks, rounded up where that is safe."""
    if not isfinite(bound) or bound >= 1e20:
        return None
    # HiGHS leaves out what is better by less than its tolerance.
    safe = bound * (1 - 1e-9) - 4 * TOLERANCE
    return max(0, ceil(safe * scaled.time)) * program.tick


def lagrangian(
    dual: Floats, program: Program, scaled: Scaled, upper: Floats, top: Floats
) -> Proof:
    """Return what multipliers of the rows prove.

    For any y with the sign that each row admits: the least of cost x over the box and
    the rows is no less than y b + min (cost - y A) x over the box alone.
    """
    matrix = scaled_matrix(program, scaled)
    cost = program.cost / scaled.time
    equal = np.isfinite(program.lower)
    # All other rows are bounded from above only.
    y = np.where(equal, dual, np.minimum(dual, 0))
    side = np.where(np.isfinite(upper), upper, 0)
    reduced = cost - matrix.T @ y
    value = float((y * side).sum() + (np.minimum(reduced, 0) * top).sum())
    # Sums of floats: off by at most the sum of what was added, times some 2^-53.
    work = float((np.abs(y) * np.abs(side)).sum())
    work += float(((np.abs(matrix).T @ np.abs(y) + cost) * top).sum())
    safe = value - 1e-12 * work - 1e-9
    return Proof(least=safe * scaled.time, reduced=reduced * scaled.time)
