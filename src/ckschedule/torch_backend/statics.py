"""Bytes that lie there throughout: parameters, buffers, gradients, optimiser state."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import torch
from torch import nn

from ckschedule.costs.static import StaticMemory
from ckschedule.errors import InvalidSettingError
from ckschedule.torch_backend.stage import TorchStage

_MOMENTS: Final = {None: 0, "none": 0, "sgd": 0, "momentum": 1, "adamw": 2}
"""Copies of the trained parameters that an optimiser keeps, by its name."""


def storage_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Return the bytes under tensors, each storage once."""
    storages = {t.untyped_storage()._cdata: t.untyped_storage() for t in tensors}
    return sum(storage.nbytes() for storage in storages.values())


def shared_parameters(stages: Iterable[TorchStage]) -> set[int]:
    """Return the identities of trained parameters that several stages use."""
    uses = Counter(id(p) for stage in stages for p in stage.trained())
    return {key for key, count in uses.items() if count > 1}


def static_memory(
    model: nn.Module,
    optimizer: str | torch.optim.Optimizer | None,
    *,
    accumulate: bool,
) -> StaticMemory:
    """Return a model's static bytes as they are while a step runs.

    Parameters
    ----------
    model
        Parameters and buffers count by storage.
    optimizer
        An optimiser, or "sgd", "momentum" or "adamw", or None for no state. State that
        an optimiser does not have before its first step is foreseen.
    accumulate
        Whether the gradients are there already; otherwise the backward makes them.

    Raises
    ------
    InvalidSettingError
        If the optimiser's name is unknown.
    """
    parameters = [*model.parameters()]
    trained = [p for p in parameters if p.requires_grad]
    return StaticMemory(
        parameters=storage_bytes(parameters),
        buffers=storage_bytes(model.buffers()),
        gradients=storage_bytes(trained) if accumulate else 0,
        optimizer=_state_bytes(trained, optimizer),
    )


def _state_bytes(
    trained: Sequence[torch.Tensor], optimizer: str | torch.optim.Optimizer | None
) -> int:
    if isinstance(optimizer, torch.optim.Optimizer):
        state = [
            value
            for values in optimizer.state.values()
            for value in values.values()
            if isinstance(value, torch.Tensor)
        ]
        if state:
            return storage_bytes(state)
        group = optimizer.param_groups[0]
        # Two moments where there are betas, one where there is momentum.
        moments = 2 if "betas" in group else int(bool(group.get("momentum")))
        amsgrad = int(bool(group.get("amsgrad")))
        return (moments + amsgrad) * storage_bytes(trained)
    if optimizer not in _MOMENTS:
        names = ", ".join(repr(name) for name in _MOMENTS if name)
        raise InvalidSettingError(
            f"optimizer is {optimizer!r}; give a torch optimizer or one of {names}"
        )
    return _MOMENTS[optimizer] * storage_bytes(trained)
