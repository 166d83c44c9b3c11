"""Small seeded networks with inputs and losses, one of each kind that is trained.

They are written as their libraries write them: a wrapper has to cope with forwards that
nobody wrote for it. Forward and backward take milliseconds at the default sizes.
Building one leaves the global random state as it was; dropout draws from it, as always.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Device: TypeAlias = torch.device | str
Loss: TypeAlias = Callable[[Tensor], Tensor]
State: TypeAlias = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A model with what it is called with and what is minimised.

    Attributes
    ----------
    name
        Of the function that built it.
    model
        In training mode.
    inputs
        What the model is called with, positionally.
    loss
        Takes the model's output, holds its targets, gives a scalar tensor.
    stages
        Names of modules to cut after, in the order of their calls (one name may be
        called many times); None where the children of an ``nn.Sequential``, or the
        ``nn.ModuleList`` of blocks, are all there is to find.
    """

    name: str
    model: nn.Module
    inputs: tuple[Tensor, ...]
    loss: Loss
    stages: tuple[str, ...] | None = None


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from a seed inside, and restore the random state of the CPU after it.

    Parameters
    ----------
    seed
        Of the CPU's generator. ``torch.manual_seed`` would seed the devices, too, whose
        states are not restored; so models are drawn on the CPU and moved.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def classify(targets: Tensor) -> Loss:
    """Return the mean cross entropy of outputs whose last axis are the classes.

    Parameters
    ----------
    targets
        Of the output's shape without its last axis, int64.
    """

    def cross_entropy(output: Tensor) -> Tensor:
        return F.cross_entropy(output.flatten(0, -2), targets.flatten())

    return cross_entropy


def regress(targets: Tensor) -> Loss:
    """Return the mean squared error of outputs that are shaped like the targets."""

    def squared_error(output: Tensor) -> Tensor:
        return F.mse_loss(output, targets)

    return squared_error


def mlp(
    *,
    depth: int = 4,
    width: int = 16,
    batch: int = 8,
    classes: int = 5,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
    seed: int = 0,
) -> Case:
    """Return ``depth`` times linear, ReLU and layer norm, and a last linear layer.

    One flat ``nn.Sequential`` of ``3 * depth + 1`` children.
    """
    with seeded(seed):
        layers: list[nn.Module] = []
        for _ in range(depth):
            layers += [nn.Linear(width, width), nn.ReLU(), nn.LayerNorm(width)]
        layers.append(nn.Linear(width, classes))
        x = torch.randn(batch, width)
        targets = torch.randint(classes, (batch,))
    return Case(
        name="mlp",
        model=nn.Sequential(*layers).to(device, dtype),
        inputs=(x.to(device, dtype),),
        loss=classify(targets.to(device)),
    )


class Vgg(nn.Module):
    """Convolutions with ReLUs in place, and a classifier with dropout."""

    def __init__(
        self, *, depth: int, width: int, image: int, classes: int, dropout: float
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for level in range(depth):
            wider = width * 2**level
            layers += [nn.Conv2d(channels, wider, 3, padding=1), nn.ReLU(inplace=True)]
            layers += [nn.Conv2d(wider, wider, 3, padding=1), nn.ReLU(inplace=True)]
            layers.append(nn.MaxPool2d(2))
            channels = wider
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(channels * (image >> depth) ** 2, 4 * width),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4 * width, classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return class scores of images."""
        x = self.features(x)
        x = torch.flatten(x, 1)
        scores: Tensor = self.classifier(x)
        return scores


def vgg(
    *,
    depth: int = 2,
    width: int = 8,
    batch: int = 4,
    image: int = 16,
    classes: int = 5,
    dropout: float = 0.5,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
    seed: int = 0,
) -> Case:
    """Return ``depth`` levels of two convolutions and a pool; ReLUs work in place.

    Cut after each child of ``features`` and ``classifier``; the flattening between them
    is nobody's child. A cut before a ReLU asks for an output that is then overwritten.
    """
    with seeded(seed):
        model = Vgg(
            depth=depth, width=width, image=image, classes=classes, dropout=dropout
        )
        x = torch.randn(batch, 3, image, image)
        targets = torch.randint(classes, (batch,))
    return Case(
        name="vgg",
        model=model.to(device, dtype),
        inputs=(x.to(device, dtype),),
        loss=classify(targets.to(device)),
        stages=(
            *(f"features.{index}" for index in range(len(model.features))),
            *(f"classifier.{index}" for index in range(len(model.classifier))),
        ),
    )


class BasicBlock(nn.Module):
    """Two convolutions beside a shortcut, with batch norms."""

    expansion: Final = 1

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _shortcut(channels, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return the next feature map."""
        identity = x
        out: Tensor = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        out = self.relu(out)
        return out  # noqa: RET504 -- as in torchvision; a frame's names matter here


class Bottleneck(nn.Module):
    """A convolution between two of one pixel beside a shortcut, with batch norms."""

    expansion: Final = 4

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        wide = width * self.expansion
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, wide, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(wide)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _shortcut(channels, wide, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return the next feature map."""
        identity = x
        out: Tensor = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        out = self.relu(out)
        return out  # noqa: RET504 -- as in torchvision; a frame's names matter here


def _shortcut(channels: int, width: int, stride: int) -> nn.Sequential | None:
    if stride == 1 and channels == width:
        return None
    return nn.Sequential(
        nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width)
    )


class ResNet(nn.Module):
    """Stem, four groups of residual blocks, pool and linear layer."""

    def __init__(
        self,
        *,
        kind: type[BasicBlock] | type[Bottleneck],
        blocks: tuple[int, int, int, int],
        width: int,
        classes: int,
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        self._channels = width
        self.layer1 = self._layer(kind, width, blocks[0], 1)
        self.layer2 = self._layer(kind, 2 * width, blocks[1], 2)
        self.layer3 = self._layer(kind, 4 * width, blocks[2], 2)
        self.layer4 = self._layer(kind, 8 * width, blocks[3], 2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(self._channels, classes)

    def _layer(
        self,
        kind: type[BasicBlock] | type[Bottleneck],
        width: int,
        blocks: int,
        stride: int,
    ) -> nn.Sequential:
        layer = nn.Sequential()
        for index in range(blocks):
            layer.append(kind(self._channels, width, stride if index == 0 else 1))
            self._channels = width * kind.expansion
        return layer

    def forward(self, x: Tensor) -> Tensor:
        """Return class scores of images."""
        x = self.stem(x)
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.layer4(x)
        x = self.pool(x)
        x = torch.flatten(x, 1)
        x = self.fc(x)
        return x  # noqa: RET504 -- as in torchvision; a frame's names matter here


def resnet(
    *,
    blocks: tuple[int, int, int, int] = (2, 1, 1, 1),
    width: int = 8,
    batch: int = 4,
    image: int = 32,
    classes: int = 5,
    bottleneck: bool = False,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
    seed: int = 0,
) -> Case:
    """Return a residual network with batch norms.

    Cut after each child of the stem and each residual block. Blocks work in place on
    their own tensors only. Running a block twice updates its running statistics twice.

    Parameters
    ----------
    blocks
        Number of residual blocks of each group, each at least 1.
    image
        Pixels a side; the last group sees a 32nd of it.
    bottleneck
        Blocks of three convolutions instead of two, and four times as many channels.
    """
    kind = Bottleneck if bottleneck else BasicBlock
    with seeded(seed):
        model = ResNet(kind=kind, blocks=blocks, width=width, classes=classes)
        x = torch.randn(batch, 3, image, image)
        targets = torch.randint(classes, (batch,))
    return Case(
        name="resnet",
        model=model.to(device, dtype),
        inputs=(x.to(device, dtype),),
        loss=classify(targets.to(device)),
        stages=(
            *(f"stem.{index}" for index in range(len(model.stem))),
            *(
                f"layer{group}.{index}"
                for group, count in enumerate(blocks, start=1)
                for index in range(count)
            ),
        ),
    )


class Attention(nn.Module):
    """Attention of several heads with dropout of its weights."""

    def __init__(self, width: int, heads: int, dropout: float, *, causal: bool) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.causal = causal
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return what each token attends to."""
        batch, tokens, width = x.shape
        qkv = self.qkv(x).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        x = F.scaled_dot_product_attention(
            q,
            k,
            v,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=self.causal,
        )
        out: Tensor = self.proj(x.transpose(1, 2).reshape(batch, tokens, width))
        return out


class TransformerBlock(nn.Module):
    """Attention and two linear layers, each after a norm and beside a shortcut."""

    def __init__(self, width: int, heads: int, dropout: float, *, causal: bool) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, dropout, causal=causal)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return the next hidden states."""
        x = x + self.drop(self.attn(self.norm1(x)))
        x = x + self.drop(self.mlp(self.norm2(x)))
        return x  # noqa: RET504 -- as is usual; a frame's names matter here


class Vit(nn.Module):
    """Vision transformer that classifies by a token of its own."""

    def __init__(
        self,
        *,
        depth: int,
        width: int,
        heads: int,
        image: int,
        patch: int,
        classes: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(3, width, patch, patch)
        self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.pos_embed = nn.Parameter(
            0.02 * torch.randn(1, (image // patch) ** 2 + 1, width)
        )
        self.pos_drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            TransformerBlock(width, heads, dropout, causal=False) for _ in range(depth)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return class scores of images."""
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1)
        x = self.pos_drop(x + self.pos_embed)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        scores: Tensor = self.head(x[:, 0])
        return scores


def vit(
    *,
    depth: int = 3,
    width: int = 16,
    heads: int = 2,
    batch: int = 4,
    image: int = 16,
    patch: int = 4,
    classes: int = 5,
    dropout: float = 0.1,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
    seed: int = 0,
) -> Case:
    """Return a vision transformer of ``depth`` blocks in an ``nn.ModuleList``."""
    with seeded(seed):
        model = Vit(
            depth=depth,
            width=width,
            heads=heads,
            image=image,
            patch=patch,
            classes=classes,
            dropout=dropout,
        )
        x = torch.randn(batch, 3, image, image)
        targets = torch.randint(classes, (batch,))
    return Case(
        name="vit",
        model=model.to(device, dtype),
        inputs=(x.to(device, dtype),),
        loss=classify(targets.to(device)),
    )


class UNet(nn.Module):
    """Levels down and up again, joined across by their feature maps."""

    def __init__(self, *, depth: int, width: int, classes: int) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(depth + 1)]
        self.down = nn.ModuleList(
            _double_conv(channels, wider)
            for channels, wider in zip([3, *widths], widths[:-1], strict=False)
        )
        self.pool = nn.MaxPool2d(2)
        self.middle = _double_conv(widths[-2], widths[-1])
        self.grow = nn.ModuleList(
            nn.ConvTranspose2d(2 * wider, wider, 2, 2) for wider in widths[-2::-1]
        )
        self.up = nn.ModuleList(
            _double_conv(2 * wider, wider) for wider in widths[-2::-1]
        )
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return class scores of pixels, classes last."""
        skips = []
        for level in self.down:
            x = level(x)
            skips.append(x)
            x = self.pool(x)
        x = self.middle(x)
        for grow, level in zip(self.grow, self.up, strict=True):
            x = torch.cat([skips.pop(), grow(x)], dim=1)
            x = level(x)
        scores: Tensor = self.head(x)
        return scores.movedim(1, -1)


def _double_conv(channels: int, width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, width, 3, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
    )


def unet(
    *,
    depth: int = 2,
    width: int = 4,
    batch: int = 2,
    image: int = 16,
    classes: int = 3,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
    seed: int = 0,
) -> Case:
    """Return a U-Net of ``depth`` levels: between its stages pass several tensors."""
    with seeded(seed):
        model = UNet(depth=depth, width=width, classes=classes)
        x = torch.randn(batch, 3, image, image)
        targets = torch.randint(classes, (batch, image, image))
    return Case(
        name="unet",
        model=model.to(device, dtype),
        inputs=(x.to(device, dtype),),
        loss=classify(targets.to(device)),
        stages=(
            *(f"down.{level}" for level in range(depth)),
            "middle",
            *(f"up.{level}" for level in range(depth)),
        ),
    )


class Gpt(nn.Module):
    """Decoder whose head is its embedding."""

    # Its members are read as attributes, as is usual, which no stub can know.
    transformer: Any

    def __init__(
        self,
        *,
        depth: int,
        width: int,
        heads: int,
        tokens: int,
        vocabulary: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocabulary, width),
                "wpe": nn.Embedding(tokens, width),
                "drop": nn.Dropout(dropout),
                "h": nn.ModuleList(
                    TransformerBlock(width, heads, dropout, causal=True)
                    for _ in range(depth)
                ),
                "ln_f": nn.LayerNorm(width),
            }
        )
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, tokens: Tensor) -> Tensor:
        """Return scores of the next token, for each position."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        tok_emb = self.transformer.wte(tokens)
        pos_emb = self.transformer.wpe(positions)
        x = self.transformer.drop(tok_emb + pos_emb)
        for block in self.transformer.h:
            x = block(x)
        x = self.transformer.ln_f(x)
        scores: Tensor = self.lm_head(x)
        return scores


def gpt(
    *,
    depth: int = 3,
    width: int = 16,
    heads: int = 2,
    batch: int = 2,
    tokens: int = 12,
    vocabulary: int = 11,
    dropout: float = 0.1,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
    seed: int = 0,
) -> Case:
    """Return a decoder of ``depth`` blocks whose embedding and head share a weight."""
    with seeded(seed):
        model = Gpt(
            depth=depth,
            width=width,
            heads=heads,
            tokens=tokens,
            vocabulary=vocabulary,
            dropout=dropout,
        )
        text = torch.randint(vocabulary, (batch, tokens + 1))
    return Case(
        name="gpt",
        model=model.to(device, dtype),
        inputs=(text[:, :-1].contiguous().to(device),),
        loss=classify(text[:, 1:].contiguous().to(device)),
    )


class Lstm(nn.Module):
    """One cell, called for each step."""

    def __init__(self, *, features: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.cell = nn.LSTMCell(features, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return the last hidden state of sequences (batch, steps, features)."""
        state = self.start(x)
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
        hidden, _ = state
        return hidden

    def start(self, x: Tensor) -> State:
        """Return hidden and cell state before the first step."""
        zeros = x.new_zeros(x.shape[0], self.width)
        return zeros, zeros


def lstm(
    *,
    steps: int = 6,
    width: int = 8,
    features: int = 4,
    batch: int = 4,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
    seed: int = 0,
) -> Case:
    """Return a recurrent network unrolled over ``steps`` calls of one cell.

    Between the steps passes the tuple of two tensors; each step also takes a slice of
    the input, which is no output of a step before.
    """
    with seeded(seed):
        model = Lstm(features=features, width=width)
        x = torch.randn(batch, steps, features)
        targets = torch.randn(batch, width)
    return Case(
        name="lstm",
        model=model.to(device, dtype),
        inputs=(x.to(device, dtype),),
        loss=regress(targets.to(device, dtype)),
        stages=("cell",),
    )


class LoraLinear(nn.Module):
    """A frozen linear layer and a trained one of low rank beside it."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.base = nn.Linear(width, width).requires_grad_(False)
        # Both are drawn: a zero in one, as is usual, makes the other's gradient zero.
        self.down = nn.Linear(width, rank, bias=False)
        self.up = nn.Linear(rank, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of both layers."""
        out: Tensor = self.base(x) + self.up(self.down(x))
        return out


def lora_mlp(
    *,
    frozen: int = 2,
    depth: int = 3,
    width: int = 16,
    rank: int = 2,
    batch: int = 8,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
    seed: int = 0,
) -> Case:
    """Return an ``nn.Sequential`` of which only adapters are trained.

    Parameters
    ----------
    frozen
        Layers at the start without adapters: they need no backward at all.
    depth
        Layers after these, each with an adapter of ``rank``.
    """
    with seeded(seed):
        layers: list[nn.Module] = []
        for _ in range(frozen):
            layers += [nn.Linear(width, width).requires_grad_(False), nn.GELU()]
        for _ in range(depth):
            layers += [LoraLinear(width, rank), nn.GELU()]
        x = torch.randn(batch, width)
        targets = torch.randn(batch, width)
    return Case(
        name="lora_mlp",
        model=nn.Sequential(*layers).to(device, dtype),
        inputs=(x.to(device, dtype),),
        loss=regress(targets.to(device, dtype)),
    )


class MoeBlock(nn.Module):
    """Experts of which each token takes the one that its router scores highest."""

    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(
                nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
            )
            for _ in range(experts)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the next hidden states of tokens (tokens, width)."""
        hidden = self.norm(x)
        gate, choice = self.router(hidden).softmax(-1).max(-1)
        for index, expert in enumerate(self.experts):
            rows = (choice == index).nonzero().squeeze(1)
            x = x.index_add(0, rows, expert(hidden[rows]) * gate[rows, None])
        return x


class Moe(nn.Module):
    """Mixture-of-experts blocks between two linear layers."""

    def __init__(self, *, depth: int, width: int, experts: int) -> None:
        super().__init__()
        self.embed = nn.Linear(width, width)
        self.blocks = nn.ModuleList(MoeBlock(width, experts) for _ in range(depth))
        self.head = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return the last layer's output for tokens (tokens, width)."""
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        out: Tensor = self.head(x)
        return out


def moe(
    *,
    depth: int = 2,
    width: int = 8,
    experts: int = 3,
    batch: int = 12,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
    seed: int = 0,
) -> Case:
    """Return ``depth`` blocks of ``experts`` with top-1 routing.

    The sizes inside a block depend on the data. Blocks are in an ``nn.ModuleList``, and
    so are the experts of each block.
    """
    with seeded(seed):
        model = Moe(depth=depth, width=width, experts=experts)
        x = torch.randn(batch, width)
        targets = torch.randn(batch, width)
    return Case(
        name="moe",
        model=model.to(device, dtype),
        inputs=(x.to(device, dtype),),
        loss=regress(targets.to(device, dtype)),
    )


CASES: Final[Mapping[str, Callable[[], Case]]] = MappingProxyType(
    {
        "mlp": mlp,
        "vgg": vgg,
        "resnet": resnet,
        "vit": vit,
        "unet": unet,
        "gpt": gpt,
        "lstm": lstm,
        "lora_mlp": lora_mlp,
        "moe": moe,
    }
)
"""All of them, at default sizes, by name."""
