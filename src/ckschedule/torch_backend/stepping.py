"""One training step of a model that leaves no trace, for measuring and comparing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ckschedule.torch_backend.binding import Binding
from ckschedule.torch_backend.calling import (
    Loss,
    arguments,
    as_inputs,
    differentiate,
    loss_of,
)
from ckschedule.torch_backend.interception import owner_of
from ckschedule.torch_backend.measuring import Measurement, measure
from ckschedule.torch_backend.memo import untouched
from ckschedule.torch_backend.profiling.exchange import exchanged


class TrainingStep:
    """A forward and backward after which everything is as it was.

    Parameters
    ----------
    model
        Follows its plan, if it has one.
    inputs, loss
        As for `auto_checkpoint`.
    accumulate
        Whether gradients are there before the step: zeros, then.
    """

    def __init__(
        self, model: nn.Module, inputs: Any, loss: Loss | None, *, accumulate: bool
    ) -> None:
        self.model = model
        self.args, self.kwargs = arguments(model, as_inputs(inputs))
        self._loss = loss
        self._accumulate = accumulate
        self._slots = [(m, n) for m in model.modules() for n in m._parameters]
        self._inputs = [
            t
            for t in pytree.tree_leaves((self.args, self.kwargs))
            if isinstance(t, torch.Tensor) and t.is_leaf and t.requires_grad
        ]

    @contextmanager
    def traceless(self) -> Iterator[None]:
        """Have gradients, buffers, hooks and random streams out of what runs inside."""
        kept = [tensor.grad for tensor in self._inputs]
        for tensor in self._inputs:
            tensor.grad = None
        try:
            with (
                untouched([*self.model.modules()]),
                exchanged(self._slots),
                torch.enable_grad(),
            ):
                yield
        finally:
            for tensor, grad in zip(self._inputs, kept, strict=True):
                tensor.grad = grad

    def run(self) -> tuple[Any, torch.Tensor | None]:
        """Run it; return what the model returned, and the loss. Within `traceless`."""
        returned = self.model(*self.args, **self.kwargs)
        value = loss_of(returned, self._loss)
        differentiate(returned, value)
        return returned, value

    def gradients(self) -> dict[str, torch.Tensor | None]:
        """Return the gradients that it left, by name; within `traceless`."""
        found = {name: p.grad for name, p in self.model.named_parameters()}
        return found | {f"input {i}": t.grad for i, t in enumerate(self._inputs)}

    def measure(self, repeats: int) -> Measurement:
        """Return its peak and executions, and the median time of some more."""
        inputs = (self.args, self.kwargs)
        with self.traceless():
            self._clear()
            first = measure(self.run, self.model, inputs=inputs)
        with self.traceless():
            timed = measure(self._again, self.model, repeats=repeats)
        return Measurement(
            peak=first.peak, time=timed.time, executions=first.executions
        )

    def _again(self) -> Any:
        self._clear()
        return self.run()

    def _clear(self) -> None:
        for parameter in self.model.parameters():
            made = self._accumulate and parameter.requires_grad
            parameter.grad = torch.zeros_like(parameter) if made else None


def measure_step(
    model: nn.Module,
    inputs: Any,
    loss: Loss | None = None,
    *,
    accumulate: bool = False,
    repeats: int = 0,
) -> Measurement:
    """Return what one training step of a model takes, which it leaves unchanged.

    Parameters
    ----------
    model
        Follows its plan, if it has one.
    inputs, loss
        As for `auto_checkpoint`.
    accumulate
        Whether gradients are there before the step.
    repeats
        Steps that are timed, after the one whose bytes are counted.
    """
    return TrainingStep(model, inputs, loss, accumulate=accumulate).measure(repeats)


def measure_plain(
    model: nn.Module,
    inputs: Any,
    loss: Loss | None = None,
    *,
    accumulate: bool = False,
    repeats: int = 0,
) -> Measurement:
    """Return what one step of the plain model takes: the point "leave it alone".

    A plan that is applied is taken off meanwhile. All of a plain step's memory is used.

    Parameters
    ----------
    model, inputs, loss, accumulate, repeats
        As for `measure_step`.

    Notes
    -----
    This is a point of its own beside a model's front: an executor holds the gradient of
    a stage's output through the stage's whole backward, and so storing everything under
    it can peak a little higher than plain autograd.
    """
    owner = owner_of(model)
    off = plan_off(owner) if isinstance(owner, Binding) else nullcontext()
    with off:
        return measure_step(model, inputs, loss, accumulate=accumulate, repeats=repeats)


@contextmanager
def plan_off(binding: Binding) -> Iterator[None]:
    """Have a model without its plan meanwhile."""
    binding.uninstall()
    try:
        yield
    finally:
        binding.install()
