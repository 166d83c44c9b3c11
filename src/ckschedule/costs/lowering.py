"""A chain as a graph: one place that says what its stages mean as nodes and values.

For stage i the graph has the values ``x{i}`` (output), ``s{i}`` (saved tensors of the
first variant; ``s{i}:name`` of the others), ``g{i}`` (output gradient) and ``p{i}``
(parameter gradient), and the nodes ``F{i}`` with the modes ``plain`` and one per
variant, and ``B{i}`` with one mode per variant. ``s{i}`` holds ``x{i-1}`` and ``x{i}``
as the variant's flags say, and ``B{i}`` consumes ``s{i}`` and ``g{i}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckschedule.costs.graph import Graph, Mode, Node, Value

if TYPE_CHECKING:
    from ckschedule.costs.chain import Chain, Stage

PLAIN: Final = "plain"
"""Name of the mode that runs a forward without saving anything for its backward."""


def saved_name(i: int, stage: Stage, variant: int) -> str:
    """Return the name of the tensors that a variant of stage i saves."""
    return f"s{i}" if variant == 0 else f"s{i}:{stage.variants[variant].name}"


def lower(chain: Chain) -> Graph:
    """Return the graph of a chain; O(stages x variants)."""
    n = len(chain.sequence)
    frozen = chain.frozen_prefix
    values = [Value(name="x0", size=chain.input)]
    forwards, backwards, kept = [], [], []
    for i, stage in enumerate(chain.sequence, start=1):
        values.append(Value(name=f"x{i}", size=stage.output))
        forwards.append(_forward(i, stage))
        if stage.frozen:
            continue
        yielded = []
        if i > frozen + 1 or chain.input_gradient:
            size = chain.input_gradients[i - 1]
            values.append(Value(name=f"g{i - 1}", size=size))
            yielded.append(f"g{i - 1}")
        values.append(Value(name=f"p{i}", size=stage.parameter_gradient))
        yielded.append(f"p{i}")
        kept.append(f"p{i}")
        for v, variant in enumerate(stage.variants):
            holds = [f"x{i - 1}"] * variant.needs_input + [
                f"x{i}"
            ] * variant.needs_output
            values.append(
                Value(
                    name=saved_name(i, stage, v), size=variant.saved, holds=tuple(holds)
                )
            )
        backwards.append(_backward(i, stage, tuple(yielded), last=i == n))
    if chain.input_gradient:
        kept.append("g0")
    return Graph(
        name=chain.name,
        values=tuple(values),
        nodes=(*forwards, *reversed(backwards)),
        inputs=("x0",),
        targets=tuple(kept),
        kept=tuple(kept),
        static=chain.static,
        reference_time=chain.base_time,
        time_unit=chain.time_unit,
    )


def _forward(i: int, stage: Stage) -> Node:
    before, after = f"x{i - 1}", f"x{i}"
    modes = [
        Mode(
            name=PLAIN,
            time=stage.forward,
            outputs=(after,),
            needs=(before,),
            transient=stage.transient,
        )
    ]
    for v, variant in enumerate(stage.variants):
        modes.append(
            Mode(
                name=variant.name,
                time=variant.forward or 0,
                outputs=(after, saved_name(i, stage, v)),
                needs=(before,),
                transient=variant.forward_transient,
            )
        )
    return Node(name=f"F{i}", modes=tuple(modes))


def _backward(i: int, stage: Stage, yielded: tuple[str, ...], *, last: bool) -> Node:
    modes = []
    for v, variant in enumerate(stage.variants):
        used = (saved_name(i, stage, v), *(() if last else (f"g{i}",)))
        modes.append(
            Mode(
                name=variant.name,
                time=variant.backward,
                outputs=yielded,
                needs=used,
                consumes=used,
                transient=variant.backward_transient,
            )
        )
    return Node(name=f"B{i}", modes=tuple(modes), recomputable=False)
