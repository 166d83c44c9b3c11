"""Costs of torch operators on a roofline, against costs worked out by hand."""

from collections.abc import Callable, Iterator

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, dtype, nn  # noqa: E402 - torch may be missing
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402 - likewise
from torch.autograd import backward  # noqa: E402 - likewise
from torch.nn.functional import (  # noqa: E402 - likewise
    dropout,
    embedding,
    scaled_dot_product_attention,
)
from torch.optim import Optimizer  # noqa: E402 - likewise
from torch.utils.flop_counter import (  # noqa: E402 - likewise
    flop_registry,
    register_flop_formula,
)

from ckschedule.costs.device import Device  # noqa: E402 - likewise
from ckschedule.torch_backend.profiling.operators import (  # noqa: E402 - likewise
    OperatorCosts,
    UnknownOperatorWarning,
)

DEVICE = Device(
    name="test",
    flops_fp32=10**9,
    flops_tf32=2 * 10**9,
    flops_half=4 * 10**9,
    bandwidth=10**9,
)
"""One flop or one byte a nanosecond in fp32; two flops in tf32, four in half."""

FLOAT = 4


def costs_of(run: Callable[[], object], *, tf32: bool = False) -> OperatorCosts:
    with OperatorCosts(DEVICE, tf32=tf32) as costs:
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


# --- traffic ------------------------------------------------------------------------


def test_views_cost_nothing() -> None:
    """They change how data is seen, not the data."""
    x = torch.randn(4, 6)

    def run() -> None:
        x.view(2, 12).t().unsqueeze(0).expand(3, 12, 2).detach()[1:].squeeze()
        x.reshape(3, 8).split(2), x.unbind(), x.diagonal(), x.as_strided((2, 2), (1, 1))
        x.new_empty(5), torch.empty_like(x)

    costs = costs_of(run)
    assert (costs.time, costs.flops, costs.moved) == (0, 0, 0)
    assert costs.unknown == {}


def test_reshape_that_copies_is_no_view() -> None:
    """An expanded tensor cannot be flattened in place: 24 read, 48 written."""
    x = torch.randn(4, 6).expand(2, 4, 6)
    assert costs_of(lambda: x.reshape(-1)).moved == FLOAT * (24 + 48)


def test_pointwise_operators_read_and_write_each_tensor_once() -> None:
    """The square of x reads x once, the sum of two tensors reads both."""
    x, y = torch.randn(10), torch.randn(10)
    assert costs_of(lambda: x * x).moved == FLOAT * 20
    assert costs_of(lambda: x * x.view(10)).moved == FLOAT * 20
    assert costs_of(lambda: x + y).moved == FLOAT * 30


def test_in_place_operators_read_and_write_the_same_tensor() -> None:
    """As much as out of place; a fill or a copy only writes."""
    x, y = torch.randn(10), torch.randn(10)
    assert costs_of(lambda: x.relu_()).moved == FLOAT * 20
    assert costs_of(lambda: x.add_(y)).moved == FLOAT * 30
    assert costs_of(lambda: torch.add(x, y, out=y)).moved == FLOAT * 30
    assert costs_of(lambda: x.zero_()).moved == FLOAT * 10
    assert costs_of(lambda: x.copy_(y)).moved == FLOAT * 20
    assert costs_of(lambda: torch.zeros_like(x)).moved == FLOAT * 10


def test_expanded_tensors_count_what_they_store() -> None:
    """A row that is added to a hundred others is read once; so are windows."""
    row = torch.randn(1, 10)
    assert costs_of(lambda: row.expand(100, 10) * 2).moved == FLOAT * (10 + 1000)
    windows = torch.randn(10).unfold(0, 4, 1)
    assert costs_of(lambda: windows * 2).moved == FLOAT * (10 + 28)


def test_embedding_reads_the_rows_it_picks() -> None:
    """Three rows of four, not the table of a thousand; eight bytes an index."""
    table = torch.randn(1000, 4, requires_grad=True)
    index = torch.tensor([5, 7, 9])
    results: list[Tensor] = []
    forward = costs_of(lambda: results.append(embedding(index, table)))
    assert forward.moved == 3 * 8 + FLOAT * (12 + 12)
    backwards = backward_of(results[0])
    # The gradient of the table is dense.
    assert backwards.moved == 3 * 8 + FLOAT * (12 + 4000)


@pytest.mark.parametrize(
    "run",
    [
        lambda x: dropout(x, 0.5),
        lambda x: torch.ops.aten.native_dropout(x, 0.5, True),
        lambda x: nn.functional.cross_entropy(x, torch.tensor([1, 2])),
        lambda x: nn.LayerNorm(6)(x) + nn.RMSNorm(6)(x),
        lambda x: nn.BatchNorm1d(6)(x),
        lambda x: nn.GroupNorm(2, 6)(x),
        lambda x: nn.functional.max_pool1d(x[None], 2),
        lambda x: nn.AdaptiveAvgPool2d(2)(x[None, None]),
        lambda x: nn.functional.interpolate(x[None], scale_factor=2.0),
        lambda x: torch.sort(x)[0] + torch.cumsum(x, 0),
        lambda x: torch.cat([x, x]).scatter_add(
            0, torch.zeros(2, 6, dtype=torch.int64), x
        ),
        lambda x: x[torch.tensor([0])] + x[:, x[0] > -9],
        lambda x: nn.functional.pad(x, (1, 1), "reflect"),
        lambda x: torch.stack([x, x.exp().log_softmax(-1)]).std(),
        lambda x: nn.functional.gelu(x).clamp(0, 1).where(x > 0, x),
        lambda x: x.detach().bernoulli() * x + torch.randn_like(x),
        lambda x: x.to(torch.float64) + nn.functional.mse_loss(x, x.detach()),
    ],
    ids=[
        *("dropout", "native_dropout", "cross_entropy", "layer_norm", "batch_norm"),
        *("group_norm", "max_pool", "adaptive_pool", "upsample", "sort", "scatter"),
        *("index", "pad", "softmax", "pointwise", "random", "casts"),
    ],
)
def test_memory_bound_operators_are_known(run: Callable[[Tensor], Tensor]) -> None:
    """Their bytes are their cost: no flops, no warning, forward or backward."""
    x = torch.rand(2, 6, requires_grad=True)

    def both() -> None:
        result = run(x)
        for part in result if isinstance(result, tuple) else (result,):
            if part.requires_grad:
                backward(part.sum())

    costs = costs_of(both)
    assert costs.unknown == {}
    assert costs.flops == 0
    assert costs.moved > 0


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
def test_optimizer_steps_are_known(kind: Callable[..., Optimizer], fused: bool) -> None:
    """A step is pointwise; its annotations for torch's profiler cost nothing."""
    weight = nn.Parameter(torch.randn(10))
    weight.grad = torch.ones(10)
    optimizer = kind([weight], lr=0.1, fused=fused)
    costs = costs_of(optimizer.step)
    assert costs.unknown == {}
    assert costs.moved >= FLOAT * 30


# --- unknown operators ----------------------------------------------------------------


@pytest.fixture
def custom() -> Iterator[Callable[[Tensor], Tensor]]:
    def triple(x: Tensor) -> Tensor:
        return x * 3

    yield torch.library.custom_op("ckschedule_test::triple", triple, mutates_args=())
    flop_registry.pop(torch.ops.ckschedule_test.triple, None)


def test_unknown_operator_is_named_once_and_costs_its_bytes(
    custom: Callable[[Tensor], Tensor],
) -> None:
    """Nobody can know what it computes; what it does inside is not counted either."""
    x = torch.randn(10)
    with (
        pytest.warns(UnknownOperatorWarning, match=r"ckschedule_test\.triple") as seen,
        OperatorCosts(DEVICE) as costs,
    ):
        custom(custom(x))
    assert len(seen) == 1
    assert "register_flop_formula" in str(seen[0].message)
    assert costs.unknown == {"ckschedule_test.triple": "no formula"}
    assert (costs.flops, costs.moved, costs.time) == (0, FLOAT * 40, FLOAT * 40)


def test_registered_formula_makes_an_operator_known(
    custom: Callable[[Tensor], Tensor],
) -> None:
    """The way out that the warning names."""
    packet = torch.ops.ckschedule_test.triple
    register_flop_formula(packet)(lambda shape, out_shape: shape.numel())
    costs = costs_of(lambda: custom(torch.zeros(1000)))
    assert costs.flops == 1000
    assert costs.unknown == {}


def test_formula_that_raises_leaves_its_operator_unknown(
    custom: Callable[[Tensor], Tensor],
) -> None:
    """A missing count is reported, with the reason, and stops nobody."""

    def broken(*_: object, **__: object) -> int:
        raise AssertionError("no such shape")

    register_flop_formula(torch.ops.ckschedule_test.triple)(broken)
    x = torch.zeros(10)
    with (
        pytest.warns(UnknownOperatorWarning, match="no such shape"),
        OperatorCosts(DEVICE) as costs,
    ):
        custom(x)
    assert costs.moved == FLOAT * 20


def test_decompositions_without_a_count_are_unknown() -> None:
    """Iterations of an eigenvalue solver depend on the data."""
    with pytest.warns(UnknownOperatorWarning, match="_linalg_eigh"):
        costs_of(lambda: torch.linalg.eigh(torch.eye(3)))


def test_failing_program_is_not_bothered_with_warnings(
    custom: Callable[[Tensor], Tensor],
) -> None:
    """Its own exception comes through, and the mode is left."""

    def run() -> None:
        custom(torch.zeros(1))
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        costs_of(run)


# --- time, dtypes, tensors without data -----------------------------------------------


def test_time_is_the_sum_of_roofline_times() -> None:
    """A large product is bound by arithmetic, an addition by traffic."""
    a = torch.randn(100, 100)
    costs = costs_of(lambda: a @ a + a)
    product = DEVICE.time(flops=2 * 10**6, moved=FLOAT * 20_000, dtype="fp32")
    addition = DEVICE.time(flops=0, moved=FLOAT * 30_000, dtype="fp32")
    assert costs.time == product + addition == 2 * 10**6 + 120_000
    assert costs.moved == FLOAT * 50_000


@pytest.mark.parametrize(
    ("kind", "tf32", "time"),
    [
        (torch.float32, False, 2_000_000),
        (torch.float32, True, 1_000_000),
        (torch.float64, True, 2_000_000),
        (torch.bfloat16, False, 500_000),
        (torch.float16, False, 500_000),
        (torch.complex64, False, 8_000_000),
        (torch.complex64, True, 4_000_000),
    ],
)
def test_products_run_at_the_rate_of_their_dtype(
    kind: dtype, tf32: bool, time: int
) -> None:
    """Two million flops; double precision at the rate of single."""
    a = torch.zeros(100, 100, dtype=kind, device="meta")
    assert costs_of(lambda: a @ a, tf32=tf32).time == time


def test_costs_add_up_when_the_mode_is_entered_again() -> None:
    """Forward and backward may be two blocks of one account."""
    a, costs = torch.randn(4, 4), OperatorCosts(DEVICE)
    for _ in range(2):
        with costs:
            _ = a @ a
    assert costs.flops == 2 * (2 * 64)


class Block(nn.Module):
    """A transformer block before the age of fused layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        qkv = self.qkv(self.first(x)).view(b, t, 3, 2, c // 2)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        result: Tensor = x + self.mlp(self.second(x))
        return result


def test_mlp_on_meta_tensors_costs_what_it_does_on_real_ones() -> None:
    """Shapes say it all."""

    def cost(device: str) -> tuple[int, int, int]:
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)
        x = torch.zeros(4, 8, device=device)
        costs = costs_of(lambda: backward(model(x).sum()))
        return costs.time, costs.flops, costs.moved

    assert cost("meta") == cost("cpu")


def test_fake_tensors_cost_what_real_ones_do() -> None:
    """They say that they are on CPU: the same operators, fused attention included."""

    def cost() -> tuple[int, int, int]:
        block, x = Block(8), torch.zeros(2, 5, 8, requires_grad=True)
        costs = costs_of(lambda: backward(block(x).sum()))
        return costs.time, costs.flops, costs.moved

    with FakeTensorMode():
        fake = cost()
    assert fake == cost()


def test_transformer_block_on_meta_tensors_has_the_same_flops() -> None:
    """But for the scores that fused attention makes again in its backward."""
    real = trained(Block(8), torch.zeros(2, 5, 8, requires_grad=True))
    x = torch.zeros(2, 5, 8, device="meta", requires_grad=True)
    meta = trained(Block(8).to("meta"), x)
    # Products of 10 tokens with weights of 3 + 1 + 4 + 4 times 8 by 8, and attention.
    attention = 2 * (2 * 2 * 5 * 5 * 8)
    assert meta[0].flops == real[0].flops == 2 * 10 * 12 * 64 + attention
    assert real[1].flops - meta[1].flops == attention // 2
