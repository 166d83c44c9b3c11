"""Stages whose parameters FSDP shards (`torch.distributed.fsdp.fully_shard`).

FSDP gathers the parameters of a module in that module's own hooks, around each of its
computations, and reduces their gradients as soon as its backward has ended.
"""

from collections.abc import Mapping
from typing import Any

from torch import nn

from ckschedule.errors import PlanMismatchError
from ckschedule.torch_backend.stage import TorchStage


def refuse_sharded(model: nn.Module, what: str) -> None:
    """Refuse to measure a model that is sharded already.

    Raises
    ------
    PlanMismatchError
        If any of its modules is.
    """
    if any(is_sharded(module) for module in model.modules()):
        raise PlanMismatchError(
            f"{what} needs the whole model, and {type(model).__name__} is sharded: "
            f"do it before fully_shard; a plan may be applied before or after"
        )


def is_sharded(module: nn.Module) -> bool:
    """Whether FSDP shards a module as one."""
    return any(kind.__name__ == "FSDPModule" for kind in type(module).__mro__)


def check_sharding(model: nn.Module, stages: Mapping[int, TorchStage]) -> None:
    """Refuse a sharding that does not follow the stages.

    Raises
    ------
    PlanMismatchError
        If stages share what FSDP shards, or FSDP shards parts of several stages as one
        that is not the whole model.
    """
    owners: dict[int, TorchStage] = {}
    for stage in stages.values():
        for module in stage.modules:
            other = owners.setdefault(id(module), stage)
            if other is not stage and stage.inner_backward:
                raise PlanMismatchError(
                    f"stages {other.name!r} and {stage.name!r} share a "
                    f"{type(module).__name__} that FSDP shards: its gradient would be "
                    f"reduced before both have added to it; shard only the whole "
                    f"model, or make one stage of both"
                )
    for module in model.modules():
        if module is not model and is_sharded(module):
            _check_unit(module, owners)


def reshard(stage: TorchStage) -> None:
    """Free the gathered parameters of a stage that was computed within a backward.

    FSDP expects the module's own backward next and would keep them until then.
    """
    for module in stage.modules:
        if is_sharded(module) and any(
            group._reshard_after_forward for group in _state(module)._fsdp_param_groups
        ):
            module.reshard()  # type: ignore[operator]  # a method of FSDPModule


def _check_unit(module: nn.Module, owners: Mapping[int, TorchStage]) -> None:
    # `fully_shard([a, b])` gathers both when the first of them is called.
    unit = [part for top in _state(module)._modules for part in top.modules()]
    found = {id(owners.get(id(part))): owners.get(id(part)) for part in unit}
    if len(found) > 1:
        names = ", ".join(
            "what lies between the stages" if stage is None else repr(stage.name)
            for stage in found.values()
        )
        raise PlanMismatchError(
            f"FSDP shards a {type(module).__name__} as one that is part of several "
            f"stages ({names}); call fully_shard on each stage, and on the whole model"
        )


def _state(module: Any) -> Any:
    return module._get_fsdp_state()
