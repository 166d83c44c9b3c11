"""What the commands say about models and schedules, as plain data."""

from dataclasses import asdict
from fractions import Fraction
from typing import Any, Final

import typer

from ckschedule.costs.chain import Chain
from ckschedule.errors import InvalidBudgetError
from ckschedule.front import ParetoPoint
from ckschedule.result import Scope
from ckschedule.simulation import Model, Trace
from ckschedule.units import format_bytes, parse_budget

_VALUES: Final = {
    "x": "output",
    "s": "saved tensors",
    "g": "output gradient",
    "p": "weight gradient",
}
_TRANSIENT: Final = "transient of "


def model_facts(model: Model) -> dict[str, Any]:
    """Return name, size, static bytes and base time of a model."""
    chain = isinstance(model, Chain)
    return {
        "name": model.name,
        "kind": "chain" if chain else "graph",
        # The loss is a stage.
        "stages": len(model.sequence) if isinstance(model, Chain) else None,
        "nodes": len((model.to_graph() if isinstance(model, Chain) else model).nodes),
        "time_unit": model.time_unit,
        "base_time": model.base_time,
        "static": {**asdict(model.static), "total": model.static.total},
    }


def point_facts(point: ParetoPoint) -> dict[str, Any]:
    """Return the numbers of a point: bytes, ticks and counts."""
    return {
        "peak": point.peak,
        "activation_peak": point.activation_peak,
        "makespan": point.makespan,
        "overhead": point.overhead,
        "overhead_ratio": ratio(point.overhead, point.model.base_time),
        "recomputed": point.recomputations,
        "lower_bound": point.lower_bound,
    }


def trace_facts(trace: Trace, base_time: int) -> dict[str, Any]:
    """Return the numbers of a simulation: bytes, ticks and counts."""
    return {
        "peak": trace.peak,
        "activation_peak": trace.activation_peak,
        "makespan": trace.makespan,
        "overhead": trace.makespan - base_time,
        "overhead_ratio": ratio(trace.makespan - base_time, base_time),
        "recomputed": sum(trace.recomputations.values()),
    }


def scope_facts(scope: Scope) -> dict[str, str]:
    """Return the name of a scope and what it means."""
    return {"name": str(scope), "sentence": scope.sentence}


def exactly(size: int) -> str:
    """Return bytes for reading, followed by all digits where that rounds."""
    readable = format_bytes(size)
    return readable if size < 1024 else f"{readable} ({size} bytes)"


def ratio(overhead: int, base_time: int) -> float | None:
    """Return overhead by base time; None if the model takes no time."""
    return overhead / base_time if base_time else None


def percent(overhead: int, base_time: int, *, unit: str = " %") -> str:
    """Return an overhead in percent, for reading."""
    share = ratio(overhead, base_time)
    return "-" if share is None else f"{100 * share:+.2f}{unit}"


def parse_overhead(text: str) -> Fraction:
    """Return an overhead such as "30%" as a fraction of the base time.

    Raises
    ------
    typer.BadParameter
        If it is no percentage of zero or more.
    """
    digits = text.strip().removesuffix("%").strip()
    try:
        # The same digits as in budgets; a bare fraction could be meant either way.
        if not text.strip().endswith("%"):
            parse_budget(digits)
        value = Fraction(digits) / 100
    except (ValueError, ZeroDivisionError, InvalidBudgetError):
        value = Fraction(-1)
    if value < 0:
        raise typer.BadParameter(
            f"--overhead is {text!r}; write the extra time in percent, such as '30%'"
        )
    return value


def stage_name(model: Model, node: str) -> str:
    """Return the stage that a chain's node ``F3`` or ``B3`` runs; else the node."""
    return model.sequence[int(node[1:]) - 1].name if isinstance(model, Chain) else node


def value_name(model: Model, value: str) -> str:
    """Return what a value of a chain, such as ``s3``, is in words; else its name."""
    if value.startswith(_TRANSIENT):
        return f"running {_computation(model, value.removeprefix(_TRANSIENT))}"
    if not isinstance(model, Chain):
        return value
    if value == "x0":
        return "input of the chain"
    kind, _, variant = value.partition(":")
    name = model.sequence[int(kind[1:]) - 1].name
    return f"{_VALUES[kind[0]]} of {name}" + (f" ({variant})" if variant else "")


def _computation(model: Model, node: str) -> str:
    if not isinstance(model, Chain):
        return node
    direction = "forward" if node.startswith("F") else "backward"
    return f"the {direction} of {stage_name(model, node)}"


def stage_facts(model: Chain) -> list[dict[str, Any]]:
    """Return the stages of a chain as plain data, in bytes and ticks."""
    return [
        {
            "name": stage.name,
            "output": stage.output,
            "gradient": stage.gradient,
            "parameter_gradient": stage.parameter_gradient,
            "forward": stage.forward,
            "variants": [
                {
                    "name": variant.name,
                    "saved": variant.saved,
                    "forward": variant.forward,
                    "backward": variant.backward,
                }
                for variant in stage.variants
            ],
        }
        for stage in model.sequence
    ]
