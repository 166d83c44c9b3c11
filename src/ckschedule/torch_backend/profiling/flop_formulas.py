"""Floating-point operations of torch's operators, from the shapes of their tensors.

torch has a table of its own, ``torch.utils.flop_counter.flop_registry``, and anything
registered there counts here too. The formulas below come first, because that table

* has no attention on CPU, no attention through a device's override, no recurrent layer,
  no matrix-vector product, transform or factorisation: it counts zero for them;
* counts the weight gradient of a grouped convolution ``groups`` times;
* raises for the overloads of ``bmm``, ``baddbmm`` and ``addmm`` that name the dtype of
  their result and for ``_slow_conv2d_forward``, and reads ``benchmark`` of
  ``cudnn_convolution`` as ``transposed``;
* takes the second axis of the attention kernels below
  ``scaled_dot_product_attention`` for the heads, where they have the sequence.

A multiplication with an addition is two operations. Biases, activations, softmax and
the gates of recurrent cells are left out, as everywhere in the literature: next to the
products they cost bytes, not arithmetic. Attention is counted in full even if causal.

References
----------
.. [1] T. Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with
       IO-Awareness", NeurIPS 2022, doi 10.48550/arXiv.2205.14135: its backward has the
       four products of the plain one and computes the scores again.
.. [2] M. Frigo, S. G. Johnson, "The Design and Implementation of FFTW3", Proc. IEEE
       93(2), 2005, doi 10.1109/JPROC.2004.840301: 5 n log2 n for complex data, half of
       it for real data.
.. [3] S. Blackford, J. Dongarra, "Installation Guide for LAPACK", LAPACK Working Note
       41, 1999, appendix C: operation counts of factorisations and solvers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import torch
from torch._ops import OpOverload
from torch.utils.flop_counter import flop_registry

Count: TypeAlias = Callable[..., int]
"""Called as torch calls a raw formula: ``count(*args, **kwargs, out_val=result)``."""

_COMPLEX: Final = 4
"""A complex multiply-add is four real ones: (ac - bd) + i (ad + bc), accumulated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """How to count one operator.

    Attributes
    ----------
    count
        The formula, for real data.
    matrix
        Whether it runs on the matrix units, at the rate of its dtype; otherwise it is
        timed at the rate of plain single precision.
    complex_factor
        By how much complex data multiplies the count.
    """

    count: Count
    matrix: bool = True
    complex_factor: int = _COMPLEX


def formula_of(operator: OpOverload) -> Formula | None:
    """Return the formula of an operator; None if neither this table nor torch has one.

    Parameters
    ----------
    operator
        An overload such as ``torch.ops.aten.mm.default``.
    """
    packet = operator.overloadpacket
    namespace, _, name = str(packet).partition(".")
    formula = FORMULAS.get(name.rstrip("_")) if namespace == "aten" else None
    if formula is not None:
        return formula
    registered = flop_registry.get(packet)
    return None if registered is None else Formula(count=registered)


def _product(a: torch.Tensor, b: torch.Tensor, *_: Any, **__: Any) -> int:
    # (..., m, k) @ (..., k, n): each element of a meets the n columns of b.
    return 2 * a.numel() * b.shape[-1]


def _added_product(
    _self: Any, a: torch.Tensor, b: torch.Tensor, *_: Any, **__: Any
) -> int:
    return _product(a, b)


def _linear(x: torch.Tensor, weight: torch.Tensor, *_: Any, **__: Any) -> int:
    # The weight is (out, in), or (in,) for a single output.
    return 2 * x.numel() * _prod(weight.shape[:-1])


def _matrix_vector(matrix: torch.Tensor, *_: Any, **__: Any) -> int:
    return 2 * matrix.numel()


def _added_matrix_vector(_self: Any, matrix: torch.Tensor, *_: Any, **__: Any) -> int:
    return 2 * matrix.numel()


def _sliding(points: Sequence[int], weight: torch.Tensor) -> int:
    # The whole kernel, (out, in / groups, *window), once per image and point where it
    # stands: those of the output, of a transposed convolution those of the input.
    return 2 * points[0] * _prod(points[2:]) * weight.numel()


def _convolution(
    x: torch.Tensor, weight: torch.Tensor, *args: Any, out_val: Any, **_: Any
) -> int:
    transposed = args[4]
    return _sliding(x.shape if transposed else out_val.shape, weight)


def _plain_convolution(
    _x: Any, weight: torch.Tensor, *_: Any, out_val: Any, **__: Any
) -> int:
    return _sliding(out_val.shape, weight)


def _transposed_convolution(
    x: torch.Tensor, weight: torch.Tensor, *_: Any, **__: Any
) -> int:
    return _sliding(x.shape, weight)


def _convolution_backward(
    grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, *args: Any, **_: Any
) -> int:
    # Each gradient meets the same triples (input, weight, output) as the forward.
    transposed, (of_input, of_weight, _of_bias) = args[4], args[7]
    once = _sliding(x.shape if transposed else grad.shape, weight)
    return once * (bool(of_input) + bool(of_weight))


def _attention_of(q: Sequence[int], k: Sequence[int], v: Sequence[int]) -> int:
    # Scores q k^T and their product with v; grouped queries share keys, not work.
    return 2 * _prod(q[:-1]) * k[-2] * (q[-1] + v[-1])


def _attention_backward_of(q: Sequence[int], k: Sequence[int], v: Sequence[int]) -> int:
    # Scores again, dv = p^T do, dp = do v^T, dq = ds k, dk = ds^T q [1].
    return 2 * _prod(q[:-1]) * k[-2] * (3 * q[-1] + 2 * v[-1])


def _attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any, **__: Any
) -> int:
    return _attention_of(q.shape, k.shape, v.shape)


def _attention_backward(
    _grad: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any, **__: Any
) -> int:
    return _attention_backward_of(q.shape, k.shape, v.shape)


def _kernel_formula(name: str, first: int, lengths: int, of: Count) -> Count:
    # Attention kernels take (batch, sequence, heads, size), queries at ``first``; if
    # there are offsets of packed sequences, at ``lengths``, torch's formula has it.
    def count(*args: Any, **kwargs: Any) -> int:
        if args[lengths] is not None:
            packed: Count = flop_registry[getattr(torch.ops.aten, name)]
            return packed(*args, **kwargs)
        shapes = (tensor.shape for tensor in args[first : first + 3])
        return of(*((b, h, s, d) for b, s, h, d in shapes))

    return count


def _multi_head(
    query: torch.Tensor, key: torch.Tensor, _value: Any, width: int, *_: Any, **__: Any
) -> int:
    # Input and output projections of queries, keys and values, and the two products
    # of all heads together.
    queries, keys = query.shape[0] * query.shape[1], key.shape[0] * key.shape[1]
    projections = 2 * width * width * (2 * queries + 2 * keys)
    return projections + 4 * queries * key.shape[1] * width


def _encoder_layer(src: torch.Tensor, width: int, *args: Any, **_: Any) -> int:
    # The feed-forward weights are the operator's arguments 14 and 16.
    hidden, back = args[12], args[14]
    weights = _total((hidden, back))
    return _multi_head(src, src, src, width) + 2 * (src.numel() // width) * weights


def _recurrent(x: torch.Tensor, weights: Iterable[Any]) -> int:
    # Every matrix, of inputs, of states or of a projection, is used once per step and
    # item; the last axis of x holds the features whether or not it is packed.
    steps = x.numel() // max(x.shape[-1], 1)
    return 2 * steps * _total(w for w in weights if w.dim() == 2)


def _total(tensors: Iterable[torch.Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def _one_layer(x: torch.Tensor, *weights: Any, **_: Any) -> int:
    return _recurrent(x, weights[:4])


def _one_layer_backward(x: torch.Tensor, *weights: Any, **_: Any) -> int:
    # Gradients of the data and of the weights, each as much as the forward.
    return 2 * _recurrent(x, weights[:4])


def _all_layers(x: torch.Tensor, weights: Sequence[Any], *_: Any, **__: Any) -> int:
    return _recurrent(x, weights)


def _all_layers_backward(
    x: torch.Tensor, weights: Sequence[Any], *_: Any, **__: Any
) -> int:
    return 2 * _recurrent(x, weights)


def _transform(x: torch.Tensor, axes: Sequence[int]) -> int:
    # 5 n log2 n per transform [2]; the logarithm is rounded up to an integer.
    length = _prod(x.shape[axis] for axis in axes)
    return 5 * x.numel() * max(length - 1, 0).bit_length()


def _complex_transform(x: torch.Tensor, axes: Sequence[int], *_: Any, **__: Any) -> int:
    return _transform(x, axes)


def _real_transform(x: torch.Tensor, axes: Sequence[int], *_: Any, **__: Any) -> int:
    return _half(_transform(x, axes))


def _to_real_transform(
    _x: Any, axes: Sequence[int], *_: Any, out_val: Any, **__: Any
) -> int:
    return _half(_transform(out_val, axes))


def _prod(sizes: Iterable[int]) -> int:
    total: int = prod(sizes)
    return total


def _half(amount: int) -> int:
    return -(-amount // 2)


def _factor(a: torch.Tensor, *_: Any, **__: Any) -> int:
    # LU of (m, n): l k^2 - k^3 / 3 with k, l the smaller and the larger of them [3].
    k, l = sorted(a.shape[-2:])  # noqa: E741 - the letters of the formula
    return _prod(a.shape[:-2]) * -((k**3 - 3 * l * k**2) // 3)


def _solve(a: torch.Tensor, b: torch.Tensor, *_: Any, **__: Any) -> int:
    return _factor(a) + 2 * b.numel() * a.shape[-1]


def _inverse(a: torch.Tensor, *_: Any, **__: Any) -> int:
    return 2 * a.numel() * a.shape[-1]


def _cholesky(a: torch.Tensor, *_: Any, **__: Any) -> int:
    return _prod(a.shape[:-2]) * -(-(a.shape[-1] ** 3) // 3)


def _triangular(a: torch.Tensor, b: torch.Tensor, *_: Any, **__: Any) -> int:
    return b.numel() * a.shape[-1]


def _triangular_reversed(b: torch.Tensor, a: torch.Tensor, *_: Any, **__: Any) -> int:
    return _triangular(a, b)


def _cholesky_solve(b: torch.Tensor, factor: torch.Tensor, *_: Any, **__: Any) -> int:
    return 2 * _triangular(factor, b)


def _lu_solve(
    lu: torch.Tensor, _pivots: Any, b: torch.Tensor, *_: Any, **__: Any
) -> int:
    return 2 * _triangular(lu, b)


def _matrix(count: Count, *names: str) -> dict[str, Formula]:
    return dict.fromkeys(names, Formula(count=count))


def _plain(count: Count, *names: str) -> dict[str, Formula]:
    return dict.fromkeys(names, Formula(count=count, matrix=False))


def _fourier(count: Count, name: str) -> dict[str, Formula]:
    # [2] counts real operations of complex data already.
    return {name: Formula(count=count, matrix=False, complex_factor=1)}


def _kernel(name: str, first: int, lengths: int, of: Count) -> dict[str, Formula]:
    return {name: Formula(count=_kernel_formula(name, first, lengths, of))}


_SDPA: Final = "_scaled_dot_product_"
_FUSED: Final = (
    f"{_SDPA}flash_attention",
    f"{_SDPA}flash_attention_for_cpu",
    f"{_SDPA}efficient_attention",
    f"{_SDPA}cudnn_attention",
    f"{_SDPA}fused_attention_overrideable",
)

FORMULAS: Final[Mapping[str, Formula]] = MappingProxyType(
    _matrix(_product, "mm", "bmm", "_int_mm")
    | _matrix(_added_product, "addmm", "baddbmm", "addbmm", "_addmm_activation")
    | _matrix(_linear, "linear", "mkldnn_linear")
    | _matrix(_matrix_vector, "mv", "dot", "vdot")
    | _matrix(_added_matrix_vector, "addmv")
    | _matrix(_convolution, "convolution", "_convolution", "convolution_overrideable")
    | _matrix(
        _plain_convolution,
        *("cudnn_convolution", "cudnn_convolution_relu", "cudnn_convolution_add_relu"),
        *("miopen_convolution", "miopen_depthwise_convolution", "mkldnn_convolution"),
        *("_conv_depthwise2d", "conv_depthwise3d", "slow_conv3d_forward"),
        *("_slow_conv2d_forward", "slow_conv_dilated2d", "slow_conv_dilated3d"),
    )
    | _matrix(
        _transposed_convolution,
        *("cudnn_convolution_transpose", "miopen_convolution_transpose"),
        *("slow_conv_transpose2d", "slow_conv_transpose3d"),
    )
    | _matrix(_convolution_backward, "convolution_backward")
    | _matrix(_attention, *_FUSED, f"{_SDPA}attention_math_for_mps")
    | _matrix(_attention_backward, *(f"{name}_backward" for name in _FUSED))
    | _kernel("_flash_attention_forward", 0, 3, _attention_of)
    | _kernel("_flash_attention_backward", 1, 6, _attention_backward_of)
    | _kernel("_efficient_attention_forward", 0, 4, _attention_of)
    | _kernel("_efficient_attention_backward", 1, 6, _attention_backward_of)
    | _matrix(_multi_head, "_native_multi_head_attention")
    | _matrix(_encoder_layer, "_transformer_encoder_layer_fwd")
    | _matrix(_one_layer, "mkldnn_rnn_layer")
    | _matrix(_one_layer_backward, "mkldnn_rnn_layer_backward")
    | _matrix(_all_layers, "_cudnn_rnn", "miopen_rnn")
    | _matrix(_all_layers_backward, "_cudnn_rnn_backward", "miopen_rnn_backward")
    | _fourier(_complex_transform, "_fft_c2c")
    | _fourier(_real_transform, "_fft_r2c")
    | _fourier(_to_real_transform, "_fft_c2r")
    | _plain(_factor, "linalg_lu_factor_ex", "_linalg_det", "_linalg_slogdet")
    | _plain(_solve, "_linalg_solve_ex")
    | _plain(_inverse, "linalg_inv_ex")
    | _plain(_cholesky, "linalg_cholesky_ex", "cholesky")
    | _plain(_triangular, "linalg_solve_triangular")
    | _plain(_triangular_reversed, "triangular_solve")
    | _plain(_cholesky_solve, "cholesky_solve", "_cholesky_solve_helper")
    | _plain(_lu_solve, "linalg_lu_solve")
)
"""Formulas of ``aten`` operators by name, all overloads of it alike; in-place forms
are named with their underscore by torch and found without it."""
