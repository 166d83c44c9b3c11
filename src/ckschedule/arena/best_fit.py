"""Best fit: blocks in some order, each into the smallest gap that it fits.

Putting blocks with given lifetimes at addresses is dynamic storage allocation, which is
NP-hard (Garey and Johnson 1979, problem SR2). Which order is good depends on the
schedule, so several are tried, among them greedy by size and greedy by breadth of
Pisarchyk and Lee 2020, arXiv 2001.03288, as TensorFlow Lite has them. The best one is
then varied: the block on top goes first, and all are placed again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from ckschedule.arena.lifetimes import load_of
from ckschedule.costs.encoding import Ints

_PAIRS: Final = 20_000_000
"""Pairs of blocks that live together which the variation of the best order may look at:
a second or two."""

_ROUNDS: Final = 200
"""Variations of the best order, at most."""


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Blocks to be placed.

    Attributes
    ----------
    first, last, size
        (n,): inclusive instants, and units of memory.
    end
        The last instant.
    """

    first: Ints
    last: Ints
    size: Ints
    end: int

    def __len__(self) -> int:
        return len(self.size)

    @property
    def load(self) -> Ints:
        """(end + 1,): units that are taken at each instant."""
        return load_of(self.first, self.last, self.size, self.end)

    def subset(self, chosen: Ints) -> "Blocks":
        """Return some of the blocks, by index."""
        return Blocks(
            first=self.first[chosen],
            last=self.last[chosen],
            size=self.size[chosen],
            end=self.end,
        )


@dataclass(frozen=True, kw_only=True)
class Packing:
    """Where the blocks lie.

    Attributes
    ----------
    offset
        (n,): units.
    height
        Units: the end of the topmost block.
    method
        How it was found.
    """

    offset: Ints
    height: int
    method: str


def best_fit(blocks: Blocks) -> Packing:
    """Return the lowest packing among those of several orders.

    It ends with the first one as high as the most that is taken at one instant.

    Notes
    -----
    For an order, O(n log n) for n blocks, and as much for the pairs of them that live
    together; a compiled loop.
    """
    floor = int(blocks.load.max(initial=0))
    best: Packing | None = None
    ranked: Ints | None = None
    for name, order in _orders(blocks):
        for lowest in (False, True):
            fit = "first fit" if lowest else "best fit"
            found = _place(blocks, order, f"{fit} by {name}", lowest=lowest)
            if best is None or found.height < best.height:
                best, ranked = found, order
                if best.height == floor:
                    return best
    assert best is not None, "there are orders"
    assert ranked is not None, "likewise"
    return _vary(blocks, best, ranked, floor)


def _orders(blocks: Blocks) -> Iterator[tuple[str, Ints]]:
    """Yield the orders with their names, most promising first."""
    first, last, size = blocks.first, blocks.last, blocks.size
    length = last - first + 1
    yield "size", np.lexsort((first, -length, -size))
    yield "birth", np.lexsort((-size, first))
    # Floats rank here and nothing else: the product may pass 64 bits.
    yield "size x lifetime", np.lexsort((first, -size * length.astype(np.float64)))
    yield "lifetime", np.lexsort((first, -size, -length))
    yield "breadth", _by_breadth(blocks)
    yield "death", np.lexsort((-size, -last))


def _by_breadth(blocks: Blocks) -> Ints:
    """Return blocks by the fullest instant that each lives in, larger ones first."""
    load = blocks.load
    breadth = np.array(
        [
            load[a : b + 1].max()
            for a, b in zip(blocks.first.tolist(), blocks.last.tolist(), strict=True)
        ],
        np.int64,
    )
    return np.lexsort((blocks.first, -blocks.size, -breadth))


def _place(blocks: Blocks, order: Ints, method: str, *, lowest: bool) -> Packing:
    from ckschedule.arena import kernel  # numba stays out of the package's import

    first, last, size = blocks.first, blocks.last, blocks.size
    # Buckets of the mean lifetime: short blocks lie in one or two, and all together in
    # few times as many as there are blocks.
    lived = int((last - first + 1).sum())
    width = max(1, lived // max(1, len(blocks)))
    offset = np.zeros(len(blocks), np.int64)
    height = kernel.place(order, first, last, size, lowest, width, offset)
    return Packing(offset=offset, height=int(height), method=method)


def _vary(blocks: Blocks, best: Packing, order: Ints, floor: int) -> Packing:
    """Return the best of the packings with the topmost block put first each time."""
    lowest = best.method.startswith("first")
    method = f"{best.method}, varied"
    current = best
    seen: set[bytes] = set()
    for _ in range(min(_ROUNDS, _PAIRS // max(1, _together(blocks)))):
        top = int(np.argmax(current.offset + blocks.size))
        order = np.concatenate([[top], order[order != top]])
        if order.tobytes() in seen:
            break
        seen.add(order.tobytes())
        current = _place(blocks, order, method, lowest=lowest)
        if current.height < best.height:
            best = current
            if best.height == floor:
                break
    return best


def _together(blocks: Blocks) -> int:
    """Return the number of pairs of blocks that live together."""
    births = np.bincount(blocks.first, minlength=blocks.end + 1).cumsum()
    born = births[blocks.last] - births[blocks.first]
    twins = np.bincount(blocks.first)
    return int(born.sum() + (twins * (twins - 1) // 2).sum())
