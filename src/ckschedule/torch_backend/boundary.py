"""What crosses a cut: any Python structure as tensors and the rest.

A stage may take and return tensors in tuples, named tuples, lists, dicts, dataclasses
and whatever torch's pytrees know. Tensors are what a schedule keeps and frees; all else
is repeated as it was. Objects that can change between two calls are refused: a cache
that a stage appends to would grow again when the stage is computed again.
"""

import dataclasses
import enum
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ckschedule.errors import UnfaithfulStageError

_CONSTANTS: Final = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    enum.Enum,
    slice,
    range,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    torch.nn.Module,
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    frozenset,
    np.generic,
)
"""Leaves that mean the same at every call."""


@dataclass(frozen=True, slots=True)
class Structure:
    """A Python structure whose tensors were taken out.

    Attributes
    ----------
    leaves
        The constants in order; None where a tensor stands.
    places
        Indices of the tensors among the leaves; None for one bare tensor.
    tree
        How the leaves make up the structure; None for the two simplest.
    opened
        Whether dataclasses were taken apart in it.
    """

    leaves: tuple[Any, ...]
    places: tuple[int, ...] | None
    tree: Any
    opened: bool = False

    def build(self, tensors: Sequence[torch.Tensor]) -> Any:
        """Return a new structure of the same form with these tensors in it."""
        if self.places is None:
            return tensors[0]
        if self.tree is None:
            return (tensors[0],), {}
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        built = pytree.tree_unflatten(leaves, self.tree)
        return _restore(built) if self.opened else built


_BARE: Final = Structure((), None, None)
ONE_ARGUMENT: Final = Structure((), (0,), None)
"""Of a call with one tensor and nothing else."""


def take_apart(item: Any, stage: str) -> tuple[list[torch.Tensor], Structure]:
    """Return the tensors of a structure, and the structure without them.

    Parameters
    ----------
    item
        Anything that a stage takes or returns.
    stage
        Its name, for messages.

    Raises
    ------
    UnfaithfulStageError
        If a part is neither a tensor nor a constant: it may change between the first
        computation and the next.
    """
    if isinstance(item, torch.Tensor):
        return [item], _BARE
    leaves, tree = pytree.tree_flatten(item, is_leaf=_is_dataclass)
    opened = any(_is_dataclass(leaf) for leaf in leaves)
    if opened:
        leaves, tree = pytree.tree_flatten(
            pytree.tree_map(_open, item, is_leaf=_is_dataclass)
        )
    tensors, places = [], []
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            tensors.append(leaf)
            places.append(place)
            leaves[place] = None
        elif not isinstance(leaf, _CONSTANTS):
            raise UnfaithfulStageError(
                f"stage {stage!r} takes or returns a {type(leaf).__qualname__}, which "
                f"may change between two computations; pass tensors and constants only "
                f"(for a cache of keys and values: use_cache=False)"
            )
    return tensors, Structure(tuple(leaves), tuple(places), tree, opened)


def take_call_apart(
    args: Any, kwargs: Any, stage: str
) -> tuple[list[torch.Tensor], Structure]:
    """Return the tensors of ``(args, kwargs)``, and the rest; see `take_apart`."""
    if not kwargs and len(args) == 1 and isinstance(args[0], torch.Tensor):
        # By far the most common call, at every stage of every step.
        return [args[0]], ONE_ARGUMENT
    return take_apart((args, kwargs), stage)


class _Opened(tuple[Any, ...]):
    """A dataclass as a tuple (its class, names and values of its fields)."""

    __slots__ = ()


pytree.register_pytree_node(
    _Opened,
    lambda opened: (list(opened[2]), (opened[0], opened[1])),
    lambda values, context: _Opened((*context, tuple(values))),
)


def _is_dataclass(item: Any) -> bool:
    return (
        dataclasses.is_dataclass(item)
        and not isinstance(item, type)
        and type(item) not in pytree.SUPPORTED_NODES
    )


def _open(item: Any) -> Any:
    if not _is_dataclass(item):
        return item
    names = tuple(field.name for field in dataclasses.fields(item))
    values = tuple(
        pytree.tree_map(_open, getattr(item, name), is_leaf=_is_dataclass)
        for name in names
    )
    return _Opened((type(item), names, values))


def _restore(item: Any) -> Any:
    return pytree.tree_map(_close, item, is_leaf=_is_opened)


def _is_opened(item: Any) -> bool:
    return isinstance(item, _Opened)


def _close(item: Any) -> Any:
    if not _is_opened(item):
        return item
    kind, names, values = item
    # Without __init__: it may compute, check or leave out fields.
    made = object.__new__(kind)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, _restore(value))
    return made
