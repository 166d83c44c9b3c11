"""Weighted pebbling whatever order a graph's nodes stand in.

`Pebbling` takes graphs in topological order. What holds for every order is as true of
the same nodes in another one.
"""

from dataclasses import replace

from ckschedule.costs.encoding import encode
from ckschedule.costs.graph import Graph
from ckschedule.solvers.graph_bounds.necessary import necessities
from ckschedule.solvers.pebbling import Pebbling, pebbling_of


def sorted_pebbling(graph: Graph) -> Pebbling | None:
    """Return a graph's pebbling, its nodes put in topological order if need be.

    None if the graph has what pebbling has not, or a circle.
    """
    found = pebbling_of(graph)
    if found is not None:
        return found
    # A new graph is validated: not where it would be for nothing.
    for node in graph.nodes:
        if len(node.modes) > 1 or len(node.modes[0].outputs) != 1:
            return None
    known = graph.__dict__.get("_sorted")
    if not isinstance(known, Graph):
        sequence = necessities(encode(graph)).sequence
        known = replace(graph, nodes=tuple(graph.nodes[k] for k in sequence))
        graph.__dict__["_sorted"] = known
    return pebbling_of(known)
