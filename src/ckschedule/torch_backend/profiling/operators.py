"""Time of a torch program on a device by its published peaks, operator by operator.

`OperatorCosts` looks at every operator that torch dispatches while it is active: what
it computes, what it reads and writes, and how long a roofline [1]_ says that takes.
Nothing runs on the device; the program runs on CPU, or on tensors without data.

References
----------
.. [1] S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual
       performance model for multicore architectures", Communications of the ACM 52(4),
       2009, doi 10.1145/1498765.1498785.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import chain
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from ckschedule.costs.device import Device, DType
from ckschedule.torch_backend.profiling.flop_formulas import Formula, formula_of
from ckschedule.torch_backend.profiling.memory_bound import (
    ALLOCATIONS,
    BUILT_IN,
    GATHERS,
    IGNORE_SELF,
    is_memory_bound,
)


class UnknownOperatorWarning(UserWarning):
    """Operators were timed by their bytes alone: nothing says what they compute."""


class OperatorCosts(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """The costs on a device of what torch does while this mode is active.

    Backward passes count when they run inside. An operator takes the longer of its
    arithmetic and its traffic; operators follow each other, so their times add up.

    Views and allocations are free. Pointwise operators, reductions, normalisations,
    copies, gathers and the like have traffic only: each distinct tensor that is read,
    once, and each that is written, once; an expanded tensor by the elements that it
    really has, a gather by the elements that it picks. In-place writes to some elements
    of a tensor (``index_put_``) count all of it. Operators that are neither known so
    nor have a formula are timed by their traffic and named in `unknown`.

    Half precision runs at its own rate, and eight-bit floats at that of bfloat16.
    Double precision and integers are counted at the rate of single precision, which is
    too fast for most devices; complex products are four real ones at the rate of their
    parts. Transforms and factorisations run at the rate of plain single precision.

    Parameters
    ----------
    device
        Peaks and efficiency, see `Device`.
    tf32
        Whether products of float32 tensors run on matrix units, as they do on CUDA
        under ``torch.backends.cuda.matmul.allow_tf32``.

    Attributes
    ----------
    time
        Nanoseconds: the sum of `Device.time` over all operators.
    flops
        Floating-point operations of the counted operators.
    moved
        Bytes read and written.
    unknown
        Operators whose arithmetic could not be counted, such as "mylib.attention", each
        with the reason.

    Warns
    -----
    UnknownOperatorWarning
        Once, when the mode is left, if any operator is unknown.

    Notes
    -----
    Operators are those of the tensors' own device type. On meta tensors attention is a
    chain of plain operators, which moves all scores through memory; fake CPU tensors
    have the fused operator. Dropout and RMSNorm on CPU are several operators where CUDA
    has one. Shapes are plain integers, layouts are strided (others count as if dense),
    and higher-order operators are refused by torch.

    Each operator is looked up once; a call takes time linear in its arguments.

    Examples
    --------
    >>> device = Device(name="mine", flops_fp32=10**9, bandwidth=10**12)
    >>> with OperatorCosts(device) as costs:
    ...     _ = torch.zeros(2, 3, device="meta") @ torch.zeros(3, 4, device="meta")
    >>> costs.flops, costs.moved
    (48, 176)
    """

    def __init__(self, device: Device, *, tf32: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.time = 0
        self.flops = 0
        self.moved = 0
        self.unknown: dict[str, str] = {}
        self._device = device
        self._tf32 = tf32
        self._operators: dict[OpOverload, _Operator] = {}
        self._depth = 0

    def __enter__(self) -> Self:
        self._depth += 1
        super().__enter__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self._depth -= 1
        # Composite operators enter the mode again; a failing program has other worries.
        if self._depth == 0 and error is None and self.unknown:
            names = ", ".join(f"{name} ({why})" for name, why in self.unknown.items())
            example = next(iter(self.unknown))
            warnings.warn(
                f"timed by their bytes alone: {names}; to count what they compute, "
                f"register a formula such as torch.utils.flop_counter."
                f"register_flop_formula(torch.ops.{example})(formula)",
                UnknownOperatorWarning,
                stacklevel=2,
            )

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run the operator below this mode and add its costs."""
        kwargs = kwargs or {}
        operator = self._operators.get(func) or _operator_of(func)
        if operator.kind is _Kind.MAYBE_COMPOSITE:
            # Autograd takes composite operators apart before they arrive here, but in
            # inference mode it is out of the way.
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                self._operators[func] = operator
                return result
            operator = replace(operator, kind=_elementary(func))
        self._operators[func] = operator
        result = func(*args, **kwargs)
        if operator.kind is not _Kind.FREE:
            self._add(operator, args, kwargs, result)
        return result

    def _add(
        self,
        operator: "_Operator",
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        result: Any,
    ) -> None:
        moved = _traffic(operator, args, kwargs, result)
        flops, dtype = 0, _NO_RATE
        if operator.formula is not None:
            dtype = _operand_dtype((*args, *kwargs.values()))
            try:
                flops = int(operator.formula.count(*args, **kwargs, out_val=result))
            except _FORMULA_ERRORS as error:
                self.unknown[operator.name] = f"its formula raised {error!r}"
            flops *= operator.formula.complex_factor if dtype.is_complex else 1
            dtype = dtype if operator.formula.matrix else _NO_RATE
        elif operator.kind is _Kind.UNKNOWN and moved:
            self.unknown[operator.name] = "no formula"
        self.flops += flops
        self.moved += moved
        self.time += self._device.time(
            flops=flops, moved=moved, dtype=_arithmetic(dtype, self._tf32)
        )


class _Kind(Enum):
    """What an operator costs."""

    COUNTED = auto()
    MEMORY_BOUND = auto()
    FREE = auto()
    MAYBE_COMPOSITE = auto()
    UNKNOWN = auto()


_Place: TypeAlias = int | str
"""An argument: its position, or its name if it is passed by keyword."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operator:
    """What the schema and the tables say of one overload.

    Attributes
    ----------
    written
        Arguments that the operator changes.
    unread
        Arguments whose contents do not matter: overwritten, or only asked their shape.
    gathers
        Whether it picks elements of its first argument.
    """

    name: str
    kind: _Kind
    formula: Formula | None
    written: frozenset[_Place]
    unread: frozenset[_Place]
    gathers: bool


def _operator_of(func: OpOverload) -> _Operator:
    formula = formula_of(func)
    name = func.overloadpacket.__name__
    built_in = func.namespace in BUILT_IN
    # torch tells which arguments are written in the schema only.
    arguments = func._schema.arguments
    written, unread = set[_Place](), set[_Place]()
    for position, argument in enumerate(arguments):
        here: set[_Place] = {position, argument.name}
        if argument.alias_info is not None and argument.alias_info.is_write:
            written |= here
            if argument.is_out:
                unread |= here
    if built_in and name in IGNORE_SELF:
        unread |= {0, "self"}
    if formula is not None:
        kind = _Kind.COUNTED
    elif built_in and is_memory_bound(func):
        kind = _Kind.MEMORY_BOUND
    elif func.namespace == "prim":
        # A fake tensor asked for its device, from code that no exception may leave.
        kind = _Kind.FREE
    else:
        kind = _Kind.MAYBE_COMPOSITE
    return _Operator(
        name=str(func.overloadpacket),
        kind=kind,
        formula=formula,
        written=frozenset(written),
        unread=frozenset(unread),
        gathers=built_in and name in GATHERS,
    )


def _elementary(func: OpOverload) -> _Kind:
    # An operator that is not in the tables and is not composite.
    if func.namespace not in BUILT_IN:
        return _Kind.UNKNOWN
    moves_nothing = (
        func.is_view
        or torch.Tag.inplace_view in func.tags
        or func.overloadpacket.__name__ in ALLOCATIONS
        or not _makes_tensors(func)
    )
    return _Kind.FREE if moves_nothing else _Kind.UNKNOWN


def _makes_tensors(func: OpOverload) -> bool:
    schema = func._schema
    return schema.is_mutable or any("Tensor" in str(r.type) for r in schema.returns)


def _traffic(
    operator: _Operator,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    result: Any,
) -> int:
    """Return the bytes of distinct tensors read and of distinct tensors written."""
    reads: dict[_Identity, int] = {}
    writes: dict[_Identity, int] = {}
    for place, value in chain[tuple[_Place, Any]](enumerate(args), kwargs.items()):
        for tensor in _tensors(value):
            size = _bytes(tensor)
            if operator.gathers and place == 0:
                size = min(size, _picked(args, result) * tensor.itemsize)
            if place not in operator.unread:
                reads[_identity(tensor)] = size
            if place in operator.written:
                writes[_identity(tensor)] = size
    for tensor in _tensors(result):
        writes[_identity(tensor)] = _bytes(tensor)
    return sum(reads.values()) + sum(writes.values())


def _picked(args: tuple[Any, ...], result: Any) -> int:
    # Elements that a gather reads: one for each that it returns, and a loss that adds
    # them up one for each target, its second argument.
    return max(tensor.numel() for tensor in _tensors((result, args[1:2])))


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


_Identity: TypeAlias = tuple[object, ...]


def _identity(tensor: torch.Tensor) -> _Identity:
    # Autograd hands the same data over in new tensor objects. A storage has one Python
    # object for as long as it lives.
    if tensor.layout is not torch.strided:
        return (id(tensor),)
    storage = id(tensor.untyped_storage())
    return storage, tensor.storage_offset(), tensor.shape, tensor.stride()


def _bytes(tensor: torch.Tensor) -> int:
    """Return the bytes of the elements that a tensor has, repeated ones once."""
    elements, span = 1, 1
    if tensor.layout is not torch.strided:
        return tensor.numel() * tensor.itemsize
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        elements *= size if stride or not size else 1
        span += (size - 1) * stride
    # Windows of an unfolded tensor overlap: no more than lies between first and last.
    return min(elements, span) * tensor.itemsize if elements else 0


def _operand_dtype(values: Sequence[Any]) -> torch.dtype:
    # Formulas apply to operators whose operands agree in dtype; sizes and indices,
    # which may come first, are integers.
    dtypes = [tensor.dtype for tensor in _tensors(values)]
    real = (d for d in dtypes if d.is_floating_point or d.is_complex)
    return next(real, _NO_RATE)


def _arithmetic(dtype: torch.dtype, tf32: bool) -> DType:
    if dtype in (torch.float16, torch.complex32):
        return "fp16"
    if dtype is torch.bfloat16 or dtype.itemsize == 1:
        return "bf16"
    if tf32 and dtype in (torch.float32, torch.complex64):
        return "tf32"
    return "fp32"


_NO_RATE: Final = torch.float64
"""For traffic without flops, and flops at the rate of plain single precision."""

_FORMULA_ERRORS: Final = (
    *(AssertionError, AttributeError, LookupError, RuntimeError, TypeError),
    *(ValueError, ArithmeticError),
)
"""What formulas raise for arguments that their authors did not foresee."""
