"""How tensors lie in memory: which share it, and copies that lie as they do."""

from collections.abc import Sequence

import torch


def is_view_of(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors share their storage."""
    # No public name says this.
    return bool(torch._C._is_alias_of(a, b))  # type: ignore[attr-defined]


def copies(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return tensors of the same layout, on storages shared as theirs are.

    Kernels choose by layout: a dense copy of a strided tensor would give other bits.
    """
    keys = [tensor.untyped_storage()._cdata for tensor in tensors]
    made: dict[int, torch.Tensor] = {}
    copied = []
    for tensor, key in zip(tensors, keys, strict=True):
        size = tensor.untyped_storage().nbytes()
        alone = size == tensor.nbytes and keys.count(key) == 1
        if tensor.is_conj() or tensor.is_neg() or alone:
            copied.append(tensor.clone())
            continue
        if key not in made:
            elements = size // tensor.element_size()
            made[key] = tensor.as_strided((elements,), (1,), 0).clone()
        base = made[key].view(tensor.dtype)
        copied.append(
            base.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        )
    return copied
