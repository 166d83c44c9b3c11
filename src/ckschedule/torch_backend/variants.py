"""Ways to record a stage: saving everything, or the dear parts of it."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import torch
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

MATMULS: Final = (
    torch.ops.aten.mm.default,
    torch.ops.aten.bmm.default,
    torch.ops.aten.addmm.default,
    torch.ops.aten.baddbmm.default,
    torch.ops.aten.convolution.default,
    torch.ops.aten._scaled_dot_product_flash_attention.default,
    torch.ops.aten._scaled_dot_product_efficient_attention.default,
    torch.ops.aten._scaled_dot_product_cudnn_attention.default,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
)
"""Operators whose outputs the variant "matmul" saves: the dear ones to repeat."""

VARIANTS: Final = ("all", "matmul")
"""Ways to record a stage: saving everything, or outputs of `MATMULS` and recomputing
the rest within the stage's backward."""


def _policy(_context: Any, operator: Any, *_args: Any, **_kwargs: Any) -> Any:
    saved = operator in MATMULS
    return CheckpointPolicy.MUST_SAVE if saved else CheckpointPolicy.PREFER_RECOMPUTE


def selectively(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a computation that saves outputs of `MATMULS` only."""
    return partial(
        checkpoint,
        compute,
        use_reentrant=False,
        preserve_rng_state=False,  # the executor puts all streams back
        context_fn=partial(create_selective_checkpoint_contexts, _policy),
    )
