"""Training paths: a row of equal layers, forward and backward, as a graph."""

from ckschedule.catalog.arguments import as_positive
from ckschedule.costs.graph import Graph, Mode, Node, Value


def training_path(forward: int) -> Graph:
    """Return Checkmate's unit training graph.

    Parameters
    ----------
    forward
        k: forward nodes before the turn, 1 or more.

    Returns
    -------
    Graph
        ``2 k + 1`` nodes of one step and one byte each: ``f0``, ..., ``fk``, each after
        the one before, then ``b<k-1>``, ..., ``b0``, each after the one before it and
        after the forward node of its own number. The last one's value is the target.
        All may run again.

    Raises
    ------
    InvalidModelError
        If ``forward`` is below 1 or no integer.

    Notes
    -----
    ``gen_linear_graph`` of P. Jain et al., "Checkmate", MLSys 2020, arXiv 1910.02653,
    which solves k = 8 within four bytes in 9.4 hours or, partitioned, in 0.23 s. The
    optimum of any order within B bytes is ``k + 1 + p(k + 1, B - 2)``, with p the
    number of advances of Revolve (`ckschedule.solvers.revolve.advances`), for 3 <= B <=
    k + 2; below nothing fits, above nothing runs twice.

    Examples
    --------
    >>> graph = training_path(8)
    >>> len(graph.nodes), graph.base_time
    (17, 17)
    """
    k = as_positive(forward, "training_path: forward")
    names = [*(f"f{i}" for i in range(k + 1)), *(f"b{i}" for i in reversed(range(k)))]
    nodes = []
    for v, name in enumerate(names):
        needs = [names[v - 1]] if v else []
        if v > k:
            needs.append(names[2 * k - v])
        mode = Mode(name="run", time=1, outputs=(name,), needs=tuple(needs))
        nodes.append(Node(name=name, modes=(mode,)))
    return Graph(
        name=f"training-path-{k}",
        values=tuple(Value(name=name, size=1) for name in names),
        nodes=tuple(nodes),
        targets=(names[-1],),
        time_unit="step",
    )
