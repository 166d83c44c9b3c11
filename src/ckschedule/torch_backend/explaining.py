"""Why a plan saves little: what else the memory of a step is made of."""

from __future__ import annotations

from collections.abc import Iterator

from ckschedule.operations import Compute
from ckschedule.simulation import simulate
from ckschedule.torch_backend.binding import Binding
from ckschedule.torch_backend.measuring import Measurement
from ckschedule.torch_backend.program import FORWARD
from ckschedule.units import format_bytes

_LITTLE = 0.9
"""Of the plain step's peak: a plan that stays above it has saved little."""


def explain(
    binding: Binding, measured: Measurement, plain: Measurement
) -> Iterator[str]:
    """Yield sentences on why memory did not go down; nothing where it did.

    Parameters
    ----------
    binding
        Model and plan.
    measured, plain
        One step with the plan, and one without.
    """
    if measured.peak < plain.peak * _LITTLE:
        return
    saved = plain.peak - measured.peak
    yield (
        f"memory went down by {format_bytes(saved)} of {format_bytes(plain.peak)} only"
        if saved > 0
        else f"memory did not go down: {format_bytes(measured.peak)} with the plan, "
        f"{format_bytes(plain.peak)} without"
    )
    chain, schedule = binding.chain, binding.schedule
    assert chain is not None, "applied with its chain"
    assert schedule is not None, "applied with its schedule"
    forwards = [step for step in binding.steps if step.kind == FORWARD]
    if len(forwards) == binding.last:
        yield "the plan recomputes nothing: its budget is above what storing all takes"
        return
    static = chain.static.total + sum(s.parameter_gradient for s in chain.sequence)
    if 2 * static > measured.peak:
        yield (
            f"parameters, their gradients, buffers and optimiser state take "
            f"{format_bytes(static)} of {format_bytes(measured.peak)}: recomputation "
            f"frees none of that"
        )
    if _single_segment(binding):
        yield (
            "the plan makes the whole model one segment: when it is computed again, "
            "everything is stored as before; a plan with checkpoints in between saves"
        )
    trace = simulate(chain, schedule)
    operation = schedule.operations[trace.peak_index] if trace.peak_index >= 0 else None
    if isinstance(operation, Compute):
        index = int(operation.node[1:])
        name = chain.sequence[index - 1].name
        what = "forward" if operation.node.startswith("F") else "backward"
        yield (
            f"the peak is reached in the {what} of stage {name!r}: a cut inside of it "
            f"would be needed to go lower"
        )


def _single_segment(binding: Binding) -> bool:
    """Whether all stages run plainly first and are all recorded in one go later."""
    forwards = [
        s for s in binding.steps if s.kind == FORWARD and s.stage < binding.last
    ]
    n = binding.last - 1
    return (
        len(forwards) == 2 * n
        and all(step.plain for step in forwards[:n])
        and not any(step.plain for step in forwards[n:])
    )
