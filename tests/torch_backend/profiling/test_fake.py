"""Profiles of models that have no data: meta and fake tensors."""

import time
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

import torch.nn.functional as F  # noqa: E402 - torch may be missing
from torch import Tensor, nn  # noqa: E402 - likewise
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402 - likewise
from torch_models import Case, mlp, resnet  # noqa: E402 - likewise
from torch_steps import sizes  # noqa: E402 - likewise

import ckschedule as ck  # noqa: E402 - likewise


class LlamaBlock(nn.Module):
    """Grouped-query attention with rotations, and a gated linear unit."""

    def __init__(self, hidden: int, heads: int, groups: int, inner: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, hidden // heads
        self.norm1, self.norm2 = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.q = nn.Linear(hidden, hidden, bias=False)
        self.kv = nn.Linear(hidden, 2 * groups * self.size, bias=False)
        self.o = nn.Linear(hidden, hidden, bias=False)
        self.gate = nn.Linear(hidden, inner, bias=False)
        self.up = nn.Linear(hidden, inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        batch, tokens, hidden = x.shape
        y = self.norm1(x)
        q = self.q(y).view(batch, tokens, self.heads, self.size).transpose(1, 2)
        kv = self.kv(y).view(batch, tokens, 2 * self.groups, self.size)
        k, v = kv.transpose(1, 2).chunk(2, dim=1)
        q, k = (t * cosine + t.roll(self.size // 2, -1) * sine for t in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, tokens, hidden))
        y = self.norm2(x)
        out: Tensor = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return out


class Llama(nn.Module):
    """Decoder of 70 billion parameters at its default sizes."""

    def __init__(
        self,
        *,
        layers: int = 80,
        hidden: int = 8192,
        heads: int = 64,
        groups: int = 8,
        inner: int = 28672,
        vocabulary: int = 128256,
    ) -> None:
        super().__init__()
        self.size = hidden // heads
        self.embed = nn.Embedding(vocabulary, hidden)
        self.layers = nn.ModuleList(
            LlamaBlock(hidden, heads, groups, inner) for _ in range(layers)
        )
        self.norm = nn.RMSNorm(hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        angles = torch.arange(tokens.shape[1], device=tokens.device)[:, None] * (
            torch.arange(self.size, device=tokens.device) / self.size
        )
        cosine, sine = angles.cos().bfloat16(), angles.sin().bfloat16()
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        out: Tensor = self.head(self.norm(x))
        return out


def test_model_of_seventy_billion_parameters_is_planned_in_seconds() -> None:
    """Without one byte of it: whether it fits is asked before buying the machine."""
    with torch.device("meta"):
        model = Llama().bfloat16()
        tokens = torch.zeros(1, 4096, dtype=torch.long)
    started = time.monotonic()
    chain = ck.profile(model, tokens, loss=lambda y: y.float().sum(), time="a100")
    plan = ck.solve(chain, "80%")
    assert time.monotonic() - started < 60
    assert chain.static.parameters == 2 * sum(p.numel() for p in model.parameters())
    assert chain.static.parameters > 140_000_000_000
    assert len(chain.stages) == 81
    # Blocks are alike, in bytes and in time, but for where they stand.
    assert len({(s.output, s.forward, s.variants) for s in chain.stages[2:-1]}) == 1
    assert plan.status is ck.Status.OPTIMAL


@pytest.mark.parametrize("build", [mlp, resnet])
def test_bytes_on_meta_equal_bytes_on_cpu(build: Callable[..., Case]) -> None:
    """Both count storages."""
    on = {}
    for device in ("cpu", "meta"):
        case = build(device=device)
        chain = ck.profile(case.model, *case.inputs, loss=case.loss, time="a100")
        on[device] = sizes(chain)
    assert on["meta"] == on["cpu"]


def test_profile_of_fake_tensors_is_that_of_real_ones() -> None:
    """Fake tensors pretend to be on the device, with its own operators."""

    def chain() -> ck.Chain:
        layers = [nn.Linear(16, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4)]
        model = nn.Sequential(*layers)
        return ck.profile(model, torch.ones(8, 16), loss=torch.sum, time="a100")

    with FakeTensorMode():
        pretended = chain()
    assert pretended == chain()


def test_fake_model_larger_than_memory_is_profiled() -> None:
    """Six layers and activations of 16 GiB each."""
    with FakeTensorMode():
        model = nn.Sequential(*[nn.Linear(1 << 16, 1 << 16) for _ in range(6)])
        x = torch.empty(1 << 16, 1 << 16)
        chain = ck.profile(model, x, loss=torch.sum, time="a100")
    assert [stage.output for stage in chain.stages] == [1 << 34] * 6


def test_time_without_data_cannot_be_measured() -> None:
    """What a meta tensor takes says nothing about any device."""
    case = mlp(device="meta")
    with pytest.raises(ck.errors.CkscheduleError, match="meta"):
        ck.profile(case.model, *case.inputs, loss=case.loss)
