"""Flops of torch operators, against counts worked out by hand."""

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn, no_grad  # noqa: E402 - torch may be missing
from torch.autograd import backward  # noqa: E402 - likewise
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402 - likewise
from torch.nn.functional import (  # noqa: E402 - likewise
    scaled_dot_product_attention,
)
from torch.utils.flop_counter import (  # noqa: E402 - likewise
    FlopCounterMode,
    flop_registry,
)

from ckschedule.costs.device import Device  # noqa: E402 - likewise
from ckschedule.torch_backend.profiling.flop_formulas import (  # noqa: E402 - likewise
    formula_of,
)
from ckschedule.torch_backend.profiling.operators import (  # noqa: E402 - likewise
    OperatorCosts,
)

DEVICE = Device(
    name="test",
    flops_fp32=10**9,
    bandwidth=10**9,
)
"""Only flops matter here, not what they take."""

FLOAT = 4


def costs_of(run: Callable[[], object]) -> OperatorCosts:
    with OperatorCosts(DEVICE) as costs:
        run()
    return costs


def backward_of(output: Tensor) -> OperatorCosts:
    gradient = torch.ones_like(output)
    return costs_of(lambda: backward(output, gradient))


def trained(module: nn.Module, *inputs: Tensor) -> tuple[OperatorCosts, OperatorCosts]:
    """Forward and backward of a module, the gradient of the output being ones."""
    outputs: list[Tensor] = []
    forward = costs_of(lambda: outputs.append(module(*inputs)))
    return forward, backward_of(outputs[0])


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


# --- products ---------------------------------------------------------------------


def test_linear_is_two_flops_per_weight_and_row_and_twice_that_backward() -> None:
    """Both gradients are products of the same size as the forward."""
    x = torch.randn(6, 5, requires_grad=True)
    forward, backwards = trained(nn.Linear(5, 7), x)
    assert forward.flops == 2 * 6 * 5 * 7
    assert backwards.flops == 2 * forward.flops


def test_first_layer_has_no_gradient_of_its_input() -> None:
    """Data needs no gradient: one product backward."""
    forward, backwards = trained(nn.Linear(5, 7), torch.randn(6, 5))
    assert backwards.flops == forward.flops


def test_linear_moves_its_operands_and_its_result() -> None:
    """Transposes and reshapes of the operands move nothing."""
    forward, _ = trained(nn.Linear(5, 7), torch.randn(2, 3, 5))
    assert forward.moved == FLOAT * (6 * 5 + 5 * 7 + 7 + 6 * 7)


def test_bmm_is_a_product_per_batch_and_two_backward() -> None:
    """Batch 3, (2, 4) by (4, 5): 2 * 3 * 2 * 4 * 5."""
    a = torch.randn(3, 2, 4, requires_grad=True)
    b = torch.randn(3, 4, 5, requires_grad=True)
    results: list[Tensor] = []
    forward = costs_of(lambda: results.append(torch.bmm(a, b)))
    backwards = backward_of(results[0])
    assert forward.flops == 240
    assert backwards.flops == 480


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolution_uses_its_kernel_once_per_output_point(
    groups: int, dims: int
) -> None:
    """torch's own table counts the weight gradient ``groups`` times."""
    layer = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dims - 1](4, 6, 3, groups=groups)
    x = torch.randn(2, 4, *[5] * dims, requires_grad=True)
    forward, backwards = trained(layer, x)
    # Two images, 3 ** dims points, a kernel of 6 * (4 / groups) * 3 ** dims weights.
    assert forward.flops == 2 * 2 * 3**dims * (6 * (4 // groups) * 3**dims)
    assert backwards.flops == 2 * forward.flops


def test_transposed_convolution_uses_its_kernel_once_per_input_point() -> None:
    """Each input point is spread over a window of the output."""
    x = torch.randn(2, 4, 5, 5, requires_grad=True)
    forward, backwards = trained(nn.ConvTranspose2d(4, 6, 3, stride=2), x)
    assert forward.flops == 2 * 2 * 25 * (4 * 6 * 9)
    assert backwards.flops == 2 * forward.flops


def test_products_with_named_result_dtype_or_buffer_are_counted() -> None:
    """torch's own formula raises for both."""
    a, b = torch.randn(3, 2, 4), torch.randn(3, 4, 5)
    buffer = torch.empty(3, 2, 5)
    assert costs_of(lambda: torch.bmm(a, b, out=buffer)).flops == 240
    half = [
        torch.empty(s, dtype=torch.bfloat16, device="meta") for s in (a.shape, b.shape)
    ]
    operator = torch.ops.aten.bmm.dtype
    assert costs_of(lambda: operator(*half, torch.float32)).flops == 240


@pytest.mark.parametrize(
    ("run", "flops"),
    [
        (lambda v, m: m @ v, 2 * 3 * 4),
        (lambda v, m: v @ v, 2 * 4),
        (lambda v, m: torch.addmv(torch.ones(3), m, v), 2 * 3 * 4),
        (lambda v, m: torch.ones(3, 3).addmm_(m, m.T), 2 * 3 * 4 * 3),
        (
            lambda v, m: torch.addbmm(torch.ones(3, 3), m[None], m.T[None]),
            2 * 3 * 4 * 3,
        ),
        (lambda v, m: torch.einsum("ij,kj->ik", m, m), 2 * 3 * 4 * 3),
    ],
    ids=["mv", "dot", "addmv", "addmm_", "addbmm", "einsum"],
)
def test_smaller_products_are_counted(
    run: Callable[[Tensor, Tensor], object], flops: int
) -> None:
    """(3, 4) times (4,) and (4, 3): torch's own table has half of these."""
    costs = costs_of(lambda: run(torch.randn(4), torch.randn(3, 4)))
    assert costs.flops == flops


def test_inference_mode_counts_as_no_grad_does() -> None:
    """There composite operators arrive whole and are taken apart, once."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(36, 5))
    x = torch.randn(2, 3, 5, 5)

    def run() -> object:
        return torch.einsum("ij,kj->ik", *[model(x)] * 2)

    with torch.no_grad():
        plain = costs_of(run)
    with torch.inference_mode():
        inferred = costs_of(run)
    assert inferred.flops == plain.flops > 0
    assert inferred.moved == plain.moved


# --- attention --------------------------------------------------------------------


def attended(backend: SDPBackend, device: str = "cpu") -> tuple[int, int]:
    # Different lengths and sizes: no two of the five products are equal by accident.
    q = torch.randn(2, 4, 8, 16, device=device, requires_grad=True)
    k = torch.randn(2, 4, 6, 16, device=device, requires_grad=True)
    v = torch.randn(2, 4, 6, 16, device=device, requires_grad=True)
    results: list[Tensor] = []

    def forward() -> None:
        results.append(scaled_dot_product_attention(q, k, v))

    with sdpa_kernel(backend):
        first = costs_of(forward)
        second = backward_of(results[0])
    return first.flops, second.flops


def test_fused_attention_computes_what_plain_attention_does() -> None:
    """Forward two products; backward four, and the fused one makes the scores again."""
    forward, backwards = attended(SDPBackend.FLASH_ATTENTION)
    plain_forward, plain_backward = attended(SDPBackend.MATH)
    assert forward == plain_forward == 2 * (2 * (2 * 4) * 8 * 6 * 16)
    assert plain_backward == 2 * plain_forward
    assert backwards * 4 == plain_backward * 5


def test_torch_itself_counts_no_attention_on_cpu() -> None:
    """The reason for a formula here; when torch has one, compare with it."""
    q = torch.randn(2, 4, 8, 16)
    with FlopCounterMode(display=False) as counter:
        scaled_dot_product_attention(q, q, q)
    assert counter.get_total_flops() == 0
    assert costs_of(lambda: scaled_dot_product_attention(q, q, q)).flops > 0


FUSED = ["flash_attention", "efficient_attention", "cudnn_attention"]


@pytest.mark.parametrize("name", FUSED)
def test_fused_attention_of_each_backend_agrees_with_torch(name: str) -> None:
    """The same shapes give the same flops whichever backend ran."""
    aten = torch.ops.aten
    q, k = torch.randn(2, 4, 8, 16), torch.randn(2, 4, 6, 16)
    forward = getattr(aten, f"_scaled_dot_product_{name}")
    backward = getattr(aten, f"_scaled_dot_product_{name}_backward")
    ours = _formula(forward), _formula(backward)
    assert ours[0](q, k, k, out_val=q) == flop_registry[forward](q, k, k, out_val=q)
    assert ours[1](q, q, k, k, out_val=q) == flop_registry[backward](
        q, q, k, k, out_val=q
    )


@pytest.mark.parametrize("name", ["flash", "efficient"])
def test_attention_kernels_have_the_sequence_before_the_heads(name: str) -> None:
    """(batch, sequence, heads, size): torch's own table swaps the two."""
    q = torch.randn(2, 8, 4, 16)
    count = _formula(getattr(torch.ops.aten, f"_{name}_attention_forward"))
    flops = count(q, q, q, None, None, None, None, None, out_val=q)
    assert flops == 2 * (2 * (2 * 4) * 8 * 8 * 16)


@pytest.mark.parametrize("name", ["flash", "efficient"])
def test_packed_attention_sums_over_its_sequences(name: str) -> None:
    """Offsets 0, 3, 8: 3 ** 2 + 5 ** 2 pairs instead of 8 ** 2."""
    lead = (1,) if name == "efficient" else ()
    q, offsets = torch.randn(*lead, 8, 4, 16), torch.tensor([0, 3, 8])
    bias = (None,) if name == "efficient" else ()
    count = _formula(getattr(torch.ops.aten, f"_{name}_attention_forward"))
    flops = count(q, q, q, *bias, offsets, offsets, 5, 5, out_val=q)
    assert flops == 2 * (2 * 4 * (9 + 25) * 16)


def _formula(packet: object) -> Callable[..., int]:
    formula = formula_of(packet.default)  # type: ignore[attr-defined]  # made by torch
    assert formula is not None
    return formula.count


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_fused_encoder_layer_counts_as_its_parts() -> None:
    """In eval mode without gradients torch runs the layer as one operator."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    x = torch.randn(2, 5, 16)
    with torch.no_grad():
        parts = costs_of(lambda: layer(x))
        fused = costs_of(lambda: layer.eval()(x))
        alone = costs_of(lambda: layer.self_attn(x, x, x))
    assert fused.flops == parts.flops
    # Four projections of ten tokens, and two products of 5 by 5 pairs in two sequences.
    assert alone.flops == 2 * 10 * 16 * 16 * 4 + 2 * (2 * 2 * 5 * 5 * 16)


# --- recurrent layers, transforms, factorisations -----------------------------------


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad])
def test_lstm_is_four_gates_per_step_and_item(
    mode: Callable[[], no_grad], device: str
) -> None:
    """One fused operator on CPU, products per step on meta tensors."""
    lstm, x = nn.LSTM(6, 7, device=device), torch.randn(5, 3, 6, device=device)
    with mode():
        costs = costs_of(lambda: lstm(x))
    assert costs.flops == 5 * 3 * (2 * 4 * 7 * (6 + 7))


def test_lstm_backward_is_twice_its_forward() -> None:
    """Gradients of data and weights, in both directions of both layers."""
    lstm = nn.LSTM(6, 7, num_layers=2, bidirectional=True)
    x = torch.randn(5, 3, 6, requires_grad=True)
    results: list[Tensor] = []
    forward = costs_of(lambda: results.append(lstm(x)[0]))
    backwards = backward_of(results[0])
    assert forward.flops == 5 * 3 * 2 * (2 * 4 * 7 * (6 + 7) + 2 * 4 * 7 * (14 + 7))
    assert backwards.flops == 2 * forward.flops


def test_fused_recurrent_layers_count_every_matrix_per_step() -> None:
    """cuDNN has all layers in one operator; packed input has one axis of items."""
    weights = [torch.empty(28, 6), torch.empty(28, 7), torch.empty(28), torch.empty(28)]
    packed = torch.empty(15, 6)
    flops = 15 * (2 * 4 * 7 * (6 + 7))
    for name, factor in (("_cudnn_rnn", 1), ("_cudnn_rnn_backward", 2)):
        count = _formula(getattr(torch.ops.aten, name))
        assert count(packed, weights, out_val=None) == factor * flops


def test_transforms_are_five_n_log_n_and_half_of_it_for_real_data() -> None:
    """Three of length 8: 3 * 5 * 8 * 3, and complex data is counted already."""
    x = torch.randn(3, 8)
    z = torch.randn(3, 8, dtype=torch.complex64)
    assert costs_of(lambda: torch.fft.fft(z)).flops == 360
    assert costs_of(lambda: torch.fft.rfft(x)).flops == 180
    half = torch.fft.rfft(x)
    assert costs_of(lambda: torch.fft.irfft(half)).flops == 180


@pytest.mark.parametrize(
    ("run", "flops"),
    [
        (torch.linalg.cholesky, 2 * 9),
        (torch.linalg.lu_factor, 2 * 18),
        (torch.linalg.inv, 2 * 54),
        (lambda a: torch.linalg.solve(a, a), 2 * (18 + 54)),
        (lambda a: torch.linalg.solve_triangular(a, a, upper=True), 2 * 27),
    ],
    ids=["cholesky", "lu", "inv", "solve", "triangular"],
)
def test_factorisations_are_cubic(run: Callable[[Tensor], object], flops: int) -> None:
    """Two of order 3: 27 / 3, 2/3 * 27, 2 * 27, 2/3 * 27 + 2 * 27, 27 each."""
    matrices = torch.eye(3).repeat(2, 1, 1)
    assert costs_of(lambda: run(matrices)).flops == flops


def test_complex_products_are_four_real_ones() -> None:
    """(a + bi)(c + di) has four multiplications and four additions, accumulated."""
    z = torch.randn(3, 3, dtype=torch.complex64)
    assert costs_of(lambda: z @ z).flops == 4 * (2 * 27)
