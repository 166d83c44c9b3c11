"""Budgets of a model in bytes, and the schedule that their percentages refer to."""

from ckschedule.costs.chain import Chain
from ckschedule.simulation import Model, Trace, as_graph, simulate
from ckschedule.solvers.baselines import StoreAll
from ckschedule.units import Budget, parse_budget


def budget_bytes(model: Model, budget: Budget) -> int:
    """Return a budget in bytes; percentages are of the model's store-all peak.

    Raises
    ------
    InvalidModelError
        If the model is neither a chain nor a graph.
    InvalidBudgetError
        If it cannot be read, or is a percentage for a graph, which has no
        store-everything schedule of its own.
    """
    as_graph(model)
    relative = isinstance(budget, str) and budget.strip().endswith("%")
    if relative and isinstance(model, Chain):
        return parse_budget(budget, store_all=store_all(model).peak)
    return parse_budget(budget)


def check_budget(budget: Budget) -> None:
    """Refuse a budget that cannot be read, before any work is done for it.

    Raises
    ------
    InvalidBudgetError
        If it cannot be read.
    """
    # Any reference does: only the form is looked at.
    parse_budget(budget, store_all=1)


def store_all(chain: Chain) -> Trace:
    """Return the simulation of storing everything and recomputing nothing."""
    return simulate(chain, StoreAll().schedule(chain))
