"""Stages of a transformer: embedding, block, head, loss.

The formulas stand in `ckschedule.catalog.transformer`.
"""

from ckschedule.catalog.attention import CORE, Attention, Tokens, attend
from ckschedule.catalog.layers import (
    INDEX,
    Layer,
    add,
    cross_entropy,
    drop_out,
    embedding,
    linear,
    normalization,
    pointwise,
)
from ckschedule.catalog.plan import Plan, Region
from ckschedule.catalog.setting import Work


def gpt_embedding(
    tokens: Tokens, vocabulary: int, positions: int, *, drop: bool
) -> Plan:
    """Return the sum of token and position table, dropped out."""
    size = tokens.element * tokens.size
    place = Layer(
        name="place",
        inputs=("token",),
        output=size,
        forward=Work(flops=tokens.size, moved=2 * size),
        weight_backward=(Work(flops=tokens.size, moved=size),),
        weights=positions * tokens.hidden,
        in_place=True,
        passes_gradient=True,
    )
    layers = [_table("token", tokens, vocabulary), place]
    if drop:
        layers.append(
            drop_out("dropout", "place", size=tokens.size, element=tokens.element)
        )
    return Plan(
        name="embedding", layers=tuple(layers), inputs={"x": INDEX * tokens.rows}
    )


def gpt_block(name: str, tokens: Tokens, kind: Attention, *, drop: bool) -> Plan:
    """Return a block with layer norms, a GELU of four times the width, and biases."""
    hidden = tokens.hidden
    layers = [
        _norm("norm 1", "x", tokens, bias=True),
        *attend(tokens, "norm 1", kind, bias=True, rotary=False, drop=drop),
        _linear("project", "context", tokens, hidden, hidden, bias=True),
        *_residual("sum 1", "project", "x", tokens, drop=drop),
        _norm("norm 2", "sum 1", tokens, bias=True),
        _linear("widen", "norm 2", tokens, hidden, 4 * hidden, bias=True),
        pointwise(
            "gelu",
            ("widen",),
            size=4 * tokens.size,
            element=tokens.element,
            saves=("widen",),
            flops=10,
        ),
        _linear("narrow", "gelu", tokens, 4 * hidden, hidden, bias=True),
        *_residual("sum 2", "narrow", "sum 1", tokens, drop=drop),
    ]
    return _block(name, layers, tokens, kind, ("gelu",))


def llama_embedding(tokens: Tokens, vocabulary: int) -> Plan:
    """Return the look-up of the token table."""
    return Plan(
        name="embedding",
        layers=(_table("token", tokens, vocabulary),),
        inputs={"x": INDEX * tokens.rows},
    )


def llama_block(name: str, tokens: Tokens, kind: Attention, inner: int) -> Plan:
    """Return a block with RMS norms, rotary embeddings and a gated MLP."""
    hidden = tokens.hidden
    size = tokens.rows * inner
    layers = [
        _norm("norm 1", "x", tokens, bias=False),
        *attend(tokens, "norm 1", kind, bias=False, rotary=True, drop=False),
        _linear("project", "context", tokens, hidden, hidden, bias=False),
        *_residual("sum 1", "project", "x", tokens, drop=False),
        _norm("norm 2", "sum 1", tokens, bias=False),
        _linear("gate", "norm 2", tokens, hidden, inner, bias=False),
        _linear("widen", "norm 2", tokens, hidden, inner, bias=False),
        pointwise(
            "silu",
            ("gate",),
            size=size,
            element=tokens.element,
            saves=("gate",),
            flops=5,
        ),
        pointwise(
            "product",
            ("silu", "widen"),
            size=size,
            element=tokens.element,
            saves=("silu", "widen"),
        ),
        _linear("narrow", "product", tokens, inner, hidden, bias=False),
        *_residual("sum 2", "narrow", "sum 1", tokens, drop=False),
    ]
    return _block(name, layers, tokens, kind, ("silu", "product"))


def projection(tokens: Tokens, vocabulary: int, *, bias: bool, tied: bool) -> Plan:
    """Return the last norm and the product with the output table."""
    return Plan(
        name="head",
        layers=(
            _norm("norm", "x", tokens, bias=bias),
            linear(
                "logits",
                "norm",
                rows=tokens.rows,
                inner=tokens.hidden,
                outer=vocabulary,
                element=tokens.element,
                bias=False,
                tied=tied,
            ),
        ),
        inputs={"x": tokens.element * tokens.size},
    )


def loss(tokens: Tokens, vocabulary: int) -> Plan:
    """Return the cross entropy over the vocabulary."""
    return Plan(
        name="loss",
        layers=tuple(
            cross_entropy(
                "x", rows=tokens.rows, classes=vocabulary, element=tokens.element
            )
        ),
        inputs={"x": tokens.element * tokens.rows * vocabulary},
    )


def _table(name: str, tokens: Tokens, vocabulary: int) -> Layer:
    return embedding(
        name,
        "x",
        rows=tokens.rows,
        vocabulary=vocabulary,
        width=tokens.hidden,
        element=tokens.element,
    )


def _linear(
    name: str, source: str, tokens: Tokens, inner: int, outer: int, *, bias: bool
) -> Layer:
    return linear(
        name,
        source,
        rows=tokens.rows,
        inner=inner,
        outer=outer,
        element=tokens.element,
        bias=bias,
    )


def _norm(name: str, source: str, tokens: Tokens, *, bias: bool) -> Layer:
    return normalization(
        name,
        source,
        rows=tokens.rows,
        width=tokens.hidden,
        element=tokens.element,
        bias=bias,
    )


def _residual(
    name: str, branch: str, shortcut: str, tokens: Tokens, *, drop: bool
) -> list[Layer]:
    """Return a sum with a branch that is dropped out first where ``drop`` says so."""
    layers = []
    if drop:
        layers.append(
            drop_out(
                f"{name} dropout", branch, size=tokens.size, element=tokens.element
            )
        )
        branch = layers[0].name
    layers.append(add(name, branch, shortcut, size=tokens.size, element=tokens.element))
    return layers


def _block(
    name: str, layers: list[Layer], tokens: Tokens, kind: Attention, activation: Region
) -> Plan:
    cheap: tuple[Region, ...] = (("norm 1",), ("norm 2",), activation)
    names = {layer.name for layer in layers}
    core = tuple(layer for layer in CORE if layer in names)
    variants: dict[str, tuple[Region, ...]] = {"pointwise": cheap}
    if kind == "eager":
        variants = {"selective": (core,), "selective+pointwise": (core, *cheap)}
    return Plan(
        name=name,
        layers=tuple(layers),
        inputs={"x": tokens.element * tokens.size},
        recomputed=variants,
    )
