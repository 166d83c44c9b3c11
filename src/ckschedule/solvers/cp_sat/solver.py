"""The exact solver for graphs of any kind, on OR-Tools' CP-SAT."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ckschedule.costs.encoding import encode
from ckschedule.errors import (
    InvalidSettingError,
)
from ckschedule.result import Stop
from ckschedule.schedule import from_codes
from ckschedule.simulation import Model, as_graph
from ckschedule.solvers.base import (
    AbstractSolver,
    Progress,
    Proposal,
    as_real_setting,
    as_setting,
)
from ckschedule.solvers.cp_sat.problem import problem_of
from ckschedule.solvers.cp_sat.staging import once_each
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.graph_bounds import combinatorial_bound, proves_infeasible
from ckschedule.solvers.order import Order, as_order


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionCpSat(AbstractSolver):
    """Optimum of any graph, by CP-SAT on retention intervals.

    Attributes
    ----------
    order
        Of first computations: GIVEN proves among schedules that keep the graph's order,
        FREE among all.
    time_limit
        Seconds of wall time; infinity for none.
    workers
        Threads; by default as many as there are processors.
    seeds
        Solvers whose schedules it starts from; None means those that suit the model. A
        seed that cannot take the model is passed over.

    Raises
    ------
    InvalidSettingError
        If a setting cannot be meant.

    Notes
    -----
    See `ckschedule.solvers.cp_sat` for the model.
    """

    order: Order = Order.GIVEN
    time_limit: float = 60.0
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    seeds: tuple[AbstractSolver, ...] | None = None

    def __post_init__(self) -> None:
        order = as_order(self.order, "RetentionCpSat: order")
        object.__setattr__(self, "order", order)
        limit = as_real_setting(self.time_limit, "RetentionCpSat: time_limit")
        object.__setattr__(self, "time_limit", limit)
        workers = as_setting(self.workers, "RetentionCpSat: workers", least=1)
        object.__setattr__(self, "workers", workers)
        if self.seeds is None:
            return
        object.__setattr__(self, "seeds", tuple(self.seeds))
        for seed in self.seeds:
            if not isinstance(seed, AbstractSolver):
                raise InvalidSettingError(
                    f"RetentionCpSat: seeds has {seed!r}; give solvers with their "
                    f"settings, such as ChainDP()"
                )

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the best schedule found, with a bound; or the proof that none fits."""
        # CP-SAT takes a second to load: only a search does so.
        from ckschedule.solvers.cp_sat.rounds import Rounds
        from ckschedule.solvers.cp_sat.seeds import plant

        graph = as_graph(model)
        scope = self.order.scope
        with Deadline(self.time_limit) as deadline:
            problem = problem_of(encode(graph), budget)
            if problem is None or proves_infeasible(graph, budget, self.order):
                return Proposal(scope=scope, infeasible=True)
            rounds = Rounds(
                problem, self.order, budget, deadline, self.workers, progress
            )
            for modes in once_each(problem):
                rounds.offer(modes)
            if not rounds.proved:
                bound = combinatorial_bound(graph, budget, self.order)
                rounds.raise_bound(bound.ticks, bound.source)
                plant(rounds, model, budget, self.seeds)
                rounds.run()
        if rounds.infeasible:
            return Proposal(scope=scope, infeasible=True)
        stop = Stop.FINISHED if rounds.proved else deadline.stop
        if rounds.incumbent is None:
            return Proposal(scope=scope, stop=stop)
        return Proposal(
            scope=scope,
            schedule=from_codes(rounds.incumbent.codes, problem.encoding),
            makespan=rounds.incumbent.makespan,
            lower_bound=rounds.bound,
            stop=stop,
            bound_source=rounds.source,
        )
