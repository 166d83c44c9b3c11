"""What is common to all formulas of one model: precision, clock and static bytes."""

from dataclasses import dataclass
from typing import Final

from ckschedule.catalog.arguments import check_choice
from ckschedule.catalog.optimizer import OPTIMIZERS, Optimizer, element_size
from ckschedule.costs.device import Device, DType, as_device
from ckschedule.units import TimeUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Work of one kernel.

    Attributes
    ----------
    flops
        Floating-point operations.
    moved
        Bytes read and written.
    """

    flops: int = 0
    moved: int = 0


IDLE: Final = Work()
"""No work at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Precision, device and optimiser of a model; build it with `as_setting`.

    Attributes
    ----------
    dtype, optimizer
        As the public functions take them.
    device
        None counts flops instead of nanoseconds.
    element
        Bytes of one stored element.
    """

    dtype: DType
    device: Device | None
    optimizer: Optimizer
    element: int

    @property
    def time_unit(self) -> TimeUnit:
        """Unit of `ticks`."""
        return "flop" if self.device is None else "ns"

    @property
    def weight_element(self) -> int:
        """Bytes per element of a weight's fresh gradient; 0 if none are counted."""
        return 0 if self.optimizer == "none" else self.element

    def ticks(self, *works: Work) -> int:
        """Return the time of kernels that run one after the other."""
        if self.device is None:
            return sum(work.flops for work in works)
        return sum(
            self.device.time(flops=work.flops, moved=work.moved, dtype=self.dtype)
            for work in works
        )


def as_setting(
    *, dtype: DType, device: str | Device | None, optimizer: Optimizer
) -> Setting:
    """Return the checked setting of a model.

    Raises
    ------
    InvalidModelError
        If a name is unknown.
    """
    check_choice(optimizer, OPTIMIZERS, "optimizer")
    return Setting(
        dtype=dtype,
        device=None if device is None else as_device(device),
        optimizer=optimizer,
        element=element_size(dtype),
    )
