"""The local search for graphs under weighted pebbling."""

from dataclasses import dataclass
from math import inf, isinf

from ckschedule.result import Stop
from ckschedule.schedule import from_codes
from ckschedule.simulation import Model
from ckschedule.solvers.base import (
    AbstractSolver,
    Progress,
    Proposal,
    Report,
    as_real_setting,
    as_setting,
)
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.order import Order, as_order
from ckschedule.solvers.pebbling import as_pebbling


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSearch(AbstractSolver):
    """Anneals sequences of computations; for graphs of thousands of nodes.

    Attributes
    ----------
    order
        Orders of first computations that it searches: "free" or "given".
    time_limit
        Seconds; infinity for none.
    seed
        Of its random moves, zero or more.
    moves
        Moves that each worker makes; None: until the time is over, or no move has
        improved the schedule for long.
    workers
        Searches at the same time, each in a thread of its own.

    Raises
    ------
    InvalidSettingError
        If a setting is nothing that can be meant.

    Notes
    -----
    Simulated annealing in the line of FastSA (S. Imanishi et al., NeurIPS 2023): a
    sequence is changed by moving, adding and removing computations. Unlike there, what
    a state is charged with is the sum over all computations of the bytes beyond the
    budget, at a price that rises while it does not fit and falls while it does; what
    an added computation misses is added with it at random; and moves aim at where the
    budget is passed. It starts from what `GreedyEviction` makes of an order, and ends
    at once if nothing has to run twice, for then the schedule is optimal.

    The same settings with ``moves`` have the same result where the time limit does not
    end the search before.
    """

    order: Order = Order.FREE
    time_limit: float = 10.0
    seed: int = 0
    moves: int | None = None
    workers: int = 2

    def __post_init__(self) -> None:
        order = as_order(self.order, "LocalSearch: order")
        limit = as_real_setting(self.time_limit, "LocalSearch: time_limit")
        seed = as_setting(self.seed, "LocalSearch: seed", least=0)
        workers = as_setting(self.workers, "LocalSearch: workers", least=1)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "time_limit", limit)
        object.__setattr__(self, "seed", seed)
        object.__setattr__(self, "workers", workers)
        if self.moves is not None:
            moves = as_setting(self.moves, "LocalSearch: moves", least=0)
            object.__setattr__(self, "moves", moves)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the fastest schedule that it came across, if one fits.

        Raises
        ------
        UnsupportedModelError
            If the model is no graph under weighted pebbling.
        """
        pebbling = as_pebbling(model, self)
        from ckschedule.solvers.completion import complete
        from ckschedule.solvers.local_search.hunt import Hunt

        base = pebbling.base_time

        def report(makespan: int | None) -> None:
            if progress is not None:
                done = int(1000 * deadline.elapsed)
                total = done if isinf(self.time_limit) else int(1000 * self.time_limit)
                progress(Report(min(done, total), total, makespan, base))

        with Deadline(self.time_limit) as deadline:
            hunt = Hunt(
                pebbling,
                budget,
                self.order,
                seed=self.seed,
                moves=inf if self.moves is None else self.moves,
                workers=self.workers,
                deadline=deadline,
                report=report,
            )
            found = hunt.run()
            stop = deadline.stop if hunt.cut_short else Stop.FINISHED
        if found is None:
            return Proposal(scope=self.order.scope, lower_bound=base, stop=stop)
        codes = complete(pebbling.encoding, pebbling.mode[found.sequence])
        return Proposal(
            scope=self.order.scope,
            schedule=from_codes(codes, pebbling.encoding),
            lower_bound=base,
            stop=stop,
        )
