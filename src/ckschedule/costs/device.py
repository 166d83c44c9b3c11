"""Devices: peak rates from data sheets, and the roofline that turns work into time.

The roofline model says that a kernel takes the longer of its arithmetic at the peak
rate and of its memory traffic at the peak bandwidth: S. Williams, A. Waterman and
D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009, doi 10.1145/1498765.1498785.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from ckschedule.costs.checks import as_count, as_name
from ckschedule.errors import InvalidModelError

DType: TypeAlias = Literal["fp32", "tf32", "fp16", "bf16"]
"""Arithmetic of a kernel; ``tf32`` stores four bytes and multiplies on matrix units."""

DTYPES: Final[tuple[str, ...]] = get_args(DType)
"""All legal dtypes, in the order in which messages list them."""

_NANOSECONDS: Final = 10**9
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A processor by its published peaks.

    Attributes
    ----------
    name
        For reports.
    flops_fp32
        Peak of plain single precision, flop/s.
    flops_tf32
        Peak of single precision on matrix units, flop/s, dense; None means that there
        are none: ``flops_fp32``.
    flops_half
        Peak of fp16 and bf16 that accumulate in fp32, flop/s, dense; None means
        ``flops_fp32``.
    bandwidth
        Peak of the device memory, bytes/s.
    memory
        Bytes installed, of which a process can use a little less; None if unknown.
    efficiency
        Percent of both peaks that real kernels reach, 1 to 100.

    Raises
    ------
    InvalidModelError
        If a rate is no positive integer or the efficiency is outside 1 to 100.

    Examples
    --------
    >>> mine = Device(name="mine", flops_fp32=10**12, bandwidth=10**11)
    >>> mine.time(flops=5000, moved=100, dtype="fp32")
    5
    """

    name: str
    flops_fp32: int
    bandwidth: int
    flops_tf32: int | None = None
    flops_half: int | None = None
    memory: int | None = None
    efficiency: int = _PERCENT

    def __post_init__(self) -> None:
        as_name(self.name, "device name")
        for part in ("flops_fp32", "bandwidth", "flops_tf32", "flops_half", "memory"):
            value = getattr(self, part)
            if value is None and part not in ("flops_fp32", "bandwidth"):
                continue
            object.__setattr__(self, part, self._positive(part, value))
        efficiency = self._positive("efficiency", self.efficiency)
        if efficiency > _PERCENT:
            raise InvalidModelError(
                f"device {self.name!r}: efficiency is {efficiency}; give the percent "
                f"of the peaks that kernels reach, 1 to 100"
            )
        object.__setattr__(self, "efficiency", efficiency)

    def peak(self, dtype: DType) -> int:
        """Return the peak rate of a dtype in flop/s, efficiency not applied.

        Raises
        ------
        InvalidModelError
            If the dtype is unknown.
        """
        rates = {
            "fp32": self.flops_fp32,
            "tf32": self.flops_tf32,
            "fp16": self.flops_half,
            "bf16": self.flops_half,
        }
        if dtype not in DTYPES:
            raise InvalidModelError(
                f"dtype is {dtype!r}; choose one of {', '.join(DTYPES)}"
            )
        return rates[dtype] or self.flops_fp32

    def time(self, *, flops: int, moved: int, dtype: DType) -> int:
        """Return the roofline time of one kernel.

        Parameters
        ----------
        flops
            Floating-point operations, zero or more.
        moved
            Bytes read from and written to device memory, zero or more.
        dtype
            Arithmetic of the kernel.

        Returns
        -------
        int
            Nanoseconds, rounded up: zero only for no work at all.

        Raises
        ------
        InvalidModelError
            If an amount is negative or no integer, or the dtype is unknown.
        """
        flops = as_count(flops, f"device {self.name!r}: flops")
        moved = as_count(moved, f"device {self.name!r}: moved")
        return max(
            self._ticks(flops, self.peak(dtype)), self._ticks(moved, self.bandwidth)
        )

    def _ticks(self, amount: int, rate: int) -> int:
        # Ceiling division in integers: equal models have equal times on every machine.
        return -(-amount * _NANOSECONDS * _PERCENT // (rate * self.efficiency))

    def _positive(self, part: str, value: object) -> int:
        number = as_count(value, f"device {self.name!r}: {part}")
        if number == 0:
            raise InvalidModelError(
                f"device {self.name!r}: {part} is 0; it must be 1 or more"
            )
        return number


_TERA: Final = 10**12
_GIGA: Final = 10**9
_GIB: Final = 2**30

DEVICES: Final[Mapping[str, Device]] = MappingProxyType(
    {
        device.name: device
        for device in (
            # NVIDIA H200 SXM data sheet; its tensor rates there are with sparsity, and
            # dense is half of them.
            Device(
                name="h200",
                flops_fp32=67 * _TERA,
                flops_tf32=494_700 * _GIGA,
                flops_half=989_400 * _GIGA,
                bandwidth=4800 * _GIGA,
                memory=141 * _GIB,
            ),
            # NVIDIA H100 Tensor Core GPU Architecture white paper, SXM5, dense.
            Device(
                name="h100",
                flops_fp32=66_900 * _GIGA,
                flops_tf32=494_700 * _GIGA,
                flops_half=989_400 * _GIGA,
                bandwidth=3350 * _GIGA,
                memory=80 * _GIB,
            ),
            # NVIDIA A100 80GB SXM data sheet, dense.
            Device(
                name="a100",
                flops_fp32=19_500 * _GIGA,
                flops_tf32=156 * _TERA,
                flops_half=312 * _TERA,
                bandwidth=2039 * _GIGA,
                memory=80 * _GIB,
            ),
            # NVIDIA L4 data sheet; tensor rates halved from those with sparsity.
            Device(
                name="l4",
                flops_fp32=30_300 * _GIGA,
                flops_tf32=60 * _TERA,
                flops_half=121 * _TERA,
                bandwidth=300 * _GIGA,
                memory=24 * _GIB,
            ),
            # NVIDIA Ada GPU Architecture white paper, appendix, RTX 4090: dense, and
            # half precision with fp32 accumulation, which runs at half rate.
            Device(
                name="rtx4090",
                flops_fp32=82_600 * _GIGA,
                flops_tf32=82_600 * _GIGA,
                flops_half=165_200 * _GIGA,
                bandwidth=1008 * _GIGA,
                memory=24 * _GIB,
            ),
            # GeForce GTX Titan X (Maxwell GM200, 2015): 3072 cores, two operations each
            # per cycle at the base clock of 1 GHz; 384 bits at 7 GHz. No fast half.
            Device(
                name="titan-x",
                flops_fp32=6144 * _GIGA,
                bandwidth=336_500 * 10**6,
                memory=12 * _GIB,
            ),
            # Intel Xeon Platinum 8358, one socket: 32 cores, two AVX-512 units of 16
            # lanes with fused multiply-add, 2.6 GHz; eight channels of DDR4-3200.
            Device(
                name="cpu",
                flops_fp32=32 * 64 * 2600 * 10**6,
                bandwidth=204_800 * 10**6,
            ),
        )
    }
)
"""Presets by name; make any other device by its numbers."""


def as_device(device: str | Device) -> Device:
    """Return the device itself, or the preset of that name.

    Parameters
    ----------
    device
        A `Device`, or a name in `DEVICES`.

    Raises
    ------
    InvalidModelError
        If the name is unknown, or the argument is neither.

    Examples
    --------
    >>> as_device("a100").bandwidth
    2039000000000
    """
    if isinstance(device, Device):
        return device
    if not isinstance(device, str) or device not in DEVICES:
        raise InvalidModelError(
            f"device is {device!r}; choose one of {', '.join(DEVICES)}, or pass "
            f"Device(name=..., flops_fp32=..., bandwidth=...)"
        )
    return DEVICES[device]
