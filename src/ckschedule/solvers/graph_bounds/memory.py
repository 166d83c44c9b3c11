"""The least budget that any schedule could keep, as far as it is proved cheaply."""

from dataclasses import dataclass

from ckschedule.costs.encoding import encode
from ckschedule.costs.graph import Graph
from ckschedule.solvers.graph_bounds.backward import backward_demand
from ckschedule.solvers.graph_bounds.necessary import necessities
from ckschedule.solvers.graph_bounds.sorting import sorted_pebbling


@dataclass(frozen=True, slots=True)
class LeastBudget:
    """A budget below which nothing fits.

    Attributes
    ----------
    bytes
        No schedule of any order keeps fewer, static bytes included.
    source
        The moment that needs them, in words: "node 'conv4'".
    """

    bytes: int
    source: str


def least_budget(graph: Graph) -> LeastBudget:
    """Return bytes that every schedule of a graph reaches, whatever its order.

    Parameters
    ----------
    graph
        Any.

    Returns
    -------
    LeastBudget
        Less than the smallest budget that works, in general.

    Notes
    -----
    The working sets of what must run (`Necessities`), and for graphs under weighted
    pebbling a bounded search backwards from each node (`backward_demand`).
    """
    encoding = encode(graph)
    best = necessities(encoding).demand()
    static = graph.static.total
    pebbling = sorted_pebbling(graph)
    if pebbling is not None:
        lying = pebbling.base - static
        found = backward_demand(pebbling, best.size - lying)
        if found is not None:
            return LeastBudget(bytes=found.size + pebbling.base, source=found.source)
    return LeastBudget(bytes=best.size + static, source=best.source)
