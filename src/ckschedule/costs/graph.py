"""Graphs: what every schedule, peak and makespan refers to.

A graph has *values* with a size in bytes, and *nodes* that produce them in one of
several *modes*. It covers forward and backward passes alike.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from ckschedule.costs.checks import (
    as_count,
    as_flag,
    as_name,
    as_names,
    check_time_unit,
    check_total,
    check_unique,
)
from ckschedule.costs.static import StaticMemory
from ckschedule.errors import InvalidModelError
from ckschedule.units import TimeUnit, format_bytes, format_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A tensor, or several that live and die together.

    Attributes
    ----------
    name
        Unique among the graph's values.
    size
        Bytes, zero or more.
    holds
        Values that cannot be freed while this one lives, as a stage's saved tensors
        hold the stage's input.
    """

    name: str
    size: int
    holds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        as_name(self.name, "value name")
        size = as_count(self.size, f"value {self.name!r}: size")
        object.__setattr__(self, "size", size)
        holds = as_names(self.holds, f"value {self.name!r}: holds")
        object.__setattr__(self, "holds", holds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One way to run a node.

    Attributes
    ----------
    name
        Unique within the node.
    time
        Ticks, zero or more.
    outputs
        Values that live afterwards.
    needs
        Values that must live when it starts.
    consumes
        Needed values that are gone when it ends.
    transient
        Bytes: the most by which live bytes exceed the level before the node while it
        runs, its outputs included. None means the sum of the outputs.
    """

    name: str
    time: int
    outputs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    consumes: tuple[str, ...] = ()
    transient: int | None = None

    def __post_init__(self) -> None:
        as_name(self.name, "mode name")
        time = as_count(self.time, f"mode {self.name!r}: time")
        object.__setattr__(self, "time", time)
        for part in ("outputs", "needs", "consumes"):
            names = as_names(getattr(self, part), f"mode {self.name!r}: {part}")
            check_unique(names, f"mode {self.name!r}: {part} entry")
            object.__setattr__(self, part, names)
        if self.transient is not None:
            transient = as_count(self.transient, f"mode {self.name!r}: transient")
            object.__setattr__(self, "transient", transient)
        for name in self.consumes:
            if name not in self.needs:
                raise InvalidModelError(
                    f"mode {self.name!r} consumes {name!r} without needing it; add it "
                    f"to needs"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A computation.

    Attributes
    ----------
    name
        Unique among the graph's nodes.
    modes
        At least one.
    recomputable
        False for data sources and for backward nodes, which accumulate gradients.
    """

    name: str
    modes: tuple[Mode, ...]
    recomputable: bool = True

    def __post_init__(self) -> None:
        as_name(self.name, "node name")
        as_flag(self.recomputable, f"node {self.name!r}: recomputable")
        object.__setattr__(self, "modes", tuple(self.modes))
        if not self.modes:
            raise InvalidModelError(
                f"node {self.name!r} has no mode; give at least one"
            )
        check_unique((mode.name for mode in self.modes), f"node {self.name!r}: mode")


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Values and the nodes that compute them, validated once.

    Attributes
    ----------
    values, nodes
        In any order; names are unique within each.
    inputs
        Values that live at the start.
    unpinned
        Inputs that may be freed; all others stay to the end.
    targets
        Values that must have been produced at some time before the end.
    kept
        Values that stay to the end once produced, such as parameter gradients.
    static
        Bytes that lie there throughout.
    reference_time
        Ticks that overheads are measured against, where that is not the time of
        computing every node once in its fastest mode, as in the graph of a chain whose
        plain forwards are faster than its recorded ones. None means that time, and that
        time becomes None, so that it follows the nodes under `dataclasses.replace`.
    time_unit
        What one tick is.
    name
        For reports.

    Raises
    ------
    InvalidModelError
        For unknown or duplicate names, negative or non-integer numbers, a transient
        below outputs minus consumed bytes, a value that nothing yields, values that
        hold each other in a circle or are born without what they hold, or sums beyond
        ``2**63 - 1``.
    """

    values: tuple[Value, ...]
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...] = ()
    unpinned: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    static: StaticMemory = field(default_factory=StaticMemory)
    reference_time: int | None = None
    time_unit: TimeUnit = "ns"
    name: str = "graph"

    def __post_init__(self) -> None:
        as_name(self.name, "graph name")
        for part in ("values", "nodes"):
            object.__setattr__(self, part, tuple(getattr(self, part)))
        for part in ("inputs", "unpinned", "targets", "kept"):
            names = as_names(getattr(self, part), f"graph: {part}")
            object.__setattr__(self, part, names)
        check_time_unit(self.time_unit, "graph: time_unit")
        check_unique((value.name for value in self.values), "value")
        check_unique((node.name for node in self.nodes), "node")
        self._check_references()
        self._check_producers()
        self._check_holds()
        resolved = tuple(
            replace(node, modes=tuple(self._resolve(node, mode) for mode in node.modes))
            for node in self.nodes
        )
        object.__setattr__(self, "nodes", resolved)
        check_total(
            sum(value.size for value in self.values)
            + self.static.total
            + max((m.transient or 0 for n in resolved for m in n.modes), default=0),
            "the sum of all values' bytes and the largest transient",
        )
        # How often a node may run is not known here: the simulator adds up without
        # a limit, and Chain checks its own worst makespan.
        check_total(
            sum(max(mode.time for mode in node.modes) for node in resolved),
            "the time of computing every node once",
        )
        if self.reference_time is not None:
            ticks = as_count(self.reference_time, "graph: reference_time")
            given = None if ticks == self._fastest_time else ticks
            object.__setattr__(self, "reference_time", given)

    def __str__(self) -> str:
        """Return sizes and time in words."""
        size = format_bytes(sum(value.size for value in self.values))
        return (
            f"graph {self.name!r}: {len(self.nodes)} nodes, {len(self.values)} values "
            f"of {size}, {format_bytes(self.static.total)} static; "
            f"{format_time(self.base_time, self.time_unit)}"
        )

    @cached_property
    def value_index(self) -> dict[str, int]:
        """Position of each value by name."""
        return {value.name: i for i, value in enumerate(self.values)}

    @cached_property
    def base_time(self) -> int:
        """Ticks that overheads are measured against: `reference_time`, resolved."""
        if self.reference_time is not None:
            return self.reference_time
        return self._fastest_time

    @cached_property
    def _fastest_time(self) -> int:
        return sum(min(mode.time for mode in node.modes) for node in self.nodes)

    @cached_property
    def producers(self) -> dict[str, tuple[str, ...]]:
        """Names of the nodes that can yield each value."""
        table: dict[str, dict[str, None]] = {value.name: {} for value in self.values}
        for node in self.nodes:
            for mode in node.modes:
                for name in mode.outputs:
                    table[name][node.name] = None
        return {name: tuple(nodes) for name, nodes in table.items()}

    def _check_references(self) -> None:
        known = self.value_index

        def check(names: Iterable[str], where: str) -> None:
            for name in names:
                if name not in known:
                    raise InvalidModelError(
                        f"{where} names the unknown value {name!r}; add it to values"
                    )

        for value in self.values:
            check(value.holds, f"value {value.name!r}: holds")
        for node in self.nodes:
            for mode in node.modes:
                where = f"node {node.name!r}, mode {mode.name!r}:"
                check(mode.outputs, f"{where} outputs")
                check(mode.needs, f"{where} needs")
                self._check_born_holding(where, mode)
                for name in mode.outputs:
                    if name in mode.needs:
                        raise InvalidModelError(
                            f"{where} needs its own output {name!r}"
                        )
        for part in ("inputs", "unpinned", "targets", "kept"):
            check(getattr(self, part), f"graph: {part}")
            check_unique(getattr(self, part), f"graph: {part} entry")
        for name in self.inputs:
            for held in self.values[known[name]].holds:
                if held not in self.inputs:
                    raise InvalidModelError(
                        f"input {name!r} holds {held!r}, which is no input; add it"
                    )
        for name in self.unpinned:
            if name not in self.inputs:
                raise InvalidModelError(f"unpinned value {name!r} is no input")

    def _check_born_holding(self, where: str, mode: Mode) -> None:
        # What is held lives when its holder is born: it could not be held otherwise.
        lives = {*mode.needs, *mode.outputs} - {*mode.consumes}
        for output in mode.outputs:
            for name in self.values[self.value_index[output]].holds:
                if name not in lives:
                    raise InvalidModelError(
                        f"{where} yields {output!r}, which holds {name!r}; add "
                        f"{name!r} to its needs or outputs, and do not consume it"
                    )

    def _check_producers(self) -> None:
        given = set(self.inputs)
        for name, nodes in self.producers.items():
            if not nodes and name not in given:
                raise InvalidModelError(
                    f"value {name!r} is yielded by no node and is no input"
                )

    def _check_holds(self) -> None:
        # A circle of holders could never be freed: peel off values that hold nothing.
        holders: dict[str, list[str]] = {value.name: [] for value in self.values}
        pending = {value.name: len(set(value.holds)) for value in self.values}
        for value in self.values:
            for held in set(value.holds):
                holders[held].append(value.name)
        free = [name for name, count in pending.items() if count == 0]
        peeled = 0
        while free:
            peeled += 1
            for holder in holders[free.pop()]:
                pending[holder] -= 1
                if pending[holder] == 0:
                    free.append(holder)
        if peeled < len(self.values):
            circle = next(name for name, count in pending.items() if count > 0)
            raise InvalidModelError(f"value {circle!r} holds itself through a circle")

    def _resolve(self, node: Node, mode: Mode) -> Mode:
        values, index = self.values, self.value_index
        outputs = sum(values[index[name]].size for name in mode.outputs)
        consumed = sum(values[index[name]].size for name in mode.consumes)
        if mode.transient is None:
            return replace(mode, transient=outputs)
        if mode.transient < outputs - consumed:
            raise InvalidModelError(
                f"node {node.name!r}, mode {mode.name!r}: transient {mode.transient} "
                f"is below outputs minus consumed, {outputs} - {consumed} bytes; "
                f"raise it to at least {outputs - consumed}"
            )
        return mode
