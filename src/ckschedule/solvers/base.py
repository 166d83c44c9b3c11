"""What a solver is: immutable settings that turn a problem into a proposal."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import nan
from numbers import Real
from operator import index
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ckschedule.costs.chain import Chain
from ckschedule.errors import InvalidSettingError, UnsupportedModelError
from ckschedule.result import Scope, Stop
from ckschedule.schedule import Schedule
from ckschedule.simulation import Model


@dataclass(frozen=True, slots=True)
class Report:
    """How far a search has come.

    Attributes
    ----------
    done, total
        Units of work, or milliseconds of the time limit.
    makespan, lower_bound
        Ticks: of the best schedule so far, and what none undercuts; None before there
        is one.
    """

    done: int
    total: int
    makespan: int | None = None
    lower_bound: int | None = None


Progress: TypeAlias = Callable[[Report], None]
"""Told of work as it proceeds."""


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
    stop
        Why the search ended.
    bound_source
        Where the lower bound comes from, if not from the solver itself.
    """

    scope: Scope
    schedule: Schedule | None = None
    makespan: int | None = None
    peak: int | None = None
    lower_bound: int | None = None
    infeasible: bool = False
    minimum_budget: int | None = None
    solver: str | None = None
    stop: Stop = Stop.FINISHED
    bound_source: str = ""


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


class AbstractConstruction(AbstractSolver):
    """A solver that has one schedule for each chain, whatever the budget."""

    __slots__ = ()

    @abstractmethod
    def schedule(self, chain: Chain) -> Schedule:
        """Return the schedule for ``chain``."""

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return `schedule`'s answer; the budget is for the caller to check.

        Raises
        ------
        UnsupportedModelError
            If the model is a graph.
        """
        chain = as_chain(model, self)
        return Proposal(scope=Scope.CONSTRUCTION, schedule=self.schedule(chain))


@dataclass(frozen=True, slots=True, kw_only=True)
class PointProposal:
    """One point that a solver claims for a front.

    Attributes
    ----------
    codes
        Its schedule, encoded (`ckschedule.schedule.to_codes`).
    peak, makespan
        Claimed bytes, static bytes included, and ticks; checked with ``==``.
    lower_bound
        Ticks that no schedule of the scope within ``peak`` bytes undercuts.
    """

    codes: npt.NDArray[np.int64]
    peak: int
    makespan: int
    lower_bound: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontProposal:
    """What a solver claims about all budgets at once.

    Attributes
    ----------
    scope
        The schedules that the claims speak about.
    exact
        Claim: the points are all breakpoints of the optimum.
    points
        By rising peak; dominated ones may be among them if the front is not exact.
    solver
        Who answered, with settings.
    """

    scope: Scope
    exact: bool
    points: Iterable[PointProposal]
    solver: str


class AbstractFrontSolver(AbstractSolver):
    """A solver that can also answer all budgets at once."""

    __slots__ = ()

    @abstractmethod
    def front(self, model: Model, progress: Progress | None = None) -> FrontProposal:
        """Return a proposal for the whole front of ``model``.

        Raises
        ------
        UnsupportedModelError, ResourceLimitError
            As `search`.
        """


def as_chain(model: Model, solver: AbstractSolver) -> Chain:
    """Return ``model`` if it is a chain.

    Parameters
    ----------
    model
        What a solver was given.
    solver
        The solver, whose class the message names.

    Raises
    ------
    UnsupportedModelError
        If it is a graph.
    """
    if isinstance(model, Chain):
        return model
    raise UnsupportedModelError(
        f"{type(solver).__name__} takes chains only: {model.name!r} is a graph; give "
        f"it as a Chain, or choose a solver for graphs"
    )


def as_setting(value: Any, what: str, *, least: int) -> int:
    """Return a setting as a plain int.

    Parameters
    ----------
    value
        Anything that claims to be a whole number; numpy integers become ints.
    what
        The culprit for the message: "EveryNth: n".
    least
        The smallest value that means something.

    Raises
    ------
    InvalidSettingError
        If it is no integer, a bool, or below ``least``.
    """
    remedy = f"give an integer of at least {least}"
    if isinstance(value, bool):
        raise InvalidSettingError(f"{what} is {value!r}; {remedy}")
    try:
        number = index(value)
    except TypeError:
        raise InvalidSettingError(f"{what} is {value!r}; {remedy}") from None
    if number < least:
        raise InvalidSettingError(f"{what} is {number}; {remedy}")
    return number


def as_real_setting(value: Any, what: str) -> float:
    """Return a setting that is a ratio or a time limit as a plain float.

    Parameters
    ----------
    value
        Anything that claims to be a real number; infinity is one.
    what
        The culprit for the message: "SlotDP: time_limit".

    Raises
    ------
    InvalidSettingError
        If it is no real number, a bool, NaN, or below zero.
    """
    real = isinstance(value, Real) and not isinstance(value, bool)
    try:
        number = float(value) if real else nan
    except OverflowError:
        number = nan
    if not number >= 0:
        raise InvalidSettingError(f"{what} is {value!r}; give a number of at least 0")
    return number


def as_seeds(value: object, what: str) -> tuple[AbstractSolver, ...] | None:
    """Return a setting as solvers to start from.

    Raises
    ------
    InvalidSettingError
        If it is neither None nor a list of solvers.
    """
    if value is None:
        return None
    if isinstance(value, (tuple, list)) and all(
        isinstance(seed, AbstractSolver) for seed in value
    ):
        return tuple(value)
    raise InvalidSettingError(
        f"{what} is {value!r}; give a tuple of solvers, such as (GreedyEviction(),), "
        f"or None"
    )
