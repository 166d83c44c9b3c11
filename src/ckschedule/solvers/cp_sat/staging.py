"""Schedules as placed computations: from a sequence to stages and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ckschedule.costs.encoding import Ints
from ckschedule.errors import InvalidScheduleError
from ckschedule.simulation import measure
from ckschedule.solvers.completion import complete
from ckschedule.solvers.cp_sat.problem import Problem
from ckschedule.solvers.order import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A computation at its place.

    Attributes
    ----------
    step, copy
        Which computation.
    stage, start
        Where; in a free order both are its position in the sequence.
    mode
        In the graph's encoding.
    """

    step: int
    copy: int
    stage: int
    start: int
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Incumbent:
    """The best schedule so far.

    Attributes
    ----------
    codes
        See `ckschedule.schedule.to_codes`.
    makespan
        Ticks, simulated.
    placed
        Its computations; None if it lies outside the order searched.
    """

    codes: Ints
    makespan: int
    placed: tuple[Placed, ...] | None


def place(problem: Problem, modes: Sequence[int], order: Order) -> list[Placed] | None:
    """Return computations at their places, or None if the order has none for them.

    Parameters
    ----------
    problem
        The steps.
    modes
        Mode indices in running order, of steps only.
    order
        GIVEN: between two first computations, which follow the graph's order, others
        run in that order, each once at most.
    """
    n = len(problem)
    steps = [problem.step_of[mode] for mode in modes]
    copies = [0] * n
    stages = list(range(len(modes)))
    if order is Order.GIVEN:
        frontier, stage = -1, n
        first_of = {k: i for i, k in reversed(list(enumerate(steps)))}
        for i in range(len(steps) - 1, -1, -1):
            if first_of[steps[i]] == i:
                stage = steps[i]
            stages[i] = stage
        for i, k in enumerate(steps):
            first = stages[i] == k
            if first and k <= frontier:
                return None
            if i > 0 and stages[i - 1] == stages[i] and steps[i - 1] >= k:
                return None
            frontier = k if first else frontier
    placed = []
    for mode, k, stage in zip(modes, steps, stages, strict=True):
        start = stage * n + k if order is Order.GIVEN else stage
        placed.append(
            Placed(step=k, copy=copies[k], stage=stage, start=start, mode=mode)
        )
        copies[k] += 1
    return placed


def incumbent_of(
    problem: Problem, modes: Sequence[int], order: Order, budget: int
) -> Incumbent | None:
    """Return what running modes in a sequence amounts to; None if it does not fit.

    Modes of nodes that nothing depends on are left out. In a given order, computations
    between two first ones are sorted if that is what keeps them from being in order.

    Parameters
    ----------
    problem
        The steps.
    modes
        Mode indices in running order.
    order
        That it is wanted in.
    budget
        Bytes, static bytes included.
    """
    encoding = problem.encoding
    sequence = [mode for mode in modes if mode in problem.step_of]
    found = None
    for tried in (sequence, _sorted(problem, sequence)):
        codes = complete(encoding, tried)
        try:
            peak, makespan, _ = measure(encoding, codes)
        except InvalidScheduleError:
            # What served a node that was left out, or was sorted away.
            continue
        if peak > budget:
            continue
        placed = place(problem, codes[codes >= 0].tolist(), order)
        if placed is not None:
            return Incumbent(codes=codes, makespan=makespan, placed=tuple(placed))
        found = found or Incumbent(codes=codes, makespan=makespan, placed=None)
    return found


def _sorted(problem: Problem, modes: list[int]) -> list[int]:
    """Sort what runs between two first computations by step."""
    seen: set[int] = set()
    done: list[int] = []
    between: list[int] = []
    for mode in modes:
        k = problem.step_of[mode]
        if k in seen:
            between.append(mode)
            continue
        seen.add(k)
        done += [*sorted(between, key=problem.step_of.__getitem__), mode]
        between = []
    return done + between


def once_each(problem: Problem) -> list[list[int]]:
    """Return sequences that run each step once, in the graph's order.

    Each in its fastest mode; each in the fastest of those that yield most values.
    """
    return [
        [min(step.actions, key=lambda a: a.time).mode for step in problem.steps],
        [
            min(step.actions, key=lambda a: (-len(a.outputs), a.time)).mode
            for step in problem.steps
        ],
    ]


@dataclass(frozen=True, slots=True)
class Span:
    """A retention interval of a schedule: of a value, from one computation, to an end.

    Attributes
    ----------
    source
        Position of the computation; -1 for an input.
    value
        Index in the graph.
    end
        Moment.
    served
        Positions of the computations that it serves.
    fresh
        False for a copy that was dropped because the value lived already.
    """

    source: int
    value: int
    end: int
    served: tuple[int, ...]
    fresh: bool


def spans(problem: Problem, incumbent: Incumbent, horizon: int) -> list[Span]:
    """Return the retention intervals of an incumbent that has been placed."""
    placed = incumbent.placed or ()
    actions = {a.mode: a for step in problem.steps for a in step.actions}
    ends: dict[tuple[int, int], int] = {}
    served: dict[tuple[int, int], list[int]] = {}
    fresh: dict[tuple[int, int], bool] = {}
    current: dict[int, tuple[int, int]] = {v: (-1, v) for v in problem.inputs}
    for key in current.values():
        ends[key], served[key], fresh[key] = 0, [], True
    codes = incumbent.codes.tolist()
    position = -1
    for code in codes:
        if code < 0:
            key = current.pop(-1 - code, (-1, -1))
            if key in ends and position >= 0:
                ends[key] = placed[position].start + 1
            continue
        position += 1
        here = placed[position]
        for v in actions[code].needs:
            served[current[v]].append(position)
        for v in actions[code].consumes:
            ends[current.pop(v)] = here.start
        for v in actions[code].outputs:
            key = (position, v)
            ends[key], served[key] = here.start + 1, []
            fresh[key] = v not in current
            if fresh[key]:
                current[v] = key
    last = placed[-1].start + 1 if placed else 0
    for v, key in current.items():
        ends[key] = horizon if v in problem.kept else max(ends[key], last)
    return [
        Span(source, v, end, tuple(served[source, v]), fresh[source, v])
        for (source, v), end in ends.items()
    ]
