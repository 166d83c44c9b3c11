"""The arena: every block of a schedule with its address."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ckschedule.arena.lifetimes import Lifetimes, load_of
from ckschedule.costs.encoding import Ints
from ckschedule.result import Stop
from ckschedule.simulation import Model, Trace
from ckschedule.units import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One stored copy of a value, or the scratch of one computation, with its address.

    Attributes
    ----------
    name
        The value, or "transient of <node>".
    first, last
        The operations within which the bytes are taken, both included; as many as the
        schedule has stands for the end.
    size, offset
        Bytes.
    storage
        Blocks of one storage lie at one offset and follow each other, each written over
        the one before; the number means nothing else.
    transient
        Whether it is scratch.
    """

    name: str
    first: int
    last: int
    size: int
    offset: int
    storage: int
    transient: bool = False

    def __str__(self) -> str:
        return (
            f"{self.name!r} (operations {self.first} to {self.last}, bytes "
            f"{self.offset} to {self.offset + self.size})"
        )


@dataclass(frozen=True, kw_only=True)
class Arena:
    """A schedule's values and scratch, packed into one range of addresses.

    Static bytes are not in it. See `plan_arena`.

    Attributes
    ----------
    model
        What the schedule is for.
    trace
        Simulation of the schedule.
    blocks
        In order of birth.
    size
        Bytes, a multiple of the alignment.
    lower_bound
        Bytes: no packing of these blocks is smaller.
    alignment
        Bytes, of which every offset is a multiple.
    inplace
        Nodes that write over one of their inputs somewhere.
    method
        What found the packing.
    stop
        Why the search for a smaller one ended.
    """

    model: Model
    trace: Trace
    blocks: tuple[Block, ...]
    size: int
    lower_bound: int
    alignment: int
    inplace: tuple[str, ...]
    method: str
    stop: Stop

    @cached_property
    def load(self) -> Ints:
        """Bytes of the blocks that are taken at each instant, without padding.

        (n_operations + 1,); entry i while operation i runs, the last one at the end.
        Without nodes that write in place it is `Trace.live_during` less the static
        bytes. What is shared in place counts once.
        """
        end = len(self.trace.schedule)
        homes: dict[int, tuple[int, int, int]] = {}
        for block in self.blocks:
            first, last, size = homes.get(block.storage, (end, 0, 0))
            homes[block.storage] = (
                min(first, block.first),
                max(last, block.last),
                max(size, block.size),
            )
        table = np.array(list(homes.values()), np.int64).reshape(-1, 3)
        return load_of(table[:, 0], table[:, 1], table[:, 2], end)

    @cached_property
    def live_peak(self) -> int:
        """Bytes: the most that is taken at one instant, which no arena undercuts."""
        return int(self.load.max(initial=0))

    @property
    def fragmentation(self) -> float:
        """What the arena has beyond the peak of live bytes, as a ratio of it.

        A ratio for people, hence a float; padding for the alignment is part of it.
        """
        return self.size / self.live_peak - 1 if self.live_peak else 0.0

    @property
    def optimal(self) -> bool:
        """Whether no packing of these blocks is smaller."""
        return self.size == self.lower_bound

    def __str__(self) -> str:
        """Return size, peak and fragmentation in words."""
        proof = "smallest" if self.optimal else "not proved smallest"
        return (
            f"arena of {format_bytes(self.size)} for {len(self.blocks)} blocks, "
            f"{proof}; {format_bytes(self.live_peak)} live, "
            f"{self.fragmentation:.2%} fragmentation; {self.method}"
        )


def blocks_at(trace: Trace, lifetimes: Lifetimes, offset: Ints) -> tuple[Block, ...]:
    """Return the blocks in order of birth, given the offset of each storage."""
    graph = trace.graph
    order = np.lexsort((np.arange(len(lifetimes)), lifetimes.first))
    columns = (
        lifetimes.owner[order],
        lifetimes.first[order],
        lifetimes.last[order],
        lifetimes.size[order],
        offset[lifetimes.storage[order]],
        lifetimes.storage[order],
    )
    return tuple(
        Block(
            name=(
                graph.values[owner].name
                if owner >= 0
                else f"transient of {graph.nodes[-1 - owner].name}"
            ),
            first=first,
            last=last,
            size=size,
            offset=place,
            storage=storage,
            transient=owner < 0,
        )
        for owner, first, last, size, place, storage in zip(
            *(column.tolist() for column in columns), strict=True
        )
    )
