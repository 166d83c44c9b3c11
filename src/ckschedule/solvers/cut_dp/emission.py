"""From choices of cuts to a sequence of computations.

The tables say which values lie there; what a computation needs and does not find is
computed again from what does. Frees are left to `ckschedule.solvers.completion`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from ckschedule.solvers.cut_dp.tables import CutTables
from ckschedule.solvers.cut_dp.training import Training


@dataclass(kw_only=True)
class Computing:
    """A sequence as it is written, and the values that lie there.

    Attributes
    ----------
    training
        The graph.
    hold_late
        Whether a value that is read late is kept once it lies there in the backward
        part.
    sequence
        Nodes in running order, so far.
    live
        Values that can be read.
    """

    training: Training
    hold_late: bool
    sequence: list[int] = field(default_factory=list)
    live: set[int] = field(default_factory=set)
    _awaited: set[int] = field(default_factory=set)

    def forward(self, nodes: Iterable[int]) -> None:
        """Run forward nodes for the first time, in this order."""
        nodes = list(nodes)
        self.sequence += nodes
        self.live.update(nodes)

    def make(self, values: Iterable[int]) -> set[int]:
        """Compute values that do not lie there, and return all that was computed.

        Only ``values`` are taken to lie there afterwards.
        """
        before = self.training.pebbling.predecessors
        values = set(values)
        missing: set[int] = set()
        stack = [v for v in values if v not in self.live]
        while stack:
            v = stack.pop()
            if v not in missing:
                missing.add(v)
                stack += [u for u in before[v] if u not in self.live]
        self.sequence += sorted(missing)
        self.live |= values
        return missing

    def backward(self, nodes: range) -> None:
        """Run backward nodes, each with what it reads."""
        pebbling, turn = self.training.pebbling, self.training.turn
        wanted = {u for w in nodes for u in pebbling.predecessors[w]}
        extra: set[int] = set()
        for w in nodes:
            made = self.make(pebbling.predecessors[w])
            # What was computed on the way may be read by the next one.
            self.live |= made & wanted
            extra |= made & wanted
            self.sequence.append(w)
            self.live.add(w)
            for u in pebbling.predecessors[w]:
                if u in self._awaited and self.training.late[u] == w:
                    self._awaited.discard(u)
                    self.live.discard(u)
        for v in wanted | set(nodes):
            if v >= turn and max(pebbling.successors[v], default=-1) < nodes.stop:
                self.live.discard(v)
        self.drop(extra, reached=nodes.stop)

    def drop(self, values: Iterable[int], *, reached: int) -> None:
        """Let forward values go, but for those that stand or are awaited.

        Parameters
        ----------
        values
            Any; those that do not lie there are ignored.
        reached
            The next backward node; the turn or less while the forward part still runs.
        """
        standing, late = self.training.standing, self.training.late
        for u in values:
            if u not in self.live or standing[u]:
                continue
            if self.hold_late and reached > self.training.turn and late[u] >= reached:
                self._awaited.add(u)
            else:
                self.live.discard(u)


@dataclass(frozen=True, slots=True)
class _Reach:
    """Go on from a cut that is reached for the first time."""

    cut: int
    memory: int


@dataclass(frozen=True, slots=True)
class _Prelude:
    """Run the backward nodes that need no more than a cut."""

    cut: int


@dataclass(frozen=True, slots=True)
class _Between:
    """Do what is left between two cuts, of which the second may go."""

    left: int
    right: int
    memory: int
    interior: bool


_Task = _Reach | _Prelude | _Between


def emit(tables: CutTables, memory: int, *, hold_late: bool) -> list[int]:
    """Return the sequence of nodes that the tables propose within a memory.

    Parameters
    ----------
    tables
        Of the cuts.
    memory
        One of the tables' breakpoints, or more.
    hold_late
        See `Computing`.
    """
    costs = tables.costs
    training = costs.training
    edge = training.edge.tolist()
    computing = Computing(training=training, hold_late=hold_late)
    kept = [frozenset(row.nonzero()[0].tolist()) for row in costs.kept]
    lasting = [frozenset(row.nonzero()[0].tolist()) for row in costs.lasting]
    interior = frozenset(costs.interior.nonzero()[0].tolist())

    def units(first: int, last: int) -> range:
        return range(edge[first - 1], edge[last])

    # Last in, first out.
    tasks: list[_Task] = [_Prelude(0), _Reach(0, memory)]
    while tasks:
        task = tasks.pop()
        match task:
            case _Reach(i, room):
                if i == training.units:
                    continue
                k, stays = divmod(int(tables.choice[i, room]), 2)
                nodes = units(i + 1, k)
                computing.forward(nodes)
                stay = kept[k] | (interior if stays else frozenset())
                computing.drop(set(nodes) - stay, reached=0)
                inside = int(costs.extent[i, k])
                inside += int(costs.interior_size[k]) if stays else 0
                tasks += [
                    _Between(i, k, room, bool(stays)),
                    _Prelude(k),
                    _Reach(k, room - inside),
                ]
            case _Prelude(c):
                nodes = training.backward_of(c)
                computing.backward(nodes[: int(costs.preluded[c])])
            case _Between(i, j, room, stays):
                nodes = training.backward_of(j)
                rest = nodes[int(costs.preluded[j]) :]
                gone = {u for u in kept[j] - lasting[j] if u >= edge[i]}
                computing.drop(gone, reached=rest.start)
                if stays or j == i + 1:
                    if not stays:
                        inner = interior & set(units(j, j))
                        computing.make(inner)
                    computing.backward(rest)
                    computing.drop(units(j, j), reached=rest.stop)
                    continue
                k, records = tables.choose(i, j, room)
                values = {u for u in kept[k] if u >= edge[i]}
                inside = int(costs.extent[i, k])
                if records:
                    values |= interior & set(units(k, k))
                    inside += int(costs.interior_size[k])
                computing.make(values)
                tasks += [
                    _Between(i, k, room, records),
                    _Prelude(k),
                    _Between(k, j, room - inside, False),
                ]
            case _:
                assert_never(task)
    return computing.sequence
