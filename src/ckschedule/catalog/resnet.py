"""Residual networks of any depth, on ImageNet or CIFAR, post- or pre-activation.

Sources: He et al., "Deep residual learning", 2015, arXiv 1512.03385; He et al.,
"Identity mappings in deep residual networks", 2016, arXiv 1603.05027. Chen et al.,
2016, arXiv 1604.06174, trained the pre-activation form with 1001 layers on ImageNet:
32 images of 224 x 224 in fp32, about 48 GB of feature maps.

Stages: the stem, one per residual block, the head (pooling and classifier), and the
cross entropy as loss. A bottleneck block of width ``w`` on ``p`` pixels (all images
together) with ``e`` bytes per element::

    post:  conv1 norm1 relu1  conv2 norm2 relu2  conv3 norm3  add relu3
    pre:   norm1 relu1 conv1  norm2 relu2 conv2  norm3 relu3 conv3  add

Each batch norm saves its input and two statistics per channel, each ReLU (in place) its
output, which is the next convolution's input. The post form thus saves
``conv1, relu1, conv2, relu2`` of ``e p w`` bytes each and ``conv3`` of ``4 e p w``;
the pre form ``relu1`` of ``4 e p w`` and ``conv1, relu2, conv2, relu3`` of ``e p w``.
With the output of ``4 e p w`` both cost ``12 e p w`` bytes per block. A basic block
saves ``3 e p w`` beyond its output of ``e p w``.

The first block of a group, except where nothing changes, has a 1 x 1 convolution as
shortcut (followed by a batch norm in the post form); strides stand in the 3 x 3
convolution, as in torchvision. Parameters of the post form equal torchvision's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ckschedule.catalog.arguments import as_positive, check_choice
from ckschedule.catalog.assembly import assemble
from ckschedule.catalog.depths import (
    CONVOLUTIONS,
    GROUPS,
    Block,
    Form,
    blocks_of,
    checked_blocks,
)
from ckschedule.catalog.images import (
    Shape,
    average_pool,
    convolution,
    convolved,
    max_pool,
    normalize_batch,
)
from ckschedule.catalog.layers import INDEX, Layer, add, cross_entropy, linear, relu
from ckschedule.catalog.optimizer import Optimizer
from ckschedule.catalog.plan import Plan
from ckschedule.catalog.setting import as_setting
from ckschedule.costs.chain import Chain
from ckschedule.costs.checks import as_flag
from ckschedule.costs.device import Device, DType

_WIDTH: Final = {"imagenet": 64, "cifar": 16}
_IMAGE: Final = {"imagenet": 224, "cifar": 32}
_CLASSES: Final = {"imagenet": 1000, "cifar": 10}
_EXPANSION: Final = {"bottleneck": 4, "basic": 1}


def resnet(
    *,
    depth: int = 50,
    batch: int = 32,
    image: int | None = None,
    classes: int | None = None,
    width: int | None = None,
    blocks: Sequence[int] | None = None,
    block: Block | None = None,
    form: Form = "imagenet",
    preactivation: bool = False,
    dtype: DType = "fp32",
    device: str | Device | None = "a100",
    optimizer: Optimizer = "adamw",
) -> Chain:
    """Return a residual network.

    Parameters
    ----------
    depth
        Layers with weights; see `ckschedule.catalog.depths.blocks_of` for the rule.
        Ignored where ``blocks`` is given.
    batch
        Images.
    image, classes, width
        Pixels along one side, classes, and channels of the stem; None means 224, 1000
        and 64 in the ImageNet form, 32, 10 and 16 in the CIFAR form.
    blocks
        Blocks of each group: four numbers, or three in the CIFAR form.
    block
        ``bottleneck`` or ``basic`` for ``blocks``; None means bottleneck. Without
        ``blocks`` the depth decides.
    form
        ``imagenet`` or ``cifar``.
    preactivation
        Whether normalisation and ReLU come before each convolution.
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
        If an argument is out of range, or no network of the form has this depth.

    Examples
    --------
    >>> resnet(depth=50).static.parameters // 4
    25557032
    >>> len(resnet(depth=1001).stages)
    335
    """
    check_choice(form, GROUPS, "resnet: form")
    preactivation = as_flag(preactivation, "resnet: preactivation")
    if block is not None:
        check_choice(block, CONVOLUTIONS, "resnet: block")
    kind: Block
    if blocks is None:
        kind, counts = blocks_of(depth, form)
    else:
        kind, counts = block or "bottleneck", checked_blocks(blocks, form)
    setting = as_setting(dtype=dtype, device=device, optimizer=optimizer)
    shape = Shape(
        batch=as_positive(batch, "resnet: batch"),
        channels=3,
        side=as_positive(_IMAGE[form] if image is None else image, "resnet: image"),
        element=setting.element,
    )
    width = as_positive(_WIDTH[form] if width is None else width, "resnet: width")
    classes = as_positive(
        _CLASSES[form] if classes is None else classes, "resnet: classes"
    )
    stem, shape = _stem(shape, width, form, preactivation=preactivation)
    plans = [stem]
    for group, count in enumerate(counts):
        for i in range(count):
            cell = _Cell(
                before=shape,
                width=width * 2**group,
                stride=2 if group and i == 0 else 1,
                kind=kind,
            )
            build = _preactivated if preactivation else _postactivated
            plans.append(build(f"group {group + 1} block {i + 1}", cell))
            shape = cell.after
    plans.append(_head(shape, classes, preactivation=preactivation))
    loss = Plan(
        name="loss",
        layers=tuple(
            cross_entropy("x", rows=shape.batch, classes=classes, element=shape.element)
        ),
        inputs={"x": shape.element * shape.batch * classes},
    )
    total = CONVOLUTIONS[kind] * sum(counts) + 2
    name = "-".join(
        ["resnet", str(total), *["cifar"] * (form == "cifar"), *["pre"] * preactivation]
    )
    return assemble(name, plans, setting, loss=loss, given=INDEX * shape.batch)


def _relu(name: str, source: str, shape: Shape) -> Layer:
    return relu(name, source, size=shape.size, element=shape.element)


def _stem(
    shape: Shape, width: int, form: Form, *, preactivation: bool
) -> tuple[Plan, Shape]:
    """Return the stem and its output's shape."""
    large = form == "imagenet"
    kernel, stride = (7, 2) if large else (3, 1)
    after = convolved(shape, width, kernel=kernel, stride=stride)
    layers = [
        convolution("conv", "x", shape, after, kernel=kernel, bias=False),
    ]
    # Without pooling the first pre-activated block normalises the stem's output itself.
    if large or not preactivation:
        layers += [normalize_batch("norm", "conv", after), _relu("relu", "norm", after)]
    if large:
        pooled = convolved(after, width, kernel=3, stride=2)
        layers.append(max_pool("pool", "relu", after, pooled, kernel=3))
        after = pooled
    return Plan(name="stem", layers=tuple(layers), inputs={"x": shape.bytes}), after


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """Shapes of a residual block of inner width ``width``."""

    before: Shape
    width: int
    stride: int
    kind: Block

    @property
    def after(self) -> Shape:
        channels = self.width * _EXPANSION[self.kind]
        return convolved(self.before, channels, kernel=1, stride=self.stride)

    @property
    def projects(self) -> bool:
        return self.before != self.after

    def steps(self) -> list[tuple[Shape, Shape, int]]:
        """Return the shapes before and after each convolution, and its kernel."""
        small = convolved(self.before, self.width, kernel=1)
        strided = convolved(self.before, self.width, kernel=3, stride=self.stride)
        if self.kind == "basic":
            return [(self.before, strided, 3), (strided, self.after, 3)]
        return [
            (self.before, small, 1),
            (small, strided, 3),
            (strided, self.after, 1),
        ]


def _postactivated(name: str, cell: _Cell) -> Plan:
    layers: list[Layer] = []
    source = "x"
    steps = cell.steps()
    for i, (before, after, kernel) in enumerate(steps, start=1):
        layers += [
            convolution(f"conv{i}", source, before, after, kernel=kernel, bias=False),
            normalize_batch(f"norm{i}", f"conv{i}", after),
        ]
        source = f"norm{i}"
        if i < len(steps):
            layers.append(_relu(f"relu{i}", source, after))
            source = f"relu{i}"
    shortcut = "x"
    if cell.projects:
        layers += [
            convolution("project", "x", cell.before, cell.after, kernel=1, bias=False),
            normalize_batch("norm", "project", cell.after),
        ]
        shortcut = "norm"
    layers += [_sum(source, shortcut, cell.after), _relu("relu", "add", cell.after)]
    return Plan(name=name, layers=tuple(layers), inputs={"x": cell.before.bytes})


def _preactivated(name: str, cell: _Cell) -> Plan:
    layers: list[Layer] = []
    source = shortcut = "x"
    for i, (before, after, kernel) in enumerate(cell.steps(), start=1):
        layers += [
            normalize_batch(f"norm{i}", source, before),
            _relu(f"relu{i}", f"norm{i}", before),
        ]
        if i == 1 and cell.projects:
            # The shortcut shares the first activation; see He et al. 2016, section 4.
            shortcut = "project"
            layers.append(
                convolution(shortcut, "relu1", before, cell.after, kernel=1, bias=False)
            )
        layers.append(
            convolution(
                f"conv{i}", f"relu{i}", before, after, kernel=kernel, bias=False
            )
        )
        source = f"conv{i}"
    layers.append(_sum(source, shortcut, cell.after))
    return Plan(name=name, layers=tuple(layers), inputs={"x": cell.before.bytes})


def _sum(branch: str, shortcut: str, shape: Shape) -> Layer:
    return add(
        "add", branch, shortcut, size=shape.size, element=shape.element, in_place=True
    )


def _head(shape: Shape, classes: int, *, preactivation: bool) -> Plan:
    layers: list[Layer] = []
    source = "x"
    if preactivation:
        layers += [normalize_batch("norm", "x", shape), _relu("relu", "norm", shape)]
        source = "relu"
    layers += [
        average_pool("pool", source, shape),
        linear(
            "linear",
            "pool",
            rows=shape.batch,
            inner=shape.channels,
            outer=classes,
            element=shape.element,
        ),
    ]
    return Plan(name="head", layers=tuple(layers), inputs={"x": shape.bytes})
