"""What a training step takes: peak bytes, time, and computations of each stage."""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ckschedule.torch_backend.binding import Binding
from ckschedule.torch_backend.interception import owner_of
from ckschedule.torch_backend.storages import LiveStorages
from ckschedule.units import format_bytes, format_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one step took.

    Attributes
    ----------
    peak
        Bytes: parameters, buffers, gradients, inputs, optimiser state and all that the
        step allocates. On the CPU all live storages, exactly; on a CUDA device what the
        allocator handed out, by its own counter.
    time
        Nanoseconds, the median of the timed steps; None if none was timed.
    executions
        How often each stage was computed in one step, by name; empty without a plan.
    """

    peak: int
    time: int | None
    executions: Mapping[str, int]

    def __str__(self) -> str:
        """Return the figures in words."""
        words = f"peak {format_bytes(self.peak)}"
        if self.time is not None:
            words += f", {format_time(self.time, 'ns')}"
        again = sum(self.executions.values()) - len(self.executions)
        return words + (f", {again} recomputations" if self.executions else "")


def measure(
    step: Callable[[], Any],
    model: nn.Module | None = None,
    *,
    inputs: Any = (),
    optimizer: torch.optim.Optimizer | None = None,
    repeats: int = 0,
) -> Measurement:
    """Return what a training step takes.

    Parameters
    ----------
    step
        Runs forward and backward once, and may step an optimiser.
    model
        Its parameters, buffers and gradients are counted from the start; if it follows
        a plan, its stages' computations are too.
    inputs
        Tensors, or any structure of them, that lie there before the step.
    optimizer
        Whose state is counted.
    repeats
        Steps that are timed, after the one whose bytes are counted.

    Notes
    -----
    A backward over several CUDA devices' threads is counted by the allocator of the
    current device. On the CPU operators run under a dispatch mode: that step is slow,
    and not among the timed ones.
    """
    binding = owner_of(model) if model is not None else None
    if isinstance(binding, Binding):
        binding.reset()
    peak = _peak(step, [*_owned(model), *_tensors(inputs), *_state(optimizer)])
    executions: dict[str, int] = {}
    if isinstance(binding, Binding):
        counts = binding.executions[1 : binding.last]
        executions = dict(zip(binding.names, counts, strict=True))
    times = [_timed(step) for _ in range(repeats)]
    return Measurement(
        peak=peak,
        time=statistics.median_low(times) if times else None,
        executions=executions,
    )


def _peak(step: Callable[[], Any], present: Iterable[torch.Tensor]) -> int:
    tensors = list(present)
    device = next((t.device for t in tensors if t.device.type == "cuda"), None)
    if device is not None:
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        step()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device)
    counter = LiveStorages()
    counter.track(tensors)
    del tensors, present
    counter.reset()
    with counter:
        kept = step()
    del kept
    return counter.peak


def _timed(step: Callable[[], Any]) -> int:
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    start = time.perf_counter_ns()
    step()
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return time.perf_counter_ns() - start


def _owned(model: nn.Module | None) -> list[torch.Tensor]:
    if model is None:
        return []
    parameters = [*model.parameters()]
    return [
        *parameters,
        *model.buffers(),
        *(p.grad for p in parameters if p.grad is not None),
    ]


def _tensors(inputs: Any) -> list[torch.Tensor]:
    return [t for t in pytree.tree_leaves(inputs) if isinstance(t, torch.Tensor)]


def _state(optimizer: torch.optim.Optimizer | None) -> list[torch.Tensor]:
    return [] if optimizer is None else _tensors(dict(optimizer.state))
