"""The model without its stages: each call of one is answered by what it returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from ckschedule.torch_backend.boundary import Structure
from ckschedule.torch_backend.run import AbstractRun
from ckschedule.torch_backend.storages import uncounted

if TYPE_CHECKING:
    from ckschedule.torch_backend.binding import Binding


@dataclass(slots=True)
class Replay:
    """Answers of all stages, and the moment at which the last one was given.

    Attributes
    ----------
    now
        A clock.
    reached
        Its value when the last stage returned; None before.
    """

    now: Callable[[], int] | None = None
    reached: int | None = None
    _answers: dict[int, tuple[Structure, list[torch.Tensor]]] = field(
        default_factory=dict
    )
    _last: list[torch.Tensor] = field(default_factory=list)

    def note(
        self, index: int, structure: Structure, tensors: Sequence[torch.Tensor]
    ) -> None:
        """Remember the form of what a stage returned; its numbers do not matter."""
        # One element each, however large: nothing reads them, and nobody counts them.
        with uncounted():
            forms = [tensor.new_empty(()).expand(tensor.shape) for tensor in tensors]
        self._answers[index] = structure, forms

    def keep(self, tensors: list[torch.Tensor]) -> None:
        """Remember what the last stage returned, in full: the end computes on it."""
        with uncounted():
            self._last = [tensor.clone() for tensor in tensors]

    def follow(self, binding: Binding, args: Any, kwargs: Any) -> AbstractRun:
        """Return what answers the calls of one call of the model."""
        del args, kwargs
        return _ReplayRun(self, binding)

    def answer(self, index: int, last: bool) -> Any:
        """Return what a stage returned."""
        structure, tensors = self._answers[index]
        if last:
            tensors = [
                tensor.detach().requires_grad_(
                    tensor.is_floating_point() or tensor.is_complex()
                )
                for tensor in self._last
            ]
            assert self.now is not None, "set by who asks"
            self.reached = self.now()
        return structure.build(tensors)


class _ReplayRun(AbstractRun):
    """One call of the model."""

    def __init__(self, replay: Replay, binding: Binding) -> None:
        self._replay = replay
        self._last = binding.last - 1
        self._next = binding.first

    @property
    def next(self) -> int:
        """Index of the stage that has to be called next."""
        return self._next

    def call(self, args: Any, kwargs: Any) -> Any:
        """Return what the stage returned before."""
        del args, kwargs
        index, self._next = self._next, self._next + 1
        return self._replay.answer(index, index == self._last)

    def finish(self) -> None:
        """Nothing to check."""
