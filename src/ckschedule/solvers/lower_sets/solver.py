"""The solver: sequences of lower sets for several budgets of the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from ckschedule.errors import InvalidSettingError
from ckschedule.result import Scope
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
from ckschedule.solvers.pebbling import Pebbling, as_pebbling

if TYPE_CHECKING:
    from ckschedule.solvers.cut_dp.candidates import Candidates
    from ckschedule.solvers.lower_sets.model import ForwardGraph, LowerSet

_WORK: Final = 600_000_000
"""Pairs of lower sets times ticks of a table: ticks are made coarser to keep it."""

_TICKS: Final = 1000
"""Most ticks of a table."""

_LEAST_TICKS: Final = 50
"""Ticks of a table whatever the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerSetDP(AbstractSolver):
    """Schedules of training graphs that recompute blocks between lower sets.

    Each block of the forward part is computed again once, before its backward nodes;
    the blocks are the best ones in the model of Kusumoto et al. for one of several
    budgets. What the simulator shows not to be needed is left out afterwards.

    Attributes
    ----------
    exact
        Whether all lower sets of the forward part are used; else each node with its
        ancestors only.
    max_lower_sets
        Most lower sets that ``exact`` may meet, at least 2; past it
        `ResourceLimitError`.
    tries
        Budgets of the model that are tried for each turn, at least 1.
    work
        Steps of sequences that improving them may look at for each turn, zero or more.
    time_limit
        Seconds.

    Raises
    ------
    InvalidSettingError
        If a setting is no number, or below the least that means something.

    Notes
    -----
    O(tries ticks n_lower_sets^2), with ticks rounded to at most a thousand.

    References
    ----------
    M. Kusumoto, T. Inoue, G. Watanabe, T. Akiba, M. Koyama: "A Graph Theoretic
    Framework of Recomputation Algorithms for Memory-Efficient Backpropagation",
    NeurIPS 2019, arXiv 1905.11722.
    """

    exact: bool = False
    max_lower_sets: int = 2000
    tries: int = 24
    work: int = 100_000_000
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        if not isinstance(self.exact, bool):
            raise InvalidSettingError(
                f"LowerSetDP: exact is {self.exact!r}; give True or False"
            )
        for name, least in (("max_lower_sets", 2), ("tries", 1), ("work", 0)):
            number = as_setting(getattr(self, name), f"LowerSetDP: {name}", least=least)
            object.__setattr__(self, name, number)
        limit = as_real_setting(self.time_limit, "LowerSetDP: time_limit")
        object.__setattr__(self, "time_limit", limit)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the fastest of the candidates that keep the budget.

        Raises
        ------
        UnsupportedModelError
            If the graph has what weighted pebbling has not.
        ResourceLimitError
            If ``exact`` meets more than ``max_lower_sets``.
        """
        pebbling = as_pebbling(model, self)
        if pebbling.base > budget:
            return Proposal(scope=Scope.UNRESTRICTED, infeasible=True)
        from ckschedule.solvers.cut_dp.candidates import Candidates
        from ckschedule.solvers.cut_dp.training import turns

        with Deadline(self.time_limit) as deadline:
            found = Candidates(pebbling, budget - pebbling.base, self.work)
            found.offer(list(range(len(pebbling))), retry=False)
            places = [] if found.finished or found.room <= 0 else turns(pebbling)
            for done, turn in enumerate(places, start=1):
                self._try(turn, found, deadline)
                found.improve(deadline)
                if progress is not None:
                    bound = pebbling.base_time
                    progress(Report(done, len(places), found.makespan, bound))
                if deadline.passed or found.finished:
                    break
            return found.proposal(deadline)

    def _try(self, turn: int, found: Candidates, deadline: Deadline) -> None:
        from ckschedule.solvers.cut_dp.training import Anchoring, training
        from ckschedule.solvers.lower_sets.emission import blocks, emit

        for sequence in self._sequences(found.pebbling, turn, deadline):
            unit = blocks(sequence, turn)
            for anchoring in Anchoring:
                reading = training(found.pebbling, turn, unit, anchoring)
                for hold_late in (True, False):
                    found.offer(emit(reading, hold_late=hold_late))
                    if deadline.passed or found.finished:
                        return

    def _sequences(
        self, pebbling: Pebbling, turn: int, deadline: Deadline
    ) -> Iterator[tuple[LowerSet, ...]]:
        """Yield distinct sequences of the model, for budgets from large to small."""
        from ckschedule.solvers.lower_sets.model import (
            ancestor_closures,
            canonical_cost,
            lower_sets,
        )
        from ckschedule.solvers.lower_sets.search import lower_set_dp

        graph = _forward(pebbling, turn)
        if self.exact:
            family = lower_sets(graph, limit=self.max_lower_sets)
        else:
            family = ancestor_closures(graph)
        graph = _coarser(
            graph, max(_LEAST_TICKS, min(_TICKS, _WORK // len(family) ** 2))
        )
        over = np.zeros(1, np.int64)
        seen = set()
        budget = 2 * sum(graph.memory) + max(graph.ahead(lower) for lower in family)
        for _ in range(self.tries):
            table = deadline.run(
                partial(lower_set_dp, graph, budget, family, over=over),
                lambda: over.fill(1),
            )
            overheads = table.overheads
            if deadline.passed or not overheads:
                return
            quick = table.sequence(overheads[0])
            for sequence in (quick, table.sequence(overheads[-1])):
                if sequence not in seen:
                    seen.add(sequence)
                    yield sequence
            _, peak = canonical_cost(graph, quick)
            budget = min(peak - 1, budget - budget // 8)


def _forward(pebbling: Pebbling, turn: int) -> ForwardGraph:
    from ckschedule.solvers.lower_sets.model import ForwardGraph

    return ForwardGraph(
        predecessors=tuple(tuple(row) for row in pebbling.predecessors[:turn]),
        memory=tuple(pebbling.size[:turn].tolist()),
        time=tuple(pebbling.time[:turn].tolist()),
    )


def _coarser(graph: ForwardGraph, most: int) -> ForwardGraph:
    """Return the graph with times rounded so that they add up to about ``most``."""
    total = sum(graph.time)
    if total <= most:
        return graph
    return replace(graph, time=tuple(t * most // total for t in graph.time))
