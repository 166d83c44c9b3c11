"""What was learned of a model's stages, for plans that are applied to it later."""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from torch import nn

from ckschedule.torch_backend.stage import TorchStage, Traits

_Seen: TypeAlias = tuple[int, dict[Any, Traits], tuple[int, ...] | None, bool, bool]
"""Number of modules, then `TorchStage`'s known, places, compared, grad_sensitive."""

_LEARNED: Final[WeakKeyDictionary[nn.Module, dict[str, _Seen]]] = WeakKeyDictionary()
"""By model and stage; keeps no module alive."""


def remember_stages(model: nn.Module, stages: Iterable[TorchStage]) -> None:
    """Keep what is known of a model's stages as long as the model lives."""
    _LEARNED[model] = {
        stage.name: (
            len(stage.modules),
            dict(stage.known),
            stage.places,
            stage.compared,
            stage.grad_sensitive,
        )
        for stage in stages
    }


def recall_stages(model: nn.Module, stages: Iterable[TorchStage]) -> None:
    """Tell stages of a model what was learned of them before."""
    learned = _LEARNED.get(model, {})
    for stage in stages:
        found = learned.get(stage.name)
        if found is not None and found[0] == len(stage.modules):
            _, known, stage.places, stage.compared, sensitive = found
            stage.known |= known
            stage.grad_sensitive = stage.grad_sensitive or sensitive
