"""Layers: what one operation computes, moves, saves and allocates.

What a layer saves is what PyTorch's autograd keeps: a matrix product or convolution its
input, a normalisation its input, ReLU and softmax their output, GELU and SiLU their
input, dropout a mask of one byte per element, an addition nothing.
"""

from dataclasses import dataclass
from typing import Final

from ckschedule.catalog.setting import IDLE, Work

INDEX: Final = 8
"""Bytes of one integer index, label or token."""

STATISTIC: Final = 4
"""Bytes of one statistic, loss or log-probability: always single precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One operation of a stage; its output is the tensor of its name.

    Attributes
    ----------
    name
        Unique within the stage.
    inputs
        Tensors read: names of earlier layers, or of the stage's input.
    output
        Bytes.
    forward
        Work of the forward.
    input_backward, weight_backward
        Work of the kernels that yield the inputs' and the weights' gradients.
    saves
        Tensors kept for the backward, by name.
    extra
        Bytes of masks, indices or statistics kept besides.
    weights
        Number of trained parameters.
    tied
        Whether the weights are counted elsewhere.
    buffers
        Bytes of running statistics.
    workspace
        Bytes that the backward needs besides gradients.
    in_place
        Whether the output overwrites the first input.
    passes_gradient
        Whether the backward hands on its gradient without a new allocation.
    """

    name: str
    inputs: tuple[str, ...]
    output: int
    forward: Work = IDLE
    input_backward: tuple[Work, ...] = ()
    weight_backward: tuple[Work, ...] = ()
    saves: tuple[str, ...] = ()
    extra: int = 0
    weights: int = 0
    tied: bool = False
    buffers: int = 0
    workspace: int = 0
    in_place: bool = False
    passes_gradient: bool = False


def linear(
    name: str,
    source: str,
    *,
    rows: int,
    inner: int,
    outer: int,
    element: int,
    bias: bool = True,
    tied: bool = False,
) -> Layer:
    """Return a product of ``rows`` x ``inner`` with a weight ``inner`` x ``outer``."""
    product = Work(
        flops=2 * rows * inner * outer,
        moved=element * (rows * inner + inner * outer + rows * outer),
    )
    return Layer(
        name=name,
        inputs=(source,),
        output=element * rows * outer,
        forward=product,
        input_backward=(product,),
        weight_backward=(product,),
        saves=(source,),
        weights=inner * outer + (outer if bias else 0),
        tied=tied,
    )


def pointwise(
    name: str,
    inputs: tuple[str, ...],
    *,
    size: int,
    element: int,
    saves: tuple[str, ...],
    flops: int = 1,
    in_place: bool = False,
) -> Layer:
    """Return an operation on ``size`` elements, ``flops`` each.

    Its backward reads the gradient and what was saved, and writes a gradient per input.
    """
    reads = len(saves) + 1 + len(inputs)
    return Layer(
        name=name,
        inputs=inputs,
        output=element * size,
        forward=Work(flops=flops * size, moved=element * size * (len(inputs) + 1)),
        input_backward=(Work(flops=flops * size, moved=element * size * reads),),
        saves=saves,
        in_place=in_place,
    )


def relu(name: str, source: str, *, size: int, element: int) -> Layer:
    """Return a ReLU over its input's storage, which saves its output."""
    return pointwise(
        name, (source,), size=size, element=element, saves=(name,), in_place=True
    )


def add(
    name: str, left: str, right: str, *, size: int, element: int, in_place: bool = False
) -> Layer:
    """Return a sum; its backward passes the gradient to both sides."""
    return Layer(
        name=name,
        inputs=(left, right),
        output=element * size,
        forward=Work(flops=size, moved=3 * element * size),
        in_place=in_place,
        passes_gradient=True,
    )


def drop_out(name: str, source: str, *, size: int, element: int) -> Layer:
    """Return a dropout, which saves a mask of one byte per element."""
    work = Work(flops=2 * size, moved=(2 * element + 1) * size)
    return Layer(
        name=name,
        inputs=(source,),
        output=element * size,
        forward=work,
        input_backward=(work,),
        extra=size,
    )


def normalization(
    name: str, source: str, *, rows: int, width: int, element: int, bias: bool = True
) -> Layer:
    """Return a layer norm, or an RMS norm where ``bias`` is false.

    The two fp32 statistics per row are left out, as Korthikanti et al. leave them out:
    below 0.1 % of what a block saves.
    """
    size = rows * width
    return Layer(
        name=name,
        inputs=(source,),
        output=element * size,
        forward=Work(flops=8 * size, moved=2 * element * size),
        input_backward=(Work(flops=8 * size, moved=3 * element * size),),
        weight_backward=(Work(flops=2 * size, moved=2 * element * size),),
        saves=(source,),
        weights=2 * width if bias else width,
    )


def embedding(
    name: str, source: str, *, rows: int, vocabulary: int, width: int, element: int
) -> Layer:
    """Return a table look-up; its weight gradient is dense."""
    size = element * rows * width
    table = element * vocabulary * width
    return Layer(
        name=name,
        inputs=(source,),
        output=size,
        forward=Work(moved=2 * size),
        weight_backward=(Work(flops=rows * width, moved=2 * size + table),),
        saves=(source,),
        weights=vocabulary * width,
    )


def cross_entropy(source: str, *, rows: int, classes: int, element: int) -> list[Layer]:
    """Return the layers of a mean cross entropy, its logarithms in single precision.

    Logits of two bytes are cast first; what is saved are the log-probabilities, four
    bytes per row and class.
    """
    size = rows * classes
    layers = []
    if element != STATISTIC:
        cast = Work(moved=(element + STATISTIC) * size)
        layers.append(
            Layer(
                name="cast",
                inputs=(source,),
                output=STATISTIC * size,
                forward=cast,
                input_backward=(cast,),
            )
        )
        source = "cast"
    layers.append(
        pointwise(
            "log_softmax",
            (source,),
            size=size,
            element=STATISTIC,
            saves=("log_softmax",),
            flops=5,
        )
    )
    layers.append(
        Layer(
            name="nll",
            inputs=("log_softmax",),
            output=STATISTIC,
            forward=Work(flops=rows, moved=(STATISTIC + INDEX) * rows),
            input_backward=(Work(flops=rows, moved=STATISTIC * size),),
        )
    )
    return layers
