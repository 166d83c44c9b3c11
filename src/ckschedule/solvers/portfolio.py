"""All solvers for graphs, one after the other within one time limit.

Quick constructions first, then local search, then CP-SAT with the best of them as its
start; the search ends as soon as a bound meets a schedule.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isfinite
from typing import Final

from ckschedule.costs.chain import Chain
from ckschedule.costs.encoding import encode
from ckschedule.costs.graph import Graph
from ckschedule.errors import (
    InvalidScheduleError,
    InvalidSettingError,
    ResourceLimitError,
    SolverFaultError,
    UnsupportedModelError,
)
from ckschedule.result import Scope, Stop
from ckschedule.schedule import Schedule, to_codes
from ckschedule.simulation import Model, as_graph, measure
from ckschedule.solvers.base import (
    AbstractSolver,
    Progress,
    Proposal,
    Report,
    as_real_setting,
    as_seeds,
    as_setting,
)
from ckschedule.solvers.baselines import StoreAll
from ckschedule.solvers.chain_dp import ChainDP
from ckschedule.solvers.cp_sat import RetentionCpSat
from ckschedule.solvers.cut_dp import CutDP
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.exhaustive import Exhaustive
from ckschedule.solvers.given import Given
from ckschedule.solvers.graph_bounds import (
    LeastBudget,
    combinatorial_bound,
    least_budget,
)
from ckschedule.solvers.greedy import GreedyEviction
from ckschedule.solvers.local_search import LocalSearch
from ckschedule.solvers.lower_sets import LowerSetDP
from ckschedule.solvers.order import Order, as_order, keeps_order

_QUICK: Final = 0.2
"""Part of the time left that a dynamic program may take; local search, too, where only
the given order is asked for."""

_SEARCHED: Final = 0.4
"""Part of the time left that local search over all orders may take."""

_GIVEN: Final = 0.6
"""Part of the time left for a proof about the given order where all are asked for."""

_log = logging.getLogger(__name__)

_SCOPES: Final = (Scope.UNRESTRICTED, Scope.GIVEN_ORDER, Scope.PERSISTENT)
"""From the strongest proof to the weakest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Portfolio(AbstractSolver):
    """The best answer of all solvers for graphs within one time limit.

    Attributes
    ----------
    order
        "free": schedules of any order are looked for, and a proof speaks about all of
        them, or, where the best one keeps the graph's order, at least about those that
        do. "given": only those that do.
    time_limit
        Seconds of wall time for all of them together.
    seed
        Of the random searches.
    oracle
        Exhaustive search, for graphs that are small enough; None: it has no turn.
    seeds
        Solvers that have the first turns, such as `Given` schedules.

    Notes
    -----
    Among equal makespans the answer with a proof wins, the proof of widest scope first.
    """

    order: Order = Order.FREE
    time_limit: float = 60.0
    seed: int = 0
    oracle: Exhaustive | None = None
    seeds: tuple[AbstractSolver, ...] = ()

    def __post_init__(self) -> None:
        """Check the settings."""
        order = as_order(self.order, "Portfolio: order")
        limit = as_real_setting(self.time_limit, "Portfolio: time_limit")
        seed = as_setting(self.seed, "Portfolio: seed", least=0)
        seeds = as_seeds(self.seeds, "Portfolio: seeds") or ()
        if self.oracle is not None and not isinstance(self.oracle, Exhaustive):
            raise InvalidSettingError(
                f"Portfolio: oracle is {self.oracle!r}; give Exhaustive(), or None"
            )
        for name, value in (
            ("order", order),
            ("time_limit", limit),
            ("seed", seed),
            ("seeds", seeds),
        ):
            object.__setattr__(self, name, value)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the best proposal of all.

        Raises
        ------
        UnsupportedModelError
            If no solver takes the graph; the message is the last one's.
        """
        graph = as_graph(model)
        with Deadline(self.time_limit) as deadline:
            least = least_budget(graph)
            if least.bytes > budget:
                return self._nothing_fits(model, least, deadline)
            best = _Best(graph, budget, self.order, deadline, progress)
            for order in dict.fromkeys((Order.GIVEN, self.order)):
                found = combinatorial_bound(graph, budget, order)
                best.bound(order.scope, found.ticks, found.source)
            for turn in self._turns(model, deadline, best):
                best.ask(turn, model)
                if best.settled or deadline.passed:
                    break
            return best.answer(repr(replace(self, seeds=())))

    def _nothing_fits(
        self, model: Model, least: LeastBudget, deadline: Deadline
    ) -> Proposal:
        """Return the proof, and the smallest budget where a construction keeps it."""
        works = False
        for solver in (GreedyEviction(), CutDP(time_limit=deadline.remaining)):
            with suppress(UnsupportedModelError, ResourceLimitError):
                works = solver.search(model, least.bytes).schedule is not None
            if works:
                break
        return Proposal(
            scope=self.order.scope,
            infeasible=True,
            minimum_budget=least.bytes if works else None,
            bound_source=least.source,
        )

    def _turns(
        self, model: Model, deadline: Deadline, best: _Best
    ) -> Iterator[AbstractSolver]:
        """Yield solvers in turn, their limits by the time that is left."""
        free = self.order is Order.FREE
        yield from self.seeds
        yield StoreAll()
        if isinstance(model, Chain):
            yield ChainDP()
        yield GreedyEviction(order=Order.GIVEN)
        if free:
            yield GreedyEviction(order=Order.FREE)
        yield CutDP(time_limit=_QUICK * deadline.remaining)
        yield LowerSetDP(time_limit=_QUICK * deadline.remaining)
        if self.oracle is not None and free:
            yield self.oracle
        searched = (_SEARCHED if free else _QUICK) * deadline.remaining
        yield LocalSearch(order=self.order, time_limit=searched, seed=self.seed)
        # Unless a schedule of another order beats what the given one can reach.
        if best.may_improve(Scope.GIVEN_ORDER):
            part = _GIVEN if free else 1.0
            yield RetentionCpSat(
                order=Order.GIVEN,
                time_limit=part * deadline.remaining,
                seeds=best.seeds(Order.GIVEN),
            )
        if free:
            yield RetentionCpSat(
                order=Order.FREE,
                time_limit=deadline.remaining,
                seeds=best.seeds(Order.FREE),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A schedule within the budget; ``in_order``: it keeps the graph's order."""

    makespan: int
    schedule: Schedule
    solver: str
    in_order: bool


class _Best:
    """The schedules so far, and bounds by scope.

    Whether a schedule keeps the graph's order is looked at, not believed: a seed may
    come from anywhere.
    """

    def __init__(
        self,
        graph: Graph,
        budget: int,
        order: Order,
        deadline: Deadline,
        progress: Progress | None,
    ) -> None:
        self._encoding = encode(graph)
        self._budget = budget
        self._order = order
        self._deadline = deadline
        self._progress = progress
        self._found: list[_Found] = []
        self._bounds: dict[Scope, tuple[int, str]] = {}
        self._infeasible: dict[Scope, Proposal] = {}
        self._refused: UnsupportedModelError | None = None
        self._asked = 0

    def ask(self, solver: AbstractSolver, model: Model) -> None:
        """Note what a solver answers; one that cannot take the model is passed over."""
        try:
            proposal = solver.search(model, self._budget, self._reporting())
        except UnsupportedModelError as error:
            self._refused = error
            return
        except ResourceLimitError as error:
            _log.info("%s gave up: %s", type(solver).__name__, error)
            return
        self._asked += 1
        self.bound(
            proposal.scope,
            proposal.lower_bound or 0,
            proposal.bound_source or type(solver).__name__,
        )
        if proposal.infeasible:
            self._infeasible[proposal.scope] = proposal
        if proposal.schedule is not None:
            self._note(proposal.schedule, proposal.solver or _name(solver))

    def _note(self, schedule: Schedule, solver: str) -> None:
        try:
            codes = to_codes(schedule, self._encoding)
            peak, makespan, _ = measure(self._encoding, codes)
        except InvalidScheduleError as error:
            raise SolverFaultError(
                f"{solver} wrote an illegal schedule: {error}"
            ) from error
        in_order = keeps_order(self._encoding.node[codes[codes >= 0]].tolist())
        if peak > self._budget or (self._order is Order.GIVEN and not in_order):
            return
        self._found.append(
            _Found(
                makespan=makespan, schedule=schedule, solver=solver, in_order=in_order
            )
        )
        self._report()

    def bound(self, scope: Scope, ticks: int, source: str) -> None:
        """Note a lower bound of a scope, and of those that lie within it."""
        if scope is Scope.CONSTRUCTION:
            return
        narrower = _SCOPES if scope is Scope.UNRESTRICTED else (scope,)
        for each in narrower:
            if ticks > self._bounds.get(each, (-1, ""))[0]:
                self._bounds[each] = ticks, source

    @property
    def settled(self) -> bool:
        """Whether the best schedule is proved optimal, or that there is none."""
        if self._makespan is None:
            return not self._infeasible.keys().isdisjoint(
                (self._order.scope, Scope.UNRESTRICTED)
            )
        return self._makespan <= self._bounds[self._order.scope][0]

    def may_improve(self, scope: Scope) -> bool:
        """Whether schedules of a scope may be faster than the best one, or prove it."""
        return self._makespan is None or self._makespan >= self._bounds[scope][0]

    def seeds(self, order: Order) -> tuple[AbstractSolver, ...]:
        """Return solvers that answer with the best schedules so far."""
        fit = [f for f in self._found if f.in_order or order is Order.FREE]
        best = sorted(fit, key=lambda found: found.makespan)[:3]
        return tuple(Given(found.schedule, order.scope) for found in best)

    def answer(self, solver: str) -> Proposal:
        """Return the best schedule with the strongest claim that holds for it."""
        stop = Stop.FINISHED if self.settled else self._deadline.stop
        scope, makespan = self._order.scope, self._makespan
        if makespan is None:
            if not self._asked and self._refused is not None:
                raise self._refused
            known = self._infeasible.get(
                scope, self._infeasible.get(Scope.UNRESTRICTED)
            )
            return Proposal(
                scope=scope,
                infeasible=known is not None,
                minimum_budget=None if known is None else known.minimum_budget,
                solver=solver,
                stop=stop,
            )
        equals = [found for found in self._found if found.makespan == makespan]
        best = next((found for found in equals if found.in_order), equals[0])
        given = self._bounds.get(Scope.GIVEN_ORDER, (0, ""))[0]
        if self._bounds[scope][0] < makespan == given and best.in_order:
            # No proof about all schedules, but about those of the graph's order.
            scope = Scope.GIVEN_ORDER
        ticks, source = self._bounds[scope]
        return Proposal(
            scope=scope,
            schedule=best.schedule,
            makespan=makespan,
            lower_bound=ticks,
            bound_source=source,
            solver=best.solver,
            stop=stop,
        )

    @property
    def _makespan(self) -> int | None:
        return min((found.makespan for found in self._found), default=None)

    def _reporting(self) -> Callable[[Report], None] | None:
        if self._progress is None:
            return None
        return lambda _report: self._report()

    def _report(self) -> None:
        if self._progress is None:
            return
        done, limit = self._deadline.elapsed, self._deadline.limit
        self._progress(
            Report(
                done=int(1000 * done),
                total=int(1000 * limit) if isfinite(limit) else 0,
                makespan=self._makespan,
                lower_bound=self._bounds[self._order.scope][0],
            )
        )


def _name(solver: AbstractSolver) -> str:
    """Return a solver's text without what it started from."""
    if isinstance(solver, RetentionCpSat):
        return repr(replace(solver, seeds=None))
    return repr(solver)
