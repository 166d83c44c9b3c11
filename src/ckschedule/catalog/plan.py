"""Plans: the layers of one stage, and who shares whose storage.

A plan is to a `Stage` what source is to a measurement: `ckschedule.catalog.liveness`
runs it on paper and reads off bytes and times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ckschedule.catalog.layers import Layer

Region = tuple[str, ...]
"""Layers that a variant computes again, together, when their backward needs them."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The layers of a stage in the order in which they run.

    Attributes
    ----------
    name
        Of the stage.
    layers
        The last one yields the stage's output unless ``outputs`` says otherwise.
    inputs
        Bytes of each tensor of the stage's input; together one checkpoint.
    outputs
        Tensors that together are the stage's output.
    given
        Tensors that lie there throughout and need no gradient, such as a time step's
        data: to save them costs nothing.
    recomputed
        For each variant after the first, the regions that it recomputes.
    """

    name: str
    layers: tuple[Layer, ...]
    inputs: Mapping[str, int]
    outputs: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()
    recomputed: Mapping[str, tuple[Region, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.outputs:
            object.__setattr__(self, "outputs", (self.layers[-1].name,))
        for regions in self.recomputed.values():
            dropped = {name for region in regions for name in region}
            for region in regions:
                # A region starts from what is kept; none may feed another.
                assert not (dropped - set(region)) & {
                    name
                    for layer in self.layers
                    if layer.name in region
                    for name in layer.inputs
                }

    @cached_property
    def storage(self) -> dict[str, str]:
        """Storage of each tensor, named after the first tensor that lay in it."""
        roots = {name: name for name in (*self.inputs, *self.given)}
        for layer in self.layers:
            root = roots[layer.inputs[0]] if layer.in_place else layer.name
            # Another schedule may read the stage's input again, so that no layer may
            # overwrite it.
            assert not layer.in_place or root not in (*self.inputs, *self.given)
            roots[layer.name] = root
        return roots

    @cached_property
    def tensor_size(self) -> dict[str, int]:
        """Bytes of each tensor of the input and of each layer's output."""
        sizes = dict(self.inputs)
        sizes |= {layer.name: layer.output for layer in self.layers}
        return sizes

    @cached_property
    def input_storages(self) -> frozenset[str]:
        """Storages of the stage's input."""
        return frozenset(self.inputs)

    @cached_property
    def output_storages(self) -> frozenset[str]:
        """Storages of the stage's output."""
        return frozenset(self.storage[name] for name in self.outputs)

    @cached_property
    def outside(self) -> frozenset[str]:
        """Storages that the stage's saved tensors do not pay for."""
        return self.input_storages | self.output_storages | self.given

    @cached_property
    def output(self) -> int:
        """Bytes of the stage's output."""
        return sum(self.tensor_size[name] for name in self.output_storages)

    def trained(self, *, input_trained: bool) -> frozenset[str]:
        """Return the tensors that have a gradient."""
        names = set(self.inputs) if input_trained else set()
        for layer in self.layers:
            if layer.weights or any(name in names for name in layer.inputs):
                names.add(layer.name)
        return frozenset(names)
