"""What is minimised: ticks beyond those that every schedule takes."""

from __future__ import annotations

from math import ceil, gcd
from typing import TYPE_CHECKING, Final

from ckschedule.solvers.cp_sat.variables import Literal, Variables

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

_TOLERANCE: Final = 1e-6
"""Error of a bound that CP-SAT hands out as a float."""

EXACT_FLOATS: Final = 2**53
"""Integers up to which a float is exact."""


class Objective:
    """Extra ticks, in units of their greatest common divisor.

    Parameters
    ----------
    model
        Where it is posted.
    variables
        Of that model.
    ceiling
        Ticks that a schedule has to stay below; None for no limit.

    Attributes
    ----------
    unit
        Ticks that all extra times are multiples of, or more.
    exact
        Whether they are. Else each was rounded down: bounds hold, but the least sum
        need not be that of the fastest schedule.
    """

    def __init__(
        self, model: cp_model.CpModel, variables: Variables, ceiling: int | None
    ) -> None:
        problem = variables.problem
        self.floor = problem.floor
        terms: list[tuple[Literal, int]] = []
        for made in variables.computations:
            step = problem.steps[made.step]
            paid = step.least if step.must and made.copy == 0 else 0
            terms.extend(
                (literal, action.time - paid)
                for action, literal in made.ways
                if literal is not None and action.time > paid
            )
        self.unit = gcd(*(ticks for _, ticks in terms)) or 1
        total = sum(ticks for _, ticks in terms) // self.unit
        self.exact = total < EXACT_FLOATS
        if not self.exact:
            self.unit *= -(-total // (EXACT_FLOATS - 1))
        self.terms = [(literal, ticks // self.unit) for literal, ticks in terms]
        extra = sum(ticks * literal for literal, ticks in self.terms)
        if self.terms:
            model.minimize(extra)
        if ceiling is not None:
            room = (ceiling - 1 - self.floor) // self.unit
            if self.terms and room >= 0:
                model.add(extra <= room)
            elif room < 0:
                model.add_bool_or([])

    def bound(self, value: float) -> int:
        """Return CP-SAT's bound on the extra in ticks of the whole schedule."""
        return self.floor + whole_bound(value) * self.unit


def whole_bound(value: float) -> int:
    """Return CP-SAT's bound on an objective of nonnegative integers as one.

    Zero where the float is too large to say which integer it stands for, or infinite.
    """
    if not abs(value) < EXACT_FLOATS:
        return 0
    return max(0, ceil(value - _TOLERANCE))
