"""What to change on the command line when no schedule fits."""

from collections.abc import Mapping
from typing import Final

from ckschedule.catalog import OPTIMIZERS
from ckschedule.cli.models import ModelArgument
from ckschedule.result import Result
from ckschedule.simulation import Model
from ckschedule.units import format_bytes

_TINY: Final = 2**20
"""Bytes: a smaller budget without a unit for a model that needs more is a slip."""

_SHRINKING: Final[Mapping[str, str]] = {
    "batch": "a smaller",
    "sequence": "a shorter",
    "image": "a smaller",
}
"""Options that most of the activations grow with."""


def way_out(
    result: Result, argument: ModelArgument | None, budget: str
) -> dict[str, str]:
    """Return what to do if there is no schedule."""
    facts = {}
    model, limit = result.model, result.budget
    static = model.static.total
    if static > limit:
        facts["static alone"] = (
            f"{format_bytes(static)}, more than the budget; no schedule can help"
        )
    if tries := advice(argument, model, budget, limit, result.minimum_budget):
        facts["try"] = "\n".join(tries)
    return facts


def advice(
    argument: ModelArgument | None,
    model: Model,
    budget: str,
    limit: int,
    least: int | None,
) -> list[str]:
    """Return what could make a model fit, the likeliest remedy first.

    Parameters
    ----------
    argument, model
        What was asked for, None if that is no name; and what it is.
    budget, limit
        As it was written, and in bytes.
    least
        The smallest budget that works, in bytes; None if not known.
    """
    static = model.static.total
    smallest = [] if least is None else [_smallest(least)]
    if budget.strip().isdecimal() and limit < _TINY <= max(static, least or 0):
        return [f"--budget {limit}GiB, if that was meant: {limit} is bytes", *smallest]
    if argument is None or not argument.in_catalog:
        return smallest
    if static > limit:
        return smallest + _less_static(argument, static, limit)
    return smallest + _less(argument, _SHRINKING)


def _smallest(least: int) -> str:
    return f"--budget {least}, the smallest that works ({format_bytes(least)})"


def _less_static(argument: ModelArgument, static: int, limit: int) -> list[str]:
    """Return optimisers with which the static bytes fit, or ways to a smaller model."""
    lines = []
    if argument.value("optimizer") is not None:
        sizes = {
            name: argument.vary(optimizer=name).load().static.total
            for name in OPTIMIZERS
            if name != "none"
        }
        fitting = {name: size for name, size in sizes.items() if size < limit}
        lines = [
            f"--optimizer {name}, {format_bytes(size)} static"
            for name, size in fitting.items()
        ]
        if fitting:
            lines += _less(argument, _SHRINKING)
        elif min(sizes.values()) < static:
            least = min(sizes, key=lambda name: sizes[name])
            size = format_bytes(sizes[least])
            lines.append(f"a smaller model: even --optimizer {least} has {size} static")
        lines.append("--optimizer none, to count activations only")
    return lines


def _less(argument: ModelArgument, options: Mapping[str, str]) -> list[str]:
    return [
        f"{how} {argument.flag(option)} ({value} now)"
        for option, how in options.items()
        if isinstance(value := argument.value(option), int) and value > 1
    ]
