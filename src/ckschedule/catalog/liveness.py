"""Liveness: run a plan on paper and read off its bytes and times.

Three runs are followed tensor by tensor: the forward without and with recording, and
the backward. Storages die after their last use; saved ones after the last backward that
reads them; gradients when their layer's backward has run, summed in place where nothing
else refers to the sum. The gradient of the stage's output belongs to the caller and
stays to the end of the backward.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ckschedule.catalog.layers import Layer
from ckschedule.catalog.plan import Plan, Region
from ckschedule.catalog.setting import Setting
from ckschedule.costs.chain import Stage, Variant


def compose(plan: Plan, setting: Setting, *, input_trained: bool = True) -> Stage:
    """Return the stage that a plan describes.

    Parameters
    ----------
    plan
        Layers of the stage.
    setting
        Precision and clock.
    input_trained
        Whether the stage's input needs a gradient.

    Returns
    -------
    Stage
        With the variant ``all`` and one for each entry of ``plan.recomputed``.

    Notes
    -----
    Linear in the layers, for each variant.
    """
    return Stage(
        name=plan.name,
        output=plan.output,
        forward=sum(setting.ticks(layer.forward) for layer in plan.layers),
        transient=_forward_peak(plan, frozenset(), frozenset()),
        variants=tuple(
            _variant(name, plan, regions, setting, input_trained=input_trained)
            for name, regions in {"all": (), **plan.recomputed}.items()
        ),
    )


def _variant(
    name: str,
    plan: Plan,
    regions: tuple[Region, ...],
    setting: Setting,
    *,
    input_trained: bool,
) -> Variant:
    trained = plan.trained(input_trained=input_trained)
    dropped = {layer for region in regions for layer in region}
    read = _reads(plan, regions, trained)
    kept = frozenset(read) - {plan.storage[layer] for layer in dropped}
    extras = trained - dropped
    backward = _Backward(plan, regions, setting, trained)
    backward.run()
    saved = _size(plan, kept - plan.outside)
    saved += sum(layer.extra for layer in plan.layers if layer.name in extras)
    # Every saved byte is gone at the end, and nothing but the input's gradient is new.
    yielded = _size(plan, trained & plan.input_storages)
    assert backward.memory.level == yielded - saved, plan.name
    return Variant(
        name=name,
        saved=saved,
        backward=backward.ticks,
        needs_input=bool(kept & plan.input_storages),
        needs_output=bool(kept & plan.output_storages),
        forward_transient=_forward_peak(plan, kept, extras),
        backward_transient=backward.memory.peak,
    )


class _Memory:
    """Bytes against the level at the start, and the most they have been."""

    __slots__ = ("level", "peak")

    def __init__(self) -> None:
        self.level = 0
        self.peak = 0

    def take(self, size: int) -> None:
        self.level += size
        self.peak = max(self.peak, self.level)

    def give(self, size: int) -> None:
        self.level -= size


def _size(plan: Plan, storages: Iterable[str]) -> int:
    return sum(plan.tensor_size[storage] for storage in storages)


def _reads(
    plan: Plan, regions: tuple[Region, ...], trained: frozenset[str]
) -> dict[str, int]:
    """Return how many backwards and recomputations read each storage."""
    counts: dict[str, int] = {}
    readers = [
        {plan.storage[name] for name in layer.saves}
        for layer in plan.layers
        if layer.name in trained
    ]
    readers += [_sources(plan, region) for region in regions]
    for storages in readers:
        for storage in storages:
            counts[storage] = counts.get(storage, 0) + 1
    return counts


def _sources(plan: Plan, region: Region) -> set[str]:
    """Return the storages that a region reads and does not make."""
    layers = [layer for layer in plan.layers if layer.name in region]
    own = {plan.storage[layer.name] for layer in layers}
    return {plan.storage[name] for layer in layers for name in layer.inputs} - own


def _forward_peak(plan: Plan, kept: frozenset[str], extras: frozenset[str]) -> int:
    memory = _Memory()
    _forward(plan, plan.layers, kept | plan.outside, extras, memory)
    return memory.peak


def _forward(
    plan: Plan,
    layers: Iterable[Layer],
    kept: frozenset[str],
    extras: frozenset[str],
    memory: _Memory,
) -> None:
    """Follow a forward through ``layers``, which frees all but ``kept`` storages."""
    layers = tuple(layers)
    last: dict[str, int] = {}
    for i, layer in enumerate(layers):
        for name in (*layer.inputs, layer.name):
            last[plan.storage[name]] = i
    made = {plan.storage[layer.name] for layer in layers}
    for i, layer in enumerate(layers):
        if not layer.in_place:
            memory.take(layer.output)
        memory.take(layer.extra)
        if layer.name not in extras:
            memory.give(layer.extra)
        for storage in {plan.storage[name] for name in (*layer.inputs, layer.name)}:
            if last[storage] == i and storage in made and storage not in kept:
                memory.give(plan.tensor_size[storage])


@dataclass(slots=True)
class _Gradient:
    """A gradient's storage: bytes, and how many tensors' gradients lie in it."""

    size: int
    tensors: int = 1


class _Backward:
    """One backward of a plan, layer by layer."""

    def __init__(
        self,
        plan: Plan,
        regions: tuple[Region, ...],
        setting: Setting,
        trained: frozenset[str],
    ) -> None:
        self.plan = plan
        self.setting = setting
        self.trained = trained
        self.pending = list(regions)
        self.reads = _reads(plan, regions, trained)
        self.memory = _Memory()
        self.ticks = 0
        # The output's gradient is the caller's: one more tensor refers to it, for ever.
        self.gradients = {
            name: _Gradient(plan.tensor_size[name], tensors=2) for name in plan.outputs
        }

    def run(self) -> None:
        for layer in reversed(self.plan.layers):
            if layer.name in self.trained:
                self._materialize(layer)
                self._differentiate(layer)
        for name in self.plan.inputs:
            gradient = self.gradients.get(name)
            if gradient is not None and gradient.tensors > 1:
                # What leaves the stage is a value of its own.
                gradient.tensors -= 1
                self.memory.take(gradient.size)

    def _materialize(self, layer: Layer) -> None:
        needed = {self.plan.storage[name] for name in layer.saves}
        for region in [r for r in self.pending if self._makes(r, layer.name, needed)]:
            self.pending.remove(region)
            layers = [x for x in self.plan.layers if x.name in region]
            self.ticks += sum(self.setting.ticks(x.forward) for x in layers)
            extras = self.trained & set(region)
            _forward(self.plan, layers, frozenset(self.reads), extras, self.memory)
            self._release(_sources(self.plan, region))

    def _makes(self, region: Region, name: str, storages: set[str]) -> bool:
        return name in region or any(self.plan.storage[x] in storages for x in region)

    def _differentiate(self, layer: Layer) -> None:
        plan, setting = self.plan, self.setting
        own = self.gradients.pop(layer.name)
        weights = layer.weights * setting.weight_element
        self.memory.take(weights + layer.workspace)
        sources = [name for name in layer.inputs if name in self.trained]
        if sources:
            self.ticks += setting.ticks(*layer.input_backward)
        self.ticks += setting.ticks(*layer.weight_backward)
        arrived = {name: self._new(layer, name, own) for name in sources}
        for name, gradient in arrived.items():
            self._accumulate(name, gradient)
        self._drop(own)
        self.memory.give(weights + layer.workspace + layer.extra)
        self._release({plan.storage[name] for name in layer.saves})

    def _new(self, layer: Layer, name: str, own: _Gradient) -> _Gradient:
        if layer.passes_gradient:
            own.tensors += 1
            return own
        size = self.plan.tensor_size[name]
        self.memory.take(size)
        return _Gradient(size)

    def _accumulate(self, name: str, arrived: _Gradient) -> None:
        before = self.gradients.get(name)
        if before is None:
            self.gradients[name] = arrived
        elif before.tensors == 1:
            self._drop(arrived)
        else:
            self.memory.take(arrived.size)
            self.gradients[name] = _Gradient(arrived.size)
            self._drop(before)
            self._drop(arrived)

    def _drop(self, gradient: _Gradient) -> None:
        gradient.tensors -= 1
        if gradient.tensors == 0:
            self.memory.give(gradient.size)

    def _release(self, storages: Iterable[str]) -> None:
        for storage in storages:
            self.reads[storage] -= 1
            if self.reads[storage] == 0 and storage not in self.plan.outside:
                self.memory.give(self.plan.tensor_size[storage])
