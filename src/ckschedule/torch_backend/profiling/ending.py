"""The last stage: what the model does after its last module, with the loss.

It is always recorded, by the caller's own code, and differentiated at once. Its figures
are taken there too: the model runs once for the bytes, with every stage measured on the
way, and a few times for the time, with every stage replaced by its result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from ckschedule.costs.chain import Stage, Variant
from ckschedule.errors import UnsupportedModelError
from ckschedule.torch_backend.calling import Loss, differentiate, loss_of, tensors_in
from ckschedule.torch_backend.names import END
from ckschedule.torch_backend.profiling.clock import AbstractClock
from ckschedule.torch_backend.profiling.rehearsal import (
    Layout,
    layout_of,
)
from ckschedule.torch_backend.profiling.survey import Survey
from ckschedule.torch_backend.profiling.timing import median


@dataclass(frozen=True, slots=True)
class End:
    """The last stage.

    Attributes
    ----------
    stage
        Its bytes; times are zero.
    gradient
        ``g_{n-1}``: bytes that it yields.
    yields
        Layout of that, for each tensor of its input.
    leaves
        Identities of the leaf tensors that it uses.
    has_loss
        Whether there is a loss, so that the peak of a whole step can be promised.
    held
        Bytes of the last stage's output that the caller holds to the end.
    rise
        Bytes by which the backward rose above the level before.
    """

    stage: Stage
    gradient: int
    yields: tuple[Layout, ...]
    leaves: frozenset[int]
    has_loss: bool
    held: int
    rise: int

    def with_kept(self, more: int) -> End:
        """Return the end with more bytes that stay after its backward."""
        (variant,) = self.stage.variants
        kept = self.stage.parameter_gradient + more
        return replace(self, stage=_end_stage(variant, kept, self.gradient))

    def with_output_saved(self) -> End:
        """Return the end with the output that it holds among its saved tensors.

        The same end, if its forward would then seem to peak above its backward.
        """
        (variant,) = self.stage.variants
        forward = (variant.forward_transient or 0) + self.held
        backward = variant.saved + (variant.backward_transient or 0)
        if not self.held or forward > backward:
            return self
        saved = replace(
            variant,
            saved=variant.saved + self.held,
            needs_input=False,
            forward_transient=forward,
            # The same level: the output counted beside the saved tensors before.
            backward_transient=self.rise,
        )
        kept = self.stage.parameter_gradient
        return replace(self, stage=_end_stage(saved, kept, self.gradient))


def measure_end(
    survey: Survey, model: nn.Module, args: Any, kwargs: Any, loss: Loss | None
) -> End:
    """Run the model, all stages surveyed on the way, and measure the end.

    Raises
    ------
    UnsupportedModelError
        If the end uses the output of another stage than the last.
    """
    counter = survey.counter
    returned = model(*args, **kwargs)
    value = loss_of(returned, loss)
    base = counter.bytes_of([*survey.roots, *survey.pinned])
    given = survey.last_bytes
    alive = survey.last_alive()
    forward = counter.peak - base - given
    after = counter.live
    leaves = _leaves(survey, _roots(returned, value))
    with _grads_kept(leaves, survey):
        before = counter.live
        counter.reset()
        differentiate(returned, value)
        rise = counter.peak - before
        yielded = [grad for grad in survey.box if grad is not None]
        gradient = counter.bytes_of(yielded)
        # The engine holds the gradient that it starts from until it ends.
        seeds = sum(root.nbytes for root in _roots(returned, value))
        kept = counter.live - base - gradient - (before - after) + seeds
    saved = after - base - alive
    variant = Variant(
        saved=saved,
        backward=0,
        needs_input=alive > 0,
        needs_output=False,
        forward_transient=max(forward, saved),
        backward_transient=rise,
    )
    stage = _end_stage(variant, kept, gradient)
    box = iter(survey.box)
    yields = tuple(
        [layout_of(next(box, None)) if d else None for d in survey.last_needs]
    )
    held = min(_held_bytes(survey, returned), alive)
    return End(
        stage, gradient, yields, frozenset(leaves), value is not None, held, rise
    )


def _end_stage(variant: Variant, kept: int, gradient: int) -> Stage:
    transient = max(variant.backward_transient or 0, gradient + kept - variant.saved, 0)
    return Stage(
        name=END,
        output=0,
        forward=0,
        transient=variant.forward_transient,
        parameter_gradient=kept,
        variants=(replace(variant, backward_transient=transient),),
    )


def _held_bytes(survey: Survey, returned: Any) -> int:
    """Return the bytes of the last stage's output among what the model returned."""
    alive = [s for ref in survey.last_storages if (s := ref()) is not None]
    mine = {storage._cdata for storage in alive}
    tensors = tensors_in(returned)
    found = {t.untyped_storage()._cdata: t.untyped_storage() for t in tensors}
    return sum(storage.nbytes() for key, storage in found.items() if key in mine)


def time_end(
    survey: Survey,
    model: nn.Module,
    args: Any,
    kwargs: Any,
    loss: Loss | None,
    clock: AbstractClock,
) -> tuple[int, int]:
    """Return the median nanoseconds of the end's forward and backward."""
    forwards: list[int] = []
    backwards: list[int] = []
    for repeat in range(-clock.warm_up, clock.repeats):
        survey.replay.reached = None
        with clock.started() as now:
            survey.replay.now = now
            returned = model(*args, **kwargs)
            value = loss_of(returned, loss)
            middle = now()
            leaves = _leaves(survey, _roots(returned, value))
            with _grads_kept(leaves, survey):
                start = now()
                differentiate(returned, value)
                end = now()
        if repeat >= 0:
            assert survey.replay.reached is not None, "every stage was called"
            forwards.append(middle - survey.replay.reached)
            backwards.append(end - start)
    return median(forwards), median(backwards)


def _leaves(survey: Survey, roots: Sequence[torch.Tensor]) -> dict[int, torch.Tensor]:
    """Return the leaf tensors below a loss; refuse outputs of earlier stages."""
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen: dict[int, Any] = {}
    found: dict[int, torch.Tensor] = {}
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, torch.Tensor):
            older = survey.older.get(id(leaf))
            if older is not None and older() is leaf:
                raise UnsupportedModelError(
                    "the model is no chain: what it does after its last stage uses the "
                    "output of an earlier stage; name fewer stages, so that one holds "
                    "both"
                )
            found[id(leaf)] = leaf
        waiting.extend(n for n, _ in node.next_functions if n is not None)
    return found


def _roots(returned: Any, loss: torch.Tensor | None) -> list[torch.Tensor]:
    if loss is not None:
        return [loss]
    return [t for t in tensors_in(returned) if t.requires_grad]


@contextmanager
def _grads_kept(leaves: dict[int, torch.Tensor], survey: Survey) -> Iterator[None]:
    """Give leaf tensors gradients of their own, and the old ones back."""
    kept = [(leaf, leaf.grad) for leaf in leaves.values()]
    for leaf, _ in kept:
        leaf.grad = torch.zeros_like(leaf) if survey.accumulate else None
    try:
        yield
    finally:
        for leaf, grad in kept:
            leaf.grad = grad
