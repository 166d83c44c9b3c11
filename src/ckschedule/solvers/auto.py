"""The solver that picks a solver."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from ckschedule.costs.chain import Chain
from ckschedule.errors import ResourceLimitError, UnsupportedModelError
from ckschedule.simulation import Model, as_graph
from ckschedule.solvers.base import (
    AbstractFrontSolver,
    AbstractSolver,
    FrontProposal,
    Progress,
    Proposal,
    as_real_setting,
)
from ckschedule.solvers.chain_dp import ChainDP
from ckschedule.solvers.exhaustive import Exhaustive
from ckschedule.solvers.order import Order, as_order
from ckschedule.solvers.slot_dp import SlotDP

TINY: Final = 20
"""Nodes up to which a graph is searched exhaustively."""

_STATES: Final = 500_000
"""Live sets, some seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoSolver(AbstractFrontSolver):
    """The strongest solver that can take the model.

    Chains go to `ChainDP`, exact; if its fronts would pass its memory limit, to
    `SlotDP`, which brackets the optimum. Graphs go to `Portfolio`: every solver for
    graphs in turn, `Exhaustive` among them where they are tiny.

    Attributes
    ----------
    exact, bracket, oracle
        The settings of the three. The oracle gives up sooner than `Exhaustive` itself
        does: within some seconds.
    order, time_limit
        Of the portfolio: "free" or "given", and seconds.
    """

    exact: ChainDP = field(default_factory=ChainDP)
    bracket: SlotDP = field(default_factory=SlotDP)
    oracle: Exhaustive = field(default_factory=partial(Exhaustive, max_states=_STATES))
    order: Order = Order.FREE
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        """Check the portfolio's settings."""
        order = as_order(self.order, "AutoSolver: order")
        limit = as_real_setting(self.time_limit, "AutoSolver: time_limit")
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "time_limit", limit)

    def choose(self, model: Model) -> tuple[AbstractSolver, str]:
        """Return the solver that a search would start with, and why."""
        if isinstance(model, Chain):
            return self.exact, (
                "a chain: exact among persistent schedules; if its fronts would pass "
                "the memory limit, SlotDP brackets the optimum instead"
            )
        # Loads CP-SAT, which chains do without.
        from ckschedule.solvers.portfolio import Portfolio

        tiny = len(as_graph(model).nodes) <= TINY
        return Portfolio(
            order=self.order,
            time_limit=self.time_limit,
            oracle=self.oracle if tiny else None,
        ), (
            "a graph: constructions, local search and CP-SAT in turn, with bounds"
            + (", and exhaustive search, as it is tiny" if tiny else "")
        )

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return the proposal of the solver that `choose` names.

        Raises
        ------
        UnsupportedModelError
            If no solver takes the graph; the message names the feature.
        ResourceLimitError
            If even the bracket would pass its memory limit.
        """
        solver, _ = self.choose(model)
        try:
            proposal = solver.search(model, budget, progress)
        except ResourceLimitError:
            solver = self.bracket
            proposal = solver.search(model, budget, progress)
        return replace(proposal, solver=proposal.solver or repr(solver))

    def front(self, model: Model, progress: Progress | None = None) -> FrontProposal:
        """Return the exact front, or that of the bracket.

        Raises
        ------
        UnsupportedModelError
            If the model is a graph beyond `Exhaustive`'s reach: its front takes a
            search for each budget, which `ckschedule.pareto` makes.
        """
        if isinstance(model, Chain):
            try:
                return self.exact.front(model, progress)
            except ResourceLimitError:
                return self.bracket.front(model, progress)
        count = len(as_graph(model).nodes)
        if count <= TINY and self.order is Order.FREE:
            with suppress(ResourceLimitError):
                return self.oracle.front(model, progress)
        raise UnsupportedModelError(
            f"graph {model.name!r} has {count} nodes, too many for one search over all "
            f"budgets; search some: pareto(graph, points=16)"
        )
