"""ResNet and VGG: published parameter counts, and the bytes of Chen et al."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckschedule.catalog import resnet, vgg
from ckschedule.catalog.depths import blocks_of
from ckschedule.costs.chain import Chain
from ckschedule.errors import InvalidModelError


def feature_maps(chain: Chain) -> int:
    """Return the bytes that live when the backward starts and nothing was dropped."""
    return sum(s.output + s.variants[0].saved for s in chain.sequence)


@pytest.mark.parametrize(
    ("depth", "parameters"),
    [
        (18, 11_689_512),
        (34, 21_797_672),
        (50, 25_557_032),
        (101, 44_549_160),
        (152, 60_192_808),
    ],
)
def test_resnets_have_the_parameters_of_torchvision(
    depth: int, parameters: int
) -> None:
    """Widths, shortcuts and norms are all in this number."""
    chain = resnet(depth=depth, batch=1)
    assert chain.static.parameters == 4 * parameters


def test_resnet_50_has_the_running_statistics_of_torchvision() -> None:
    """53 batch norms over 26,560 channels: two fp32 numbers each, and a counter."""
    assert resnet(depth=50, batch=1).static.buffers == 8 * 26_560 + 8 * 53


def test_preactivation_differs_by_its_norms_alone() -> None:
    """Same convolutions: the norms before them have the channels before them.

    Per group of width w the post form has norms over w + w + 4w channels a block and
    4w for the projection; the pre form over in + w + w. The final norm has 2048.
    """
    post = resnet(depth=50, batch=1).static.parameters // 4
    pre = resnet(depth=50, batch=1, preactivation=True).static.parameters // 4
    widths, blocks = (64, 128, 256, 512), (3, 4, 6, 3)
    inputs = sum(
        (64 if w == 64 else 2 * w) + 4 * w * (n - 1)
        for w, n in zip(widths, blocks, strict=True)
    )
    outputs = sum(4 * w * (n + 1) for w, n in zip(widths, blocks, strict=True))
    assert post - pre == 2 * (outputs - inputs - 2048)


def test_resnet_1001_has_the_feature_maps_of_chen() -> None:
    """48 GB without recomputation, at batch 32 and 224 x 224 (arXiv 1604.06174)."""
    chain = resnet(depth=1001, preactivation=True, optimizer="none")
    assert round(feature_maps(chain) / 10**9) == 48
    assert chain.static.total == 0
    assert chain.name == "resnet-1001-pre"
    assert len(chain.stages) == 1 + 333 + 1


@pytest.mark.parametrize("preactivation", [True, False])
def test_bottleneck_block_costs_twelve_widths(preactivation: bool) -> None:
    """Width 64 at 56 x 56: 12 * 64 channels of fp32, and two statistics per channel."""
    chain = resnet(depth=50, batch=2, preactivation=preactivation)
    block = chain.stages[2]
    pixels = 2 * 56**2
    statistics = 64 + 64 + 256
    assert block.output == 4 * 256 * pixels
    assert block.output + block.variants[0].saved == (
        12 * 64 * 4 * pixels + 8 * statistics
    )


def test_forward_flops_are_those_published() -> None:
    """ResNet-50 takes 4.09 G multiply-adds per 224 x 224 image; the rest is cheap."""
    chain = resnet(depth=50, batch=1, device=None)
    assert chain.time_unit == "flop"
    assert 2 * 4.0e9 < sum(s.forward for s in chain.sequence) < 2 * 4.3e9


@pytest.mark.parametrize(
    ("depth", "blocks"),
    [
        (50, (3, 4, 6, 3)),
        (101, (3, 4, 23, 3)),
        (152, (3, 8, 36, 3)),
        (1001, (83, 83, 83, 84)),
    ],
)
def test_imagenet_depths_have_their_published_blocks(
    depth: int, blocks: tuple[int, ...]
) -> None:
    """He et al. 2015, table 1; other depths are split evenly."""
    assert blocks_of(depth, "imagenet") == ("bottleneck", blocks)


@pytest.mark.parametrize(
    ("depth", "kind", "each"),
    [
        (20, "basic", 3),
        (110, "basic", 18),
        (164, "bottleneck", 18),
        (1001, "bottleneck", 111),
        (1202, "basic", 200),
    ],
)
def test_cifar_depths_have_their_published_blocks(
    depth: int, kind: str, each: int
) -> None:
    """He et al. 2015, section 4.2, and 2016, section 4."""
    assert blocks_of(depth, "cifar") == (kind, (each,) * 3)


@given(depth=st.integers(14, 2000).filter(lambda d: d not in (18, 34)))
def test_blocks_add_up_to_the_depth(depth: int) -> None:
    """Either a network has the depth it says, or there is none."""
    if depth % 3 != 2:
        with pytest.raises(InvalidModelError, match="nearest depths"):
            blocks_of(depth, "imagenet")
    else:
        kind, blocks = blocks_of(depth, "imagenet")
        assert kind == "bottleneck"
        assert 3 * sum(blocks) + 2 == depth


def test_impossible_depth_names_the_nearest() -> None:
    """The way out is in the message."""
    with pytest.raises(InvalidModelError, match=r"depth is 1000.*998 or 1001"):
        resnet(depth=1000)
    with pytest.raises(InvalidModelError, match=r"depth is 1.*nearest.* 8,"):
        resnet(depth=1, form="cifar")


def test_own_blocks_override_the_depth() -> None:
    """The generator of Chen et al. has 3, 24, 36, 3 blocks."""
    own = resnet(blocks=(3, 24, 36, 3), batch=1)
    assert own == resnet(depth=200, batch=1)
    assert len(resnet(blocks=[1, 1, 1], block="basic", form="cifar").stages) == 5


def test_half_precision_halves_the_feature_maps() -> None:
    """All but indices, statistics and log-probabilities is two bytes wide."""
    full = resnet(depth=50, batch=4).stages[3]
    half = resnet(depth=50, batch=4, dtype="bf16").stages[3]
    assert full.output == 2 * half.output


@pytest.mark.parametrize(
    ("depth", "parameters"),
    [
        (11, 132_863_336),
        (13, 133_047_848),
        (16, 138_357_544),
        (19, 143_667_240),
    ],
)
def test_vggs_have_the_parameters_of_torchvision(depth: int, parameters: int) -> None:
    """Simonyan and Zisserman, table 2, to the last bias."""
    assert vgg(depth=depth, batch=1).static.parameters == 4 * parameters


def test_vgg_with_batch_norm_has_the_parameters_of_torchvision() -> None:
    """Two per channel more: 138,365,992 for 16 layers."""
    assert vgg(batch=1, batch_norm=True).static.parameters == 4 * 138_365_992


def test_vgg_has_a_stage_per_convolution_pooling_and_connection() -> None:
    """13 + 5 + 3 for the sixteen layers; a convolution saves nothing of its own."""
    chain = vgg(depth=16, batch=1)
    assert len(chain.stages) == 21
    first, pool = chain.stages[0], chain.stages[2]
    assert first.output == 4 * 64 * 224**2
    (variant,) = first.variants
    assert (variant.saved, variant.needs_input, variant.needs_output) == (0, True, True)
    # An 8-byte index for each maximum.
    assert pool.variants[0].saved == 8 * 64 * 112**2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch": 0}, "resnet: batch is 0; it must be 1 or more"),
        ({"depth": 50.0}, "resnet: depth is 50.0, a float"),
        ({"form": "mnist"}, "form is 'mnist'; choose one of imagenet, cifar"),
        ({"block": "wide"}, "block is 'wide'; choose one of bottleneck, basic"),
        ({"blocks": (1, 2)}, "blocks has 2 entries; .* 4 groups"),
        ({"blocks": 3}, "blocks is 3; give one number for each group"),
        ({"blocks": (1, 1, 0, 1)}, "blocks entry is 0"),
        ({"dtype": "fp64"}, "dtype is 'fp64'; choose one of fp32"),
        ({"device": "tpu"}, "device is 'tpu'; choose one of h200"),
        ({"optimizer": None}, "optimizer is None; choose one of adamw"),
        ({"preactivation": 1}, "preactivation is 1; give True or False"),
    ],
)
def test_resnet_refuses_what_cannot_be_meant(
    arguments: dict[str, int], message: str
) -> None:
    """Each message names the argument, the value and the way out."""
    with pytest.raises(InvalidModelError, match=message):
        resnet(**arguments)  # type: ignore[arg-type]  # misuse is the subject


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"depth": 17}, "depth is 17; choose one of 11, 13, 16, 19"),
        ({"depth": 16.0}, "depth is 16.0, a float"),
        ({"image": 31}, "image is 31; five poolings need 32"),
        ({"classes": -1}, "classes is -1"),
        ({"batch_norm": "yes"}, "batch_norm is 'yes'"),
    ],
)
def test_vgg_refuses_what_cannot_be_meant(
    arguments: dict[str, int], message: str
) -> None:
    """Each message names the argument, the value and the way out."""
    with pytest.raises(InvalidModelError, match=message):
        vgg(**arguments)  # type: ignore[arg-type]  # misuse is the subject
