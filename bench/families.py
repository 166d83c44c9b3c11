"""The networks that training is measured on, and torch's own two ways beside them.

``python bench/families.py`` tells what they are: bytes, and seconds of a training step
with everything stored and with each of torch's ways; ``--check`` compares gradients.
"""

import argparse
import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import isqrt
from pathlib import Path
from typing import Any, Final, TypeAlias

import measure
import torch
from rich.table import Table
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
)

# The models of the tests, at other sizes: run from the source tree, nothing installs
# them.
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

import torch_models

Inputs: TypeAlias = tuple[Tensor, ...] | Mapping[str, Tensor]
Rewrite: TypeAlias = Callable[[nn.Module], nn.Module]
Blocks: TypeAlias = Sequence[Sequence[str]]

DEPTH: Final = 12
"""Blocks of each transformer."""

STEPS: Final = 256
"""Steps of the recurrent network."""

DOMINANCE: Final = 3
"""Static bytes times this are the least that store-all has to hold: with less to save,
a network says nothing about schedules."""

REPEAT: Final = 3
"""Samples of each time in the table."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A model to train, and torch's own ways to train it in less memory.

    Attributes
    ----------
    name
        Of the family.
    model
        In training mode, with random weights.
    inputs
        What the model is called with: positionally, or a mapping of keywords.
    loss
        Takes the model's output and gives a scalar tensor.
    stages
        Names of modules to cut after; None where they can be found.
    every_block
        Takes the model and returns one on the same parameters and buffers, in which
        each block is under ``torch.utils.checkpoint``. The model stays as it is.
    sequential_sqrt
        Likewise, with the blocks cut as ``checkpoint_sequential`` cuts them into as
        many segments as the root of their number: all but the last segment are under
        ``torch.utils.checkpoint``.
    """

    name: str
    model: nn.Module
    inputs: Inputs
    loss: Callable[[Any], Tensor]
    stages: tuple[str, ...] | None
    every_block: Rewrite
    sequential_sqrt: Rewrite


@dataclass(frozen=True, slots=True)
class Family:
    """A network by its name in the tables.

    Attributes
    ----------
    build
        Takes the device; sizes are for the processor, or for a large accelerator on any
        other device. Leaves the random state as it was.
    """

    name: str
    build: Callable[[torch.device], Case]


def families(device: torch.device) -> tuple[Family, ...]:
    """Return what is measured on a device; the largest are not for the processor."""
    common = (
        Family("mlp", _mlp),
        Family("resnet", _resnet),
        Family("vit", _vit),
        Family("gpt2", _gpt2),
        Family("llama", _llama),
        Family("lstm", _lstm),
    )
    if device.type == "cpu":
        return common
    return (*common, Family("resnet-1001", _resnet_1001), Family("gpt", _gpt))


def step(model: nn.Module, inputs: Inputs, loss: Callable[[Any], Tensor]) -> Tensor:
    """Return the detached loss of one forward and backward; gradients accumulate.

    Nothing here holds the output in the backward. A script that keeps it in a variable
    keeps its bytes, too.
    """
    value = loss(call(model, inputs))
    value.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
    return value.detach()


def call(model: nn.Module, inputs: Inputs) -> Any:
    """Return the output of a model for positional inputs, or a mapping of keywords."""
    return model(**inputs) if isinstance(inputs, Mapping) else model(*inputs)


def static_bytes(model: nn.Module) -> int:
    """Return the bytes of parameters, their gradients, and buffers."""
    trained = (p for p in model.parameters() if p.requires_grad)
    return sum(t.nbytes for t in chain(model.parameters(), model.buffers(), trained))


def saved_bytes(case: Case) -> int:
    """Return the bytes that autograd holds between forward and backward of the model.

    Each storage counts once; static bytes and inputs do not count. It would not see
    what a checkpoint holds in tuples or as keywords.
    """
    values = case.inputs.values() if isinstance(case.inputs, Mapping) else case.inputs
    kept = {
        t.untyped_storage()._cdata  # noqa: SLF001 -- meta tensors have no addresses
        for t in chain(case.model.parameters(), case.model.buffers(), values)
    }
    sizes: dict[int, int] = {}
    # The storages stay referenced, lest another takes one's place in the table.
    alive: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        key = storage._cdata  # noqa: SLF001 -- as above
        if key not in kept and key not in sizes:
            sizes[key] = storage.nbytes()
            alive.append(tensor.detach())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        value = case.loss(call(case.model, case.inputs))
    del value
    return sum(sizes.values())


def _mlp(device: torch.device) -> Case:
    depth = 24
    small = device.type == "cpu"
    case = torch_models.mlp(
        depth=depth,
        width=256 if small else 2048,
        batch=4096 if small else 32768,
        classes=16,
        device=device,
    )
    # A block is a linear layer with its ReLU and its norm.
    blocks = [[str(3 * block + child) for child in range(3)] for block in range(depth)]
    return _of_blocks("mlp", case, blocks)


def _resnet(device: torch.device) -> Case:
    if device.type == "cpu":
        case = torch_models.resnet(
            blocks=(4, 4, 4, 4), width=16, batch=32, image=192, classes=16
        )
    else:
        case = torch_models.resnet(
            blocks=(3, 8, 36, 3),
            width=64,
            batch=128,
            image=224,
            classes=1000,
            bottleneck=True,
            device=device,
        )
    return _of_blocks("resnet", case, _residual_blocks(case))


def _resnet_1001(device: torch.device) -> Case:
    case = torch_models.resnet(
        blocks=(83, 83, 83, 84),
        width=64,
        batch=32,
        image=224,
        classes=1000,
        bottleneck=True,
        device=device,
    )
    return _of_blocks("resnet-1001", case, _residual_blocks(case))


def _residual_blocks(case: torch_models.Case) -> Blocks:
    return [[name] for name in case.stages or () if name.startswith("layer")]


def _vit(device: torch.device) -> Case:
    small = device.type == "cpu"
    case = torch_models.vit(
        depth=DEPTH,
        width=128 if small else 768,
        heads=4 if small else 12,
        batch=8 if small else 256,
        image=64 if small else 224,
        patch=4 if small else 16,
        classes=16 if small else 1000,
        device=device,
    )
    return _of_blocks("vit", case, [[f"blocks.{index}"] for index in range(DEPTH)])


def _gpt(device: torch.device) -> Case:
    depth = 24
    case = torch_models.gpt(
        depth=depth,
        width=1024,
        heads=16,
        batch=8,
        tokens=1024,
        vocabulary=50304,
        device=device,
    )
    blocks = [[f"transformer.h.{index}"] for index in range(depth)]
    return _of_blocks("gpt", case, blocks)


def _lstm(device: torch.device) -> Case:
    small = device.type == "cpu"
    case = torch_models.lstm(
        steps=STEPS,
        width=256 if small else 1024,
        features=64 if small else 1024,
        batch=64 if small else 1024,
        device=device,
    )
    return Case(
        name="lstm",
        model=case.model,
        inputs=case.inputs,
        loss=case.loss,
        stages=case.stages,
        # The one cell runs under its own checkpoint whenever it is called.
        every_block=partial(_under_checkpoints, segments=[["cell"]]),
        sequential_sqrt=_SegmentedLstm,
    )


def _gpt2(device: torch.device) -> Case:
    small = device.type == "cpu"
    config = GPT2Config(
        vocab_size=512 if small else 50257,
        n_positions=128 if small else 1024,
        n_embd=128 if small else 768,
        n_layer=DEPTH,
        n_head=4 if small else 12,
        attn_pdrop=0.1,
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    return _language_model(
        "gpt2",
        partial(GPT2LMHeadModel, config),
        config.vocab_size,
        (12, 128) if small else (16, 1024),
        [[f"transformer.h.{index}"] for index in range(DEPTH)],
        device,
    )


def _llama(device: torch.device) -> Case:
    small = device.type == "cpu"
    config = LlamaConfig(
        vocab_size=512 if small else 32000,
        hidden_size=128 if small else 1024,
        intermediate_size=352 if small else 2816,
        num_hidden_layers=DEPTH,
        num_attention_heads=4 if small else 16,
        num_key_value_heads=2 if small else 4,
        max_position_embeddings=128 if small else 1024,
        use_cache=False,
    )
    return _language_model(
        "llama",
        partial(LlamaForCausalLM, config),
        config.vocab_size,
        (16, 128) if small else (16, 1024),
        [[f"model.layers.{index}"] for index in range(DEPTH)],
        device,
    )


def _language_model(
    name: str,
    build: Callable[[], PreTrainedModel],
    vocabulary: int,
    shape: tuple[int, int],
    blocks: Blocks,
    device: torch.device,
) -> Case:
    """Return a model that computes its loss itself, from labels among its inputs."""
    with torch_models.seeded(0):
        model = build()
        text = torch.randint(vocabulary, shape).to(device)
    nn.Module.to(model, device)
    # Else GPT-2 warns that it guesses this, its class not being in the library's table.
    model.loss_type = "ForCausalLM"
    return Case(
        name=name,
        model=model.train(),
        # The model shifts its labels; they share no storage with the tokens.
        inputs={"input_ids": text, "labels": text.clone()},
        loss=_own_loss,
        stages=None,
        every_block=partial(_under_checkpoints, segments=blocks),
        sequential_sqrt=partial(_sequential, blocks=blocks),
    )


def _own_loss(output: Any) -> Tensor:
    loss: Tensor = output.loss
    return loss


def _of_blocks(name: str, case: torch_models.Case, blocks: Blocks) -> Case:
    return Case(
        name=name,
        model=case.model,
        inputs=case.inputs,
        loss=case.loss,
        stages=case.stages,
        every_block=partial(_under_checkpoints, segments=blocks),
        sequential_sqrt=partial(_sequential, blocks=blocks),
    )


def _sequential(model: nn.Module, *, blocks: Blocks) -> nn.Module:
    return _under_checkpoints(
        model,
        segments=[
            [name for block in blocks[first:last] for name in block]
            for first, last in _cuts(len(blocks))
        ],
    )


def _cuts(count: int) -> list[tuple[int, int]]:
    """Return first and past-the-last block of each segment that gets a checkpoint.

    As in ``checkpoint_sequential``: the last segment, which also takes what the
    division leaves over, gets none.
    """
    segments = isqrt(count)
    size = count // segments
    return [(size * index, size * (index + 1)) for index in range(segments - 1)]


def _under_checkpoints(model: nn.Module, *, segments: Blocks) -> nn.Module:
    """Return the model with runs of its modules under a checkpoint each.

    Parameters
    ----------
    segments
        Names of modules that run one after another, each on what the last returned and
        on the same further arguments. The whole run happens where the first stood, the
        other places pass on what they get: so a run may cross containers, and
        containers keep their lengths.
    """
    model = _sharing(model)
    for names in segments:
        members = [model.get_submodule(name) for name in names]
        for name in names:
            model.set_submodule(name, _Passing())
        model.set_submodule(names[0], _Segment(members))
    return model


def _sharing(model: nn.Module) -> nn.Module:
    """Return a copy of the modules on the same parameters and buffers."""
    return copy.deepcopy(
        model, {id(t): t for t in chain(model.parameters(), model.buffers())}
    )


class _Segment(nn.Module):
    """Modules in sequence under one checkpoint."""

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        run = partial(self._run, **kwargs)
        return checkpoint(run, x, *args, use_reentrant=False)

    def _run(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        for member in self.members:
            x = member(x, *args, **kwargs)
        return x


class _Passing(nn.Module):
    """The place of a module that runs elsewhere."""

    def forward(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return x


class _SegmentedLstm(nn.Module):
    """Its steps in as many segments as the root of their number."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        assert isinstance(model, torch_models.Lstm)
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        state = self.model.start(x)
        done = 0
        for first, last in _cuts(x.shape[1]):
            state = checkpoint(self._run, x[:, first:last], state, use_reentrant=False)
            done = last
        hidden, _ = self._run(x[:, done:], state)
        return hidden

    def _run(self, x: Tensor, state: torch_models.State) -> torch_models.State:
        for index in range(x.shape[1]):
            state = self.model.cell(x[:, index], state)
        return state


def _check(case: Case) -> None:
    """Compare losses and gradients of the rewritten models with the model's.

    Raises
    ------
    SystemExit
        If any differs, on the processor in any bit; or if static bytes dominate.
    """
    static = static_bytes(case.model)
    peak = static + saved_bytes(case)
    if peak < DOMINANCE * static:
        raise SystemExit(f"{case.name}: static bytes are {static} of {peak}")
    expected = _gradients(case, case.model)
    for way, model in _ways(case).items():
        for (name, one), other in zip(
            expected.items(), _gradients(case, model).values(), strict=True
        ):
            same = (
                torch.equal(one, other)
                if one.device.type == "cpu"
                else torch.allclose(one, other, rtol=1e-3, atol=1e-6)
            )
            if not same:
                apart = (one - other).abs().max().item()
                raise SystemExit(f"{case.name}, {way}: {name} differs by {apart}")


def _gradients(case: Case, model: nn.Module) -> dict[str, Tensor]:
    """Return loss and gradients of a step, and drop the latter from the model.

    The names are those of the case's model, which shares its parameters.
    """
    torch.manual_seed(1)
    loss = step(model, case.inputs, case.loss)
    found = {
        name: parameter.grad
        for name, parameter in case.model.named_parameters()
        if parameter.grad is not None
    }
    case.model.zero_grad()
    return {"loss": loss, **found}


def _ways(case: Case) -> dict[str, nn.Module]:
    return {
        "store-all": case.model,
        "every block": case.every_block(case.model),
        "sequential": case.sequential_sqrt(case.model),
    }


def _times(case: Case, repeat: int) -> dict[str, measure.Measurement]:
    """Return the times of a step; the ways take turns, after one untimed round."""
    ways = _ways(case)
    samples: dict[str, list[measure.Sample]] = {way: [] for way in ways}

    def run(model: nn.Module) -> measure.Facts:
        step(model, case.inputs, case.loss)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return {}

    for turn in range(repeat + 1):
        for way, model in ways.items():
            case.model.zero_grad()
            sample = measure.sample_once(run, partial(_same, model))
            if turn > 0:
                samples[way].append(sample)
    return {
        way: measure.Measurement(samples=taken, rss=measure.peak_rss())
        for way, taken in samples.items()
    }


def _same(model: nn.Module) -> nn.Module:
    return model


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Describe or check the networks.")
    parser.add_argument("rows", nargs="*", metavar="PATTERN", help="networks to take")
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"))
    parser.add_argument("--repeat", type=int, default=REPEAT, metavar="N")
    parser.add_argument(
        "--check", action="store_true", help="compare gradients; measure nothing"
    )
    return parser


def main() -> None:
    """Print what the networks are, or that their gradients agree."""
    options = _parser().parse_args()
    offered = {family.name: family for family in families(options.device)}
    table = Table("network", "parameters", "static", "saved", "saved / static")
    for way in ("store-all", "every block", "sequential"):
        table.add_column(f"{way}, step")
    for name in measure.selected(list(offered), options.rows):
        case = offered[name].build(options.device)
        if options.check:
            _check(case)
            measure.console().print(f"{name}: gradients agree")
            continue
        static = static_bytes(case.model)
        saved = saved_bytes(case)
        table.add_row(
            name,
            measure.mebibytes(sum(p.nbytes for p in case.model.parameters())),
            measure.mebibytes(static),
            measure.mebibytes(saved),
            f"{saved / static:.1f}",
            *(
                f"{measure.seconds(taken.wall)} ({measure.spread(taken)})"
                for taken in _times(case, options.repeat).values()
            ),
        )
    if not options.check:
        measure.console().print(table)


if __name__ == "__main__":
    main()
