"""Which stages use which parameters: whose gradients are there before, and stay."""

from collections.abc import Mapping
from typing import TypeAlias

import torch

from ckschedule.torch_backend.binding import Binding

SlotKey: TypeAlias = tuple[int, str]
"""A parameter's place: its module's identity, and its name there."""


class Uses:
    """Parameters of a model by the stages that use them.

    Parameters
    ----------
    binding
        Its stages. The start's own are not told apart from the end's before the model
        has run: see `see_end`.
    """

    def __init__(self, binding: Binding) -> None:
        self._last = binding.last
        self._first = binding.first
        self._parameters: dict[int, torch.Tensor] = {}
        self._slots: dict[int, dict[SlotKey, int]] = {}
        for index, stage in binding.stages.items():
            own = self._slots[index] = {}
            for module, name in stage.parameter_slots():
                parameter = module._parameters[name]
                if parameter is not None and parameter.requires_grad:
                    own[id(module), name] = id(parameter)
                    self._parameters[id(parameter)] = parameter
        self._end: set[int] = set()

    def see_end(
        self, leaves: frozenset[int], aliases: Mapping[int, torch.Tensor]
    ) -> None:
        """Note the leaf tensors that the end was seen to use.

        Parameters
        ----------
        leaves
            Their identities.
        aliases
            What stood for parameters outside of the stages, by those' identity.
        """
        self._end = {
            key
            for key in self._parameters
            if key in leaves or id(aliases.get(key)) in leaves
        }

    def slots(
        self, start: set[SlotKey]
    ) -> tuple[dict[int, set[SlotKey]], dict[int, set[SlotKey]]]:
        """Return each stage's slots that later stages use too, and that earlier do.

        Parameters
        ----------
        start
            Slots that the start was seen to use.
        """
        used = self._used(start)
        later: dict[int, set[SlotKey]] = {}
        earlier: dict[int, set[SlotKey]] = {}
        seen = set(self._end)
        for index in sorted(self._slots, reverse=True):
            later[index] = self._among(index, seen)
            seen |= used[index]
        seen = set()
        for index in sorted(self._slots):
            earlier[index] = self._among(index, seen)
            seen |= used[index]
        return later, earlier

    def summed_by_end(self, start: set[SlotKey]) -> int:
        """Return the bytes of the end's parameters that stages use too."""
        used = set().union(*self._used(start).values())
        return sum(self._parameters[key].nbytes for key in self._end & used)

    def _used(self, start: set[SlotKey]) -> dict[int, set[int]]:
        return {
            index: {
                key
                for slot, key in own.items()
                if index >= self._first or slot in start
            }
            for index, own in self._slots.items()
        }

    def _among(self, index: int, keys: set[int]) -> set[SlotKey]:
        return {slot for slot, key in self._slots[index].items() if key in keys}
