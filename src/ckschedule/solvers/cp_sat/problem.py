"""What is to be scheduled, in the terms of the model: steps, actions and values.

A `Graph` may say more than its solution needs to know. Here inputs that stay have
become a smaller capacity, nodes from which no target can be reached are gone, and bytes
and ticks are divided by their greatest common divisors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import TYPE_CHECKING, Final

from ckschedule.costs.encoding import as_lists

if TYPE_CHECKING:
    from ckschedule.costs.encoding import Encoding

LARGEST: Final = 2**40
"""Sum of all bytes, divided by their gcd, up to which CP-SAT's products fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One mode of a step.

    Attributes
    ----------
    mode
        Index in the graph's encoding.
    time
        Ticks, as in the graph.
    extra
        Bytes above all values that live while it runs, outputs included and consumed
        values not.
    needs, consumes, outputs
        Values; inputs that stay are left out.
    """

    mode: int
    time: int
    extra: int
    needs: tuple[int, ...]
    consumes: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A node; steps stand in the graph's order.

    Attributes
    ----------
    actions
        At least one.
    once
        Whether it must not run again.
    must
        Whether every schedule runs it.
    sole
        The value that is all it ever yields, if nothing else yields it and it is no
        input; else None. Running such a step while that value lives is pointless.
    """

    actions: tuple[Action, ...]
    once: bool
    must: bool
    sole: int | None

    @property
    def least(self) -> int:
        """Ticks of the fastest action."""
        return min(action.time for action in self.actions)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Steps, values and the room that they have.

    Attributes
    ----------
    encoding
        Of the graph.
    steps
        In the graph's order.
    size
        Bytes of each value of the graph, by its index.
    holds
        Values that cannot be freed while the key lives.
    kept
        Values that stay once produced.
    targets
        Values that some step has to yield.
    inputs
        Values that live at the start and may be freed.
    capacity
        Bytes for values and extras.
    exact
        Whether bytes are exact; else they were rounded up, and a proof that nothing is
        faster would be none.
    """

    encoding: Encoding
    steps: tuple[Step, ...]
    size: tuple[int, ...]
    holds: dict[int, tuple[int, ...]]
    kept: frozenset[int]
    targets: frozenset[int]
    inputs: tuple[int, ...]
    capacity: int
    exact: bool

    def __len__(self) -> int:
        return len(self.steps)

    @cached_property
    def floor(self) -> int:
        """Ticks that every schedule takes: the necessary steps once, at their best."""
        return sum(step.least for step in self.steps if step.must)

    @cached_property
    def users(self) -> dict[int, tuple[int, ...]]:
        """Steps that may need each value."""
        table: dict[int, dict[int, None]] = {}
        for k, step in enumerate(self.steps):
            for action in step.actions:
                for v in action.needs:
                    table.setdefault(v, {})[k] = None
        return {v: tuple(steps) for v, steps in table.items()}

    @cached_property
    def yields(self) -> tuple[tuple[int, ...], ...]:
        """Values that each step may yield."""
        return tuple(
            tuple(dict.fromkeys(v for a in step.actions for v in a.outputs))
            for step in self.steps
        )

    @cached_property
    def consumed(self) -> frozenset[int]:
        """Values that some action consumes."""
        return frozenset(
            v for step in self.steps for a in step.actions for v in a.consumes
        )

    @cached_property
    def droppable(self) -> frozenset[int]:
        """Values whose copies must not overlap, but may be yielded while they live.

        A consumed or kept value is there once. Where it comes along with another one, a
        second copy may have to be dropped.
        """
        single = self.consumed | self.kept
        return frozenset(
            v
            for step in self.steps
            for action in step.actions
            if len(action.outputs) > 1
            for v in action.outputs
            if v in single
        )

    @cached_property
    def step_of(self) -> dict[int, int]:
        """The step of each mode of the encoding that is an action."""
        return {a.mode: k for k, step in enumerate(self.steps) for a in step.actions}

    @cached_property
    def plain(self) -> bool:
        """Whether it is weighted pebbling: one action a step, with a value of its own.

        Steps then stand behind those that yield their needs.
        """
        done: set[int] = set()
        for step in self.steps:
            (first, *others) = step.actions
            if others or first.consumes or step.sole is None or not step.must:
                return False
            if not done.issuperset(first.needs):
                return False
            done.add(step.sole)
        return not self.holds and not self.inputs


def problem_of(encoding: Encoding, budget: int) -> Problem | None:
    """Return what is to be scheduled within a budget.

    Parameters
    ----------
    encoding
        Of any graph.
    budget
        Bytes, static bytes included.

    Returns
    -------
    Problem or None
        None if no schedule of any length can exist: the inputs pass the budget, or a
        target is yielded by no node that may run.
    """
    size = encoding.size.tolist()
    live = encoding.live.tolist()
    pinned = encoding.pinned.tolist()
    room = budget - encoding.graph.static.total
    if sum(b for b, there in zip(size, live, strict=True) if there) > room:
        return None
    given = {v for v, there in enumerate(live) if there}
    fixed = {v for v in given if pinned[v]}
    rows = _possible(_actions(encoding, fixed), given - fixed)
    targets = {v for v, wanted in enumerate(encoding.target.tolist()) if wanted} - given
    holds = {
        v: tuple(h for h in held if h not in fixed)
        for v, held in enumerate(as_lists(encoding.held_start, encoding.held))
    }
    wanted = _relevant(rows, targets, holds)
    rows = [[a for a in row if not wanted.isdisjoint(a.outputs)] for row in rows]
    used = [k for k, row in enumerate(rows) if row]
    producers: dict[int, set[int]] = {v: set() for v in wanted}
    for k in used:
        for action in rows[k]:
            for v in action.outputs:
                producers.setdefault(v, set()).add(k)
    if any(not producers[v] for v in targets):
        return None
    free = given - fixed
    must = _necessary(rows, targets, producers, free)
    steps = tuple(
        Step(
            actions=tuple(rows[k]),
            once=bool(encoding.once[k]),
            must=k in must,
            sole=_sole(rows[k], producers, free),
        )
        for k in used
    )
    kept = frozenset(v for v in producers if pinned[v])
    inputs = tuple(sorted(v for v in free if v in wanted))
    capacity = room - sum(size[v] for v in fixed)
    known = {*producers, *inputs}
    return _scaled(
        Problem(
            encoding=encoding,
            steps=steps,
            size=tuple(b if v in known else 0 for v, b in enumerate(size)),
            holds={v: held for v, held in holds.items() if held and v in known},
            kept=kept,
            targets=frozenset(targets),
            inputs=inputs,
            capacity=capacity,
            exact=True,
        )
    )


def _actions(encoding: Encoding, fixed: set[int]) -> list[list[Action]]:
    """Return the modes of each node that may ever run."""
    needs = as_lists(encoding.needs_start, encoding.needs)
    outputs = as_lists(encoding.outputs_start, encoding.outputs)
    consumes = as_lists(encoding.consumes_start, encoding.consumes)
    size = encoding.size.tolist()
    rows: list[list[Action]] = [[] for _ in encoding.graph.nodes]
    for mode, node in enumerate(encoding.node.tolist()):
        if any(encoding.pinned[v] for v in consumes[mode]):
            continue
        fresh = tuple(v for v in outputs[mode] if v not in fixed)
        extra = int(encoding.transient[mode]) - sum(size[v] for v in fresh)
        rows[node].append(
            Action(
                mode=mode,
                time=int(encoding.time[mode]),
                extra=extra + sum(size[v] for v in consumes[mode]),
                needs=tuple(v for v in needs[mode] if v not in fixed),
                consumes=tuple(consumes[mode]),
                outputs=fresh,
            )
        )
    return rows


def _possible(rows: list[list[Action]], given: set[int]) -> list[list[Action]]:
    """Return the actions whose needs can be yielded at all, circles left out."""
    there = set(given)
    waiting = [(k, action) for k, row in enumerate(rows) for action in row]
    found: list[list[Action]] = [[] for _ in rows]
    ready = waiting
    while ready:
        ready = [(k, a) for k, a in waiting if there.issuperset(a.needs)]
        waiting = [(k, a) for k, a in waiting if not there.issuperset(a.needs)]
        for k, action in ready:
            found[k].append(action)
            there.update(action.outputs)
    return found


def _relevant(
    rows: list[list[Action]], targets: set[int], holds: dict[int, tuple[int, ...]]
) -> set[int]:
    """Return the values from which a target can be reached."""
    by_output: dict[int, list[Action]] = {}
    for row in rows:
        for action in row:
            for v in action.outputs:
                by_output.setdefault(v, []).append(action)
    wanted = set(targets)
    stack = list(targets)
    while stack:
        v = stack.pop()
        near = [*holds[v], *(u for a in by_output.get(v, ()) for u in a.needs)]
        for u in near:
            if u not in wanted:
                wanted.add(u)
                stack.append(u)
    return wanted


def _necessary(
    rows: list[list[Action]],
    targets: set[int],
    producers: dict[int, set[int]],
    free: set[int],
) -> set[int]:
    """Return nodes that every schedule runs: sole producers of what it cannot miss."""
    must: set[int] = set()
    stack = list(targets)
    seen = set(stack)
    while stack:
        v = stack.pop()
        makers = producers.get(v, set())
        if v in free or len(makers) != 1:
            continue
        (k,) = makers
        if k in must:
            continue
        must.add(k)
        for u in set.intersection(*({*action.needs} for action in rows[k])):
            if u not in seen:
                seen.add(u)
                stack.append(u)
    return must


def _sole(
    row: list[Action], producers: dict[int, set[int]], free: set[int]
) -> int | None:
    values = {v for action in row for v in action.outputs}
    if len(values) != 1:
        return None
    (v,) = values
    return v if len(producers[v]) == 1 and v not in free else None


def _scaled(problem: Problem) -> Problem:
    """Divide bytes by their gcd, and round them where they would still be too many."""
    extras = [a.extra for step in problem.steps for a in step.actions]
    unit = gcd(*problem.size, *extras) or 1
    total = (sum(problem.size) + max(extras, default=0)) // unit
    exact = total <= LARGEST
    if not exact:
        unit *= -(-total // LARGEST)

    def up(number: int) -> int:
        return -(-number // unit)

    steps = tuple(
        replace(
            step, actions=tuple(replace(a, extra=up(a.extra)) for a in step.actions)
        )
        for step in problem.steps
    )
    return replace(
        problem,
        steps=steps,
        size=tuple(up(b) for b in problem.size),
        capacity=problem.capacity // unit,
        exact=exact,
    )
