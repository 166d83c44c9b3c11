"""Layers of self-attention, eager or flash.

With ``s`` tokens per sequence, ``b`` sequences, ``a`` heads and ``h`` channels, eager
attention writes its ``a s^2 b`` scores and saves their softmax, a dropout mask and the
dropped softmax: ``5 a s^2 b`` bytes at two bytes per element. Flash attention
(Dao 2023, arXiv 2307.08691) saves its inputs, its output and one fp32 log-sum-exp per
row of scores, ``4 a s b`` bytes, and skips the causally masked half of the work.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ckschedule.catalog.layers import STATISTIC, Layer, drop_out, linear, pointwise
from ckschedule.catalog.setting import Work

Attention: TypeAlias = Literal["flash", "eager"]
"""Fused without the matrix of scores, or written out."""

ATTENTIONS: Final = ("flash", "eager")
"""All legal kinds of attention."""

CORE: Final = ("scores", "softmax", "mask")
"""Layers of eager attention that selective recomputation repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Shape of a transformer's activations.

    Attributes
    ----------
    sequence, batch, hidden, heads, key_heads, element
        ``s``, ``b``, ``h``, ``a``, heads of keys and values, bytes of one element.
    """

    sequence: int
    batch: int
    hidden: int
    heads: int
    key_heads: int
    element: int

    @property
    def rows(self) -> int:
        """Tokens of all sequences."""
        return self.sequence * self.batch

    @property
    def size(self) -> int:
        """Elements of one activation of full width."""
        return self.rows * self.hidden

    @property
    def key_width(self) -> int:
        """Channels of the keys, and of the values."""
        return self.hidden // self.heads * self.key_heads


def attend(
    tokens: Tokens,
    source: str,
    kind: Attention,
    *,
    bias: bool,
    rotary: bool,
    drop: bool,
) -> list[Layer]:
    """Return the layers from ``source`` to ``context``, the input of the projection.

    Queries, keys and values are three products; a fused one saves the same bytes.
    Rotary embeddings save nothing of their own: sines and cosines are constants.
    """
    layers: list[Layer] = []
    names = []
    for name, width in (
        ("query", tokens.hidden),
        ("key", tokens.key_width),
        ("value", tokens.key_width),
    ):
        layers.append(
            linear(
                name,
                source,
                rows=tokens.rows,
                inner=tokens.hidden,
                outer=width,
                element=tokens.element,
                bias=bias,
            )
        )
        names.append(name)
        if rotary and name != "value":
            layers.append(_constant(f"rotary {name}", name, tokens, width))
            names[-1] = f"rotary {name}"
    if kind == "flash":
        return [*layers, _flash(tokens, names, drop=drop)]
    return [*layers, *_eager(tokens, names, drop=drop)]


def _constant(name: str, source: str, tokens: Tokens, width: int) -> Layer:
    return pointwise(
        name,
        (source,),
        size=tokens.rows * width,
        element=tokens.element,
        saves=(),
        flops=3,
    )


def _product(tokens: Tokens) -> Work:
    """Return the work of scores or of context: ``2 s^2 b h`` flops."""
    scores = tokens.heads * tokens.sequence * tokens.rows
    return Work(
        flops=2 * tokens.sequence * tokens.size,
        moved=tokens.element * (2 * tokens.size + scores),
    )


def _flash(tokens: Tokens, names: Sequence[str], *, drop: bool) -> Layer:
    size = tokens.element * tokens.size
    keys = tokens.element * tokens.rows * tokens.key_width
    statistics = STATISTIC * tokens.heads * tokens.rows
    # Both products, one half of each masked; the backward has five, since it computes
    # the scores again.
    product = tokens.sequence * tokens.size
    extra_flops = tokens.heads * tokens.sequence * tokens.rows * (3 if drop else 2)
    return Layer(
        name="context",
        inputs=tuple(names),
        output=size,
        forward=Work(
            flops=2 * product + extra_flops, moved=2 * size + 2 * keys + statistics
        ),
        input_backward=(
            Work(
                flops=5 * product + 2 * extra_flops,
                moved=4 * size + 4 * keys + statistics,
            ),
        ),
        saves=(*names, "context"),
        extra=statistics,
        # The queries' gradient is summed in single precision.
        workspace=STATISTIC * tokens.size + statistics,
    )


def _eager(tokens: Tokens, names: Sequence[str], *, drop: bool) -> list[Layer]:
    query, key, value = names
    scores = tokens.heads * tokens.sequence * tokens.rows
    product = _product(tokens)
    layers: list[Layer] = []
    if tokens.key_heads != tokens.heads:
        # Without a fused kernel each group of heads needs its keys and values in full.
        layers += [
            _repeated("keys", key, tokens),
            _repeated("values", value, tokens),
        ]
        key, value = "keys", "values"
    layers += [
        _matmul("scores", query, key, product, tokens.element * scores),
        pointwise(
            "softmax",
            ("scores",),
            size=scores,
            element=tokens.element,
            saves=("softmax",),
            flops=6,
        ),
    ]
    weights = "softmax"
    if drop:
        weights = "mask"
        layers.append(drop_out("mask", "softmax", size=scores, element=tokens.element))
    size = tokens.element * tokens.size
    return [*layers, _matmul("context", weights, value, product, size)]


def _repeated(name: str, source: str, tokens: Tokens) -> Layer:
    work = Work(moved=tokens.element * (tokens.size + tokens.rows * tokens.key_width))
    return Layer(
        name=name,
        inputs=(source,),
        output=tokens.element * tokens.size,
        forward=work,
        input_backward=(work,),
    )


def _matmul(name: str, left: str, right: str, work: Work, output: int) -> Layer:
    return Layer(
        name=name,
        inputs=(left, right),
        output=output,
        forward=work,
        input_backward=(work, work),
        saves=(left, right),
    )
