"""Redundant constraints that let CP-SAT's relaxation see why anything runs again.

Take the first computation of step t in a given order, under weighted pebbling. Every
value v computed before t that a first computation after t needs is either live while t
runs, or computed again in a stage after t; write A(v, t) for the latter. What is
computed again then, needs its own inputs: those are live while t runs, L(v, t), or are
computed again after t as well. With N the values that later first computations need,
those of t itself left out, W the bytes of all values that first computations from t on
need, those of t itself and its extra included, and m the capacity::

    sum over v in N of m_v A(v, t) >= W - m + sum over v not in W of m_v L(v, t)
    L(v, t) + A(v, t) >= A(w, t)    for each user w of v that runs first before t

The relaxation of a cumulative constraint over optional intervals knows nothing of this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckschedule.solvers.cp_sat.problem import Problem
from ckschedule.solvers.cp_sat.variables import Literal, Variables
from ckschedule.solvers.order import Order

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

MOST_LITERALS: Final = 60_000
"""Literals A and L that one model may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """What lies across one first computation.

    Attributes
    ----------
    step
        The step t.
    needed
        Bit mask of steps before it whose values first computations after it need, but
        not it itself.
    certain
        Bit mask of its own predecessors.
    excess
        Bytes of all of them, its own value and its extra above the capacity.
    """

    step: int
    needed: int
    certain: int
    excess: int


def crossings(problem: Problem) -> list[Crossing]:
    """Return first computations that do not fit unless something runs again later.

    Those that follow from another are left out: the needed values are more and the
    excess is not higher. Quadratic in their number.
    """
    value_of = [step.sole for step in problem.steps]
    maker = {v: k for k, v in enumerate(value_of)}
    final = [
        max(problem.users.get(v, ()), default=k) if v is not None else k
        for k, v in enumerate(value_of)
    ]
    found: list[Crossing] = []
    for t, step in enumerate(problem.steps):
        (action,) = step.actions
        reads = {maker[v] for v in action.needs}
        live = [u for u in range(t) if final[u] >= t or value_of[u] in problem.kept]
        level = sum(_size(problem, u) for u in live) + _size(problem, t) + action.extra
        if level <= problem.capacity:
            continue
        found.append(
            Crossing(
                step=t,
                needed=sum(
                    1 << u
                    for u in live
                    if u not in reads and value_of[u] not in problem.kept
                ),
                certain=sum(1 << u for u in reads),
                excess=level - problem.capacity,
            )
        )
    found.sort(key=lambda c: (-c.excess, c.needed.bit_count()))
    kept: list[Crossing] = []
    for crossing in found:
        if not any(k.needed & ~crossing.needed == 0 for k in kept):
            kept.append(crossing)
    return kept


def add_cuts(model: cp_model.CpModel, variables: Variables) -> None:
    """Add the constraints where they hold: a given order, weighted pebbling."""
    if variables.order is Order.FREE or not variables.problem.plain:
        return
    left = MOST_LITERALS
    for crossing in crossings(variables.problem):
        cut = _Cut(model, variables, crossing)
        if left > 0:
            left -= cut.add()
        else:
            cut.add_weak()


class _Cut:
    """One crossing's constraints."""

    def __init__(
        self, model: cp_model.CpModel, variables: Variables, crossing: Crossing
    ) -> None:
        self.model = model
        self.variables = variables
        self.problem = variables.problem
        self.crossing = crossing

    def add(self) -> int:
        """Post them; return the number of literals made."""
        t = self.crossing.step
        again = {k: self._again(k) for k in range(t) if self._may_run_after(k)}
        terms = [
            _size(self.problem, k) * literal
            for k, literal in again.items()
            if self.crossing.needed >> k & 1 and _size(self.problem, k)
        ]
        made = len(again)
        for k in range(t):
            if (self.crossing.needed | self.crossing.certain) >> k & 1:
                continue
            v = self.problem.steps[k].sole
            if v is None or v in self.problem.kept:
                continue
            users = [again[w] for w in self.problem.users.get(v, ()) if w in again]
            if not users or not self.problem.size[v]:
                continue
            live = self.model.new_bool_var("")
            made += 1
            for literal in users:
                others = [again[k]] if k in again else []
                self.model.add_bool_or([~literal, live, *others])
            terms.append(-self.problem.size[v] * live)
        self.model.add(sum(terms) >= self.crossing.excess)
        return made

    def add_weak(self) -> None:
        """Post that enough runs again, whenever."""
        terms = [
            _size(self.problem, k) * self._second(k)
            for k in range(self.crossing.step)
            if self.crossing.needed >> k & 1 and self._may_run_after(k)
        ]
        self.model.add(sum(terms) >= self.crossing.excess)

    def _may_run_after(self, k: int) -> bool:
        copies = self.variables.copies
        return copies.count[k] > 1 and copies.last[k] > self.crossing.step

    def _second(self, k: int) -> Literal:
        return self.variables.computations[self.variables.of_step[k][1]].present

    def _again(self, k: int) -> Literal:
        """Return a literal that can be true only if k runs again after the crossing."""
        t = self.crossing.step
        late = []
        for position in self.variables.of_step[k][1:]:
            copy = self.variables.computations[position]
            literal = self.model.new_bool_var("")
            self.model.add_implication(literal, copy.present)
            self.model.add(copy.stage >= t + 1).only_enforce_if(literal)
            late.append(literal)
        if len(late) == 1:
            return late[0]
        literal = self.model.new_bool_var("")
        self.model.add_bool_or([~literal, *late])
        self.model.add_implication(literal, self._second(k))
        return literal


def _size(problem: Problem, k: int) -> int:
    v = problem.steps[k].sole
    return 0 if v is None else problem.size[v]
