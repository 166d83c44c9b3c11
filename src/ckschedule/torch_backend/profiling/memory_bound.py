"""Operators of torch that cost only the bytes they read and write, or nothing."""

from typing import Final

import torch
from torch._ops import OpOverload

BUILT_IN: Final = frozenset(("aten", "prim", "prims"))
"""Namespaces whose operators the tables below describe."""


def is_memory_bound(operator: OpOverload) -> bool:
    """Return whether an operator of torch itself is known to cost only its traffic.

    Pointwise operators are known by their tag, the others by name: in-place forms and
    backwards by that of the operator that they belong to.
    """
    tags = (torch.Tag.pointwise, torch.Tag.view_copy)
    if any(tag in operator.tags for tag in tags):
        return True
    name = operator.overloadpacket.__name__
    if name.strip("_") in _MEMORY_BOUND or name.startswith(
        ("_foreach_", "upsample_", "_upsample_")
    ):
        return True
    stem = name.strip("_")
    for ending in ("_backward_data", "_backward", "_forward"):
        stem = stem.removesuffix(ending)
    return stem in _MEMORY_BOUND


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALLOCATIONS: Final = _names(
    """
    _efficientzerotensor _lazy_clone _unsafe_view empty empty_like empty_permuted
    empty_strided new_empty new_empty_strided record_stream resize resize_ resize_as_
    set set_ unsafe_split unsafe_split_with_sizes
    """
)
"""Free operators whose schema does not say so: memory is taken or shared, not used."""

GATHERS: Final = _names(
    """
    _embedding_bag _embedding_bag_forward_only _unsafe_index embedding gather index
    index_select nll_loss_forward nll_loss2d_forward take
    """
)
"""Operators that read of their first argument only the elements they pick."""

IGNORE_SELF: Final = _names(
    """
    _foreach_copy_ _foreach_zero_ bernoulli_ cauchy_ copy_ exponential_ fill fill_
    full_like geometric_ log_normal_ new_full new_ones new_zeros normal_ ones_like
    rand_like randint_like randn_like random_ uniform_ zero zero_ zeros_like
    """
)
"""Operators that overwrite their first argument, or look only at its shape."""

_POINTWISE: Final = """
    _add_relu _masked_scale _prelu_kernel abs binary_cross_entropy
    binary_cross_entropy_with_logits complex copysign dequantize elu eq floor_divide ge
    gelu glu gt hardshrink hardsigmoid hardswish hardtanh heaviside huber_loss le
    leaky_relu linalg_cross log_sigmoid lt masked_fill mish mse_loss ne polar
    rrelu_with_noise rrelu_with_noise_functional smooth_l1_loss soft_margin_loss
    softplus softshrink threshold addr
"""
"""Those that torch does not tag as pointwise, in one of their forms."""

_REDUCTIONS: Final = """
    _cummax_helper _cummin_helper _is_all_true _is_any_true _unique _unique2 all amax
    amin aminmax any argmax argmin argsort bincount bucketize count_nonzero cummax
    cummin cumprod cumsum dist equal histc histogram isin kthvalue linalg__powsum
    linalg_vector_norm logcumsumexp logsumexp max mean median min mode msort nanmedian
    nansum native_norm norm prod renorm searchsorted sort std std_mean sum topk trace
    unique_consecutive unique_dim unique_dim_consecutive var var_mean
"""

_NORMALISATIONS: Final = """
    batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts
    batch_norm batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_no_update
    batch_norm_stats batch_norm_update_stats batch_norm_with_update
    batch_norm_with_update_functional ctc_loss cudnn_batch_norm cudnn_ctc_loss
    fused_rms_norm log_softmax masked_softmax miopen_batch_norm multi_margin_loss
    multilabel_margin_loss native_batch_norm native_batch_norm_legit
    native_batch_norm_legit_functional native_batch_norm_legit_no_training
    native_group_norm native_layer_norm nll_loss nll_loss2d safe_softmax softmax
    weight_norm_interface
"""

_COPIES: Final = """
    _chunk_cat _local_scalar_dense _pin_memory _to_copy _transform_bias_rescale_qkv
    as_strided_scatter block_diag cat channel_shuffle clone col2im constant_pad_nd copy
    diag_embed diagonal_backward diagonal_scatter flip im2col lift_fresh_copy
    pixel_shuffle pixel_unshuffle reflection_pad1d reflection_pad2d reflection_pad3d
    repeat replication_pad1d replication_pad2d replication_pad3d roll rot90
    select_backward select_scatter slice_backward slice_scatter stack tril triu
    unfold_backward
"""

_GATHERS_AND_SCATTERS: Final = """
    embedding embedding_bag embedding_bag_dense_backward embedding_bag_forward_only
    embedding_bag_per_sample_weights_backward embedding_dense embedding_renorm gather
    index index_add index_copy index_fill index_put index_put_impl index_reduce
    index_select masked_scatter masked_select nonzero nonzero_static put scatter
    scatter_add scatter_reduce segment_reduce take unsafe_index unsafe_index_put
    unsafe_masked_index unsafe_masked_index_put_accumulate
"""

_FILLS_AND_SAMPLES: Final = """
    _fused_dropout _sample_dirichlet _standard_gamma _standard_gamma_grad arange
    bartlett_window blackman_window hamming_window hann_window kaiser_window
    bernoulli binomial cauchy exponential eye fill full full_like geometric linspace
    log_normal logspace multinomial native_dropout new_full new_ones new_zeros normal
    normal_functional ones ones_like poisson rand rand_like randint randint_like randn
    randn_like random randperm range scalar_tensor tril_indices triu_indices uniform
    zero zeros zeros_like
"""

_WINDOWS: Final = """
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d
    affine_grid_generator avg_pool2d avg_pool3d cudnn_grid_sampler fractional_max_pool2d
    fractional_max_pool3d grid_sampler_2d grid_sampler_3d max_pool2d_with_indices
    max_pool3d_with_indices max_unpool2d max_unpool3d mkldnn_adaptive_avg_pool2d
    mkldnn_max_pool2d mkldnn_max_pool3d
"""

_CELLS_AND_OPTIMIZERS: Final = """
    _amp_foreach_non_finite_check_and_unscale _amp_update_scale _fused_adagrad
    _fused_adam _fused_adamw _fused_sgd _pack_padded_sequence _thnn_fused_gru_cell
    _thnn_fused_lstm_cell _thnn_fused_lstm_cell_backward_impl
"""
"""Products of recurrent cells are operators of their own; the cell is pointwise."""

_MEMORY_BOUND: Final = frozenset(
    name.strip("_")
    for names in (
        *(_POINTWISE, _REDUCTIONS, _NORMALISATIONS, _COPIES, _GATHERS_AND_SCATTERS),
        *(_FILLS_AND_SAMPLES, _WINDOWS, _CELLS_AND_OPTIMIZERS),
    )
    for name in _names(names)
)
"""Names without leading and trailing underscores."""
