"""Which calls of which modules are stages, and why a model is no chain."""

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch_models import CASES, gpt, lstm, mlp, resnet, unet, vgg  # noqa: E402 - likewise

import ckschedule as ck  # noqa: E402 - likewise
from ckschedule.torch_backend.profiling.discovery import (  # noqa: E402 - likewise
    find_stages,
)


def found(
    model: nn.Module, *inputs: Tensor, stages: list[str] | None = None
) -> list[str]:
    return find_stages(model, inputs, {}, stages)


def linear() -> nn.Linear:
    return nn.Linear(4, 4)


def refusal(model: nn.Module, *inputs: Tensor, stages: list[str] | None = None) -> str:
    with pytest.raises(ck.errors.UnsupportedModelError) as refused:
        found(model, *inputs, stages=stages)
    return str(refused.value)


X = torch.ones(2, 4)


def test_children_of_a_sequential_are_stages() -> None:
    assert found(nn.Sequential(linear(), linear(), nn.ReLU()), X) == ["0", "1", "2"]


def test_nested_sequentials_are_opened() -> None:
    """Their children are a chain as well."""
    inner = nn.Sequential(linear(), nn.Sequential(linear(), linear()))
    model = nn.Sequential(linear(), inner)
    assert found(model, X) == ["0", "1.0", "1.1.0", "1.1.1"]


def test_blocks_of_a_module_list_are_stages_after_a_start() -> None:
    """What comes before is the start, what comes after belongs to the end."""
    case = gpt()
    blocks = [f"transformer.h.{i}" for i in range(3)]
    assert found(case.model, *case.inputs) == ["start", *blocks]


def test_groups_of_blocks_make_one_chain() -> None:
    """The usual residual network: several containers in a row."""
    case = resnet(blocks=(2, 2, 2, 2))
    groups = [f"layer{g}.{i}" for g in (1, 2, 3, 4) for i in (0, 1)]
    stem = [f"stem.{i}" for i in range(4)]
    assert found(case.model, *case.inputs) == [*stem, *groups]


def test_group_of_one_block_does_not_end_the_chain() -> None:
    """A container with one entry is a stage like any other."""
    case = resnet(blocks=(2, 1, 1, 1))
    assert case.stages is not None
    assert found(case.model, *case.inputs) == [*case.stages]


def test_patterns_name_blocks_and_not_their_insides() -> None:
    case = gpt()
    blocks = [f"transformer.h.{i}" for i in range(3)]
    assert found(case.model, *case.inputs, stages=["transformer.h.*"]) == [
        "start",
        *blocks,
    ]


def test_named_stages_run_in_the_order_of_their_calls() -> None:
    """Whatever the order in which they are named."""
    case = mlp(depth=1)
    names = [str(i) for i in range(4)]
    assert found(case.model, *case.inputs, stages=names[::-1]) == names


def test_names_of_a_chain_name_its_stages() -> None:
    """A chain's own names can be given back: calls and merged ones, too."""
    for case, stages in ((lstm(steps=3), ["cell"]), (vgg(), None)):
        names = found(case.model, *case.inputs, stages=stages)
        assert found(case.model, *case.inputs, stages=names) == names


def test_calls_of_one_module_are_numbered() -> None:
    case = lstm(steps=3)
    assert found(case.model, *case.inputs, stages=["cell"]) == [
        "cell",
        "cell#2",
        "cell#3",
    ]


def test_one_module_at_two_places_is_two_calls() -> None:
    layer = linear()
    names = found(nn.Sequential(layer, nn.Tanh(), layer), X)
    assert len(names) == 3
    assert names[0] == "0"


def test_in_place_stages_join_the_one_before() -> None:
    """A cut before one would ask for an output that is overwritten."""
    case = vgg()
    names = found(case.model, *case.inputs)
    assert names[:3] == [
        "features.0+features.1",
        "features.2+features.3",
        "features.4",
    ]


def test_chain_ends_where_the_model_goes_on_alone() -> None:
    """The flattening is nobody's child: the classifier belongs to the end."""
    case = vgg()
    assert not any("classifier" in name for name in found(case.model, *case.inputs))


def test_chain_with_the_flattening_as_a_module_goes_on() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2))
    assert found(model, torch.ones(1, 1, 4, 4)) == ["0+1", "2"]


def test_network_with_skips_is_refused_by_name() -> None:
    """A U-Net cut at its levels is no chain; the message names the first culprit."""
    case = unet()
    assert case.stages is not None
    words = refusal(case.model, *case.inputs, stages=[*case.stages])
    assert "'down.1'" in words
    assert "UNet" in words


def test_stage_that_reads_an_older_output_is_refused_by_name() -> None:
    class Skip(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = linear(), linear(), nn.Bilinear(4, 4, 4)

        def forward(self, x: Tensor) -> Tensor:
            first = self.a(x)
            out: Tensor = self.c(self.b(first), first)
            return out

    assert "'c' takes the output of" in refusal(Skip(), X, stages=["a", "b", "c"])


def test_end_that_reads_an_older_output_is_refused() -> None:
    """The last stage cannot be given it."""

    class Late(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = linear(), linear()

        def forward(self, x: Tensor) -> Tensor:
            first = self.a(x)
            out: Tensor = self.b(first) + first
            return out

    with pytest.raises(ck.errors.UnsupportedModelError, match="earlier stage"):
        ck.profile(Late(), X, loss=torch.sum, stages=["a", "b"])


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        (["layers"], "'layers', which matches no module"),
        (["0", "0.weight"], "'0.weight', which matches no module"),
        (["1", "1.0"], "'1.0', which lies inside"),
    ],
)
def test_names_that_mean_nothing_are_refused(stages: list[str], words: str) -> None:
    model = nn.Sequential(linear(), nn.Sequential(linear(), linear()))
    assert words in refusal(model, X, stages=stages)


def test_model_without_parts_is_refused() -> None:
    """And the message says what to do."""
    assert "stages=" in refusal(linear(), X)


def test_module_that_is_not_called_is_refused_by_name() -> None:
    class Idle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.idle = nn.ModuleList([linear(), linear()])

        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    assert "idle.0" in refusal(Idle(), X, stages=["idle.*"])


@pytest.mark.parametrize("name", sorted(CASES))
def test_finding_stages_leaves_the_model_alone(name: str) -> None:
    """Only looked at: no gradient, no buffer, no stream changes."""
    case = CASES[name]()
    buffers = {n: b.clone() for n, b in case.model.named_buffers()}
    stream = torch.get_rng_state()
    found(case.model, *case.inputs)
    assert torch.equal(stream, torch.get_rng_state())
    assert all(torch.equal(b, buffers[n]) for n, b in case.model.named_buffers())
    assert all(p.grad is None for p in case.model.parameters())
