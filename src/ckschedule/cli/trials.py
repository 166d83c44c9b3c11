"""A plan on its torch model: what one step shows, under the plan and left alone."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ckschedule.cli.factories import TorchModel
from ckschedule.cli.guests import guest_code
from ckschedule.cli.summary import model_facts
from ckschedule.costs.chain import Chain
from ckschedule.result import Result
from ckschedule.units import format_bytes

if TYPE_CHECKING:
    from ckschedule.torch_backend import Check, Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A plan, and what trying it showed.

    Attributes
    ----------
    result
        Of the solver, for a chain.
    measured, plain
        A step under the plan and one of the model left alone; None if not measured.
    checks
        What was compared.
    notes
        What else there is to say.
    """

    result: Result
    measured: "Measurement | None"
    plain: "Measurement | None"
    checks: "tuple[Check, ...]"
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the budget is kept and every check held."""
        return bool(self.checks) and all(check.ok for check in self.checks)

    @property
    def chain(self) -> Chain:
        """The model's."""
        assert isinstance(self.result.model, Chain), "profiling makes chains"
        return self.result.model

    def total(self, measured: "Measurement") -> int:
        """Return a measured peak as budgets count it, all static bytes included."""
        return _total(self.result, measured)

    def executions(self, measured: "Measurement") -> dict[str, int]:
        """Return how often each stage was computed; once by the plain model."""
        if measured.executions:
            return dict(measured.executions)
        return {stage.name: 1 for stage in self.chain.stages}

    @property
    def planned(self) -> Mapping[str, int] | None:
        """How often the plan computes each stage, the loss aside; None without plan."""
        trace = self.result.trace
        if trace is None:
            return None
        return {
            stage.name: 1 + trace.recomputations.get(f"F{i}", 0)
            for i, stage in enumerate(self.chain.stages, start=1)
        }


def try_plan(
    found: TorchModel,
    result: Result,
    *,
    verify: bool,
    finite_differences: bool,
    repeats: int,
) -> Trial:
    """Return what a step under a plan shows.

    Parameters
    ----------
    found
        The model that the plan was made for, changed in place.
    result
        Of the solver; where it has no schedule only the plain model is measured.
    verify
        Whether the plain model is run and compared with; the next is a part of it.
    finite_differences, repeats
        As `ckschedule.verify` takes them.

    Raises
    ------
    typer.TyperException
        If the model raises.
    """
    import ckschedule.torch_backend as backend

    model, inputs, loss = found.model, found.inputs, found.loss
    with guest_code(f"running {found.target}"):
        if result.trace is None:
            return _left_alone(found, result) if verify else _untried(result)
        backend.apply(model, result)
        if not verify:
            measured = _measure(found, result, repeats)
            return Trial(
                result=result,
                measured=measured,
                plain=None,
                checks=(_peak_check(result, measured),),
                notes=(),
            )
        shown = backend.verify(
            model,
            inputs,
            loss=loss,
            finite_differences=finite_differences,
            repeats=repeats,
        )
    return Trial(
        result=result,
        measured=shown.measured,
        plain=shown.plain,
        checks=shown.checks,
        notes=(*shown.notes, *_needless(result, shown.plain)),
    )


def _left_alone(found: TorchModel, result: Result) -> Trial:
    """Return what the plain model takes where no schedule fits."""
    from ckschedule.torch_backend import measure_plain

    accumulate = result.model.static.gradients > 0
    plain = measure_plain(found.model, found.inputs, found.loss, accumulate=accumulate)
    check = _peak_check(result, plain)
    return Trial(
        result=result,
        measured=None,
        plain=plain,
        checks=(check,) if check.ok else (),
        notes=_needless(result, plain),
    )


def _needless(result: Result, plain: "Measurement") -> tuple[str, ...]:
    """Return a note if no plan is needed."""
    if _total(result, plain) > result.budget:
        return ()
    return ("left alone, the model keeps the budget too: it needs no plan",)


def _untried(result: Result) -> Trial:
    return Trial(result=result, measured=None, plain=None, checks=(), notes=())


def _measure(found: TorchModel, result: Result, repeats: int) -> "Measurement":
    """Return what steps under the plan take, without a plain one beside them."""
    from ckschedule.torch_backend import measure_step

    accumulate = result.model.static.gradients > 0
    # In its first step a plan learns of its stages, and keeps a little more.
    for count in (0, repeats):
        measured = measure_step(
            found.model,
            found.inputs,
            found.loss,
            accumulate=accumulate,
            repeats=count,
        )
    return measured


def _peak_check(result: Result, measured: "Measurement") -> "Check":
    from ckschedule.torch_backend import Check

    peak = _total(result, measured)
    predicted = result.peak
    words = "" if predicted is None else f"predicted {format_bytes(predicted)}, "
    return Check(
        name="peak",
        ok=peak <= result.budget,
        detail=f"measured {format_bytes(peak)}, {words}allowed "
        f"{format_bytes(result.budget)}",
    )


def _total(result: Result, measured: "Measurement") -> int:
    """Return a measured peak as budgets count it.

    A step without an optimiser does not show the bytes of its state.
    """
    return measured.peak + result.model.static.optimizer


def trial_document(trial: Trial) -> dict[str, Any]:
    """Return what ``--json`` prints: bytes, ticks and counts."""
    result, trace = trial.result, trial.result.trace
    return {
        "model": model_facts(trial.chain),
        "status": str(result.status),
        "solver": result.solver,
        "budget": result.budget,
        "minimum_budget": result.minimum_budget,
        "predicted": None
        if trace is None
        else {
            "peak": trace.peak,
            "time": trace.makespan,
            "executions": trial.planned,
        },
        "measured": _measured_facts(trial, trial.measured),
        "plain": _measured_facts(trial, trial.plain),
        "ok": trial.ok,
        "checks": [asdict(check) for check in trial.checks],
        "notes": list(trial.notes),
    }


def _measured_facts(
    trial: Trial, measured: "Measurement | None"
) -> dict[str, Any] | None:
    if measured is None:
        return None
    return {
        "peak": trial.total(measured),
        "time": measured.time,
        "executions": trial.executions(measured),
    }
