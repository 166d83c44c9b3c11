"""Chains and graphs as wire models, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckschedule.costs import (
    Chain,
    Graph,
    Mode,
    Node,
    Stage,
    StaticMemory,
    Value,
    Variant,
)
from ckschedule.errors import DocumentError, InvalidModelError

if TYPE_CHECKING:
    from ckschedule.documents import wire
    from ckschedule.simulation import Model


def write_model(model: Model) -> wire.ChainWire | wire.GraphWire:
    """Return the wire model of a chain or graph."""
    return write_chain(model) if isinstance(model, Chain) else write_graph(model)


def read_model(body: wire.ChainWire | wire.GraphWire) -> Model:
    """Return the chain or graph of a wire model; DocumentError as `read_chain`."""
    return read_chain(body) if body.kind == "chain" else read_graph(body)


def write_chain(chain: Chain) -> wire.ChainWire:
    """Return the wire model of a chain."""
    from ckschedule.documents import wire

    assert chain.loss is not None, "resolved on construction"
    return wire.ChainWire(
        kind="chain",
        name=chain.name,
        time_unit=chain.time_unit,
        input=chain.input,
        input_gradient=chain.input_gradient,
        static=_write_static(chain.static),
        stages=[_write_stage(stage) for stage in chain.stages],
        loss=_write_stage(chain.loss),
    )


def read_chain(body: wire.ChainWire) -> Chain:
    """Return the chain of a wire model.

    Raises
    ------
    DocumentError
        If its numbers cannot be meant.
    """
    if body.loss.gradient:
        # Chain would set it to 0 without a word.
        raise DocumentError(
            f"loss.gradient is {body.loss.gradient}; the output of the loss needs no "
            f"gradient: set 0"
        )
    try:
        return Chain(
            name=body.name,
            time_unit=body.time_unit,
            input=body.input,
            input_gradient=body.input_gradient,
            static=_read_static(body.static),
            stages=[_read_stage(stage) for stage in body.stages],
            loss=_read_stage(body.loss),
        )
    except InvalidModelError as error:
        raise DocumentError(f"the chain {body.name!r} is no model: {error}") from error


def write_graph(graph: Graph) -> wire.GraphWire:
    """Return the wire model of a graph."""
    from ckschedule.documents import wire

    return wire.GraphWire(
        kind="graph",
        name=graph.name,
        time_unit=graph.time_unit,
        base_time=graph.base_time,
        static=_write_static(graph.static),
        values=[
            wire.ValueWire(name=value.name, size=value.size, holds=list(value.holds))
            for value in graph.values
        ],
        nodes=[
            wire.NodeWire(
                name=node.name,
                recomputable=node.recomputable,
                modes=[_write_mode(mode) for mode in node.modes],
            )
            for node in graph.nodes
        ],
        inputs=list(graph.inputs),
        unpinned=list(graph.unpinned),
        targets=list(graph.targets),
        kept=list(graph.kept),
    )


def read_graph(body: wire.GraphWire) -> Graph:
    """Return the graph of a wire model.

    Raises
    ------
    DocumentError
        If its numbers or names cannot be meant.
    """
    try:
        return Graph(
            name=body.name,
            time_unit=body.time_unit,
            reference_time=body.base_time,
            static=_read_static(body.static),
            values=tuple(
                Value(name=value.name, size=value.size, holds=tuple(value.holds))
                for value in body.values
            ),
            nodes=tuple(
                Node(
                    name=node.name,
                    recomputable=node.recomputable,
                    modes=tuple(_read_mode(mode) for mode in node.modes),
                )
                for node in body.nodes
            ),
            inputs=tuple(body.inputs),
            unpinned=tuple(body.unpinned),
            targets=tuple(body.targets),
            kept=tuple(body.kept),
        )
    except InvalidModelError as error:
        raise DocumentError(f"the graph {body.name!r} is no model: {error}") from error


def _write_static(static: StaticMemory) -> wire.StaticWire:
    from ckschedule.documents import wire

    return wire.StaticWire(
        parameters=static.parameters,
        gradients=static.gradients,
        optimizer=static.optimizer,
        buffers=static.buffers,
    )


def _read_static(body: wire.StaticWire) -> StaticMemory:
    return StaticMemory(
        parameters=body.parameters,
        gradients=body.gradients,
        optimizer=body.optimizer,
        buffers=body.buffers,
    )


def _write_stage(stage: Stage) -> wire.StageWire:
    from ckschedule.documents import wire

    return wire.StageWire(
        name=stage.name,
        output=stage.output,
        forward=stage.forward,
        gradient=_resolved(stage.gradient),
        parameter_gradient=stage.parameter_gradient,
        transient=_resolved(stage.transient),
        variants=[
            wire.VariantWire(
                name=variant.name,
                saved=variant.saved,
                backward=variant.backward,
                forward=_resolved(variant.forward),
                needs_input=variant.needs_input,
                needs_output=variant.needs_output,
                forward_transient=_resolved(variant.forward_transient),
                backward_transient=_resolved(variant.backward_transient),
            )
            for variant in stage.variants
        ],
    )


def _read_stage(body: wire.StageWire) -> Stage:
    return Stage(
        name=body.name,
        output=body.output,
        forward=body.forward,
        gradient=body.gradient,
        parameter_gradient=body.parameter_gradient,
        transient=body.transient,
        variants=tuple(
            Variant(
                name=variant.name,
                saved=variant.saved,
                backward=variant.backward,
                forward=variant.forward,
                needs_input=variant.needs_input,
                needs_output=variant.needs_output,
                forward_transient=variant.forward_transient,
                backward_transient=variant.backward_transient,
            )
            for variant in body.variants
        ),
    )


def _write_mode(mode: Mode) -> wire.ModeWire:
    from ckschedule.documents import wire

    return wire.ModeWire(
        name=mode.name,
        time=mode.time,
        outputs=list(mode.outputs),
        needs=list(mode.needs),
        consumes=list(mode.consumes),
        transient=_resolved(mode.transient),
    )


def _read_mode(body: wire.ModeWire) -> Mode:
    return Mode(
        name=body.name,
        time=body.time,
        outputs=tuple(body.outputs),
        needs=tuple(body.needs),
        consumes=tuple(body.consumes),
        transient=body.transient,
    )


def _resolved(number: int | None) -> int:
    assert number is not None, "resolved on construction"
    return number
