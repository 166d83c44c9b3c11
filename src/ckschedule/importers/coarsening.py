"""A forward DAG as a chain, cut where everything passes through one layer."""

import logging
from collections.abc import Sequence

from ckschedule.costs import Chain, Stage, StaticMemory, Variant
from ckschedule.importers.forward_dag import ForwardDag, Layer
from ckschedule.importers.segment import Segment

_log = logging.getLogger(__name__)


def coarsen(dag: ForwardDag, *, loss: Stage | None = None) -> Chain:
    """Return the chain whose stages lie between the articulation points of a DAG.

    Parameters
    ----------
    dag
        The forward pass.
    loss
        The loss after the last layer; None: one of no time and no bytes.

    Returns
    -------
    Chain
        Its input is all data sources together; their times are left out. Every other
        layer belongs to one stage, which has the name of its last layer (of its sinks,
        joined by "+", where the DAG ends in several):

        ==================  ====================================================
        output              bytes of the last layer's output (of all sinks)
        forward, backward   sums over the stage's layers
        saved               bytes of all its other outputs, each storage once
        parameter gradient  sum of its layers' parameters
        transients          the most that lives when its layers run one by one, in
                            topological order: the plain forward frees inner
                            outputs after their last reader; the backward keeps
                            every saved output until its own layer is done
        ==================  ====================================================

        Parameters are static bytes.

    Raises
    ------
    InvalidModelError
        If the chain's worst makespan exceeds ``2**63 - 1`` ticks.

    Notes
    -----
    A cut stands behind a layer through which every path from a source to a sink passes:
    in topological order, no edge jumps over it. Several sinks are joined in a virtual
    one, so that a branch that ends early forbids cuts from its start to the end. Edges
    from data sources jump freely where the layer also reads another one: the chain's
    input lives throughout. A storage that several layers share (in-place operations,
    views) lies in one stage. Linear in layers and edges, after sorting.

    Examples
    --------
    >>> a = Layer(name="a", forward=1, backward=2, output=4)
    >>> b = Layer(name="b", forward=1, backward=2, output=4, inputs=("a",))
    >>> c = Layer(name="c", forward=1, backward=2, output=4, inputs=("a", "b"))
    >>> [stage.name for stage in coarsen(ForwardDag(layers=(a, b, c))).stages]
    ['a', 'c']
    """
    layers = [layer for layer in dag.order if not layer.source]
    sources = [layer for layer in dag.order if layer.source]
    segments = _segments(layers)
    if len(segments) == 1 and len(layers) > 1:
        _log.warning(
            "%s: no layer separates the net, so its chain has one stage and nothing to "
            "choose; import it as a graph instead",
            dag.name,
        )
    stages = []
    upstream = 0
    for segment in segments:
        stages.append(_stage(segment, upstream))
        upstream = segment.output
    return Chain(
        name=dag.name,
        time_unit=dag.time_unit,
        input=sum(layer.output for layer in sources),
        stages=stages,
        loss=loss,
        static=StaticMemory(parameters=sum(layer.parameters for layer in layers)),
    )


def _segments(layers: Sequence[Layer]) -> list[Segment]:
    """Return what lies between the cuts, in topological order."""
    segments: list[Segment] = []
    start = 0
    entry: str | None = None
    for end in [*_cuts(layers), len(layers)]:
        segments.append(Segment(layers[start:end], entry, last=end == len(layers)))
        start, entry = end, layers[end - 1].name
    return segments


def _cuts(layers: Sequence[Layer]) -> list[int]:
    """Return the positions before which a DAG can be cut, its two ends excluded."""
    position = {layer.name: i for i, layer in enumerate(layers)}
    # Of each layer, the farthest that reads it; the virtual sink reads all sinks.
    reach = [len(layers)] * len(layers)
    # The virtual source is read by each layer that reads no other: the last of these.
    source_reach = 0
    for i, layer in enumerate(layers):
        reads = [position[name] for name in layer.inputs if name in position]
        for read in reads:
            reach[read] = i  # i rises
        if not reads:
            source_reach = i
    shared = {layer.shares for layer in layers}
    cuts: list[int] = []
    farthest = source_reach
    for i, layer in enumerate(layers[:-1]):
        if farthest <= i and layer.name not in shared:
            cuts.append(i + 1)
        farthest = max(farthest, reach[i])
    return cuts


def _stage(segment: Segment, upstream: int) -> Stage:
    parameters = sum(layer.parameters for layer in segment.layers)
    return Stage(
        name=segment.name,
        output=segment.output,
        forward=sum(layer.forward for layer in segment.layers),
        parameter_gradient=parameters,
        transient=segment.plain_transient(),
        variants=(
            Variant(
                saved=segment.saved,
                backward=sum(layer.backward for layer in segment.layers),
                backward_transient=segment.backward_transient(upstream),
            ),
        ),
    )
