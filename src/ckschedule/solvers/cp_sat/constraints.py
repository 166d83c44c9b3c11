"""What a schedule has to obey, one method a rule.

Memory is counted on retention intervals: while computation c runs, from its start to
the next moment, there live the values that it needs and those that it yields, for their
intervals include that moment; those of consumed values end at its start. What is left
of the mode's transient, its *extra*, is an interval one moment long.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ckschedule.solvers.cp_sat.problem import Action, Problem
from ckschedule.solvers.cp_sat.variables import (
    Computation,
    Literal,
    Retention,
    Variables,
)
from ckschedule.solvers.order import Order

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


class Constraints:
    """Adds the rules to a model; `add_all` is everything that is needed.

    Parameters
    ----------
    model
        Where they are posted.
    variables
        Of that model.
    """

    def __init__(self, model: cp_model.CpModel, variables: Variables) -> None:
        self.model = model
        self.variables = variables
        self.problem: Problem = variables.problem
        # By position of the computation and value: who may serve it.
        self.links: dict[tuple[int, int], list[tuple[Retention, Literal]]] = {}
        # Literals by which each retention serves some computation.
        self._serves: dict[int, list[Literal]] = {}
        self._certain: set[int] = set()
        # Who consumes each retention: computation, action, and the literals for it.
        self._eaters: dict[int, list[tuple[Computation, Action, list[Literal]]]] = {}

    def add_all(self) -> None:
        """Post every rule."""
        self.choose_one_way()
        self.run_copies_in_turn()
        self.run_one_at_a_time()
        self.leave_out_stages_of_absent_steps()
        self.serve_every_need()
        self.be_of_use()
        self.hold_what_is_held()
        self.keep_single_copies_apart()
        self.keep_to_the_end()
        self.yield_targets()
        self.stay_within_capacity()

    def choose_one_way(self) -> None:
        """Give a computation one mode just when it is present."""
        for made in self.variables.computations:
            if len(made.ways) > 1:
                literals = [literal for _, literal in made.ways]
                if made.present is None:
                    self.model.add_exactly_one(literals)
                else:
                    self.model.add(sum(literals) == made.present)

    def run_copies_in_turn(self) -> None:
        """Let the next copy be there only if this one is, and later.

        Where a step yields nothing but one value, that value is gone by then: computing
        it while it lives would be pointless.
        """
        variables = self.variables
        for k, positions in enumerate(variables.of_step):
            alone = self.problem.steps[k].sole is not None
            for a, b in pairwise(positions):
                this, then = variables.computations[a], variables.computations[b]
                if this.present is not None:
                    self.model.add_implication(then.present, this.present)
                if variables.order is Order.FREE or not isinstance(this.stage, int):
                    self._when(self.model.add(this.stage + 1 <= then.stage), then)
                if alone:
                    (before,) = variables.yielded[a]
                    self._when(self.model.add(before.end <= then.start), then)

    def run_one_at_a_time(self) -> None:
        """Forbid two computations at one moment; stages see to that themselves."""
        if self.variables.order is Order.GIVEN:
            return
        self.model.add_no_overlap(
            [self._moment(made, made.present) for made in self.variables.computations]
        )

    def leave_out_stages_of_absent_steps(self) -> None:
        """Leave a stage empty that ends without a first computation.

        In a free order an absent step has no computation at all, which the turn of its
        copies says.
        """
        if self.variables.order is Order.FREE:
            return
        for k, step in enumerate(self.problem.steps):
            if step.must:
                continue
            first = self.variables.computations[self.variables.of_step[k][0]]
            for made in self.variables.computations:
                until = self.variables.copies.last[made.step]
                if made.copy > 0 and made.step < k <= until:
                    elsewhere = self.model.add(made.stage != k)
                    elsewhere.only_enforce_if([made.present, ~first.present])

    def serve_every_need(self) -> None:
        """Have each needed value live throughout its user, on exactly one retention."""
        for position, made in enumerate(self.variables.computations):
            needs = dict.fromkeys(v for a, _ in made.ways for v in a.needs)
            for v in needs:
                needing = [x for action, x in made.ways if v in action.needs]
                eating = [x for action, x in made.ways if v in action.consumes]
                self._serve(
                    position,
                    v,
                    self.variables.either(made, needing),
                    consumed=len(eating) == len(needing),
                    eaten=(
                        self.variables.either(made, eating)
                        if eating and len(eating) < len(needing)
                        else None
                    ),
                )

    def _serve(
        self,
        position: int,
        v: int,
        needed: Literal,
        *,
        consumed: bool,
        eaten: Literal,
    ) -> None:
        """Post one need.

        ``consumed``: by all modes that need it; ``eaten``: the literal where by some.
        """
        made = self.variables.computations[position]
        sources = [
            retention
            for retention in self.variables.retentions.get(v, [])
            if self._may_precede(retention, made)
        ]
        if not sources:
            self._never(needed)
            return
        (only, *others) = sources
        if not others and only.present is None:
            literals: list[Literal] = [needed]
        else:
            literals = [self.model.new_bool_var("") for _ in sources]
            if needed is None:
                self.model.add_exactly_one(literals)
            else:
                self.model.add(sum(literals) == needed)
        self.links[position, v] = list(zip(sources, literals, strict=True))
        for retention, x in self.links[position, v]:
            if x is None:
                self._certain.add(retention.index)
            else:
                self._serves.setdefault(retention.index, []).append(x)
                if retention.present is not None:
                    self.model.add_implication(x, retention.present)
            self._precede(retention, made, x)
            self._eaters.setdefault(retention.index, []).extend(
                (made, action, [x, way] if len(made.ways) > 1 else [x])
                for action, way in made.ways
                if v in action.consumes
            )
            if consumed:
                self._if(self.model.add(retention.end == made.start), x)
            elif eaten is None:
                self._if(self.model.add(retention.end >= made.start + 1), x)
            else:
                self._if(self.model.add(retention.end == made.start), x, eaten)
                alive = self.model.add(retention.end >= made.start + 1)
                self._if(alive, x, ~eaten)

    def _may_precede(self, retention: Retention, made: Computation) -> bool:
        if retention.source is None:
            return True
        source = self.variables.computations[retention.source]
        return source is not made and source.earliest < made.latest

    def _precede(self, retention: Retention, made: Computation, x: Literal) -> None:
        if retention.source is None:
            return
        source = self.variables.computations[retention.source]
        if source.latest >= made.earliest:
            self._if(self.model.add(source.start + 1 <= made.start), x)

    def be_of_use(self) -> None:
        """Ask of a computation that it serves somebody, or yields a target."""
        variables = self.variables
        for position, made in enumerate(variables.computations):
            if made.present is None or (
                made.copy == 0 and variables.order is Order.GIVEN
            ):
                continue
            yielded = variables.yielded[position]
            if any(
                r.index in self._certain or r.value in self.problem.targets
                for r in yielded
            ):
                continue
            literals = [x for r in yielded for x in self._serves.get(r.index, [])]
            self.model.add_bool_or([*literals, ~made.present])

    def hold_what_is_held(self) -> None:
        """Keep what a retention holds on one retention all the while."""
        for v, held in self.problem.holds.items():
            for retention in self.variables.retentions.get(v, []):
                for h in held:
                    self._hold(retention, self.variables.retentions.get(h, []))

    def _hold(self, holder: Retention, candidates: list[Retention]) -> None:
        literals = []
        eaters = self._eaters.get(holder.index, [])
        for held in candidates:
            x = self.model.new_bool_var("")
            literals.append(x)
            for made, action, way in eaters:
                # A holder that is consumed is there until then, and so is what it
                # holds, unless both go together.
                if held.value not in action.consumes:
                    self._if(self.model.add(held.end >= made.start + 1), x, *way)
            if held.present is not None:
                self.model.add_implication(x, held.present)
            self._if(self.model.add(held.start <= holder.start), x)
            self._if(self.model.add(held.end >= holder.end), x)
        if holder.present is None:
            self.model.add_bool_or(literals)
        else:
            self.model.add_bool_or([*literals, ~holder.present])

    def keep_single_copies_apart(self) -> None:
        """Let what can be consumed, or stays, be there once at a time."""
        single = self.problem.consumed | self.problem.kept
        for v in sorted(single):
            retentions = self.variables.retentions.get(v, [])
            if len(retentions) > 1:
                self.model.add_no_overlap([r.interval for r in retentions])

    def keep_to_the_end(self) -> None:
        """Free no kept value, and drop only copies of what lives already."""
        for v in sorted(self.problem.kept):
            retentions = self.variables.retentions.get(v, [])
            for retention in retentions:
                self._if(
                    self.model.add(retention.end == self.variables.horizon),
                    retention.present,
                )
                if v in self.problem.droppable:
                    self._drop_only_copies(retention, retentions)

    def _drop_only_copies(self, copy: Retention, retentions: list[Retention]) -> None:
        literals = [copy.present]
        for other in retentions:
            if other is copy:
                continue
            x = self.model.new_bool_var("")
            literals.append(x)
            if other.present is not None:
                self.model.add_implication(x, other.present)
            self._if(self.model.add(other.start + 1 <= copy.start), x)
        if copy.born is not None:
            literals.append(~copy.born)
        self.model.add_bool_or(literals)

    def yield_targets(self) -> None:
        """Yield each target by some computation."""
        for v in sorted(self.problem.targets):
            born = [r.born for r in self.variables.retentions.get(v, [])]
            if all(literal is not None for literal in born):
                self.model.add_bool_or(born)

    def stay_within_capacity(self) -> None:
        """Keep the level within the capacity."""
        intervals, demands = [], []
        size = self.problem.size
        for v, retentions in self.variables.retentions.items():
            for retention in retentions:
                if size[v] == 0:
                    continue
                intervals.append(retention.interval)
                demands.append(size[v])
                if v in self.problem.droppable:
                    intervals.append(self._dropped(retention))
                    demands.append(size[v])
        for made in self.variables.computations:
            for action, literal in made.ways:
                if action.extra > 0:
                    intervals.append(self._moment(made, literal))
                    demands.append(action.extra)
        if self.problem.capacity < 0:
            self.model.add_bool_or([])
        elif intervals:
            self.model.add_cumulative(intervals, demands, self.problem.capacity)

    def _dropped(self, retention: Retention) -> cp_model.IntervalVar:
        """Return the moment of a copy that is yielded but not retained."""
        assert retention.source is not None, "inputs are retained, if only for nothing"
        made = self.variables.computations[retention.source]
        literal = self.model.new_bool_var("")
        if retention.born is None:
            self.model.add(literal + retention.present == 1)
        else:
            self.model.add(literal + retention.present == retention.born)
        return self._moment(made, literal)

    def _moment(self, made: Computation, literal: Literal) -> cp_model.IntervalVar:
        if literal is None:
            return self.model.new_fixed_size_interval_var(made.start, 1, "")
        return self.model.new_optional_fixed_size_interval_var(
            made.start, 1, literal, ""
        )

    def _when(self, constraint: cp_model.Constraint, made: Computation) -> None:
        self._if(constraint, made.present)

    def _if(self, constraint: cp_model.Constraint, *literals: Literal) -> None:
        real = [literal for literal in literals if literal is not None]
        if real:
            constraint.only_enforce_if(real)

    def _never(self, literal: Literal) -> None:
        self.model.add_bool_or([] if literal is None else [~literal])
