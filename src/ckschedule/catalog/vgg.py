"""VGG: K. Simonyan and A. Zisserman, 2014, arXiv 1409.1556, configurations A, B, D, E.

One stage per convolution with its ReLU, per pooling, and per fully connected layer;
then the cross entropy as loss. For a convolution from ``c`` to ``d`` channels on ``p``
pixels (all images together) and ``e`` bytes per element:

- output ``e p d``; nothing saved beyond input (convolution) and output (ReLU in place);
- ``2 * 9 * p c d`` flops forward and twice that backward;
- ``9 c d + d`` parameters.

A pooling saves its input and an 8-byte index per output element. The first two fully
connected layers have dropout: saved are the ReLU's output and a mask of one byte per
element.
"""

from typing import Final

from ckschedule.catalog.arguments import as_positive
from ckschedule.catalog.assembly import assemble
from ckschedule.catalog.images import (
    Shape,
    convolution,
    convolved,
    max_pool,
    normalize_batch,
)
from ckschedule.catalog.layers import INDEX, cross_entropy, drop_out, linear, relu
from ckschedule.catalog.optimizer import Optimizer
from ckschedule.catalog.plan import Plan
from ckschedule.catalog.setting import as_setting
from ckschedule.costs.chain import Chain
from ckschedule.costs.checks import as_flag
from ckschedule.costs.device import Device, DType
from ckschedule.errors import InvalidModelError

_CONVOLUTIONS: Final = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}
_CHANNELS: Final = (64, 128, 256, 512, 512)
_HIDDEN: Final = 4096
_SHRINK: Final = 2 ** len(_CHANNELS)


def vgg(
    *,
    depth: int = 16,
    batch: int = 32,
    image: int = 224,
    classes: int = 1000,
    batch_norm: bool = False,
    dtype: DType = "fp32",
    device: str | Device | None = "a100",
    optimizer: Optimizer = "adamw",
) -> Chain:
    """Return a VGG network.

    Parameters
    ----------
    depth
        Layers with weights: 11, 13, 16 or 19.
    batch, image, classes
        Images, pixels along one side (32 or more), and classes.
    batch_norm
        Whether a batch norm follows each convolution.
    dtype
        Precision of activations and weights.
    device
        Preset or own device for times in ns; None counts flops.
    optimizer
        Whose static bytes to count; ``none`` counts activations only.

    Returns
    -------
    Chain

    Raises
    ------
    InvalidModelError
        If an argument is out of range.

    Examples
    --------
    >>> vgg(depth=16).static.parameters // 4
    138357544
    """
    depth = as_positive(depth, "vgg: depth")
    if depth not in _CONVOLUTIONS:
        raise InvalidModelError(
            f"vgg: depth is {depth}; choose one of {', '.join(map(str, _CONVOLUTIONS))}"
        )
    image = as_positive(image, "vgg: image")
    if image < _SHRINK:
        raise InvalidModelError(
            f"vgg: image is {image}; five poolings need {_SHRINK} pixels or more"
        )
    classes = as_positive(classes, "vgg: classes")
    normalize = as_flag(batch_norm, "vgg: batch_norm")
    setting = as_setting(dtype=dtype, device=device, optimizer=optimizer)
    element = setting.element
    shape = Shape(
        batch=as_positive(batch, "vgg: batch"), channels=3, side=image, element=element
    )
    plans: list[Plan] = []
    for group, count in enumerate(_CONVOLUTIONS[depth], start=1):
        for i in range(1, count + 1):
            after = convolved(shape, _CHANNELS[group - 1], kernel=3)
            plans.append(
                _convolution(f"conv{group}_{i}", shape, after, normalize=normalize)
            )
            shape = after
        plans.append(_pool(f"pool{group}", shape))
        shape = _halved(shape)
    inner = shape.size // shape.batch
    for i, outer in enumerate((_HIDDEN, _HIDDEN, classes), start=6):
        plans.append(
            _connected(f"fc{i}", shape.batch, inner, outer, element, last=i == 8)
        )
        inner = outer
    loss = Plan(
        name="loss",
        layers=tuple(
            cross_entropy("x", rows=shape.batch, classes=classes, element=element)
        ),
        inputs={"x": element * shape.batch * classes},
    )
    suffix = "-bn" if normalize else ""
    return assemble(
        f"vgg-{depth}{suffix}", plans, setting, loss=loss, given=INDEX * shape.batch
    )


def _convolution(name: str, before: Shape, after: Shape, *, normalize: bool) -> Plan:
    layers = [convolution("conv", "x", before, after, kernel=3, bias=True)]
    if normalize:
        layers.append(normalize_batch("norm", "conv", after))
    layers.append(relu("relu", layers[-1].name, size=after.size, element=after.element))
    return Plan(name=name, layers=tuple(layers), inputs={"x": before.bytes})


def _halved(shape: Shape) -> Shape:
    return Shape(
        batch=shape.batch,
        channels=shape.channels,
        side=shape.side // 2,
        element=shape.element,
    )


def _pool(name: str, shape: Shape) -> Plan:
    layer = max_pool("pool", "x", shape, _halved(shape), kernel=2)
    return Plan(name=name, layers=(layer,), inputs={"x": shape.bytes})


def _connected(
    name: str, batch: int, inner: int, outer: int, element: int, *, last: bool
) -> Plan:
    layers = [
        linear("linear", "x", rows=batch, inner=inner, outer=outer, element=element)
    ]
    if not last:
        size = batch * outer
        layers.append(relu("relu", "linear", size=size, element=element))
        layers.append(drop_out("dropout", "relu", size=size, element=element))
    return Plan(name=name, layers=tuple(layers), inputs={"x": element * batch * inner})
