"""The solver: several readings of a graph, memories around the budget, the best."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

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
    from ckschedule.solvers.cut_dp.training import Anchoring, Training

_HEADROOM: Final = 8
"""Tables reach an eighth beyond the budget: their memory is an estimate."""

_LEAST: Final = (("units", 2), ("slots", 1), ("tries", 1), ("work", 0))
"""Settings that are counts, and the least that each can be."""

_WORK: Final = 500_000_000
"""Choices times memories that one table may have; slots become fewer to keep it."""

_FEWEST_SLOTS: Final = 50
"""Slots that a table has whatever the work."""

_MOST_ALIKE: Final = 2000
"""Units that a forward part of few kinds of nodes may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutDP(AbstractSolver):
    """Good schedules of training graphs, by dynamic programming over cuts.

    Made for graphs whose first nodes are a forward part and whose others are its
    backward part. It finds the optimum of a path and its backward, which is binomial
    checkpointing; on other graphs it only finds schedules, without saying how good they
    are. Backward nodes are not computed again by its plan, but may be by what improves
    it.

    Attributes
    ----------
    units
        Most units that the forward part is divided into, at least 2; a graph with more
        forward nodes has several in each, unless they are much alike.
    slots
        Most multiples that memory is counted in, at least 1; fewer for many units.
    tries
        Memories around the budget that are tried in each reading of the graph, at
        least 1.
    work
        Steps of sequences that improving them may look at for each reading, zero or
        more; 0 leaves them as they are.
    time_limit
        Seconds. The answer depends on it only if it passes.

    Raises
    ------
    InvalidSettingError
        If a setting is no number, or below the least that means something.

    Notes
    -----
    Readings are places where the graph may turn, two ways of falling anchors, and
    whether values that are read out of turn are kept until then. Each takes
    O(units^3 slots / 6), and O(work) to improve. See `ckschedule.solvers.cut_dp`.

    Examples
    --------
    >>> import ckschedule as ck
    >>> from ckschedule.solvers.cut_dp import CutDP
    >>> def node(name, *needs):
    ...     mode = ck.Mode(name="run", time=1, outputs=(name,), needs=needs)
    ...     return ck.Node(name=name, modes=(mode,))
    >>> nodes = [node("f1"), node("f2", "f1"), node("f3", "f2"), node("loss", "f3")]
    >>> nodes += [node("b3", "loss", "f3"), node("b2", "b3", "f2")]
    >>> nodes += [node("b1", "b2", "f1")]
    >>> values = [ck.Value(name=node.name, size=1) for node in nodes]
    >>> graph = ck.Graph(
    ...     values=values, nodes=nodes, targets=("b1",), time_unit="step"
    ... )
    >>> [ck.solve(graph, budget, CutDP()).makespan for budget in (3, 4, 5)]
    [10, 8, 7]
    """

    units: int = 350
    slots: int = 2000
    tries: int = 40
    work: int = 100_000_000
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        for name, least in _LEAST:
            number = as_setting(getattr(self, name), f"CutDP: {name}", least=least)
            object.__setattr__(self, name, number)
        limit = as_real_setting(self.time_limit, "CutDP: time_limit")
        object.__setattr__(self, "time_limit", limit)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the fastest schedule found; every node runs once if that fits.

        Raises
        ------
        UnsupportedModelError
            If the graph has what weighted pebbling has not.
        """
        pebbling = as_pebbling(model, self)
        if pebbling.base > budget:
            return Proposal(scope=Scope.UNRESTRICTED, infeasible=True)
        from ckschedule.solvers.cut_dp.candidates import Candidates

        with Deadline(self.time_limit) as deadline:
            found = Candidates(pebbling, budget - pebbling.base, self.work)
            found.offer(list(range(len(pebbling))))
            if found.room > 0 and not found.finished:
                # So that there is an answer soon, if repairs alone find one.
                found.improve(deadline, share=10)
                self._search(found, deadline, progress)
                found.polish(deadline)
            return found.proposal(deadline)

    def _search(
        self, found: Candidates, deadline: Deadline, progress: Progress | None
    ) -> None:
        readings = self._readings(found.pebbling)
        for done, (reading, hold_late) in enumerate(readings):
            if deadline.passed or found.finished:
                break
            self._try(reading, found, deadline, hold_late=hold_late)
            if progress is not None:
                report = Report(
                    done + 1, len(readings), found.makespan, found.pebbling.base_time
                )
                progress(report)

    def _readings(self, pebbling: Pebbling) -> list[tuple[Training, bool]]:
        """Return distinct readings, each with whether late values are kept."""
        from ckschedule.solvers.cut_dp.training import Anchoring, turns

        readings: dict[tuple[int, bytes], Training] = {}
        for turn, anchoring in product(turns(pebbling), Anchoring):
            reading = self._reading(pebbling, turn, anchoring)
            readings.setdefault((turn, reading.anchor.tobytes()), reading)
        return [
            (reading, hold_late)
            for reading in readings.values()
            for hold_late in ((True, False) if (reading.late >= 0).any() else (True,))
        ]

    def _reading(self, pebbling: Pebbling, turn: int, anchoring: Anchoring) -> Training:
        """Return a reading with a node a unit if those are few, or much alike."""
        from ckschedule.solvers.cut_dp.costs import cut_costs
        from ckschedule.solvers.cut_dp.tables import repeats
        from ckschedule.solvers.cut_dp.training import runs, training

        if self.units < turn <= _MOST_ALIKE:
            single = training(pebbling, turn, runs(pebbling, turn, turn), anchoring)
            whole = int(pebbling.size.sum())
            if repeats(cut_costs(single, whole, slots=whole, hold_late=True)):
                return single
        return training(pebbling, turn, runs(pebbling, turn, self.units), anchoring)

    def _try(
        self,
        reading: Training,
        found: Candidates,
        deadline: Deadline,
        *,
        hold_late: bool,
    ) -> None:
        """Offer what the tables of one reading propose around the budget."""
        from ckschedule.solvers.cut_dp.costs import cut_costs
        from ckschedule.solvers.cut_dp.emission import emit
        from ckschedule.solvers.cut_dp.tables import pair_classes, solve_tables

        room = found.room + found.room // _HEADROOM
        slots = self.slots
        while True:
            costs = cut_costs(reading, room, slots=slots, hold_late=hold_late)
            classes = pair_classes(costs)
            work = classes.choices * costs.most
            if work <= _WORK or slots <= _FEWEST_SLOTS:
                break
            slots = max(_FEWEST_SLOTS, min(slots // 2, slots * _WORK // work))
        tables = solve_tables(costs, classes, lambda: deadline.passed)
        if tables is None:
            return
        goal = found.room // costs.grain
        memories = sorted(tables.breakpoints(), key=lambda m: abs(m - goal))
        for memory in memories[: self.tries]:
            if deadline.passed:
                break
            for keeps in {hold_late, True}:
                found.offer(emit(tables, memory, hold_late=keeps))
        found.improve(deadline)
