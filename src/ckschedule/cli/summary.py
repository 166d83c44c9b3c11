"""What the commands say about models and schedules, as plain data."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from fractions import Fraction
from itertools import pairwise
from math import ceil, inf
from typing import Any, Final, assert_never

import typer

from ckschedule.costs.chain import Chain
from ckschedule.errors import InvalidBudgetError
from ckschedule.front import ParetoPoint
from ckschedule.result import Result, Scope, Status
from ckschedule.simulation import Model, Trace
from ckschedule.units import format_bytes, parse_budget

_VALUES: Final = {
    "x": "output",
    "s": "saved tensors",
    "g": "output gradient",
    "p": "weight gradient",
}
_TRANSIENT: Final = "transient of "
_VALUE: Final = re.compile(r"([xsgp])([0-9]+)(?::(.*))?", re.DOTALL)
_SCOPES: Final = {
    Scope.UNRESTRICTED: "all schedules",
    Scope.GIVEN_ORDER: "schedules in the graph's order",
    Scope.PERSISTENT: "persistent schedules",
    Scope.SINGLE_TAPE: "single-tape schedules",
    Scope.CONSTRUCTION: "schedules of this construction",
}


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


def scope_name(scope: Scope) -> str:
    """Return the schedules of a scope in two words; ``scope.sentence`` says more."""
    return _SCOPES[scope]


def outcome(result: Result) -> str:
    """Return how a solve ended, with the name of the scope."""
    within = f"within {format_bytes(result.budget)}"
    among = f"among {scope_name(result.scope)}"
    match result.status:
        case Status.OPTIMAL:
            return f"optimal {within} {among}"
        case Status.FEASIBLE:
            if result.gap is None or result.gap == inf:
                return f"feasible {within}, with no bound to compare it with"
            more = gap_percent(result.gap)
            return f"feasible {within}, at most {more} above the optimum {among}"
        case Status.INFEASIBLE:
            return f"nothing fits {within} {among}"
        case Status.UNKNOWN:
            return f"no schedule found {within}, and no proof that there is none"
        case _:
            assert_never(result.status)


def gap_percent(gap: float) -> str:
    """Return a gap in percent, rounded up: it bounds from above, and 0 means none."""
    if gap == inf:
        return "∞ %"  # a bound of 0
    return f"{ceil(100_000 * gap) / 1000:.3f} %" if gap else "0 %"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


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


def live_names(model: Model, live: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return what lives, in words, with its bytes.

    Of a chain, equal values of neighbouring stages are joined and their bytes added.
    """
    if not isinstance(model, Chain):
        return list(live.items())
    named: list[tuple[str, int]] = []
    alike: dict[tuple[str, str, int], list[int]] = {}
    for value, size in live.items():
        parts = _VALUE.fullmatch(value)
        if parts is None:
            node = value.removeprefix(_TRANSIENT)
            direction = "forward" if node.startswith("F") else "backward"
            name = model.sequence[int(node[1:]) - 1].name
            named.append((f"running the {direction} of {name}", size))
        else:
            alike.setdefault((parts[1], parts[3] or "", size), []).append(int(parts[2]))
    for (kind, variant, size), stages in alike.items():
        named += [
            (_value_name(model, kind, variant, run), size * len(run))
            for run in _runs(sorted(stages))
        ]
    return named


def _runs(numbers: list[int]) -> Iterator[range]:
    """Give the runs of consecutive numbers."""
    start = numbers[0]
    for before, number in pairwise([*numbers, numbers[-1] + 2]):
        if number != before + 1:
            yield range(start, before + 1)
            start = number


def _value_name(chain: Chain, kind: str, variant: str, stages: range) -> str:
    if stages[0] == 0:
        # The input is no stage's.
        first = "input of the chain" if kind == "x" else "input gradient"
        rest = stages[1:]
        more = f", {_value_name(chain, kind, variant, rest)}" if rest else ""
        return first + more
    of = stage_range(chain, range(stages[0] - 1, stages[-1]))
    return f"{_VALUES[kind]} of {of}" + (f" ({variant})" if variant else "")


def stage_range(chain: Chain, indices: range) -> str:
    """Return the names of the first and last of neighbouring stages.

    Of "group 1 block 2" and "group 1 block 5" the second becomes "5".
    """
    first, last = chain.sequence[indices[0]].name, chain.sequence[indices[-1]].name
    if len(indices) == 1:
        return first
    series, _, number = last.rpartition(" ")
    return f"{first} to {number if first.rpartition(' ')[0] == series else last}"


def stage_facts(model: Chain) -> list[dict[str, Any]]:
    """Return the stages of a chain as plain data, in bytes and ticks."""
    return [
        {
            "name": stage.name,
            "output": stage.output,
            "gradient": stage.gradient,
            "parameter_gradient": stage.parameter_gradient,
            "forward": stage.forward,
            "transient": stage.transient,
            "variants": [
                {
                    "name": variant.name,
                    "saved": variant.saved,
                    "forward": variant.forward,
                    "backward": variant.backward,
                    "forward_transient": variant.forward_transient,
                    "backward_transient": variant.backward_transient,
                    "needs_input": variant.needs_input,
                    "needs_output": variant.needs_output,
                }
                for variant in stage.variants
            ],
        }
        for stage in model.sequence
    ]
