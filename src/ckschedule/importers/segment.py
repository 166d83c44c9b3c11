"""What lies between two cuts of a forward DAG, and the memory that it takes."""

from collections.abc import Sequence

from ckschedule.importers.forward_dag import Layer


class Segment:
    """Layers that become one stage.

    Attributes
    ----------
    layers
        In topological order; the last one is the cut.
    name
        Name of the layer, or layers, whose output leaves the segment.
    output
        Bytes that leave it, each storage counted once.
    saved
        Bytes of its other outputs, each storage counted once.
    """

    def __init__(
        self, layers: Sequence[Layer], entry: str | None, *, last: bool
    ) -> None:
        self.layers = layers
        self._entry = entry
        self._by_name = {layer.name: layer for layer in layers}
        read = {name for layer in layers for name in layer.inputs}
        leaving = [layer.name for layer in layers if last and layer.name not in read]
        self._leaving = leaving or [layers[-1].name]
        # The layer that owns the storage of each layer's output.
        self._owner: dict[str, str] = {}
        self._size: dict[str, int] = {}
        for layer in layers:
            owner = self._owner.get(layer.shares or "", layer.name)
            self._owner[layer.name] = owner
            self._size[owner] = max(self._size.get(owner, 0), layer.output)
        self._outer = {self._owner[name] for name in self._leaving}
        self.name = "+".join(self._leaving)
        self.output = sum(self._size[owner] for owner in self._outer)
        self.saved = sum(self._size.values()) - self.output

    def plain_transient(self) -> int:
        """Return the most bytes that live in a forward that saves nothing.

        Layers run in order; a storage is freed after the last layer that reads it.
        """
        last_use: dict[str, int] = {}
        for i, layer in enumerate(self.layers):
            for name in (layer.name, *layer.inputs):
                if name in self._owner:
                    last_use[self._owner[name]] = i
        ending: list[list[str]] = [[] for _ in self.layers]
        for owner, i in last_use.items():
            if owner not in self._outer:
                ending[i].append(owner)
        level = peak = 0
        for layer, ended in zip(self.layers, ending, strict=True):
            if self._owner[layer.name] == layer.name:
                level += self._size[layer.name]
            peak = max(peak, level)
            level -= sum(self._size[owner] for owner in ended)
        return peak

    def backward_transient(self, upstream: int) -> int:
        """Return the most by which a backward exceeds the level before it, in bytes.

        Layers run in reverse. Each yields the gradients of its inputs and parameters; a
        gradient that is there already is added to, so that both lie there meanwhile.
        Then its own gradient goes, and its output, if no earlier layer shares it. The
        gradients of what leaves the segment go together.

        Parameters
        ----------
        upstream
            Bytes of the gradient of what enters the segment; 0 if it needs none.
        """
        sizes = {name: layer.output for name, layer in self._by_name.items()}
        if self._entry is not None:
            sizes[self._entry] = upstream
        leaving = set(self._leaving)
        there = set(leaving)
        level = peak = 0
        for layer in reversed(self.layers):
            yielded = [name for name in layer.inputs if name in sizes]
            new = [name for name in yielded if name not in there]
            there.update(new)
            arriving = sum(sizes[name] for name in yielded) + layer.parameters
            peak = max(peak, level + arriving)
            level += sum(sizes[name] for name in new) + layer.parameters
            if layer.name not in self._leaving:
                level -= layer.output
            leaving.discard(layer.name)
            if layer.name in self._leaving and not leaving:
                level -= self.output
            owner = self._owner[layer.name]
            if owner == layer.name and owner not in self._outer:
                level -= self._size[owner]
        return peak
