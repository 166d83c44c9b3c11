"""`verify`: whether a model under its plan computes what the plain model does."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ckschedule.costs.chain import Chain
from ckschedule.costs.static import StaticMemory
from ckschedule.errors import (
    InvalidSettingError,
    PlanMismatchError,
    VerificationError,
)
from ckschedule.result import Result
from ckschedule.simulation import simulate
from ckschedule.torch_backend.applying import apply, binding_of, plan_of
from ckschedule.torch_backend.binding import Binding
from ckschedule.torch_backend.calling import (
    Loss,
    arguments,
    as_inputs,
    differentiate,
    loss_of,
)
from ckschedule.torch_backend.explaining import explain
from ckschedule.torch_backend.measuring import Measurement
from ckschedule.torch_backend.memo import untouched
from ckschedule.torch_backend.program import FORWARD
from ckschedule.torch_backend.sharding import refuse_sharded
from ckschedule.torch_backend.stepping import TrainingStep, plan_off
from ckschedule.units import format_bytes

_SPREAD: Final = 4
"""Times the difference of two plain runs that a plan's may have, where kernels vary."""

_STEP: Final = 1e-6
"""Of the finite differences, relative to the parameters, in float64."""

_DIFFERENCE: Final = 1e-5
"""Relative error that a finite difference in float64 may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was compared.

    Attributes
    ----------
    name
        What.
    ok
        Whether it held.
    detail
        The figures, in words.
    """

    name: str
    ok: bool
    detail: str


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
        checks.append(_difference(model, inputs, loss))
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


def _difference(model: nn.Module, inputs: Any, loss: Loss | None) -> Check:
    """Compare the gradient's direction with a difference quotient of the loss."""
    binding = binding_of(model)
    assert binding.schedule is not None, "applied"
    twin = copy.deepcopy(model).double()
    inputs = pytree.tree_map(_wide, inputs)
    apply(twin, binding.schedule, _without_sizes(binding.chain))
    args, kwargs = arguments(twin, as_inputs(inputs))
    trained = [p for p in twin.parameters() if p.requires_grad]
    generator = torch.Generator().manual_seed(0)
    directions = [
        torch.randn(p.shape, generator=generator, dtype=p.dtype).to(p.device)
        for p in trained
    ]

    def value(shift: float) -> float:
        with untouched([*twin.modules()]), torch.no_grad():
            for p, d in zip(trained, directions, strict=True):
                p.add_(d, alpha=shift)
            found = (
                loss_of(twin(*args, **kwargs), None)
                if loss is None
                else loss(twin(*args, **kwargs))
            )
            for p, d in zip(trained, directions, strict=True):
                p.sub_(d, alpha=shift)
        if found is None:
            raise InvalidSettingError(
                "finite differences need a loss, and the model returns none; give loss="
            )
        return float(found)

    with untouched([*twin.modules()]), torch.enable_grad():
        returned = twin(*args, **kwargs)
        differentiate(returned, loss_of(returned, loss))
    slope = sum(
        float((p.grad * d).sum())
        for p, d in zip(trained, directions, strict=True)
        if p.grad is not None
    )
    quotient = (value(_STEP) - value(-_STEP)) / (2 * _STEP)
    error = abs(slope - quotient) / max(abs(quotient), abs(slope), 1e-12)
    return Check(
        name="finite differences",
        ok=error <= _DIFFERENCE,
        detail=f"slope {slope:.10g}, quotient {quotient:.10g}, relative error "
        f"{error:.2g}",
    )


def _wide(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
        return leaf.detach().double().requires_grad_(leaf.requires_grad)
    return leaf


def _without_sizes(chain: Chain | None) -> Chain:
    """Return the chain without parameter sizes, which differ in another precision."""
    assert chain is not None, "applied with its chain"
    return replace(
        chain,
        stages=[
            replace(
                s,
                parameter_gradient=0,
                variants=[replace(v, backward_transient=None) for v in s.variants],
            )
            for s in chain.stages
        ],
        static=StaticMemory(),
    )
