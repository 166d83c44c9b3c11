"""Layers of image networks: convolution, batch norm, pooling."""

from dataclasses import dataclass

from ckschedule.catalog.layers import INDEX, STATISTIC, Layer
from ckschedule.catalog.setting import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A batch of square images.

    Attributes
    ----------
    batch, channels, side
        Images, channels per image, pixels along one side.
    element
        Bytes of one stored element.
    """

    batch: int
    channels: int
    side: int
    element: int

    @property
    def pixels(self) -> int:
        """Pixels of all images, one channel."""
        return self.batch * self.side**2

    @property
    def size(self) -> int:
        """Elements."""
        return self.pixels * self.channels

    @property
    def bytes(self) -> int:
        """Bytes."""
        return self.size * self.element


def convolved(shape: Shape, channels: int, *, kernel: int, stride: int = 1) -> Shape:
    """Return the shape after a convolution padded by ``kernel // 2``."""
    side = (shape.side + 2 * (kernel // 2) - kernel) // stride + 1
    return Shape(batch=shape.batch, channels=channels, side=side, element=shape.element)


def convolution(
    name: str, source: str, before: Shape, after: Shape, *, kernel: int, bias: bool
) -> Layer:
    """Return a convolution from ``before`` to ``after``, which saves its input."""
    weights = kernel**2 * before.channels * after.channels
    product = Work(
        flops=2 * after.pixels * weights,
        moved=before.bytes + after.bytes + before.element * weights,
    )
    return Layer(
        name=name,
        inputs=(source,),
        output=after.bytes,
        forward=product,
        input_backward=(product,),
        weight_backward=(product,),
        saves=(source,),
        weights=weights + (after.channels if bias else 0),
    )


def normalize_batch(name: str, source: str, shape: Shape) -> Layer:
    """Return a batch norm, which saves its input and two statistics per channel.

    Forward and backward each read their data twice: once for the sums, once to apply
    them. The buffers are the running mean and variance and a counter of batches.
    """
    return Layer(
        name=name,
        inputs=(source,),
        output=shape.bytes,
        forward=Work(flops=8 * shape.size, moved=3 * shape.bytes),
        input_backward=(Work(flops=11 * shape.size, moved=5 * shape.bytes),),
        saves=(source,),
        extra=2 * STATISTIC * shape.channels,
        weights=2 * shape.channels,
        buffers=2 * STATISTIC * shape.channels + INDEX,
    )


def max_pool(
    name: str, source: str, before: Shape, after: Shape, *, kernel: int
) -> Layer:
    """Return a max-pooling, which saves its input and the indices of the maxima."""
    indices = INDEX * after.size
    return Layer(
        name=name,
        inputs=(source,),
        output=after.bytes,
        forward=Work(
            flops=kernel**2 * after.size, moved=before.bytes + after.bytes + indices
        ),
        input_backward=(
            Work(flops=after.size, moved=before.bytes + after.bytes + indices),
        ),
        saves=(source,),
        extra=indices,
    )


def average_pool(name: str, source: str, shape: Shape) -> Layer:
    """Return the mean over all pixels, which saves nothing."""
    after = shape.batch * shape.channels * shape.element
    work = Work(flops=shape.size, moved=shape.bytes + after)
    return Layer(
        name=name,
        inputs=(source,),
        output=after,
        forward=work,
        input_backward=(work,),
    )
