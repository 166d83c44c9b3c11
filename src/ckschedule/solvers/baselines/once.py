"""Every node of a graph once, in the graph's order, as frameworks run it."""

import numpy as np

from ckschedule.costs.encoding import encode
from ckschedule.costs.graph import Graph, Mode
from ckschedule.errors import InvalidScheduleError, UnsupportedModelError
from ckschedule.schedule import Schedule, from_codes
from ckschedule.simulation import measure
from ckschedule.solvers.completion import complete


def once_each(graph: Graph) -> Schedule:
    """Return the schedule that computes each node once and frees values at once.

    Of several modes a node runs in the one that yields most bytes among those whose
    needs are there, then in the one that yields most values, the first of equals:
    recorded rather than plain. Its peak is the "naive peak" that published budgets for
    graphs are fractions of.

    Raises
    ------
    UnsupportedModelError
        If no mode of a node can run at its turn: the order is not topological; or if
        what a node consumes or yields makes that schedule illegal.

    Notes
    -----
    Linear in the graph.
    """
    encoding = encode(graph)
    sizes = {value.name: value.size for value in graph.values}
    there = set(graph.inputs)
    modes: list[int] = []
    for node in graph.nodes:
        able = [mode for mode in node.modes if there.issuperset(mode.needs)]
        if not able:
            missing = [name for name in node.modes[0].needs if name not in there]
            raise UnsupportedModelError(
                f"graph {graph.name!r}: node {node.name!r} cannot run in the graph's "
                f"order, which is to be topological: {missing[0]!r} is not there; sort "
                f"the nodes"
            )
        if there.issuperset(able[0].outputs) and able[0].outputs:
            continue  # another node has yielded all of it

        def yielded(mode: Mode) -> tuple[int, int]:
            return sum(sizes[name] for name in mode.outputs), len(mode.outputs)

        mode = max(able, key=yielded)
        there.difference_update(mode.consumes)
        there.update(mode.outputs)
        modes.append(encoding.mode_index[node.name, mode.name])
    codes = complete(encoding, np.array(modes, np.int64))
    try:
        measure(encoding, codes)
    except InvalidScheduleError as error:
        raise UnsupportedModelError(
            f"graph {graph.name!r}: its nodes cannot run once in its order: {error}"
        ) from error
    return from_codes(codes, encoding)
