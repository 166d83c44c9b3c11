"""Budgets of a model in bytes, and the schedule that their percentages refer to."""

from ckschedule.costs.chain import Chain
from ckschedule.errors import (
    InvalidBudgetError,
    InvalidScheduleError,
    UnsupportedModelError,
)
from ckschedule.simulation import Model, Trace, as_graph, simulate
from ckschedule.solvers.baselines import StoreAll
from ckschedule.solvers.baselines.once import once_each
from ckschedule.units import Budget, parse_budget


def budget_bytes(model: Model, budget: Budget) -> int:
    """Return a budget in bytes; percentages are of the peak of `store_all`.

    Raises
    ------
    InvalidModelError
        If the model is neither a chain nor a graph.
    InvalidBudgetError
        If it cannot be read, or is a percentage for a graph whose nodes cannot run once
        in their order.
    """
    as_graph(model)
    if not (isinstance(budget, str) and budget.strip().endswith("%")):
        return parse_budget(budget)
    try:
        return parse_budget(budget, store_all=_naive_peak(model))
    except (InvalidScheduleError, UnsupportedModelError) as error:
        raise InvalidBudgetError(
            f"budget {budget!r} is a percentage of the peak of running every node of "
            f"{model.name!r} once in the graph's order, which is no legal schedule: "
            f"{error}; write bytes"
        ) from error


def check_budget(budget: Budget) -> None:
    """Refuse a budget that cannot be read, before any work is done for it.

    Raises
    ------
    InvalidBudgetError
        If it cannot be read.
    """
    # Any reference does: only the form is looked at.
    parse_budget(budget, store_all=1)


def store_all(model: Model) -> Trace:
    """Return the simulation of recomputing nothing.

    A chain stores everything (`StoreAll`); a graph runs every node once in its order,
    each value is freed as soon as nothing needs it, and of several modes a node runs in
    the one that yields the most bytes (`once_each`).

    Raises
    ------
    UnsupportedModelError
        If a node of a graph needs what no earlier one yields; the message names both.
    InvalidScheduleError
        If what the nodes of a graph consume or leave out makes that order illegal.
    """
    if isinstance(model, Chain):
        return simulate(model, StoreAll().schedule(model))
    return simulate(model, once_each(model))


def _naive_peak(model: Model) -> int:
    """Return the peak of `store_all` in bytes, computed once per graph."""
    if isinstance(model, Chain):
        return store_all(model).peak
    known = model.__dict__.get("_naive_peak")
    if not isinstance(known, int):
        known = store_all(model).peak
        model.__dict__["_naive_peak"] = known
    return known
