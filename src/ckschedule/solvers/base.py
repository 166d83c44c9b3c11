"""What a solver is: an immutable settings value that turns a problem into a proposal."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ckschedule.result import Scope
from ckschedule.schedule import Schedule
from ckschedule.simulation import Model

Progress: TypeAlias = Callable[[int, int], None]
"""Told of work as it proceeds: (units done, units in all)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a solver claims; `solve` simulates it before anyone sees it.

    Attributes
    ----------
    scope
        The schedules that the claims speak about.
    schedule
        None if there is none.
    makespan, peak
        Claimed ticks, and bytes with static bytes included; checked with ``==``.
        None: no claim.
    lower_bound
        Ticks that no schedule of the scope within the budget undercuts; None: no claim.
    infeasible
        Claim: no schedule of the scope keeps the budget.
    minimum_budget
        Claim: the smallest budget that works within the scope, in bytes.
    solver
        Who answered, if not the solver itself, with its settings.
    """

    scope: Scope
    schedule: Schedule | None = None
    makespan: int | None = None
    peak: int | None = None
    lower_bound: int | None = None
    infeasible: bool = False
    minimum_budget: int | None = None
    solver: str | None = None


class AbstractSolver(ABC):
    """Interface of all solvers; settings are the fields of a frozen dataclass."""

    __slots__ = ()

    @abstractmethod
    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return a proposal for running ``model`` within ``budget``.

        Parameters
        ----------
        model
            Chain or graph.
        budget
            Bytes, static bytes included.
        progress
            Told of the work as it proceeds; solvers that end at once ignore it.

        Raises
        ------
        UnsupportedModelError
            If the solver cannot take the model; the message names the feature.
        ResourceLimitError
            If the work would pass one of the solver's limits.
        """
