"""Schedules from fronts: the choices behind one breakpoint, found again on demand."""

import numpy as np

from ckschedule.costs.encoding import Ints
from ckschedule.solvers.chain_dp.fronts import FrontTables
from ckschedule.units import INT64_MAX


def rebuild(tables: FrontTables, memory: int) -> Ints:
    """Return the codes of the cheapest schedule within ``memory``.

    Parameters
    ----------
    tables
        Fronts of the chain.
    memory
        Bytes above the input, at least the first breakpoint of the root.

    Returns
    -------
    (n_operations,) array of int64
        See `ckschedule.schedule.to_codes`.

    Notes
    -----
    Nothing about choices is stored. For each interval that the schedule enters, the
    options of the recurrence are evaluated in order until one costs what the front
    says; O(n^2 log points) in all at the worst.
    """
    from ckschedule.solvers.chain_dp import choices

    arrays, classes = tables.arrays, tables.classes
    points, cost = tables.root()
    best = int(cost[np.searchsorted(points, memory, side="right") - 1])
    executions = best % arrays.weight
    if arrays.weight == 1:
        executions = arrays.n * (arrays.n + 1) // 2
    # Each execution frees at most two values, and so does each of the n backwards.
    codes = np.empty(3 * (executions + arrays.n) + 1, np.int64)
    written = choices.write_codes(
        min(memory, INT64_MAX),
        arrays.n,
        classes.of,
        tables.start,
        tables.size,
        tables.shift,
        tables.memory,
        tables.cost,
        arrays.frozen,
        arrays.x,
        arrays.g,
        arrays.parameters,
        arrays.plain_transient,
        arrays.forward_cost,
        arrays.first_variant,
        arrays.saved,
        arrays.cost,
        arrays.record_transient,
        arrays.backward_transient,
        arrays.needs_input,
        arrays.needs_output,
        arrays.plain_code,
        arrays.free_code,
        arrays.record_code,
        arrays.backward_code,
        codes,
    )
    return codes[:written].copy()
