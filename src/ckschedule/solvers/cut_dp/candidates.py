"""Candidate sequences, repaired, improved and measured; the fastest that fits wins."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Final

import numpy as np

from ckschedule.costs.encoding import Ints
from ckschedule.result import Scope
from ckschedule.schedule import from_codes
from ckschedule.solvers.base import Proposal
from ckschedule.solvers.completion import complete
from ckschedule.solvers.cut_dp import sequences
from ckschedule.solvers.deadline import Deadline
from ckschedule.solvers.pebbling import Pebbling

BASE_TIME: Final = "every node runs once"
"""Where the lower bound of what only finds schedules comes from."""

_RUN: Final = 3
"""Repetitions that follow each other and are taken out together, at most."""

_GROUPS: Final = 5000
"""Groups of repetitions that are tried to be taken out together, at most."""


@dataclass(slots=True)
class Candidates:
    """The fastest sequence so far that keeps a budget, and what may become faster.

    Attributes
    ----------
    pebbling
        The graph.
    room
        Bytes of the budget beside what lies there throughout.
    work
        Steps of sequences that improving them may look at, at each call.
    sequence, makespan
        Nodes in running order, and their ticks; None before there is one.
    """

    pebbling: Pebbling
    room: int
    work: int
    sequence: Ints | None = None
    makespan: int | None = None
    _waiting: list[tuple[int, int, Ints]] = field(default_factory=list)
    _known: set[bytes] = field(default_factory=set)

    def offer(self, sequence: list[int], *, retry: bool = True) -> None:
        """Take a legal sequence: at once if it fits and is the fastest.

        Parameters
        ----------
        sequence
            Nodes in running order.
        retry
            Whether `improve` shall look at it.
        """
        graph = self.pebbling
        row = np.array(sequence, np.int64)
        seen = np.zeros(len(graph), np.int64)
        steps = sequences.prune(row, len(row), self._graph, seen)
        nodes = row[:steps].copy()
        _, excess, _ = sequences.profile(
            nodes,
            steps,
            self.room,
            self._graph,
            np.empty(steps, np.int64),
            np.empty(len(graph), np.bool_),
        )
        if excess == 0:
            self._take(nodes)
        key = nodes.tobytes()
        if retry and key not in self._known:
            self._known.add(key)
            ticks = int(graph.time[nodes].sum())
            self._waiting.append((int(excess), ticks, nodes))

    def improve(self, deadline: Deadline, *, share: int = 1) -> None:
        """Repair and improve what was offered since: what fits first, fast first.

        Parameters
        ----------
        deadline
            When to end.
        share
            What part of `work` may be used: one ``share``-th.
        """
        chosen = sorted(self._waiting, key=lambda entry: entry[:2])
        self._waiting.clear()
        work = np.array([self.work // share, 0], np.int64)

        def run() -> None:
            for _, _, nodes in chosen:
                if sequences.over(work) or self.finished:
                    return
                self._improve(nodes, work, deep=False)

        self._within(deadline, run, work)

    def polish(self, deadline: Deadline) -> None:
        """Improve the best further, trying more.

        Repairs begin with anything; and any two or three repetitions are taken out
        together, if there are few of them.
        """
        work = np.array([self.work, 0], np.int64)

        def run() -> None:
            before = None
            while self.sequence is not before and self.sequence is not None:
                before = self.sequence
                if not self.finished:
                    self._improve(before, work, deep=True)
                    self._regroup(work)

        self._within(deadline, run, work)

    def _regroup(self, work: Ints) -> None:
        assert self.sequence is not None, "only a sequence is improved"
        nodes = self.sequence
        again = np.ones(len(nodes), np.bool_)
        again[np.unique(nodes, return_index=True)[1]] = False
        for count in (2, 3):
            if comb(int(again.sum()), count) > _GROUPS:
                return
            for group in combinations(np.flatnonzero(again).tolist(), count):
                if sequences.over(work):
                    return
                self._improve(np.delete(nodes, group), work, deep=False)
                if self.sequence is not nodes:
                    return

    def _within(self, deadline: Deadline, run: Callable[[], None], work: Ints) -> None:
        if not deadline.passed:
            deadline.run(run, lambda: work.__setitem__(1, 1))

    def _improve(self, nodes: Ints, work: Ints, *, deep: bool) -> None:
        graph = self.pebbling
        row = np.empty(2 * len(nodes) + 4 * sequences.CHAIN, np.int64)
        row[: len(nodes)] = nodes
        limit = sequences.FAR if self.makespan is None else self.makespan
        limit -= int(graph.time[nodes].sum())
        rules = (work, self._graph, graph.once)
        steps, _, fits = sequences.repair(row, len(nodes), self.room, limit, *rules)
        if fits:
            steps = sequences.improve(row, steps, self.room, _RUN, deep, *rules)
            self._take(row[:steps].copy())

    def _take(self, nodes: Ints) -> None:
        ticks = int(self.pebbling.time[nodes].sum())
        if self.makespan is None or ticks < self.makespan:
            self.sequence, self.makespan = nodes, ticks

    @property
    def _graph(self) -> tuple[Ints, ...]:
        graph = self.pebbling
        return (
            graph.time,
            graph.size,
            graph.extra,
            graph.stays,
            graph.before_start,
            graph.before,
        )

    @property
    def finished(self) -> bool:
        """Whether nothing can be faster."""
        return self.makespan == self.pebbling.base_time

    def proposal(self, deadline: Deadline) -> Proposal:
        """Return the best as a proposal; its bound is the time of every node once."""
        schedule = None
        if self.sequence is not None:
            encoding = self.pebbling.encoding
            codes = complete(encoding, self.pebbling.mode[self.sequence])
            schedule = from_codes(codes, encoding)
        return Proposal(
            scope=Scope.UNRESTRICTED,
            schedule=schedule,
            makespan=self.makespan,
            lower_bound=self.pebbling.base_time,
            stop=deadline.stop,
            bound_source=BASE_TIME,
        )
