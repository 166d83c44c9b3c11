"""The solver that picks a solver."""

from dataclasses import dataclass, field, replace
from functools import partial

from ckschedule.costs.chain import Chain
from ckschedule.errors import ResourceLimitError, UnsupportedModelError
from ckschedule.simulation import Model
from ckschedule.solvers.base import (
    AbstractFrontSolver,
    FrontProposal,
    Progress,
    Proposal,
)
from ckschedule.solvers.chain_dp import ChainDP
from ckschedule.solvers.exhaustive import Exhaustive
from ckschedule.solvers.slot_dp import SlotDP


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoSolver(AbstractFrontSolver):
    """The strongest solver that can take the model.

    Chains go to `ChainDP`, exact; if its fronts would pass its memory limit, to
    `SlotDP`, which brackets the optimum. Graphs go to `Exhaustive`.

    Attributes
    ----------
    exact, bracket, oracle
        The settings of the three. The oracle gives up sooner than `Exhaustive` itself
        does: within some seconds.
    """

    exact: ChainDP = field(default_factory=ChainDP)
    bracket: SlotDP = field(default_factory=SlotDP)
    oracle: Exhaustive = field(
        default_factory=partial(Exhaustive, max_states=2_000_000)
    )

    def choose(self, model: Model) -> tuple[AbstractFrontSolver, str]:
        """Return the solver that a search would start with, and why."""
        if isinstance(model, Chain):
            return self.exact, (
                "a chain: exact among persistent schedules; if its fronts would pass "
                "the memory limit, SlotDP brackets the optimum instead"
            )
        return self.oracle, "a graph: exhaustive search among all schedules"

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the proposal of the solver that `choose` names.

        Raises
        ------
        UnsupportedModelError
            If the model is a graph beyond `Exhaustive`'s reach.
        ResourceLimitError
            If even the bracket would pass its memory limit.
        """
        solver, _ = self.choose(model)
        try:
            proposal = solver.search(model, budget, progress)
        except ResourceLimitError as error:
            solver = self._second(model, error)
            proposal = solver.search(model, budget, progress)
        return replace(proposal, solver=proposal.solver or repr(solver))

    def front(self, model: Model, progress: Progress | None = None) -> FrontProposal:
        """Return the front of the solver that `choose` names; see `search`."""
        solver, _ = self.choose(model)
        try:
            return solver.front(model, progress)
        except ResourceLimitError as error:
            return self._second(model, error).front(model, progress)

    def _second(self, model: Model, error: ResourceLimitError) -> SlotDP:
        """Return the solver that takes over where the first one gives up."""
        if isinstance(model, Chain):
            return self.bracket
        raise UnsupportedModelError(
            f"graph {model.name!r} has {len(model.nodes)} nodes, too many for "
            f"exhaustive search, the one solver for graphs; raise AutoSolver(oracle="
            f"Exhaustive(max_states=...)), or coarsen it to a chain (see "
            f"ckschedule.importers)"
        ) from error
