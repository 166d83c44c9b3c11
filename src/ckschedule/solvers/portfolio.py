"""All solvers for graphs, one after the other within one time limit.

Quick constructions first, then local search, then CP-SAT with the best of them as its
start; the search ends as soon as a bound meets a schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from ckschedule.costs.chain import Chain
from ckschedule.costs.encoding import encode
from ckschedule.costs.graph import Graph
from ckschedule.errors import ResourceLimitError, UnsupportedModelError
from ckschedule.result import Scope
from ckschedule.schedule import to_codes
from ckschedule.simulation import Model, as_graph, measure
from ckschedule.solvers.base import (
    AbstractSolver,
    Progress,
    Proposal,
    Report,
    as_real_setting,
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
from ckschedule.solvers.order import Order, as_order

_SEARCHED: Final = 0.4
"""Part of the time that local search may take before CP-SAT has its turn."""

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
        for name, value in (("order", order), ("time_limit", limit), ("seed", seed)):
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
                return self._nothing_fits(model, least)
            best = _Best(graph, budget, deadline, progress)
            for order in dict.fromkeys((Order.GIVEN, self.order)):
                found = combinatorial_bound(graph, budget, order)
                best.bound(order.scope, found.ticks, found.source)
            for turn in self._turns(model, deadline, best):
                best.ask(turn, model)
                if best.settled(self.order) or deadline.passed:
                    break
            return best.answer(self.order, repr(self))

    def _nothing_fits(self, model: Model, least: LeastBudget) -> Proposal:
        """Return the proof, and the smallest budget where a construction keeps it."""
        works = False
        for solver in (GreedyEviction(order=Order.GIVEN), CutDP()):
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
        yield from self.seeds
        yield StoreAll()
        if isinstance(model, Chain):
            yield ChainDP()
        yield GreedyEviction(order=Order.GIVEN)
        if self.order is Order.FREE:
            yield GreedyEviction(order=Order.FREE)
        yield CutDP()
        yield LowerSetDP()
        if self.oracle is not None and self.order is Order.FREE:
            yield self.oracle
        searched = _SEARCHED * deadline.remaining
        if self.order is Order.FREE:
            yield LocalSearch(order=Order.FREE, time_limit=searched, seed=self.seed)
        elif not best.settled(Order.GIVEN):
            yield LocalSearch(
                order=Order.GIVEN, time_limit=searched / 4, seed=self.seed
            )
        # A schedule of another order beats what the given one can reach?
        if best.may_improve(Scope.GIVEN_ORDER):
            share = deadline.remaining if self.order is Order.GIVEN else 0.6
            limit = share if self.order is Order.GIVEN else share * deadline.remaining
            yield RetentionCpSat(
                order=Order.GIVEN, time_limit=limit, seeds=best.seeds(Order.GIVEN)
            )
        if self.order is Order.FREE:
            yield RetentionCpSat(
                order=Order.FREE,
                time_limit=deadline.remaining,
                seeds=best.seeds(Order.FREE),
            )


class _Best:
    """The best schedule so far, and bounds by scope."""

    def __init__(
        self, graph: Graph, budget: int, deadline: Deadline, progress: Progress | None
    ) -> None:
        self._graph = graph
        self._budget = budget
        self._deadline = deadline
        self._progress = progress
        self._found: list[tuple[int, Proposal]] = []
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
        except ResourceLimitError:
            return
        self._asked += 1
        self.bound(
            proposal.scope,
            proposal.lower_bound or 0,
            proposal.bound_source or type(solver).__name__,
        )
        if proposal.infeasible:
            self._infeasible[proposal.scope] = proposal
        if proposal.schedule is None:
            return
        encoding = encode(self._graph)
        codes = to_codes(proposal.schedule, encoding)
        peak, makespan, _ = measure(encoding, codes)
        if peak <= self._budget:
            named = replace(proposal, solver=proposal.solver or repr(solver))
            self._found.append((makespan, named))
            self._report()

    def bound(self, scope: Scope, ticks: int, source: str) -> None:
        """Note a lower bound of a scope, and of those that lie within it."""
        if scope is Scope.CONSTRUCTION:
            return
        narrower = _SCOPES if scope is Scope.UNRESTRICTED else (scope,)
        for each in narrower:
            if ticks > self._bounds.get(each, (-1, ""))[0]:
                self._bounds[each] = ticks, source

    def settled(self, order: Order) -> bool:
        """Whether the best schedule is proved optimal, or that there is none."""
        scope = order.scope
        if self._makespan is None:
            return scope in self._infeasible
        return self._makespan <= self._bounds[scope][0]

    def may_improve(self, scope: Scope) -> bool:
        """Whether schedules of a scope may be faster than the best one, or prove it."""
        return self._makespan is None or self._makespan >= self._bounds[scope][0]

    def seeds(self, order: Order) -> tuple[AbstractSolver, ...]:
        """Return solvers that answer with the best schedules so far."""
        ranked = sorted(self._found, key=lambda pair: pair[0])
        if order is Order.GIVEN:
            ranked = [p for p in ranked if p[1].scope is not Scope.UNRESTRICTED]
        known = (
            Given(p.schedule, p.scope) for _, p in ranked if p.schedule is not None
        )
        return tuple(islice(known, 3))

    def answer(self, order: Order, solver: str) -> Proposal:
        """Return the best schedule with the strongest claim that holds for it."""
        stop = self._deadline.stop
        if self._makespan is None:
            if not self._asked and self._refused is not None:
                raise self._refused
            known = self._infeasible.get(order.scope)
            return Proposal(
                scope=order.scope,
                infeasible=known is not None,
                minimum_budget=None if known is None else known.minimum_budget,
                solver=solver,
                stop=stop,
            )
        makespan = self._makespan
        scope = order.scope
        equals = [p for ticks, p in self._found if ticks == makespan]
        best = equals[0]
        if self._bounds[scope][0] < makespan:
            # No proof for all schedules: perhaps for those of the graph's order.
            for narrower in (Scope.GIVEN_ORDER,):
                kept = next((p for p in equals if p.scope is narrower), None)
                if kept and self._bounds.get(narrower, (0, ""))[0] == makespan:
                    best, scope = kept, narrower
        ticks, source = self._bounds[scope]
        return Proposal(
            scope=scope,
            schedule=best.schedule,
            makespan=makespan,
            lower_bound=min(ticks, makespan),
            bound_source=source,
            solver=best.solver,
            stop=stop,
        )

    @property
    def _makespan(self) -> int | None:
        return min((ticks for ticks, _ in self._found), default=None)

    def _reporting(self) -> Callable[[Report], None] | None:
        if self._progress is None:
            return None
        return lambda _report: self._report()

    def _report(self) -> None:
        if self._progress is not None:
            bound = max((ticks for ticks, _ in self._bounds.values()), default=0)
            self._progress(
                Report(
                    int(1000 * self._deadline.elapsed),
                    int(1000 * self._deadline.limit),
                    self._makespan,
                    bound,
                )
            )
