"""Parameters lent for measuring: the model's own see no gradient and no hook."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from ckschedule.torch_backend.stage import Slot


@contextmanager
def exchanged(slots: Sequence[Slot]) -> Iterator[dict[int, torch.Tensor]]:
    """Put aliases in the place of parameters; they share memory, nothing else.

    Parameters
    ----------
    slots
        Where the parameters are; one that stands in several places gets one alias.

    Yields
    ------
    dict
        The alias of each parameter that needs a gradient, by the parameter's identity.
    """
    aliases: dict[int, nn.Parameter] = {}
    placed: list[tuple[Slot, nn.Parameter]] = []
    for module, name in slots:
        own = module._parameters[name]
        if own is None or not own.requires_grad:
            continue
        alias = aliases.setdefault(id(own), nn.Parameter(own.detach()))
        module._parameters[name] = alias
        placed.append(((module, name), own))
    try:
        yield dict(aliases)
    finally:
        for (module, name), own in placed:
            module._parameters[name] = own
