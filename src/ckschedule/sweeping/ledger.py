"""What is known about the optimum of one model at all budgets, as answers come in.

A schedule found for one budget is one for every budget from its peak upwards; a bound
or a refutation proved for one budget holds for every smaller one. So each answer says
something about many budgets, and few have to be asked.
"""

from collections.abc import Iterator

import numpy as np

from ckschedule.costs.encoding import Ints, encode
from ckschedule.front import Answer, ParetoFront, ParetoPoint
from ckschedule.result import Result, Scope, Status, Stop
from ckschedule.schedule import to_codes
from ckschedule.simulation import Model, as_graph, measure
from ckschedule.sweeping.claims import (
    EVERY,
    Bound,
    Found,
    Refutation,
    check_bound,
    check_refutation,
    covers,
)


class Ledger:
    """Schedules, bounds and answers for one model; a search's working memory.

    Parameters
    ----------
    model
        What they are about.

    Attributes
    ----------
    ceiling
        Bytes that no schedule passes.
    """

    def __init__(self, model: Model) -> None:
        graph = as_graph(model)
        self.model = model
        self.encoding = encode(graph)
        self.ceiling = (
            sum(self.encoding.size.tolist())
            + max(self.encoding.transient.tolist(), default=0)
            + graph.static.total
        )
        self._found: list[Found] = []
        self._bounds: list[Bound] = []
        self._refuted: list[Refutation] = []
        self._asked: dict[int, Scope] = {}

    # --- What comes in ---------------------------------------------------------------

    def add_schedule(self, codes: Ints, scope: Scope) -> None:
        """Note a schedule, simulated here.

        Raises
        ------
        InvalidScheduleError
            If it is illegal.
        SolverFaultError
            If a bound or a refutation says that there is no such schedule.
        """
        peak, makespan, executions = measure(self.encoding, codes)
        new = Found(
            codes=codes,
            peak=peak,
            makespan=makespan,
            executions=executions,
            scope=scope,
        )
        for bound in self._bounds:
            check_bound(bound, new)
        for refutation in self._refuted:
            check_refutation(refutation, new)
        # Of equal schedules the first stays: a front that goes on does not flicker.
        better = [f for f in self._found if f.peak <= peak and f.makespan <= makespan]
        if better:
            return
        self._found = sorted(
            [new, *(f for f in self._found if f.peak < peak or f.makespan < makespan)],
            key=lambda found: found.peak,
        )

    def add_bound(self, bound: Bound) -> None:
        """Note a bound.

        Raises
        ------
        SolverFaultError
            If a known schedule undercuts it.
        """
        for found in self._found:
            check_bound(bound, found)
        self._bounds.append(bound)

    def add_refutation(self, refutation: Refutation) -> None:
        """Note that a budget is too small.

        Raises
        ------
        SolverFaultError
            If a known schedule keeps it.
        """
        if refutation.budget < 0:
            return
        for found in self._found:
            check_refutation(refutation, found)
        self._refuted.append(refutation)

    def add_answer(self, answer: Answer, scope: Scope, source: str) -> None:
        """Note what was said about a budget, and what follows from it."""
        bound, budget = answer.lower_bound, answer.budget
        if bound is not None:
            everywhere = budget if budget < self.ceiling else EVERY
            self.add_bound(
                Bound(budget=everywhere, ticks=bound, scope=scope, source=source)
            )
        if answer.status is Status.INFEASIBLE and scope is not Scope.CONSTRUCTION:
            # A construction for one budget says nothing about those for others.
            self.add_refutation(Refutation(budget=budget, scope=scope, source=source))
        self._asked[budget] = scope

    def add_result(
        self, result: Result, bound: int | None, *, complete: bool = True
    ) -> None:
        """Note a result of `solve`.

        Parameters
        ----------
        result
            Judged.
        bound
            Ticks that the search proved, even if it found no schedule.
        complete
            False if it was interrupted: the budget then counts as not asked.
        """
        scope = result.scope
        if result.trace is not None:
            self.add_schedule(to_codes(result.trace.schedule, self.encoding), scope)
        if result.minimum_budget is not None and scope is not Scope.CONSTRUCTION:
            least = result.minimum_budget
            self.add_refutation(
                Refutation(budget=least - 1, scope=scope, source=result.solver)
            )
        if complete:
            answer = Answer(
                budget=result.budget, status=result.status, lower_bound=bound
            )
            self.add_answer(answer, scope, result.solver)

    def add_front(self, front: ParetoFront, solver: str) -> None:
        """Note all that an earlier front knows.

        Its answers stand if they are proofs, or if ``solver`` gave them: another one
        may do better.
        """
        scope, source = front.scope, front.solver
        for point in front:
            self.add_schedule(point.codes, scope)
            self.add_bound(
                Bound(
                    budget=point.peak,
                    ticks=point.lower_bound,
                    scope=scope,
                    source=source,
                )
            )
        if front.infeasible is not None:
            self.add_refutation(
                Refutation(budget=front.infeasible, scope=scope, source=source)
            )
        for answer in front.answers:
            if answer.proved or source == solver:
                self.add_answer(answer, scope, source)
            elif answer.lower_bound is not None:
                self.add_bound(
                    Bound(
                        budget=answer.budget,
                        ticks=answer.lower_bound,
                        scope=scope,
                        source=source,
                    )
                )

    # --- What is known ---------------------------------------------------------------

    @property
    def scope(self) -> Scope:
        """The narrowest scope that all answers speak about together."""
        scopes = set(self._asked.values())
        if not scopes:
            return Scope.UNRESTRICTED
        scopes |= {found.scope for found in self._found}
        return scopes.pop() if len(scopes) == 1 else Scope.UNRESTRICTED

    @property
    def found(self) -> list[Found]:
        """Schedules by rising peak, none dominated."""
        return self._found

    @property
    def asked(self) -> set[int]:
        """Budgets that have their answer."""
        return set(self._asked)

    @property
    def failures(self) -> int:
        """How many budgets were asked in vain, that is without a proof, either."""
        least = self._found[0].peak if self._found else EVERY
        return sum(self.infeasible < budget < least for budget in self._asked)

    @property
    def infeasible(self) -> int:
        """Bytes: the largest refuted budget; -1 if there is none."""
        scope = self.scope
        return max(
            (r.budget for r in self._refuted if covers(r.scope, scope)), default=-1
        )

    def bound(self, budget: int) -> int:
        """Return ticks that no schedule within a budget undercuts; 0 if unknown."""
        return max((b.ticks for b in self._valid() if b.budget >= budget), default=0)

    def proved_up_to(self, ticks: int) -> int:
        """Return the largest budget within which nothing is faster; -1 if none is."""
        return max((b.budget for b in self._valid() if b.ticks >= ticks), default=-1)

    def _valid(self) -> Iterator[Bound]:
        scope = self.scope
        return (bound for bound in self._bounds if covers(bound.scope, scope))

    @property
    def exact(self) -> bool:
        """Whether the schedules found are all breakpoints of the optimum."""
        if not self._found or self.infeasible < self._found[0].peak - 1:
            return False
        tops = [*(found.peak - 1 for found in self._found[1:]), EVERY]
        return all(
            self.proved_up_to(found.makespan) >= top
            for found, top in zip(self._found, tops, strict=True)
        )

    def front(self, solver: str, stop: Stop = Stop.FINISHED) -> ParetoFront:
        """Return what is known as a front; there has to be a schedule.

        An exact one is finished, whatever ended the search.
        """
        scope, infeasible, exact = self.scope, self.infeasible, self.exact
        return ParetoFront(
            model=self.model,
            points=[
                ParetoPoint(
                    model=self.model,
                    codes=np.asarray(found.codes),
                    peak=found.peak,
                    makespan=found.makespan,
                    executions=found.executions,
                    lower_bound=self.bound(found.peak),
                )
                for found in self._found
            ],
            scope=scope,
            exact=exact,
            solver=solver,
            infeasible=None if infeasible < 0 else infeasible,
            stop=Stop.FINISHED if exact else stop,
            answers=[self._answer(budget) for budget in sorted(self._asked)],
        )

    def _answer(self, budget: int) -> Answer:
        """Return what is known about a budget, from later answers, too."""
        if budget <= self.infeasible:
            return Answer(budget=budget, status=Status.INFEASIBLE, lower_bound=None)
        within = [found for found in self._found if found.peak <= budget]
        bound = self.bound(budget)
        status = Status.UNKNOWN
        if within:
            proved = bound == within[-1].makespan
            status = Status.OPTIMAL if proved else Status.FEASIBLE
        return Answer(
            budget=budget,
            status=status,
            lower_bound=bound if bound or status is Status.OPTIMAL else None,
        )
