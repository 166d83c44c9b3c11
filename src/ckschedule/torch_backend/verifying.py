"""`verify`: whether a model under its plan computes what the plain model does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn

from ckschedule.errors import (
    PlanMismatchError,
    VerificationError,
)
from ckschedule.result import Result
from ckschedule.simulation import simulate
from ckschedule.torch_backend.applying import binding_of, plan_of
from ckschedule.torch_backend.binding import Binding
from ckschedule.torch_backend.calling import (
    Loss,
)
from ckschedule.torch_backend.checks import Check
from ckschedule.torch_backend.differencing import compare_slopes
from ckschedule.torch_backend.explaining import explain
from ckschedule.torch_backend.measuring import Measurement
from ckschedule.torch_backend.program import FORWARD
from ckschedule.torch_backend.sharding import refuse_sharded
from ckschedule.torch_backend.stepping import TrainingStep, plan_off
from ckschedule.units import format_bytes

_SPREAD: Final = 4
"""Times the difference of two plain runs that a plan's may have, where kernels vary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What trying a plan on its model showed.

    Attributes
    ----------
    checks
        One for gradients, loss, buffers, random streams, executions and peak each.
    budget, predicted
        Bytes that the plan was to keep, and its simulated peak.
    measured, plain
        One step with the plan, and one of the plain model.
    unseen
        Bytes of the budget that a step does not show: an optimiser's state.
    notes
        Why memory did not go down, where it did not.
    """

    checks: tuple[Check, ...]
    budget: int | None
    predicted: int
    measured: Measurement
    plain: Measurement
    unseen: int
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether everything held."""
        return all(check.ok for check in self.checks)

    def __str__(self) -> str:
        """Return all checks, a line each, and the notes."""
        lines = [
            f"{'ok    ' if check.ok else 'FAILED'} {check.name}: {check.detail}"
            for check in self.checks
        ]
        return "\n".join([*lines, *self.notes])

    def raise_for_status(self) -> Verification:
        """Return this, or raise if something did not hold.

        Raises
        ------
        VerificationError
            Naming what did not hold.
        """
        failed = [check for check in self.checks if not check.ok]
        if failed:
            raise VerificationError(
                "; ".join(f"{check.name}: {check.detail}" for check in failed)
            )
        return self


def verify(
    model: nn.Module,
    inputs: Any,
    *,
    loss: Loss | None = None,
    finite_differences: bool = False,
    repeats: int = 3,
) -> Verification:
    """Return what one step of a model under its plan shows against the plain model.

    Parameters
    ----------
    model
        Follows a plan. Its parameters, gradients, buffers and the random streams are
        left as they are.
    inputs, loss
        As for `auto_checkpoint`.
    finite_differences
        Whether the gradient is compared with a difference quotient of the loss too, on
        a copy of the model in float64.
    repeats
        Steps timed with and without the plan.

    Raises
    ------
    PlanMismatchError
        If the model follows no plan.

    Notes
    -----
    On the CPU everything is compared bit by bit: a relative error of 1e-7 in float64 is
    found. Elsewhere kernels need not repeat their bits, and the largest difference of
    two plain runs is the measure. The plain step takes all the memory that it takes.
    """
    binding = _planned(model)
    refuse_sharded(model, "verify")
    chain = binding.chain
    assert chain is not None, "applied with its chain"
    step = TrainingStep(model, inputs, loss, accumulate=chain.static.gradients > 0)
    with plan_off(binding):
        first, again = _see(step), _see(step)
        plain = step.measure(repeats)
    planned = _see(step)
    measured = step.measure(repeats)
    checks = [
        *_compare(first, again, planned),
        _executions(binding, measured),
        _peak(binding, measured),
    ]
    if finite_differences:
        checks.append(compare_slopes(model, inputs, loss))
    return Verification(
        checks=tuple(checks),
        budget=_budget(binding),
        predicted=_simulated_peak(binding),
        measured=measured,
        plain=plain,
        unseen=unseen_bytes(binding),
        notes=tuple(explain(binding, measured, plain)),
    )


def _planned(model: nn.Module) -> Binding:
    if plan_of(model) is None:
        raise PlanMismatchError(
            f"{type(model).__name__} follows no plan: auto_checkpoint leaves a model "
            f"alone that keeps its budget as it is, and there is nothing to verify "
            f"then; otherwise apply a plan first"
        )
    return binding_of(model)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a step left behind."""

    loss: list[torch.Tensor]
    gradients: dict[str, torch.Tensor | None]
    buffers: dict[str, torch.Tensor]
    stream: torch.Tensor


def _see(step: TrainingStep) -> _Seen:
    with step.traceless():
        _, value = step.run()
        return _Seen(
            loss=[] if value is None else [value.detach()],
            gradients=step.gradients(),
            buffers={n: b.clone() for n, b in step.model.named_buffers()},
            stream=torch.rand(8),
        )


def _compare(first: _Seen, again: _Seen, planned: _Seen) -> Iterator[Check]:
    yield _alike(
        "gradients",
        list(first.gradients),
        list(first.gradients.values()),
        list(again.gradients.values()),
        list(planned.gradients.values()),
    )
    if first.loss:
        yield _alike("loss", ["loss"], first.loss, again.loss, planned.loss)
    if first.buffers:
        yield _alike(
            "buffers",
            list(first.buffers),
            list(first.buffers.values()),
            list(again.buffers.values()),
            list(planned.buffers.values()),
        )
    same = torch.equal(first.stream, planned.stream)
    yield Check(
        name="random streams",
        ok=same,
        detail="as after the plain step" if same else "advanced or rewound",
    )


def _alike(
    what: str,
    names: Sequence[str],
    first: Sequence[torch.Tensor | None],
    again: Sequence[torch.Tensor | None],
    planned: Sequence[torch.Tensor | None],
) -> Check:
    """Compare tensors bit by bit, or within the spread of two plain runs."""
    spread, largest, worst = 0.0, 0.0, ""
    for name, a, b, c in zip(names, first, again, planned, strict=True):
        if a is None or c is None:
            if a is not c:
                missing = "the plan" if c is None else "the plain model"
                return Check(
                    name=what, ok=False, detail=f"{name} has none in {missing}"
                )
            continue
        own = 0.0 if b is None else _distance(a, b)
        spread = max(spread, own)
        # NaN compares as larger than anything.
        distance = 0.0 if _same_bits(a, c) else max(_distance(a, c), 5e-324)
        if not distance <= largest:
            largest, worst = distance, name
    exact = all(t is None or t.device.type == "cpu" for t in first)
    limit = 0.0 if exact else _SPREAD * spread
    if largest == 0:
        count = "" if len(names) == 1 else f"all {len(names)} "
        return Check(name=what, ok=True, detail=f"{count}equal bit by bit")
    detail = f"{worst} differs by {largest:.3g}, relative to its largest entry"
    if not exact:
        detail += f"; two plain runs differ by {spread:.3g}"
    return Check(name=what, ok=largest <= limit, detail=detail)


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and torch.equal(
        a.detach().resolve_conj().contiguous().flatten().view(torch.uint8),
        b.detach().resolve_conj().contiguous().flatten().view(torch.uint8),
    )


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    if a.shape != b.shape:
        return float("inf")
    if not a.numel():
        return 0.0
    wide = torch.complex128 if a.is_complex() else torch.float64
    a, b = a.detach().to(wide), b.detach().to(wide)
    scale = float(a.abs().max())
    return float((a - b).abs().max()) / (scale or 1.0)


def _executions(binding: Binding, measured: Measurement) -> Check:
    planned = Counter(step.stage for step in binding.steps if step.kind == FORWARD)
    for index, name in enumerate(binding.names, start=1):
        if measured.executions[name] != planned[index]:
            return Check(
                name="executions",
                ok=False,
                detail=f"stage {name!r} was computed {measured.executions[name]} "
                f"times, the schedule says {planned[index]}",
            )
    total = sum(measured.executions.values())
    return Check(
        name="executions",
        ok=True,
        detail=f"{total} computations of {len(binding.names)} stages, as scheduled",
    )


def _peak(binding: Binding, measured: Measurement) -> Check:
    seen = measured.peak + unseen_bytes(binding)
    predicted = _simulated_peak(binding)
    limit = _budget(binding) or predicted
    return Check(
        name="peak",
        ok=seen <= limit,
        detail=f"measured {format_bytes(seen)}, predicted {format_bytes(predicted)} "
        f"({seen - predicted:+d} bytes), allowed {format_bytes(limit)}",
    )


def unseen_bytes(binding: Binding) -> int:
    """Return the static bytes that a step without an optimiser does not show."""
    assert binding.chain is not None, "applied with its chain"
    return binding.chain.static.optimizer


def _simulated_peak(binding: Binding) -> int:
    assert binding.chain is not None, "applied with its chain"
    assert binding.schedule is not None, "applied with its schedule"
    return simulate(binding.chain, binding.schedule).peak


def _budget(binding: Binding) -> int | None:
    return binding.plan.budget if isinstance(binding.plan, Result) else None
