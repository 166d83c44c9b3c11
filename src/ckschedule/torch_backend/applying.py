"""Putting a plan on a model and taking it off; running callables under a schedule."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from ckschedule.costs.chain import Chain
from ckschedule.costs.graph import Graph
from ckschedule.errors import PlanMismatchError
from ckschedule.front import ParetoPoint
from ckschedule.result import Result
from ckschedule.schedule import Schedule
from ckschedule.torch_backend.binding import Binding
from ckschedule.torch_backend.interception import owner_of
from ckschedule.torch_backend.remembered import recall_stages
from ckschedule.torch_backend.statics import shared_parameters, storage_bytes
from ckschedule.units import format_bytes


def apply(
    model: nn.Module,
    plan: Result | ParetoPoint | Schedule,
    chain: Chain | None = None,
) -> nn.Module:
    """Return the model, whose calls follow a plan from now on.

    Parameters
    ----------
    model
        Changed in place: its parameters, names, hooks, types and saved states stay.
        Calls without gradients run as before.
    plan
        A result or a point of a front, or a bare schedule.
    chain
        What a bare schedule was made for; a result knows it.

    Returns
    -------
    torch.nn.Module
        The same object.

    Raises
    ------
    NoScheduleError
        If the result has no schedule.
    PlanMismatchError
        If the plan was made for another model, or one is applied already; the message
        names the first difference.

    Notes
    -----
    Gradients, buffers and random streams come out as those of the plain model, or a
    call is refused with `UnfaithfulStageError`. Inputs of other sizes than profiled
    work; the promised peak holds up to the profiled size, and a warning says so.

    What has to be known of a stage beyond its name is looked at when it is profiled, or
    else when it is first computed: with a plan from a file, a model that was not
    profiled in this process keeps a little more in its first step.
    """
    schedule, chain = _parts(plan, chain)
    binding = Binding(
        model, [s.name for s in chain.stages], schedule, plan=plan, chain=chain
    )
    _check_fits(binding, chain)
    recall_stages(model, binding.stages.values())
    binding.install()
    return model


def unapply(model: nn.Module) -> nn.Module:
    """Return the model as it was before a plan was applied.

    Raises
    ------
    PlanMismatchError
        If no plan is applied to it.
    """
    binding_of(model).uninstall()
    return model


def plan_of(model: nn.Module) -> Result | ParetoPoint | Schedule | None:
    """Return the plan that the model follows; None if it follows none."""
    owner = owner_of(model)
    return owner.plan if isinstance(owner, Binding) else None


def binding_of(model: nn.Module) -> Binding:
    """Return what binds a model to its plan.

    Raises
    ------
    PlanMismatchError
        If no plan is applied to it.
    """
    owner = owner_of(model)
    if not isinstance(owner, Binding) or owner.model is not model:
        raise PlanMismatchError(
            f"{type(model).__name__} follows no plan; apply one with apply(model, plan)"
        )
    return owner


def execute(
    schedule: Schedule, stages: Sequence[Callable[..., Any]], *args: Any, **kwargs: Any
) -> Any:
    """Return the output of stages, whose backward will follow a schedule.

    Parameters
    ----------
    schedule
        For a chain of these stages and a loss, which the caller computes.
    stages
        Callables, the first of which takes the arguments and each other what the one
        before it returned. Leaf tensors that they close over get their gradients too.
    *args, **kwargs
        Of the first stage.

    Raises
    ------
    PlanMismatchError
        If the schedule is for another number of stages.
    UnfaithfulStageError
        If a stage cannot be computed again with equal results.

    Examples
    --------
    >>> import torch
    >>> import ckschedule as ck
    >>> chain = ck.catalog.uniform(stages=2)
    >>> plan = ck.solve(chain, "100%")
    >>> x = torch.ones(3, requires_grad=True)
    >>> ck.execute(plan.schedule, [torch.exp, torch.sin], x).sum().backward()
    """
    if not isinstance(schedule, Schedule):
        raise PlanMismatchError(
            f"the schedule is a {type(schedule).__name__}; give a Schedule, such as "
            f"result.raise_for_status().schedule"
        )
    model = _Steps(stages)
    names = [f"steps.{i}" for i in range(len(stages))]
    Binding(model, names, schedule, plan=schedule).install()
    return model(*args, **kwargs)


class _Step(nn.Module):
    """One callable as a module, so that it can be intercepted."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def extra_repr(self) -> str:
        # Steps of one function are alike to the profiler, others are not.
        return f"{self.function!r}"

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


class _Steps(nn.Module):
    """Callables in a row."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.steps = nn.ModuleList([_Step(function) for function in functions])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        first, *others = self.steps
        value = first(*args, **kwargs)
        for step in others:
            value = step(value)
        return value


def _parts(
    plan: Result | ParetoPoint | Schedule, chain: Chain | None
) -> tuple[Schedule, Chain]:
    model: Chain | Graph | None
    if isinstance(plan, Result):
        schedule, model = plan.raise_for_status().schedule, plan.model
    elif isinstance(plan, ParetoPoint):
        schedule, model = plan.schedule, plan.model
    elif isinstance(plan, Schedule):
        schedule, model = plan, chain
    else:
        raise PlanMismatchError(
            f"the plan is a {type(plan).__name__}; give a Result, a ParetoPoint, or a "
            f"Schedule with its chain"
        )
    if not isinstance(model, Chain):
        raise PlanMismatchError(
            "the plan is not for a chain; give chain=, the chain that the schedule was "
            "made for"
        )
    return schedule, model


def _check_fits(binding: Binding, chain: Chain) -> None:
    """Refuse a chain whose parameters are not those of the model's stages."""
    stages = binding.stages
    shared = shared_parameters(stages.values())
    total = storage_bytes([*binding.model.parameters()])
    other_model = 0 < chain.static.parameters != total
    for (i, stage), planned in zip(stages.items(), chain.stages, strict=True):
        trained = stage.trained()
        found, expected = storage_bytes(trained), planned.parameter_gradient
        if not expected or stage.is_start or any(id(p) in shared for p in trained):
            continue
        # They may differ in the same model: a chain counts the gradients that were
        # seen, of an input too, and not those of parts that were idle.
        if other_model and found != expected:
            raise PlanMismatchError(
                f"stage {i} ({stage.name!r}) has {found} bytes of trained parameters, "
                f"and {expected} in the plan: it was made for another model"
            )
    if other_model:
        raise PlanMismatchError(
            f"the model has {format_bytes(total)} of parameters ({total} bytes), and "
            f"the plan {format_bytes(chain.static.parameters)} "
            f"({chain.static.parameters} bytes): it was made for another model"
        )
