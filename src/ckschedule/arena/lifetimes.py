"""Lifetimes: from when to when a schedule needs which bytes.

Time is counted in operations: instant i is while operation i runs, and instant
``len(schedule)`` is the end. A value's bytes are taken from the computation that yields
it to the operation that frees or consumes it, both included, or to the end.

What a computation needs beyond its outputs, its *scratch*, lives while it runs. Where
its transient is below its outputs, those that find no room in it are written over what
the computation consumes: their bytes are taken from the next instant on. So the bytes
that are taken at instant i are `Trace.live_during` of operation i without the static
ones, exactly; a second copy of a live value is in the scratch.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ckschedule.costs.encoding import Encoding, Ints, encode
from ckschedule.costs.graph import Graph
from ckschedule.errors import InvalidSettingError
from ckschedule.schedule import to_codes
from ckschedule.simulation import Trace

InPlace: TypeAlias = Collection[str] | Callable[[str], bool]
"""Nodes that may write over an input: their names, or a function that tells by name."""


@dataclass(frozen=True, kw_only=True)
class Lifetimes:
    """Rows of what a schedule stores; several rows may share one storage.

    Attributes
    ----------
    end
        Number of operations: the last instant.
    owner
        (n,): the value, or -1 - k for scratch of node k.
    first, last, size
        (n,): inclusive instants, and bytes.
    storage
        (n,): number of the storage that a row lies in, from 0. Rows of one storage
        follow each other in place, each written over the one before.
    inplace
        Names of the nodes that write over an input somewhere in the schedule.
    """

    end: int
    owner: Ints
    first: Ints
    last: Ints
    size: Ints
    storage: Ints
    inplace: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.owner)

    @cached_property
    def storages(self) -> tuple[Ints, Ints, Ints]:
        """First and last instant and bytes of each storage."""
        n = int(self.storage.max(initial=-1)) + 1
        first = np.full(n, self.end, np.int64)
        last = np.zeros(n, np.int64)
        size = np.zeros(n, np.int64)
        np.minimum.at(first, self.storage, self.first)
        np.maximum.at(last, self.storage, self.last)
        np.maximum.at(size, self.storage, self.size)
        return first, last, size

    def load_of_sizes(self, size: Ints) -> Ints:
        """Return (end + 1,): the sum of ``size`` over what is taken at each instant.

        Parameters
        ----------
        size
            One number a storage.
        """
        first, last, _ = self.storages
        return load_of(first, last, size, self.end)


def load_of(first: Ints, last: Ints, size: Ints, end: int) -> Ints:
    """Return what is taken at each of the instants 0..end."""
    change = np.zeros(end + 2, np.int64)
    np.add.at(change, first, size)
    np.subtract.at(change, last + 1, size)
    return np.cumsum(change[:-1])


def lifetimes_of(trace: Trace, inplace: InPlace = ()) -> Lifetimes:
    """Return the lifetimes of a simulated schedule.

    Parameters
    ----------
    trace
        Of the schedule.
    inplace
        Nodes that may write an output over an input: one that no later operation reads,
        neither itself nor as part of a value that holds it, that is freed before the
        end, and that is at least as large. Of these the smallest is overwritten, and
        all of its storage lives on. Chen et al., arXiv 1604.06174, section 3.

    Raises
    ------
    InvalidSettingError
        If ``inplace`` names a node that the graph does not have.

    Notes
    -----
    Linear in the operations and what they read and write; a compiled loop.
    """
    from ckschedule.arena import kernel  # numba stays out of the package's import

    encoding = encode(trace.graph)
    codes = to_codes(trace.schedule, encoding)
    yielded = np.diff(encoding.outputs_start)[codes[codes >= 0]]
    room = int(encoding.live.sum() + yielded.sum() + len(yielded))
    owner, first, last, used, size = (np.zeros(room, np.int64) for _ in range(5))
    n = kernel.record(
        codes,
        encoding.size,
        encoding.live,
        encoding.held_start,
        encoding.held,
        encoding.transient,
        encoding.node,
        encoding.needs_start,
        encoding.needs,
        encoding.outputs_start,
        encoding.outputs,
        encoding.consumes_start,
        encoding.consumes,
        owner,
        first,
        last,
        used,
        size,
    )
    storage, cut = np.arange(n), last[:n].copy()
    allowed = _flags(trace.graph, inplace)
    if allowed.any():
        kernel.overwrite(
            codes,
            allowed,
            encoding.live,
            encoding.node,
            encoding.needs_start,
            encoding.needs,
            encoding.outputs_start,
            encoding.outputs,
            n,
            owner,
            first,
            last,
            used,
            size,
            storage,
            cut,
        )
    over = np.flatnonzero(storage != np.arange(n))
    return Lifetimes(
        end=len(codes),
        owner=owner[:n],
        first=first[:n],
        last=cut,
        size=size[:n],
        storage=np.unique(storage, return_inverse=True)[1].astype(np.int64),
        inplace=_nodes_at(encoding, codes, first[over]),
    )


def _nodes_at(encoding: Encoding, codes: Ints, at: Ints) -> tuple[str, ...]:
    nodes = np.unique(encoding.node[codes[at]]).tolist()
    return tuple(encoding.graph.nodes[k].name for k in nodes)


def _flags(graph: Graph, inplace: InPlace) -> Ints:
    names = [node.name for node in graph.nodes]
    if callable(inplace):
        return np.array([bool(inplace(name)) for name in names], np.int64)
    given = {inplace} if isinstance(inplace, str) else set(inplace)
    unknown = given.difference(names)
    if unknown:
        raise InvalidSettingError(
            f"inplace names {min(unknown)!r}, which is no node of {graph.name!r}; give "
            f"names such as {names[0]!r}, or a function of the name"
        )
    return np.array([name in given for name in names], np.int64)
