"""The independent check of a map: no two blocks that live together overlap."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ckschedule.arena.arena import Arena, Block, blocks_at
from ckschedule.arena.lifetimes import lifetimes_of


def fault_of(arena: Arena) -> str | None:
    """Return what is wrong with an arena, in words; None if nothing is.

    Its blocks have to be those of its schedule, each once, aligned, within the arena
    and apart from each other; its size the least that holds them, and its lower bound
    between what the schedule takes at one instant and that size.
    """
    alignment = arena.alignment
    lifetimes = lifetimes_of(arena.trace, arena.inplace)
    if lifetimes.inplace != arena.inplace:
        return f"inplace is {arena.inplace!r}, but {lifetimes.inplace!r} do so"
    zeros = np.zeros(len(lifetimes), np.int64)
    expected = blocks_at(arena.trace, lifetimes, zeros)
    if len(arena.blocks) != len(expected):
        return f"it has {len(arena.blocks)} blocks; the schedule has {len(expected)}"
    for k, (block, known) in enumerate(zip(arena.blocks, expected, strict=True)):
        for part in ("name", "first", "last", "size", "storage", "transient"):
            given, right = getattr(block, part), getattr(known, part)
            if given != right:
                return f"blocks[{k}].{part} is {given!r}; the schedule has {right!r}"
    top = max((block.offset + block.size for block in arena.blocks), default=0)
    height = -(-top // alignment) * alignment
    if arena.size != height:
        return f"size is {arena.size}, but the blocks end at {height}"
    units = -(-lifetimes.storages[2] // alignment)
    floor = alignment * int(lifetimes.load_of_sizes(units).max())
    if not floor <= arena.lower_bound <= arena.size:
        return f"lower_bound is {arena.lower_bound}, outside [{floor}, {arena.size}]"
    return first_overlap(arena.blocks, alignment)


def first_overlap(blocks: Sequence[Block], alignment: int = 1) -> str | None:
    """Return which blocks lie wrongly, in words; None if none does.

    Parameters
    ----------
    blocks
        With their offsets, in any order.
    alignment
        Of which every offset has to be a multiple.

    Notes
    -----
    A sweep over time that keeps what is taken sorted by address; it knows nothing of
    how the blocks were placed. O(n log n) searches, and insertions into a list.
    """
    for block in blocks:
        if block.offset < 0 or block.offset % alignment:
            return f"{block} is not aligned to {alignment} bytes"
    # Blocks of one storage share its bytes while one is written over another.
    homes: dict[int, list[Block]] = {}
    for block in blocks:
        homes.setdefault(block.storage, []).append(block)
    rows: list[tuple[int, int, int, Block]] = []
    for home in homes.values():
        home.sort(key=lambda block: (block.first, block.last))
        for before, after in pairwise(home):
            if after.offset != before.offset or after.first != before.last:
                return f"{after} is not written over {before}, whose storage it has"
        size = max(block.size for block in home)
        if size:
            rows.append((home[0].first, home[-1].last, size, home[0]))
    return _overlap(rows)


def _overlap(rows: list[tuple[int, int, int, Block]]) -> str | None:
    births = sorted(range(len(rows)), key=lambda k: rows[k][0])
    deaths = sorted(range(len(rows)), key=lambda k: rows[k][1])
    taken: list[tuple[int, int]] = []
    dead = 0
    for k in births:
        first, _, size, block = rows[k]
        # Lifetimes are inclusive: what dies now is still in the way.
        while rows[deaths[dead]][1] < first:
            gone = deaths[dead]
            taken.pop(bisect_left(taken, (rows[gone][3].offset, gone)))
            dead += 1
        at = bisect_left(taken, (block.offset, k))
        for start, other in taken[max(0, at - 1) : at + 1]:
            if start < block.offset + size and block.offset < start + rows[other][2]:
                return f"{block} overlaps {rows[other][3]} while both live"
        insort(taken, (block.offset, k))
    return None
