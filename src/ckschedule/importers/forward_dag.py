"""A forward pass as a DAG of layers: what importers read before there is a model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush

from ckschedule.costs.checks import (
    as_count,
    as_flag,
    as_name,
    check_time_unit,
    check_total,
    check_unique,
)
from ckschedule.errors import InvalidModelError
from ckschedule.units import TimeUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One forward computation with its backward.

    Attributes
    ----------
    name
        Unique within the DAG.
    forward, backward
        Ticks.
    output
        Bytes of its output.
    parameters
        Bytes of its parameters.
    inputs
        Names of the layers whose outputs it reads.
    source
        Whether it is a data source: its output is given, and its time never repeats.
    shares
        The input whose storage its output lies in, as of an in-place operation or a
        view; None if it has its own.
    """

    name: str
    forward: int
    backward: int
    output: int
    parameters: int = 0
    inputs: tuple[str, ...] = ()
    source: bool = False
    shares: str | None = None

    def __post_init__(self) -> None:
        as_name(self.name, "layer name")
        where = f"layer {self.name!r}"
        for part in ("forward", "backward", "output", "parameters"):
            count = as_count(getattr(self, part), f"{where}: {part}")
            object.__setattr__(self, part, count)
        as_flag(self.source, f"{where}: source")
        object.__setattr__(self, "inputs", tuple(dict.fromkeys(self.inputs)))
        if self.source and self.inputs:
            raise InvalidModelError(
                f"{where} is a data source but reads {self.inputs[0]!r}; drop the edge"
            )
        if self.shares is not None and self.shares not in self.inputs:
            raise InvalidModelError(
                f"{where} shares the storage of {self.shares!r}, which it does not read"
            )


@dataclass(frozen=True, kw_only=True)
class ForwardDag:
    """Layers in any order.

    Attributes
    ----------
    layers
        At least one that is no data source.
    name
        For reports.
    time_unit
        What one tick is.

    Raises
    ------
    InvalidModelError
        For unknown or duplicate names, circles, no layers, or sums of bytes or ticks
        beyond ``2**63 - 1``.

    Examples
    --------
    >>> first = Layer(name="a", forward=1, backward=2, output=4)
    >>> then = Layer(name="b", forward=1, backward=2, output=4, inputs=("a",))
    >>> [layer.name for layer in ForwardDag(layers=(then, first)).order]
    ['a', 'b']
    """

    layers: Sequence[Layer]
    name: str = "dag"
    time_unit: TimeUnit = "ns"

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        as_name(self.name, "DAG name")
        check_time_unit(self.time_unit, "DAG: time_unit")
        check_unique((layer.name for layer in self.layers), "layer")
        known = {layer.name for layer in self.layers}
        for layer in self.layers:
            for name in layer.inputs:
                if name not in known:
                    raise InvalidModelError(
                        f"layer {layer.name!r} reads the unknown layer {name!r}"
                    )
        if all(layer.source for layer in self.layers):
            raise InvalidModelError("the DAG has no layers besides data sources")
        check_total(
            sum(layer.output + layer.parameters for layer in self.layers),
            "the sum of the layers' bytes",
        )
        check_total(
            sum(layer.forward + layer.backward for layer in self.layers),
            "the sum of the layers' times",
        )
        self.order  # noqa: B018  # refuses circles here rather than later

    @cached_property
    def order(self) -> tuple[Layer, ...]:
        """All layers, each after those it reads; else as given."""
        by_name = {layer.name: layer for layer in self.layers}
        edges = {layer.name: layer.inputs for layer in self.layers}
        return tuple(by_name[name] for name in topological_order(edges))


def topological_order(inputs: Mapping[str, Iterable[str]]) -> list[str]:
    """Return names so that each follows its inputs, the earliest given first.

    Parameters
    ----------
    inputs
        Inputs by name, all of them names themselves.

    Raises
    ------
    InvalidModelError
        If there is a circle; the message names one that lies on it or behind it.

    Notes
    -----
    Kahn's algorithm with a heap: O(edges + names log names).
    """
    names = list(inputs)
    position = {name: i for i, name in enumerate(names)}
    readers: list[list[int]] = [[] for _ in names]
    waiting = [0] * len(names)
    for name, reads in inputs.items():
        for read in set(reads):
            readers[position[read]].append(position[name])
            waiting[position[name]] += 1
    ready = [i for i, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order: list[str] = []
    while ready:
        i = heappop(ready)
        order.append(names[i])
        for reader in readers[i]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heappush(ready, reader)
    if len(order) < len(names):
        stuck = next(name for name, count in zip(names, waiting, strict=True) if count)
        raise InvalidModelError(
            f"{stuck!r} depends on itself through a circle; a forward pass has none"
        )
    return order
