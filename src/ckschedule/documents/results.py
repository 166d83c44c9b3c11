"""Results as wire models, and back: what was recorded is simulated again."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Final

from ckschedule.documents.costs import read_model, write_model
from ckschedule.documents.schedules import read_schedule, write_schedule
from ckschedule.errors import DocumentError, InvalidScheduleError
from ckschedule.result import Result, Status
from ckschedule.simulation import Trace, simulate

if TYPE_CHECKING:
    from ckschedule.documents import wire
    from ckschedule.simulation import Model

_SOLVED: Final = (Status.OPTIMAL, Status.FEASIBLE)


def write_result(result: Result) -> wire.ResultWire:
    """Return the wire model of a result.

    Raises
    ------
    DocumentError
        If the result contradicts itself.
    """
    from ckschedule.documents import wire

    _check(result)
    trace = result.trace
    return wire.ResultWire(
        kind="result",
        status=result.status,
        scope=result.scope,
        budget=whole(result.budget, "budget"),
        static=result.static,
        solver=result.solver,
        lower_bound=whole_or_none(result.lower_bound, "lower_bound"),
        base_time=result.model.base_time,
        minimum_budget=whole_or_none(result.minimum_budget, "minimum_budget"),
        model=write_model(result.model),
        trace=None if trace is None else _write_trace(trace),
        stop=result.stop,
        bound_source=result.bound_source,
    )


def read_result(body: wire.ResultWire) -> Result:
    """Return the result of a wire model, its schedule simulated again.

    Raises
    ------
    DocumentError
        If a recorded number differs from the simulation, or the result contradicts
        itself.
    """
    model = read_model(body.model)
    compare("static", body.static, model.static.total)
    compare("base_time", body.base_time, model.base_time)
    result = Result(
        model=model,
        status=body.status,
        scope=body.scope,
        budget=body.budget,
        solver=body.solver,
        trace=None if body.trace is None else _read_trace(body.trace, model),
        lower_bound=body.lower_bound,
        minimum_budget=body.minimum_budget,
        stop=body.stop,
        bound_source=body.bound_source,
    )
    _check(result)
    return result


def whole(number: object, where: str) -> int:
    """Return a number as a plain int; numpy integers become ints.

    Raises
    ------
    DocumentError
        If it is a bool, a float, or no number.
    """
    try:
        if not isinstance(number, bool):
            return index(number)  # type: ignore[arg-type]  # anything may be tried
    except TypeError:
        pass
    raise DocumentError(f"{where} is {number!r}; bytes and ticks are integers")


def compare(where: str, recorded: int, simulated: int) -> None:
    """Refuse a recorded number that the simulation does not confirm."""
    if recorded != simulated:
        raise DocumentError(
            f"{where} is {recorded} in the document, but the simulation gives "
            f"{simulated}; solve the model again"
        )


def whole_or_none(number: object, where: str) -> int | None:
    """Return None as it is, and all else as `whole` does."""
    return None if number is None else whole(number, where)


def _write_trace(trace: Trace) -> wire.TraceWire:
    from ckschedule.documents import wire

    operations, sequence = write_schedule(trace.schedule)
    return wire.TraceWire(
        peak=whole(trace.peak, "trace.peak"),
        makespan=whole(trace.makespan, "trace.makespan"),
        executions=whole(trace.executions, "trace.executions"),
        operations=operations,
        sequence=sequence,
    )


def _read_trace(body: wire.TraceWire, model: Model) -> Trace:
    schedule = read_schedule(body.operations, body.sequence, "trace.sequence")
    try:
        trace = simulate(model, schedule)
    except InvalidScheduleError as error:
        raise DocumentError(f"trace: the simulator refuses it: {error}") from error
    compare("trace.peak", body.peak, trace.peak)
    compare("trace.makespan", body.makespan, trace.makespan)
    compare("trace.executions", body.executions, trace.executions)
    return trace


def _check(result: Result) -> None:
    """Refuse a result whose fields contradict each other."""
    trace, bound = result.trace, result.lower_bound
    if (trace is not None) != (result.status in _SOLVED):
        has = "no schedule" if trace is None else "a schedule"
        raise DocumentError(f"status is {str(result.status)!r}, but there is {has}")
    least = result.minimum_budget
    if trace is None:
        if bound is not None:
            raise DocumentError(f"lower_bound is {bound}, but there is no schedule")
        if result.status is Status.INFEASIBLE and least is not None:
            _check_infeasible(least, result.budget)
        return
    if least is not None and trace.peak < least:
        raise DocumentError(
            f"minimum_budget is {least}, but the schedule keeps {trace.peak} bytes"
        )
    if trace.peak > result.budget:
        raise DocumentError(
            f"budget is {result.budget}, but the schedule reaches {trace.peak} bytes"
        )
    if bound is not None and bound > trace.makespan:
        raise DocumentError(
            f"lower_bound is {bound}, but the schedule takes {trace.makespan}"
        )
    if result.status is Status.OPTIMAL and bound != trace.makespan:
        raise DocumentError(
            f"status is 'optimal' with lower_bound {bound}, but the schedule takes "
            f"{trace.makespan}"
        )


def _check_infeasible(least: int, budget: int) -> None:
    if least <= budget:
        raise DocumentError(
            f"status is 'infeasible' within {budget} bytes, but minimum_budget is "
            f"{least}"
        )
