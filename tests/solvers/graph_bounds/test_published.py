"""Bounds on published graphs: near the known optima, and some of them proofs."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ckschedule.costs import Graph
from ckschedule.importers import import_node_link
from ckschedule.simulation import measure
from ckschedule.solvers.completion import complete
from ckschedule.solvers.graph_bounds import (
    combinatorial_bound,
    least_budget,
    proves_infeasible,
)
from ckschedule.solvers.order import Order
from ckschedule.solvers.pebbling import pebbling_of

NETWORKS = {
    "fcn8": "checkmate/fcn_8_vgg_32_416_608_3.json",
    "mobilenet": "checkmate/mobilenet_512_224_224_3.json",
    "n100": "random_layered/n100.json",
    "n250": "random_layered/n250.json",
    "n1000": "random_layered/n1000.json",
    "resnet50": "checkmate/resnet50_256_224_224_3.json",
    "segnet": "checkmate/segnet_32_416_608_3.json",
    "unet": "checkmate/vgg_unet_32_416_608_3.json",
    "vgg16": "checkmate/vgg16_256_224_224_3.json",
    "vgg19": "checkmate/vgg19_256_224_224_3.json",
}

Load = Callable[[str], Graph]


@pytest.fixture(scope="module")
def load() -> Load:
    """Return a published graph, or skip."""
    folder = os.environ.get("CKSCHEDULE_DATA")
    if not folder:
        pytest.skip("CKSCHEDULE_DATA names no folder of published graphs")
    return lambda name: import_node_link(
        Path(folder) / NETWORKS[name], recompute_backward=True
    )


def naive_peak(graph: Graph) -> int:
    """The peak of running every node once in the given order."""
    pebbling = pebbling_of(graph)
    assert pebbling is not None
    codes = complete(pebbling.encoding, pebbling.mode)
    return measure(pebbling.encoding, codes)[0]


def thousandths(graph: Graph, percent: int, order: Order) -> int:
    """The bound within a part of the naive peak: thousandths of a percent, rounded."""
    budget = naive_peak(graph) * percent // 100
    assert proves_infeasible(graph, budget, order) is None
    ticks = combinatorial_bound(graph, budget, order).ticks
    more = ticks - graph.base_time
    return (more * 200_000 + graph.base_time) // (2 * graph.base_time)


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize(
    ("name", "percent", "optimum"),
    [
        ("fcn8", 90, 29),
        ("fcn8", 80, 136),
        ("fcn8", 65, 1617),
        ("resnet50", 90, 108),
        ("mobilenet", 80, 370),
        ("segnet", 80, 207),
        ("unet", 80, 1984),
        ("unet", 60, 4451),
        ("vgg16", 90, 1968),
    ],
)
def test_the_bound_is_a_proof_of_known_optima(
    load: Load, name: str, percent: int, optimum: int, order: Order
) -> None:
    """Of the given order, by constraint programs that ran for seconds to minutes.

    As no bound of any order is above them, reordering gains nothing there.
    """
    assert thousandths(load(name), percent, order) == optimum


@pytest.mark.parametrize(
    ("name", "percent", "at_least", "optimum"),
    [
        ("fcn8", 70, 891, 892),
        ("n100", 90, 789, 789),
        ("n100", 80, 1528, 2296),
        ("n250", 90, 751, 904),
        ("resnet50", 80, 278, 335),
        ("segnet", 50, 40655, 40660),
        ("unet", 50, 6369, 6967),
        ("vgg19", 80, 2685, 4851),
        # Published: 0.7 and 3.4 percent.
        ("n1000", 90, 660, 700),
        ("n1000", 80, 2250, 3400),
    ],
)
def test_the_bound_comes_near_to_what_is_known(
    load: Load, name: str, percent: int, at_least: int, optimum: int
) -> None:
    """Optima, or the best schedules that were published."""
    assert at_least <= thousandths(load(name), percent, Order.GIVEN) <= optimum


@pytest.mark.parametrize("name", NETWORKS)
def test_the_least_budget_is_at_least_the_largest_working_set(
    load: Load, name: str
) -> None:
    """And below what works."""
    graph = load(name)
    pebbling = pebbling_of(graph)
    assert pebbling is not None
    working = max(
        int(pebbling.size[v] + pebbling.size[row].sum())
        for v, row in enumerate(pebbling.predecessors)
    )
    least = least_budget(graph).bytes
    assert working + pebbling.base <= least <= naive_peak(graph)
    assert proves_infeasible(graph, least - 1, Order.FREE) is not None
