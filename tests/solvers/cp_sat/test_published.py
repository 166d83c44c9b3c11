"""Graphs that others have published, each proved optimal in its given order.

The percentages are ticks beyond computing every node once, in thousandths, rounded
down. With at most two computations of a node they are proved elsewhere; with any number
some are better.
"""

import os
from fractions import Fraction
from pathlib import Path

import pytest

import ckschedule as ck
from ckschedule import Status
from ckschedule.importers.node_link import import_node_link
from ckschedule.solvers.cp_sat import RetentionCpSat

NAIVE = {
    "checkmate/fcn_8_vgg_32_416_608_3": 13_484_795_520,
    "checkmate/mobilenet_512_224_224_3": 34_701_056_000,
    "checkmate/resnet50_256_224_224_3": 38_059_356_160,
    "checkmate/segnet_32_416_608_3": 19_943_884_288,
    "checkmate/vgg16_256_224_224_3": 15_825_108_992,
    "checkmate/vgg19_256_224_224_3": 17_058_234_368,
    "checkmate/vgg_unet_32_416_608_3": 20_959_461_376,
    "random_layered/n100": 46_319,
    "random_layered/n250": 146_840,
    "random_layered/n500": 284_439,
}
"""Bytes of running every node once; Moccasin's budgets are fractions of it."""

slow = pytest.mark.slow

CASES = [
    ("checkmate/vgg16_256_224_224_3", "0.9", 1967),
    pytest.param("checkmate/vgg19_256_224_224_3", "0.8", 2755, marks=slow),
    ("checkmate/vgg_unet_32_416_608_3", "0.8", 1983),
    pytest.param("checkmate/vgg_unet_32_416_608_3", "0.5", 6966, marks=slow),
    ("checkmate/segnet_32_416_608_3", "0.8", 206),
    pytest.param("checkmate/segnet_32_416_608_3", "0.5", 40660, marks=slow),
    ("checkmate/fcn_8_vgg_32_416_608_3", "0.9", 29),
    ("checkmate/fcn_8_vgg_32_416_608_3", "0.8", 136),
    pytest.param("checkmate/fcn_8_vgg_32_416_608_3", "0.7", 891, marks=slow),
    ("checkmate/fcn_8_vgg_32_416_608_3", "0.65", 1617),
    pytest.param("checkmate/mobilenet_512_224_224_3", "0.9", 163, marks=slow),
    pytest.param("checkmate/mobilenet_512_224_224_3", "0.5", 1634, marks=slow),
    pytest.param("checkmate/resnet50_256_224_224_3", "0.9", 108, marks=slow),
    pytest.param("checkmate/resnet50_256_224_224_3", "0.8", 278, marks=slow),
    pytest.param("random_layered/n100", "0.9", 789, marks=slow),
    pytest.param("random_layered/n100", "0.8", 2296, marks=slow),
    pytest.param("random_layered/n250", "0.9", 903, marks=slow),
    pytest.param("random_layered/n500", "0.9", 701, marks=slow),
]


@pytest.mark.parametrize(("name", "fraction", "percent"), CASES)
def test_a_published_graph_in_its_order(name: str, fraction: str, percent: int) -> None:
    """Any number of recomputations; none of these needs the whole time limit."""
    folder = os.environ.get("CKSCHEDULE_DATA")
    if not folder:
        pytest.skip("CKSCHEDULE_DATA names no folder of published graphs")
    graph = import_node_link(Path(folder) / f"{name}.json", recompute_backward=True)
    budget = int(Fraction(fraction) * NAIVE[name])
    result = ck.solve(graph, budget, RetentionCpSat(time_limit=300.0))
    assert result.status is Status.OPTIMAL
    assert result.overhead is not None
    assert result.overhead * 100_000 // graph.base_time == percent
