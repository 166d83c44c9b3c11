"""Depths of residual networks: how many blocks each group has."""

from collections.abc import Sequence
from itertools import count
from typing import Final, Literal, TypeAlias

from ckschedule.catalog.arguments import as_positive
from ckschedule.errors import InvalidModelError

Form: TypeAlias = Literal["imagenet", "cifar"]
"""Four groups of blocks after a stem that shrinks the image; or three after none."""

Block: TypeAlias = Literal["bottleneck", "basic"]
"""Three convolutions, the last four times as wide; or two."""

GROUPS: Final = {"imagenet": 4, "cifar": 3}
"""Groups of blocks by form."""

CONVOLUTIONS: Final = {"bottleneck": 3, "basic": 2}
"""Convolutions by block."""

_PUBLISHED: Final = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}
_BASIC_BELOW: Final = {"imagenet": 50, "cifar": 120}


def blocks_of(depth: int, form: Form) -> tuple[Block, tuple[int, ...]]:
    """Return the kind of block and the number of blocks per group.

    Depth counts the layers with weights outside shortcuts: the stem's convolution, the
    blocks' convolutions and the classifier. Published ImageNet depths have their
    published blocks. Any other depth is bottleneck with ``(depth - 2) / 3`` blocks
    split evenly, the last groups taking what is left over: 1001 is 83, 83, 83, 84.

    In the CIFAR form all groups are equal: basic of depth ``6n + 2`` or bottleneck of
    ``9n + 2``. Where both fit, depths below 120 are basic and others bottleneck; so 20
    to 110 and 1202 are basic, 164 and 1001 bottleneck, as He et al. published them.

    Raises
    ------
    InvalidModelError
        If no such network has this depth; the message names the nearest that have one.
    """
    depth = as_positive(depth, "resnet: depth")
    rule = _imagenet if form == "imagenet" else _cifar
    found = rule(depth)
    if found is None:
        below = next((d for d in range(depth - 1, 0, -1) if rule(d)), None)
        above = next(d for d in count(depth + 1) if rule(d))
        near = f"{above}" if below is None else f"{below} or {above}"
        raise InvalidModelError(
            f"resnet: depth is {depth}, which no {form} form has; the nearest depths "
            f"are {near}, or give blocks=({', '.join('1' * GROUPS[form])})"
        )
    return found


def checked_blocks(blocks: Sequence[int], form: Form) -> tuple[int, ...]:
    """Return the caller's own number of blocks per group.

    Raises
    ------
    InvalidModelError
        If there are not as many groups as the form has, or one has no block.
    """
    try:
        given = tuple(blocks)
    except TypeError:
        raise InvalidModelError(
            f"resnet: blocks is {blocks!r}; give one number for each group"
        ) from None
    counts = tuple(as_positive(entry, "resnet: blocks entry") for entry in given)
    if len(counts) != GROUPS[form]:
        raise InvalidModelError(
            f"resnet: blocks has {len(counts)} entries; the {form} form has "
            f"{GROUPS[form]} groups: give one number for each"
        )
    return counts


def _imagenet(depth: int) -> tuple[Block, tuple[int, ...]] | None:
    if depth in _PUBLISHED:
        basic = depth < _BASIC_BELOW["imagenet"]
        return "basic" if basic else "bottleneck", _PUBLISHED[depth]
    total, rest = divmod(depth - 2, CONVOLUTIONS["bottleneck"])
    groups = GROUPS["imagenet"]
    if rest or total < groups:
        return None
    each, extra = divmod(total, groups)
    return "bottleneck", tuple(each + (g >= groups - extra) for g in range(groups))


def _cifar(depth: int) -> tuple[Block, tuple[int, ...]] | None:
    order: tuple[Block, ...] = ("bottleneck", "basic")
    if depth < _BASIC_BELOW["cifar"]:
        order = ("basic", "bottleneck")
    groups = GROUPS["cifar"]
    for block in order:
        each, rest = divmod(depth - 2, groups * CONVOLUTIONS[block])
        if not rest and each >= 1:
            return block, (each,) * groups
    return None
