"""What every schedule must run, and the bytes that it must hold, whatever its order.

A value is yielded by one of several modes, and a mode needs all of its inputs. What is
necessary for a value is therefore what is necessary for each of its modes; what is
necessary for a mode is what it needs itself, and what is necessary for any of its
needs. A value is said to need nothing until all of its modes have been looked at, so
that circles do no harm: what they hide is merely not found.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from ckschedule.costs.encoding import Encoding, Ints, as_lists

_CELLS: Final = 1 << 23
"""Table entries that are computed at once: 64 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Bytes without which no schedule produces all targets, static ones left out.

    Attributes
    ----------
    size
        Bytes.
    source
        The moment that needs them, in words.
    """

    size: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Necessities:
    """A graph's modes in an order in which producers come first.

    Attributes
    ----------
    encoding
        Of the graph.
    needs, outputs
        Values of each mode.
    sequence
        Modes, those of producers before those of readers where there is no circle.
    level
        Bytes that live while each mode runs, at least, static ones left out.
    """

    encoding: Encoding
    needs: list[list[int]]
    outputs: list[list[int]]
    sequence: list[int]
    level: list[int]

    def demand(self) -> Demand:
        """Return bytes that no schedule of any order does without.

        Notes
        -----
        The inputs live at the start. On the way to a target some mode for each value
        runs: ``d(mode) = max(level, max over needs d(v))``, ``d(v) = min over its modes
        d(mode)``. And of several kept values one is the last to be produced, when the
        others live already.
        """
        encoding = self.encoding
        size = encoding.size
        best = Demand(size=int(size[encoding.live > 0].sum()), source="its inputs")
        reach = self._reach()
        names = encoding.modes
        for v in np.flatnonzero(encoding.target).tolist():
            mode = reach[v]
            if mode >= 0 and self.level[mode] > best.size:
                best = Demand(size=self.level[mode], source=f"node {names[mode][0]!r}")
        return self._last_kept(best)

    def time(self, room: int) -> int:
        """Return the ticks of what must run, each node once.

        Parameters
        ----------
        room
            Bytes beside the static ones: modes that need more cannot run.

        Notes
        -----
        For each node that must run, the fastest mode that could do what must be done.
        In vectors over the nodes: ``w(mode) = max(its time at its node, max over needs
        w(v))`` and ``w(v) = min over its modes w(mode)``. O(n m) in nodes and needs.
        """
        encoding = self.encoding
        n_nodes = len(encoding.once)
        targets = np.flatnonzero((encoding.target > 0) & (encoding.live == 0))
        if not len(targets):
            return 0
        width = max(1, _CELLS // len(encoding.size))
        return sum(
            int(
                self._times(room, first, min(width, n_nodes - first))[targets]
                .max(axis=0)
                .sum()
            )
            for first in range(0, n_nodes, width)
        )

    def _times(self, room: int, first: int, width: int) -> Ints:
        """Return w(v) for ``width`` nodes from ``first`` on, as rows."""
        table = np.zeros((len(self.encoding.size), width), np.int64)
        node, time = self.encoding.node.tolist(), self.encoding.time.tolist()
        waiting = self._waiting()
        met = [False] * len(waiting)
        for mode in self.sequence:
            rows = [v for v in self.needs[mode] if waiting[v] == 0]
            row = table[rows].max(axis=0) if rows else np.zeros(width, np.int64)
            at = node[mode] - first
            if 0 <= at < width:
                row[at] = max(row[at], time[mode])
            for v in self.outputs[mode]:
                if waiting[v]:
                    waiting[v] -= 1
                    if self.level[mode] <= room:
                        table[v] = np.minimum(table[v], row) if met[v] else row
                        met[v] = True
        return table

    def _reach(self) -> list[int]:
        """Return, by value, the mode of the highest level that it needs; -1: none."""
        waiting = self._waiting()
        best = [-1] * len(waiting)
        level = [*self.level, -1]
        for mode in self.sequence:
            known = [best[v] for v in self.needs[mode] if waiting[v] == 0]
            worst = max([mode, *known], key=level.__getitem__)
            for v in self.outputs[mode]:
                if waiting[v]:
                    waiting[v] -= 1
                    if best[v] < 0 or level[worst] < level[best[v]]:
                        best[v] = worst
        for v, count in enumerate(waiting):
            if count:
                best[v] = -1
        return best

    def _last_kept(self, best: Demand) -> Demand:
        encoding = self.encoding
        size = encoding.size
        wanted = (encoding.pinned > 0) & (encoding.target > 0) & (encoding.live == 0)
        inputs = (encoding.pinned > 0) & (encoding.live > 0)
        sure = int(size[wanted | inputs].sum())
        lowest: int | None = None
        for mode, outputs in enumerate(self.outputs):
            last = [v for v in outputs if wanted[v]]
            if last:
                others = [
                    v for v in self.needs[mode] if not wanted[v] and not inputs[v]
                ]
                level = (
                    sure
                    - int(size[last].sum())
                    + int(size[others].sum())
                    + int(encoding.transient[mode])
                )
                lowest = level if lowest is None else min(lowest, level)
        if lowest is not None and lowest > best.size:
            return Demand(size=lowest, source="the last of its kept values")
        return best

    def _waiting(self) -> list[int]:
        """Return how many modes each value waits for; what is given needs none."""
        return _producers(self.encoding, self.outputs)


def necessities(encoding: Encoding) -> Necessities:
    """Return the necessities of a graph; linear but for the kept values."""
    needs = as_lists(encoding.needs_start, encoding.needs)
    outputs = as_lists(encoding.outputs_start, encoding.outputs)
    sequence = _sequence(encoding, needs, outputs)
    return Necessities(
        encoding=encoding,
        needs=needs,
        outputs=outputs,
        sequence=sequence,
        level=_levels(encoding, needs, outputs, sequence),
    )


def _levels(
    encoding: Encoding,
    needs: list[list[int]],
    outputs: list[list[int]],
    sequence: list[int],
) -> list[int]:
    """Return the bytes that live while each mode runs, at least.

    Its needs and what they hold; inputs that stay; kept values that must have been
    produced before its needs could be.
    """
    size = encoding.size.tolist()
    transient = encoding.transient.tolist()
    holds = as_lists(encoding.held_start, encoding.held)
    stays = (encoding.pinned > 0).tolist()
    given = (encoding.live > 0).tolist()
    always = {v for v, pinned in enumerate(stays) if pinned and given[v]}
    always_size = sum(size[v] for v in always)
    waiting = _producers(encoding, outputs)
    # Bit masks: kept values that have been produced once this value has been.
    before: list[int | None] = [0 if count == 0 else None for count in waiting]
    level = [0] * len(needs)
    for mode in sequence:
        known = 0
        for v in needs[mode]:
            if waiting[v] == 0:
                known |= before[v] or 0
        live = {*needs[mode], *_bits(known)}
        stack = list(live)
        while stack:
            for held in holds[stack.pop()]:
                if held not in live:
                    live.add(held)
                    stack.append(held)
        level[mode] = (
            always_size
            + sum(size[v] for v in live if v not in always)
            + transient[mode]
        )
        for v in outputs[mode]:
            if stays[v] and not given[v]:
                known |= 1 << v
        for v in outputs[mode]:
            if waiting[v]:
                waiting[v] -= 1
                seen = before[v]
                before[v] = known if seen is None else seen & known
    return level


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _sequence(
    encoding: Encoding, needs: list[list[int]], outputs: list[list[int]]
) -> list[int]:
    """Return all modes, each after those that yield what it needs, where possible."""
    waiting = _producers(encoding, outputs)
    readers: list[list[int]] = [[] for _ in waiting]
    missing = [0] * len(needs)
    for mode, row in enumerate(needs):
        for v in row:
            if waiting[v]:
                readers[v].append(mode)
                missing[mode] += 1
    ready = [mode for mode, count in enumerate(missing) if count == 0]
    for mode in ready:
        for v in outputs[mode]:
            if waiting[v]:
                waiting[v] -= 1
                if waiting[v] == 0:
                    for reader in readers[v]:
                        missing[reader] -= 1
                        if missing[reader] == 0:
                            ready.append(reader)
    placed = set(ready)
    return [*ready, *(mode for mode in range(len(needs)) if mode not in placed)]


def _producers(encoding: Encoding, outputs: list[list[int]]) -> list[int]:
    counts = np.zeros(len(encoding.size), np.int64)
    for row in outputs:
        counts[row] += 1
    counts[encoding.live > 0] = 0
    return [int(count) for count in counts]
