"""The greedy solver for graphs under weighted pebbling."""

from dataclasses import dataclass

from ckschedule.schedule import from_codes
from ckschedule.simulation import Model
from ckschedule.solvers.base import (
    AbstractSolver,
    Progress,
    Proposal,
    as_real_setting,
)
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.order import Order, as_order
from ckschedule.solvers.pebbling import as_pebbling


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyEviction(AbstractSolver):
    """Frees what is cheap to have again and not needed soon; for any graph at once.

    Attributes
    ----------
    order
        "given": the graph's own order of first computations. "free": also some orders
        that keep few bytes live.
    time_limit
        Seconds of wall time, looked at between one construction and the next.

    Raises
    ------
    InvalidSettingError
        If ``order`` is neither, or the limit is no number.

    Notes
    -----
    Nodes run in order. Where a value does not fit, those are freed that take the least
    time to have again, for their bytes and for the distance to their next use; what is
    missing later runs again with all that it misses. It is the rule of DTR (M. Kirisame
    et al., ICLR 2021, arXiv 2006.09616) with the future known, as offline paging has
    it. Several weights of bytes and distance are tried, and of the sequences that fit
    the fastest wins. There may be schedules where it finds none.

    O((n + m) e) time for e evictions; O(n^2 + n m) for each order.
    """

    order: Order = Order.GIVEN
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        order = as_order(self.order, "GreedyEviction: order")
        limit = as_real_setting(self.time_limit, "GreedyEviction: time_limit")
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "time_limit", limit)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the fastest of the schedules that it constructs, if one fits.

        Raises
        ------
        UnsupportedModelError
            If the model is no graph under weighted pebbling.
        """
        pebbling = as_pebbling(model, self)
        from ckschedule.solvers.completion import complete
        from ckschedule.solvers.greedy.construction import constructions

        best = None
        with Deadline(self.time_limit) as deadline:
            for built in constructions(pebbling, budget, self.order):
                if built.over == 0 and (best is None or built.time < best.time):
                    best = built
                    if best.time == pebbling.base_time:
                        break
                if deadline.passed:
                    break
            stop = deadline.stop
        if best is None:
            return Proposal(
                scope=self.order.scope, lower_bound=pebbling.base_time, stop=stop
            )
        codes = complete(pebbling.encoding, pebbling.mode[best.sequence])
        return Proposal(
            scope=self.order.scope,
            schedule=from_codes(codes, pebbling.encoding),
            makespan=best.time,
            lower_bound=pebbling.base_time,
            stop=stop,
        )
