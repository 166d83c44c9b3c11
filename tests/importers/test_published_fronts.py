"""Published networks, from file to exact front."""

from collections.abc import Callable
from pathlib import Path

import pytest

import ckschedule as ck
from ckschedule import Chain, ChainDP

PIPEDREAM = (
    "alexnet",
    "densenet121",
    "inception_v3",
    "resnet101",
    "resnet50",
    "squeezenet1_0",
    "vgg16",
)
CHECKMATE = (
    "fcn_8_vgg_32_416_608_3",
    "mobilenet_512_224_224_3",
    "resnet50_256_224_224_3",
    "segnet_32_416_608_3",
    "vgg16_256_224_224_3",
    "vgg19_256_224_224_3",
    "vgg_unet_32_416_608_3",
)
FILES = [
    *(("pipedream", f"pipedream/{name}.txt") for name in PIPEDREAM),
    *(("node-link-chain", f"checkmate/{name}.json") for name in CHECKMATE),
]


@pytest.mark.parametrize(("file_format", "name"), FILES)
def test_a_published_network_has_an_exact_front(
    published: Callable[[str], Path], file_format: str, name: str
) -> None:
    """Measured sizes and times, skips coarsened into stages."""
    chain = ck.import_model(published(name), format=file_format)
    assert isinstance(chain, Chain)
    front = ck.pareto(chain, ChainDP())
    assert front.exact
    assert front.fastest.makespan <= chain.base_time
    assert front.minimum.peak < ck.solve(chain, "100%").budget
    for point in (front.minimum, front.knee, front.fastest):
        assert ck.solve(chain, point.peak).makespan == point.makespan
