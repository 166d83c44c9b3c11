"""Simulate a schedule, or refuse it with the operation and its cause."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ckschedule.costs.chain import Chain
from ckschedule.costs.encoding import Encoding, encode
from ckschedule.costs.graph import Graph
from ckschedule.errors import InvalidModelError, InvalidScheduleError
from ckschedule.schedule import Schedule, from_codes, to_codes
from ckschedule.simulation.trace import Trace
from ckschedule.units import INT64_MAX, Budget, format_bytes, parse_budget

Model: TypeAlias = Chain | Graph
"""Anything that a schedule can be made for."""


def as_graph(model: Model) -> Graph:
    """Return the graph that schedules of ``model`` refer to.

    Raises
    ------
    InvalidModelError
        If ``model`` is neither a chain nor a graph.
    """
    if isinstance(model, Chain):
        return model.to_graph()
    if isinstance(model, Graph):
        return model
    raise InvalidModelError(
        f"the model is {model!r}, a {type(model).__name__}; give a Chain or a Graph, "
        f"such as catalog.build('resnet') or read_model('model.json')"
    )


def simulate(
    model: Model, schedule: Schedule, *, budget: Budget | None = None
) -> Trace:
    """Return the memory over time, the peak and the makespan of a schedule.

    Parameters
    ----------
    model
        The chain or graph it is for.
    schedule
        Operations by the names of the model's graph.
    budget
        Bytes that the peak may not pass, static bytes included; None for no limit.
        Percentages are refused here: parse them first.

    Returns
    -------
    Trace

    Raises
    ------
    InvalidScheduleError
        If an operation names something unknown, needs a value that is not live, yields
        nothing new, repeats a node that must run once, frees or consumes a pinned or
        held value, frees what is not live, or passes the budget; or if a target was
        never produced. The message and the attributes name the operation and, where one
        is to blame, the earlier operation that caused it.

    Notes
    -----
    Linear in the operations; a compiled loop.
    """
    graph = as_graph(model)
    encoding = encode(graph)
    codes = to_codes(schedule, encoding)
    limit = None if budget is None else parse_budget(budget)
    return _trace(encoding, codes, schedule, limit)


def measure(encoding: Encoding, codes: npt.NDArray[np.int64]) -> tuple[int, int, int]:
    """Return peak, makespan and executions of an encoded schedule.

    The same rules and errors as `simulate`, for solvers that write codes; the peak
    includes the static bytes.
    """
    low, high = -len(encoding.size), len(encoding.time) - 1
    if codes.size and not (low <= codes.min() and codes.max() <= high):
        at = int(np.flatnonzero((codes < low) | (codes > high))[0])
        raise InvalidScheduleError(
            f"operation {at}: code {codes[at]} lies outside [{low}, {high}]", index=at
        )
    raw = _replay(encoding, codes, None)
    return raw.peak, raw.makespan, raw.executions


class _Replayed:
    """Raw outcome of a legal replay."""

    __slots__ = ("after", "counts", "during", "makespan", "peak", "peak_index")

    def __init__(self, n_operations: int, n_nodes: int) -> None:
        self.during = np.empty(n_operations, np.int64)
        self.after = np.empty(n_operations, np.int64)
        self.counts = np.empty(n_nodes, np.int64)
        self.peak = 0
        self.peak_index = -1
        self.makespan = 0

    @property
    def executions(self) -> int:
        return int(self.counts.sum())


def _trace(
    encoding: Encoding,
    codes: npt.NDArray[np.int64],
    schedule: Schedule,
    budget: int | None,
) -> Trace:
    raw = _replay(encoding, codes, budget)
    static = encoding.graph.static.total
    nodes = (node.name for node in encoding.graph.nodes)
    return Trace(
        graph=encoding.graph,
        schedule=schedule,
        live_during=raw.during + static,
        live_after=raw.after + static,
        peak=raw.peak,
        peak_index=raw.peak_index,
        makespan=raw.makespan,
        computations=dict(zip(nodes, raw.counts.tolist(), strict=True)),
    )


def _replay(
    encoding: Encoding, codes: npt.NDArray[np.int64], budget: int | None
) -> _Replayed:
    from ckschedule.simulation import kernel  # numba stays out of the package's import

    static = encoding.graph.static.total
    raw = _Replayed(len(codes), len(encoding.once))
    if budget is not None and budget < static:
        raise InvalidScheduleError(
            f"the budget of {format_bytes(budget)} is below the {format_bytes(static)} "
            f"of static memory; no schedule can keep it",
            index=0,
        )
    live = encoding.live.copy()
    verdict, at, value, cause, makespan, peak, peak_at = kernel.replay(
        codes,
        -1 if budget is None else budget - static,
        encoding.size,
        encoding.held_start,
        encoding.held,
        live,
        encoding.pinned,
        encoding.target,
        encoding.time,
        encoding.transient,
        encoding.node,
        encoding.once,
        encoding.needs_start,
        encoding.needs,
        encoding.outputs_start,
        encoding.outputs,
        encoding.consumes_start,
        encoding.consumes,
        raw.during,
        raw.after,
        raw.counts,
    )
    if verdict != kernel.LEGAL:
        reason = _reason(encoding, codes, live, verdict, value, cause)
        if verdict == kernel.OVER_BUDGET:
            assert budget is not None, "only a budget can be passed"
            reason = (
                f"reaches {format_bytes(peak + static)} ({peak + static} bytes), over "
                f"the budget of {format_bytes(budget)} ({budget} bytes)"
            )
        raise InvalidScheduleError(
            f"{_operation(encoding, codes, at)} {reason}",
            index=max(at, 0),
            caused_by=cause if cause >= 0 else None,
        )
    raw.peak, raw.peak_index, raw.makespan = peak + static, peak_at, makespan
    if int(encoding.time.max(initial=0)) * len(codes) > INT64_MAX:
        # The kernel may have wrapped: add up once more, without a limit.
        modes, runs = np.unique(codes[codes >= 0], return_counts=True)
        raw.makespan = sum(
            int(encoding.time[mode]) * n
            for mode, n in zip(modes, runs.tolist(), strict=True)
        )
    return raw


def _operation(encoding: Encoding, codes: npt.NDArray[np.int64], at: int) -> str:
    if at < 0:
        return "before the first operation the inputs' level"
    if at >= len(codes):
        return "the schedule's end"
    (operation,) = from_codes(codes[at : at + 1], encoding)
    return f"operation {at}: {operation}"


def _reason(
    encoding: Encoding,
    codes: npt.NDArray[np.int64],
    live: npt.NDArray[np.int64],
    verdict: int,
    value: int,
    cause: int,
) -> str:
    from ckschedule.simulation import kernel

    name = encoding.graph.values[value].name if value >= 0 else ""
    earlier = _operation(encoding, codes, cause)
    if verdict == kernel.MISSING:
        why = f"freed by {earlier}" if cause >= 0 else "which nothing has produced yet"
        return f"needs {name!r}, {why}"
    if verdict == kernel.POINTLESS:
        why = f"since {earlier}" if cause >= 0 else "from the start"
        return f"yields nothing new: {name!r} and its other outputs are live {why}"
    if verdict == kernel.REPEATED:
        return f"repeats a node that must run once and ran at {earlier}"
    if verdict == kernel.PINNED:
        return f"releases {name!r}, which stays to the end"
    if verdict == kernel.HELD:
        holders = ", ".join(
            repr(holder.name)
            for holder, lives in zip(encoding.graph.values, live, strict=True)
            if lives and name in holder.holds
        )
        since = f" since {earlier}" if cause >= 0 else ""
        return f"releases {name!r}, which is held by {holders}{since}"
    if verdict == kernel.DEAD:
        why = f"freed by {earlier}" if cause >= 0 else "never produced"
        return f"frees {name!r}, which is not live: {why}"
    return f"misses the target {name!r}, which was never produced"
