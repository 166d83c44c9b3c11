"""Single facts about a model's optimum, and whether two of them can both be true."""

from dataclasses import dataclass
from typing import Final

from ckschedule.costs.encoding import Ints
from ckschedule.errors import SolverFaultError
from ckschedule.result import Scope
from ckschedule.units import INT64_MAX

EVERY: Final = INT64_MAX
"""The budget of a bound that holds whatever the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A schedule: its numbers are the simulator's."""

    codes: Ints
    peak: int
    makespan: int
    executions: int
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """No schedule of the scope within ``budget`` bytes is faster than ``ticks``."""

    budget: int
    ticks: int
    scope: Scope
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refutation:
    """No schedule of the scope keeps ``budget`` bytes; ``source`` proved it."""

    budget: int
    scope: Scope
    source: str


def covers(scope: Scope, other: Scope) -> bool:
    """Return whether what holds for all schedules of one scope holds for another's."""
    if Scope.CONSTRUCTION in (scope, other):
        return False
    return scope in (other, Scope.UNRESTRICTED)


def check_bound(bound: Bound, found: Found) -> None:
    """Refuse a bound that a schedule undercuts.

    Raises
    ------
    SolverFaultError
        If it does; the message names whose bound it is.
    """
    undercut = found.peak <= bound.budget and found.makespan < bound.ticks
    if undercut and covers(bound.scope, found.scope):
        raise SolverFaultError(
            f"{bound.source} claims the lower bound {bound.ticks} within "
            f"{bound.budget} bytes, but there is a schedule that takes "
            f"{found.makespan} with a peak of {found.peak}"
        )


def check_refutation(refutation: Refutation, found: Found) -> None:
    """Refuse a refutation of a budget that a schedule keeps.

    Raises
    ------
    SolverFaultError
        If it does; the message names who claims it.
    """
    if found.peak <= refutation.budget and covers(refutation.scope, found.scope):
        raise SolverFaultError(
            f"{refutation.source} claims that nothing fits within {refutation.budget} "
            f"bytes, but there is a schedule with a peak of {found.peak}"
        )
