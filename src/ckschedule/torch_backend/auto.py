"""`auto_checkpoint`: profile a model, solve, and have its calls follow the answer."""

import logging
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import nn

from ckschedule.budgets import check_budget, store_all
from ckschedule.costs.chain import Chain
from ckschedule.costs.device import Device
from ckschedule.result import Result
from ckschedule.solvers.base import AbstractSolver
from ckschedule.solving import solve
from ckschedule.torch_backend.applying import apply
from ckschedule.torch_backend.calling import (
    Loss,
    as_inputs,
)
from ckschedule.torch_backend.profiling.profile import profile
from ckschedule.torch_backend.stepping import measure_plain
from ckschedule.units import Budget, format_bytes

_logger = logging.getLogger(__name__)

_WINDOW: Final = 0.9
"""Of the store-all peak: from there up the plain model is tried, in all its memory."""


def auto_checkpoint(
    model: nn.Module,
    inputs: Any,
    *,
    budget: Budget,
    loss: Loss | None = None,
    stages: Sequence[str] | None = None,
    time: str | Device = "measured",
    variants: Sequence[str] = ("all",),
    optimizer: str | torch.optim.Optimizer | None = None,
    accumulate: bool = False,
    solver: AbstractSolver | None = None,
) -> nn.Module:
    """Return the model, whose training steps stay within a memory budget from now on.

    Parameters
    ----------
    model
        Changed in place; see `apply`.
    inputs
        What it is called with: a tensor, a tuple, or a mapping of keywords.
    budget
        Bytes of a whole step, parameters and gradients included: "8GiB", "10GB", a
        number, or "60%" of what storing everything takes.
    loss, stages, time, variants, optimizer, accumulate
        As for `profile`.
    solver
        Its settings; None means `AutoSolver`.

    Returns
    -------
    torch.nn.Module
        The same object. It is left alone, and `plan_of` returns None, where storing
        everything keeps the budget, or where the plain model is seen to: that is tried
        for budgets from 90 % of the store-all peak.

    Raises
    ------
    NoScheduleError
        If nothing keeps the budget; the message names the smallest that works.
    UnsupportedModelError
        If no chain of stages is found in the model.
    UnfaithfulStageError
        If a stage cannot be computed again with equal results.

    Examples
    --------
    >>> import ckschedule as ck
    >>> layers = [torch.nn.Linear(64, 64) for _ in range(8)]
    >>> model = torch.nn.Sequential(*layers)
    >>> x = torch.ones(512, 64)
    >>> model = ck.auto_checkpoint(model, x, loss=torch.sum, budget="75%")
    >>> model(x).sum().backward()
    """
    given = as_inputs(inputs)
    check_budget(budget)
    chain = profile(
        model,
        *given,
        loss=loss,
        stages=stages,
        time=time,
        variants=variants,
        optimizer=optimizer,
        accumulate=accumulate,
    )
    result = solve(chain, budget, solver)
    if _plain_fits(model, given, loss, chain, result):
        _logger.info(
            "the plain model keeps the budget of %s: it is left alone",
            format_bytes(result.budget),
        )
        return model
    result.raise_for_status()
    apply(model, result)
    _logger.info("%s", result)
    return model


def _plain_fits(
    model: nn.Module,
    inputs: tuple[Any, ...],
    loss: Loss | None,
    chain: Chain,
    result: Result,
) -> bool:
    """Whether the model keeps the budget without a plan."""
    everything = store_all(chain).peak
    if everything <= result.budget:
        return True
    # Between the two lies the window in which only a measurement can tell.
    if result.budget < everything * _WINDOW or any(
        p.is_meta for p in model.parameters()
    ):
        return False
    accumulate = chain.static.gradients > 0
    plain = measure_plain(model, inputs, loss, accumulate=accumulate)
    # The state of an optimiser is no part of a step without one.
    return plain.peak + chain.static.optimizer <= result.budget
