"""Schedules as Python source that other frameworks run without this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from ckschedule.costs.chain import Chain
from ckschedule.errors import InvalidSettingError, UnsupportedModelError
from ckschedule.exporting.jax_source import JAX_DOCSTRING, JAX_IMPORTS, JAX_RUN
from ckschedule.exporting.nesting import Checkpoint, checkpoints
from ckschedule.exporting.torch_source import (
    TORCH_DOCSTRING,
    TORCH_IMPORTS,
    TORCH_RUN,
)
from ckschedule.front import ParetoPoint
from ckschedule.result import Result, figures
from ckschedule.schedule import Schedule
from ckschedule.simulation import Model, Trace, simulate

Target: TypeAlias = Literal["torch", "jax"]
"""A framework that source can be written for."""

_TEXTS: Final = {
    "torch": (TORCH_DOCSTRING, TORCH_IMPORTS, TORCH_RUN),
    "jax": (JAX_DOCSTRING, JAX_IMPORTS, JAX_RUN),
}

_INDENTED: Final = 20
"""Levels of checkpoints that comments indent: deeper ones would fill the line."""

_NEST: Final = '''\
def _nest(plan, count):
    """Return stage numbers in order, those of a checkpoint in a list of their own."""
    rows = plan[::-1]
    levels = [(count, [])]
    for number in range(count):
        while rows and rows[-1][0] == number:
            inside = (rows.pop()[1], [])
            levels[-1][1].append(inside[1])
            levels.append(inside)
        levels[-1][1].append(number)
        while len(levels) > 1 and levels[-1][0] == number + 1:
            levels.pop()
    return levels[0][1]
'''


def export(
    plan: Result | ParetoPoint | Schedule, *, to: Target, chain: Chain | None = None
) -> str:
    """Return a Python module that runs a schedule with nested checkpoints alone.

    Its ``run(stages, x)`` calls the stages, the loss not among them, and needs only the
    framework. Its docstring lists what the framework's checkpoints cannot do: stages
    run as often as in the schedule, but the peak is not promised.

    Parameters
    ----------
    plan
        What `solve` or `ParetoFront.at` returned for a chain, or a schedule.
    to
        "torch": ``torch.utils.checkpoint.checkpoint(..., use_reentrant=False)``;
        "jax": ``jax.checkpoint``.
    chain
        The chain that a schedule is for; the other plans know theirs.

    Returns
    -------
    str
        Source text.

    Raises
    ------
    InvalidSettingError
        If ``to`` is unknown, ``plan`` is no plan, or ``chain`` is missing beside a
        schedule or not the one that the plan is for.
    NoScheduleError
        If the result has no schedule.
    InvalidScheduleError
        If the schedule is illegal.
    UnsupportedModelError
        If the model is a graph, or the schedule is not one of nested checkpoints or
        records a variant other than the first; the message names the operation. All
        persistent schedules of chains with one variant can be exported.

    Notes
    -----
    Linear in the operations.

    Examples
    --------
    >>> import ckschedule as ck
    >>> result = ck.solve(ck.catalog.uniform(stages=8, saved=2), 12)
    >>> source = export(result, to="torch")
    >>> start = source.index("PLAN = ")
    >>> print(source[start : source.index("]", start) + 1])
    PLAN = [
        (0, 2),  # "stage 1" to "stage 2"
        (2, 4),  # "stage 3" to "stage 4"
        (4, 6),  # "stage 5" to "stage 6"
    ]
    """
    if to not in _TEXTS:
        raise InvalidSettingError(
            f"export: to is {to!r}; choose one of {', '.join(_TEXTS)}"
        )
    model, trace = _simulated(plan, chain)
    if not isinstance(model, Chain):
        raise UnsupportedModelError(
            f"export takes chains, and {model.name!r} is a graph; import or build the "
            f"model as a chain"
        )
    found = checkpoints(model, trace.schedule)
    docstring, imports, run = _TEXTS[to]
    top = "\n".join([docstring, _facts(model, trace, found), imports])
    tables = f"{_stages(model)}\n{_plan(model, found)}"
    return "\n".join([f"{top}\n{tables}\n", f"{run}\n", _NEST])


def _simulated(
    plan: Result | ParetoPoint | Schedule, chain: Chain | None
) -> tuple[Model, Trace]:
    if isinstance(plan, Schedule):
        if chain is None:
            raise InvalidSettingError(
                "export: a schedule alone does not say what it is for; give chain="
            )
        return chain, simulate(chain, plan)
    if not isinstance(plan, Result | ParetoPoint):
        raise InvalidSettingError(
            f"export: the plan is a {type(plan).__name__}; give a Result, a "
            f"ParetoPoint such as front.at('60%'), or a Schedule with its chain"
        )
    if chain is not None and chain != plan.model:
        raise InvalidSettingError(
            f"export: the plan is for {plan.model.name!r}, not for the chain that was "
            f"given, {chain.name!r}; leave chain= out"
        )
    if isinstance(plan, Result):
        return plan.model, plan.raise_for_status()
    return plan.model, plan.trace


def _facts(chain: Chain, trace: Trace, found: Sequence[Checkpoint]) -> str:
    from ckschedule import __version__

    depth = max((checkpoint.depth for checkpoint in found), default=0)
    return (
        f"# Written by ckschedule {__version__} for the chain {_quoted(chain.name)}.\n"
        f"# Checkpoints: {len(found)}, nested up to {depth} deep.\n"
        f"# Simulated: {figures(trace.peak, trace.makespan, chain)}.\n"
    )


def _stages(chain: Chain) -> str:
    rows = [
        f"    {_quoted(stage.name)},  # {number}\n"
        for number, stage in enumerate(chain.stages)
    ]
    loss = _quoted(chain.sequence[-1].name)
    return (
        f"STAGES = [\n{''.join(rows)}]\n"
        f'"""Names of the stages in the cost model."""\n'
        f"# Its last stage, {loss}, is not run here: it is the loss, with what the\n"
        f"# model does after the stages. A stage 'start' is what it does before them.\n"
    )


def _plan(chain: Chain, found: Sequence[Checkpoint]) -> str:
    rows = []
    for checkpoint in found:
        first, stop = checkpoint.first, checkpoint.stop
        names = _quoted(chain.stages[first].name)
        if stop - first > 1:
            names += f" to {_quoted(chain.stages[stop - 1].name)}"
        indent = "  " * min(checkpoint.depth - 1, _INDENTED)
        rows.append(f"    ({first}, {stop}),  # {indent}{names}\n")
    table = "[\n{}]".format("".join(rows)) if rows else "[]"
    return (
        f"PLAN = {table}\n"
        f'"""Checkpoints as ``range(first, stop)`` of stages, each before those inside '
        f'it."""\n'
    )


def _quoted(name: str) -> str:
    """Return a string literal that stays on its line, whatever the name holds."""
    escaped = (c if c.isprintable() and c not in '"\\' else _escaped(c) for c in name)
    return '"{}"'.format("".join(escaped))


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character.encode("unicode_escape").decode()
