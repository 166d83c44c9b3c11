"""The course of a search: where it starts, how hot it is, and when it ends."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import inf
from threading import Event
from typing import Final

import numpy as np

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.greedy.construction import (
    Construction,
    evictions,
    frugal_orders,
    ticks,
)
from ckschedule.solvers.local_search import kernel
from ckschedule.solvers.local_search.state import (
    LARGEST,
    MOST,
    instance_of,
    row_of,
    sequence_of,
)
from ckschedule.solvers.order import Order
from ckschedule.solvers.pebbling import Pebbling

HOT: Final = {Order.GIVEN: 1.0, Order.FREE: 3.0}
"""Temperature at the beginning of a round, in mean times of a node."""

COLD: Final = (0.002, 0.1, 0.1)
"""Temperature at the end of a round: the least one, and otherwise the product of a
factor and a quantile of the nodes' times, so that what the last moves save counts."""

ADAPT: Final = 1.02
"""Factor by which the price of memory changes at a time."""

REORDER_HOT: Final = 5.0
REORDER_COLD: Final = 0.05
"""Temperatures while nothing is computed twice, in mean bytes of a value."""

REORDER_SHARE: Final = 0.2
"""Share of the time that may pass before anything is computed twice."""

ROUND: Final = 2000
"""Moves per node of the first round; each further one is twice as long."""

PATIENCE: Final = (2_000_000, 20_000)
"""Moves without improvement, in all and per node, after which a search ends."""

RATE: Final = 300_000.0
"""Moves a second, before they have been timed."""

POLL: Final = 0.05
"""Seconds between two looks at what the workers have found."""


class Hunt:
    """One search of one graph within one budget.

    Parameters
    ----------
    pebbling
        The graph.
    budget
        Bytes, those that lie there throughout included.
    order
        Whose scope the sequences shall lie in.
    seed, moves, workers
        As in `LocalSearch`; infinitely many moves for no limit.
    deadline
        When to end.
    report
        Told the makespan of the best sequence now and then; None before there is one.

    Attributes
    ----------
    best
        The fastest construction that fits; None before there is one.
    cut_short
        Whether the deadline ended the search.
    """

    def __init__(
        self,
        pebbling: Pebbling,
        budget: int,
        order: Order,
        *,
        seed: int,
        moves: float,
        workers: int,
        deadline: Deadline,
        report: Callable[[int | None], None],
    ) -> None:
        self.pebbling = pebbling
        self.budget = budget
        self.order = order
        self.moves = moves
        self.deadline = deadline
        self.report = report
        self.best: Construction | None = None
        self.cut_short = False
        self._graph, unit = instance_of(pebbling)
        # Beyond all sizes together more room is no more.
        self._room = min((budget - pebbling.base) // unit, 2 * LARGEST)
        self._workers = [
            _Worker(self._graph, self._room, order, seed * workers + k, deadline)
            for k in range(workers)
        ]

    def run(self) -> Construction | None:
        """Return the fastest construction that fits and was come across, if any."""
        if len(self.pebbling) == 0:
            none = np.empty(0, np.int64)
            return Construction(none, 0, 0) if self._room >= 0 else None
        if self._room < 0:
            return None
        starts = self._starts()
        if not self._done():
            self._anneal(starts)
        return self.best

    def _done(self) -> bool:
        """Return whether there is nothing to gain, or no time left."""
        if self.best is not None and self.best.time == self.pebbling.base_time:
            return True
        self.cut_short = self.deadline.passed
        return self.cut_short

    def _take(self, constructions: Sequence[Construction]) -> None:
        for built in constructions:
            better = self.best is None or built.time < self.best.time
            if built.over == 0 and better:
                self.best = built

    def _starts(self) -> list[Construction]:
        """Return what to start from, best first; takes note of what fits."""
        given = np.arange(len(self.pebbling))
        orders = [given]
        if self.order is Order.FREE:
            for order in frugal_orders(self.pebbling):
                orders.append(order)
                if self.deadline.passed:
                    break
            orders = self._reordered(orders)
        starts: list[Construction] = []
        for running in orders:
            for built in evictions(self.pebbling, self.budget, running):
                starts.append(built)
                self._take([built])
                if self._done():
                    return starts
        # A state has no room for more than so many computations of a node.
        starts = [s for s in starts if np.bincount(s.sequence).max() <= MOST]
        if not starts:
            starts = [Construction(orders[0], self.pebbling.base_time, 1)]
        return sorted(starts, key=lambda built: (built.over, built.time))

    def _reordered(self, orders: list[Ints]) -> list[Ints]:
        """Return orders that pass the budget little, improved; best first."""

        def excess(order: Ints) -> int:
            row = row_of(self._graph, order, self._room, seed=0)
            return int(row.number[kernel.EXCESS])

        orders = sorted(orders, key=excess)
        if self._room < 0 or excess(orders[0]) == 0:
            return orders[:1]
        length = min(ROUND * len(self.pebbling), self.moves * REORDER_SHARE)
        plan = _Plan(
            length=length,
            seconds=self.deadline.remaining * REORDER_SHARE,
            hot=REORDER_HOT,
            cold=REORDER_COLD,
            repeats=False,
        )
        starts = [orders[min(k, len(orders) - 1)] for k in range(len(self._workers))]
        self._round(plan, starts)
        return sorted((worker.now for worker in self._workers), key=excess)

    def _anneal(self, starts: Sequence[Construction]) -> None:
        """Run rounds until there is a reason to end."""
        length: float = ROUND * len(self.pebbling)
        patience = PATIENCE[0] + PATIENCE[1] * len(self.pebbling)
        quantile = float(np.quantile(self._graph.time, COLD[2]))
        cold = max(COLD[0], COLD[1] * quantile)
        idle = 0.0
        first = [starts[k % len(starts)].sequence for k in range(len(self._workers))]
        for worker in self._workers:
            worker.known(self.best)
        while not self._done():
            made = max(worker.made for worker in self._workers)
            left = self.moves - made
            if left <= 0:
                return
            rate = min(worker.rate for worker in self._workers)
            seconds = inf
            if length * 2 > self.deadline.remaining * rate:
                # The last round: as hot as the time that is left tells.
                length, seconds = inf, self.deadline.remaining
            if length * 2 > left:
                length = left
            plan = _Plan(length=length, seconds=seconds, hot=HOT[self.order], cold=cold)
            before = None if self.best is None else self.best.time
            self._round(plan, first)
            self._collect()
            if self.best is not None:
                first = [self.best.sequence] * len(self._workers)
                for worker in self._workers:
                    worker.known(self.best)
            else:
                first = [worker.now for worker in self._workers]
            improved = self.best is not None and self.best.time != before
            made = max(worker.made for worker in self._workers) - made
            idle = 0 if improved else idle + made
            if idle > patience and self.moves == inf and not self._done():
                return
            length *= 2

    def _round(self, plan: "_Plan", starts: Sequence[Ints]) -> None:
        """Let all workers run a plan, each from its start."""
        # One that has nothing left to gain ends all, unless the outcome shall not
        # depend on which of them is faster.
        enough = Event() if self.moves == inf else None
        with ThreadPoolExecutor(len(self._workers), "ckschedule search") as pool:
            running: list[Future[None]] = [
                pool.submit(worker.run, plan, start, enough)
                for worker, start in zip(self._workers, starts, strict=True)
            ]
            while wait(running, POLL, FIRST_EXCEPTION).not_done:
                self._collect()
            for future in running:
                future.result()

    def _collect(self) -> None:
        for worker in self._workers:
            if worker.best is not None:
                runs = ticks(self.pebbling, worker.best)
                self._take([Construction(worker.best, runs, 0)])
        self.report(None if self.best is None else self.best.time)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What a worker does in a round.

    Attributes
    ----------
    length
        Moves.
    seconds
        After which it ends, too.
    hot, cold
        Temperatures at its beginning and its end.
    repeats
        Whether nodes may be computed again.
    """

    length: float
    seconds: float
    hot: float
    cold: float
    repeats: bool = True


class _Worker:
    """One annealing at a time.

    Attributes
    ----------
    best
        The fastest sequence that fits and that it has found in a round with
        repetitions.
    now
        The sequence at the end of the last round.
    made, rate
        Moves so far, and how many it makes a second.
    """

    def __init__(
        self,
        graph: kernel.Instance,
        room: int,
        order: Order,
        seed: int,
        deadline: Deadline,
    ) -> None:
        self.best: Ints | None = None
        self.now = np.arange(len(graph.time))
        self.made = 0.0
        self.rate = RATE
        self._graph = graph
        self._room = room
        self._staged = order is Order.GIVEN
        self._seed = seed
        self._deadline = deadline
        self._cost = inf
        self._row: kernel.Row | None = None

    def known(self, best: Construction | None) -> None:
        """Take note of what another one has found: slower ones do not count."""
        if best is not None:
            self.best = best.sequence
            self._cost = float(self._graph.time[best.sequence].sum())

    def run(self, plan: _Plan, start: Ints, enough: Event | None) -> None:
        """Anneal by a plan from a sequence, until ``enough`` is set if it is given."""
        graph = self._graph
        n = len(graph.time)
        row = self._row = row_of(graph, start, self._room, self._seed, self._row)
        row.real[kernel.BEST] = self._cost if plan.repeats else inf
        row.real[kernel.PRICE] = unit = 1.0 / max(float(graph.size.mean()), 1e-9)
        chunk = max(1000, 20_000_000 // (n + 1000))
        begin = self._deadline.elapsed
        made = 0
        while made < plan.length and not self._deadline.passed:
            passed = self._deadline.elapsed - begin
            if passed >= plan.seconds or (enough is not None and enough.is_set()):
                break
            if self._optimal(row, plan):
                if enough is not None:
                    enough.set()
                break
            done = max(made / plan.length, passed / plan.seconds)
            temperature = plan.hot * (plan.cold / plan.hot) ** done
            made += kernel.anneal(
                graph,
                row,
                self._staged,
                plan.repeats,
                int(min(chunk, plan.length - made)),
                temperature,
                temperature,
                ADAPT if plan.repeats else 1.0,
                1e-6 * unit,
                1e6 * unit,
            )
            if plan.repeats and row.real[kernel.BEST] < self._cost:
                self._cost = float(row.real[kernel.BEST])
                self.best = sequence_of(row.best)
            row = self._row = row_of(
                graph, sequence_of(row.at), self._room, self._seed, row
            )
        self.made += made
        self.rate = max(made, 1) / max(self._deadline.elapsed - begin, 1e-3)
        self.now = sequence_of(row.at)

    def _optimal(self, row: kernel.Row, plan: _Plan) -> bool:
        if plan.repeats:
            return self._cost <= float(self._graph.time.sum()) * (1 + 1e-12)
        return bool(row.number[kernel.EXCESS] == 0)
