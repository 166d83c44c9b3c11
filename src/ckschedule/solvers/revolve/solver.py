"""The solver for uniform chains: binomial checkpointing in as many slots as fit."""

from dataclasses import dataclass

from ckschedule.costs.chain import Chain
from ckschedule.result import Scope
from ckschedule.schedule import Schedule
from ckschedule.simulation import Model
from ckschedule.solvers.base import (
    AbstractSolver,
    Progress,
    Proposal,
    as_chain,
    as_setting,
)
from ckschedule.solvers.emission import Emission
from ckschedule.solvers.revolve.binomial import revolve_actions
from ckschedule.solvers.revolve.counts import advances
from ckschedule.solvers.revolve.rule import ADVANCE, STORE
from ckschedule.solvers.revolve.shape import Shape, uniform_shape
from ckschedule.solvers.revolve.slots import (
    least_peak,
    peak,
    slots_at_most,
    slots_within,
)


@dataclass(frozen=True, slots=True)
class Revolve(AbstractSolver):
    """Reverse a uniform chain with the fewest forwards, one recorded step at a time.

    Optimal among schedules that never hold the saved tensors of one stage across the
    computation of another, where the loss counts as part of the last stage. The bound
    is proved with all slots that any such schedule could make of the budget. It is met
    unless parameter gradients, saved tensors that do not hold their input, or unusual
    transients leave room for more slots at some steps than at others.

    Attributes
    ----------
    slots
        Slots to use whatever the budget, the initial state's included; None means as
        many as fit, see `slots_for`.

    Raises
    ------
    InvalidSettingError
        If ``slots`` is neither None nor an integer of at least one.

    References
    ----------
    Griewank, Walther: Algorithm 799: Revolve, ACM TOMS 26(1), 2000,
    doi:10.1145/347837.347846. Optimality: Grimm, Pottier, Rostaing-Schmidt, 1996.

    Examples
    --------
    >>> import ckschedule as ck
    >>> chain = ck.catalog.uniform(stages=4, saved=1)
    >>> ck.solve(chain, 7, Revolve()).raise_for_status().recomputations
    {'F1': 2, 'F2': 1, 'F3': 1}
    """

    slots: int | None = None

    def __post_init__(self) -> None:
        if self.slots is not None:
            slots = as_setting(self.slots, "Revolve: slots", least=1)
            object.__setattr__(self, "slots", slots)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the schedule; linear in its operations.

        With n steps in s slots it runs ``n + advances(n, s)`` forwards of the steps.
        If the budget is below what its slots need, there is no schedule.

        Raises
        ------
        UnsupportedModelError
            If the model is a graph, or the chain is not uniform.
        """
        chain = as_chain(model, self)
        shape = uniform_shape(chain)
        least = least_peak(shape)
        minimum = least if peak(shape, 1) == least else None
        if budget < least:
            return Proposal(
                scope=Scope.SINGLE_TAPE, infeasible=True, minimum_budget=minimum
            )
        slots = self.slots or slots_within(shape, budget)
        if slots == 0 or peak(shape, slots) > budget:
            # Other schedules of the scope may fit: this says nothing of them.
            return Proposal(scope=Scope.SINGLE_TAPE, minimum_budget=minimum)
        forward = shape.stage.forward
        # Running a stage onward may also record it and drop what it saved.
        onward = min(forward, shape.variant.forward or 0)
        most = slots_at_most(shape, budget)
        return Proposal(
            scope=Scope.SINGLE_TAPE,
            schedule=_write(chain, shape, slots),
            makespan=chain.base_time + forward * advances(shape.steps, slots),
            lower_bound=chain.base_time + onward * advances(shape.steps, most),
            minimum_budget=minimum,
        )


def _write(chain: Chain, shape: Shape, slots: int) -> Schedule:
    n = shape.steps
    emission = Emission(chain)
    for kind, start, stop in revolve_actions(n, slots):
        if kind == ADVANCE:
            emission.plain(start + 1, stop)
        elif kind == STORE:
            emission.keep(stop)
        else:
            # The loss is recorded and reversed together with the last step.
            last = n + 1 if stop == n else stop
            emission.forget(start)
            emission.record(stop, last)
            emission.backward(last, stop)
    return emission.schedule()
