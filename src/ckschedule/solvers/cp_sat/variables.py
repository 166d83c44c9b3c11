"""Decision variables: computations and the retention intervals of what they yield.

In a given order step k of n has its first computation in stage k and later ones in
stages after it, at the moment ``stage * n + k``: time is the lexicographic order of
stages and steps, and a moment is affine in the stage. In a free order a computation has
a moment of its own among as many as there may be computations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ckschedule.solvers.cp_sat.copies import Copies
from ckschedule.solvers.cp_sat.problem import Action, Problem
from ckschedule.solvers.order import Order

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Literal: TypeAlias = Any
"""A boolean variable; None stands for what is always true."""

Whole: TypeAlias = Any
"""A linear expression, or a number."""


@dataclass(slots=True, kw_only=True)
class Computation:
    """One computation of a step.

    Attributes
    ----------
    step, copy
        Which one; copies of a step run in this order.
    present
        Literal.
    stage
        Variable or number; the moment itself in a free order.
    start
        Moment, in ``earliest .. latest``.
    ways
        Its actions, each with the literal that chooses it.
    """

    step: int
    copy: int
    present: Literal
    stage: Whole
    start: Whole
    earliest: int
    latest: int
    ways: list[tuple[Action, Literal]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Retention:
    """A value from one computation on, or an input from the start: ``[start, end)``.

    Attributes
    ----------
    index
        Number among all retentions.
    value
        Index in the graph.
    source
        Position of the computation; None for an input.
    born
        Literal: the value is yielded.
    present
        Literal: it is retained; differs from ``born`` only where a second copy may have
        to be dropped.
    start, end, length
        Moments; ``length`` is their difference.
    interval
        CP-SAT's, present with ``present``.
    """

    index: int
    value: int
    source: int | None
    born: Literal
    present: Literal
    start: Whole
    end: Whole
    length: Whole
    interval: Any


class Variables:
    """All variables of one model.

    Parameters
    ----------
    model
        Where they are declared.
    problem
        The steps.
    order
        Of first computations.
    copies
        Computations that each step gets.

    Attributes
    ----------
    horizon
        Moment at which everything has ended.
    computations
        By step, then by copy.
    of_step
        Positions of each step's computations.
    retentions
        Of every value, by earliest start.
    yielded
        Retentions of what each computation yields.
    """

    def __init__(
        self, model: cp_model.CpModel, problem: Problem, order: Order, copies: Copies
    ) -> None:
        self.model = model
        self.problem = problem
        self.order = order
        self.copies = copies
        n = len(problem)
        self.horizon = (n + 1) * n if order is Order.GIVEN else copies.total
        self.computations: list[Computation] = []
        self.of_step: list[list[int]] = [[] for _ in range(n)]
        self.retentions: dict[int, list[Retention]] = {}
        self.yielded: list[list[Retention]] = []
        self._retentions = 0
        for v in problem.inputs:
            self._add_input(v)
        for k in range(n):
            for copy in range(copies.count[k]):
                self._add_computation(k, copy)

    def _add_input(self, v: int) -> None:
        end = self.model.new_int_var(0, self.horizon, "")
        interval = self.model.new_interval_var(0, end, end, "")
        self.retentions[v] = [
            Retention(
                index=self._next(),
                value=v,
                source=None,
                born=None,
                present=None,
                start=0,
                end=end,
                length=end,
                interval=interval,
            )
        ]

    def _add_computation(self, k: int, copy: int) -> None:
        step = self.problem.steps[k]
        certain = copy == 0 and step.must
        present = None if certain else self.model.new_bool_var("")
        stage, start, earliest, latest = self._moment(k, copy)
        made = Computation(
            step=k,
            copy=copy,
            present=present,
            stage=stage,
            start=start,
            earliest=earliest,
            latest=latest,
        )
        if len(step.actions) == 1:
            made.ways = [(step.actions[0], present)]
        else:
            made.ways = [(a, self.model.new_bool_var("")) for a in step.actions]
        self.of_step[k].append(len(self.computations))
        self.computations.append(made)
        self.yielded.append([self._retention(made, v) for v in self.problem.yields[k]])

    def _moment(self, k: int, copy: int) -> tuple[Whole, Whole, int, int]:
        """Return stage and start with the start's bounds."""
        n = len(self.problem)
        if self.order is Order.FREE:
            start = self.model.new_int_var(copy, self.horizon - 1, "")
            return start, start, copy, self.horizon - 1
        if copy == 0:
            return k, k * n + k, k * n + k, k * n + k
        # Copies run in different stages, in turn.
        first, last = k + copy, self.copies.last[k]
        stage = self.model.new_int_var(first, last, "")
        return stage, stage * n + k, first * n + k, last * n + k

    def _retention(self, made: Computation, v: int) -> Retention:
        born = self._born(made, v)
        present = born
        if v in self.problem.droppable:
            present = self.model.new_bool_var("")
            if born is not None:
                self.model.add_implication(present, born)
        at_least = made.earliest + 1
        end = self.model.new_int_var(at_least, self.horizon, "")
        if isinstance(made.start, int):
            # Affine in one variable: no other is needed for the length.
            length: Whole = end - made.start
        else:
            length = self.model.new_int_var(1, self.horizon - made.earliest, "")
        interval = (
            self.model.new_interval_var(made.start, length, end, "")
            if present is None
            else self.model.new_optional_interval_var(
                made.start, length, end, present, ""
            )
        )
        retention = Retention(
            index=self._next(),
            value=v,
            source=len(self.computations) - 1,
            born=born,
            present=present,
            start=made.start,
            end=end,
            length=length,
            interval=interval,
        )
        self.retentions.setdefault(v, []).append(retention)
        return retention

    def _born(self, made: Computation, v: int) -> Literal:
        """Return the literal that a computation yields a value."""
        literals = [literal for action, literal in made.ways if v in action.outputs]
        return self.either(made, literals)

    def _next(self) -> int:
        self._retentions += 1
        return self._retentions - 1

    def either(self, made: Computation, literals: list[Literal]) -> Literal:
        """Return a literal for some of a computation's ways; None if it always holds.

        Parameters
        ----------
        made
            The computation; one way is chosen just when it is present.
        literals
            Of these ways; at least one.
        """
        if len(literals) == len(made.ways):
            return made.present
        if len(literals) == 1:
            return literals[0]
        literal = self.model.new_bool_var("")
        self.model.add(sum(literals) == literal)
        return literal
