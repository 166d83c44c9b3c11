"""Node-link graphs of Checkmate and Moccasin."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckschedule.costs import Graph
from ckschedule.errors import DocumentError, InvalidModelError, UnsupportedModelError
from ckschedule.importers import import_node_link, import_node_link_chain
from ckschedule.operations import Compute, Free, Operation
from ckschedule.schedule import Schedule
from ckschedule.simulation import Trace, simulate

Published = Callable[[str], Path]
Write = Callable[[object], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(tree: object) -> Path:
        path = tmp_path / "graph.json"
        path.write_text(tree if isinstance(tree, str) else json.dumps(tree))
        return path

    return write


def checkmate() -> dict[str, Any]:
    """Two layers, their loss and their backwards, as Checkmate writes them."""
    rows = [
        ("a", False, 1, 10),
        ("b", False, 2, 20),
        ("Loss", True, 7, 1),
        ("b_backward", True, 4, 20),
        ("a_backward", True, 3, 10),
    ]
    ends = [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3), (3, 4), (0, 4)]
    return {
        "directed": True,
        "multigraph": False,
        "graph": {"name": "tiny"},
        "nodes": [
            {"name": n, "backward": b, "cost_cpu": c, "cost_ram": r, "id": i}
            for i, (n, b, c, r) in enumerate(rows)
        ],
        "links": [{"source": s, "target": t} for s, t in ends],
    }


def layered() -> dict[str, Any]:
    """Four nodes of which number 1 is the last, as random layered graphs have it."""
    return {
        "directed": True,
        "multigraph": False,
        "graph": {"name": "layers", "order": [0, 3, 2, 1]},
        "nodes": [
            {"out_cost": 5, "param_cost": 2, "duration": 3, "name": i} for i in range(4)
        ],
        "links": [{"0": s, "1": t} for s, t in ((0, 2), (0, 3), (2, 1), (3, 1))],
    }


def run_in_order(graph: Graph) -> Trace:
    """Compute every node once, in order; free each value after its last reader."""
    last = {v.name: v.name for v in graph.values}
    for node in graph.nodes:
        for name in node.modes[0].needs:
            last[name] = node.name
    dying: dict[str, list[str]] = {node.name: [] for node in graph.nodes}
    for value, reader in last.items():
        if value not in graph.targets:
            dying[reader].append(value)
    operations: list[Operation] = []
    for node in graph.nodes:
        operations.append(Compute(node.name, "plain"))
        operations += [Free(value) for value in dying[node.name]]
    return simulate(graph, Schedule(operations))


def test_checkmate_s_dialect_is_weighted_pebbling(write: Write) -> None:
    """A node needs its predecessors' values and adds its own; backwards run once."""
    graph = import_node_link(write(checkmate()))
    assert (graph.name, graph.time_unit, graph.targets) == (
        "tiny",
        "step",
        ("a_backward",),
    )
    assert [value.size for value in graph.values] == [10, 20, 1, 20, 10]
    mode = graph.nodes[3].modes[0]
    assert (mode.needs, mode.time, mode.transient) == (("Loss", "a", "b"), 4, 20)
    assert [node.recomputable for node in graph.nodes] == [True, True] + [False] * 3
    # a + b + Loss + b_backward = 51 while b_backward runs.
    assert run_in_order(graph).peak == 51


def test_backward_nodes_may_be_declared_recomputable(write: Write) -> None:
    """The literature on these graphs lets every node run again."""
    graph = import_node_link(write(checkmate()), recompute_backward=True)
    assert all(node.recomputable for node in graph.nodes)


def test_the_layered_dialect_keeps_its_order_and_its_names(write: Write) -> None:
    """Links are "0" to "1", identifiers are names, and ``order`` is the file's own."""
    graph = import_node_link(write(layered()))
    assert [node.name for node in graph.nodes] == ["0", "3", "2", "1"]
    assert graph.targets == ("1",)
    assert graph.static.parameters == 8


@pytest.mark.parametrize(
    "order", [None, [1, 2, 3, 0], [0, 0, 2, 1], [0], "0321", [[0]]]
)
def test_an_order_that_is_none_is_replaced(write: Write, order: object) -> None:
    """By one in which each node follows its predecessors."""
    tree = layered()
    tree["graph"]["order"] = order
    graph = import_node_link(write(tree))
    assert [node.name for node in graph.nodes] == ["0", "2", "3", "1"]


def test_what_networkx_writes_today_is_read(write: Write) -> None:
    """Parallel edges count once; the key of the links is "edges" by default."""
    nx: Any = pytest.importorskip("networkx")
    graph = nx.MultiDiGraph(name="multi")
    for name in "ab":
        graph.add_node(name, duration=1, out_cost=2.0)
    graph.add_edge("a", "b")
    graph.add_edge("a", "b")
    read = import_node_link(write(nx.node_link_data(graph, edges="edges")))
    assert read.nodes[1].modes[0].needs == ("a",)
    assert [value.size for value in read.values] == [2, 2]


def test_the_forward_part_becomes_a_chain(write: Write) -> None:
    """Backward times come from the partners, the loss from what has none."""
    chain = import_node_link_chain(write(checkmate()))
    assert [stage.name for stage in chain.sequence] == ["a", "b", "Loss"]
    backward = [stage.variants[0].backward for stage in chain.sequence]
    assert backward == [3, 4, 7]
    assert chain.base_time == 17
    assert chain.input == 0


def test_a_graph_without_backward_nodes_is_no_training_graph(write: Write) -> None:
    """The message says what it can be imported as."""
    with pytest.raises(UnsupportedModelError, match="import the file as a graph"):
        import_node_link_chain(write(layered()))


def test_a_forward_node_that_reads_a_backward_one_is_in_no_chain(write: Write) -> None:
    """The edge must not be dropped without a word."""
    tree = checkmate()
    tree["nodes"].append(
        {"name": "c", "backward": False, "cost_cpu": 1, "cost_ram": 1, "id": 5}
    )
    tree["links"].append({"source": 4, "target": 5})
    with pytest.raises(UnsupportedModelError, match="'c' reads the backward node 'a_b"):
        import_node_link_chain(write(tree))


def changed(path: list[str | int], value: object) -> dict[str, Any]:
    tree = checkmate()
    place: Any = tree
    for part in path[:-1]:
        place = place[part]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return tree


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["nodes"], None, "'nodes' is missing"),
        (["links"], None, "'links' is missing"),
        (["directed"], False, "undirected"),
        (["nodes"], [], "no nodes"),
        (["nodes", 1], 3, r"nodes\[1\] is no object"),
        (["nodes", 1, "id"], [1], r"nodes\[1\] has no 'id'"),
        (["nodes", 1, "id"], 0, r"nodes\[1\] has the id 0 of an earlier"),
        (["nodes", 1, "name"], "a", r"nodes\[1\] has the name 'a' of an earlier"),
        (["nodes", 1, "cost_cpu"], None, "node 'b': cost_cpu is missing"),
        (["nodes", 1, "backward"], "no", "node 'b': backward is 'no'"),
        (["links", 2], {"source": 1}, r"links\[2\] has no 'source' and 'target'"),
        (["links", 2, "target"], 9, r"links\[2\]: target is 9"),
        (["links", 2, "target"], [0], r"links\[2\]: target is no number"),
    ],
)
def test_an_unreadable_graph_is_refused_by_its_place(
    write: Write, path: list[str | int], value: object, reason: str
) -> None:
    """Node or link."""
    with pytest.raises(DocumentError, match=reason):
        import_node_link(write(changed(path, value)))


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["nodes", 1, "cost_ram"], -1, "node 'b': cost_ram is -1"),
        (["nodes", 1, "cost_ram"], 1.5, "node 'b': cost_ram is 1.5"),
        (["nodes", 1, "cost_ram"], "20", "node 'b': cost_ram is '20'"),
        (["nodes", 1, "cost_ram"], 2**63, "beyond 2"),
        (["links", 2], {"source": 4, "target": 0}, "'a' depends on itself"),
    ],
)
def test_numbers_and_circles_that_cannot_be_meant_are_refused(
    write: Write, path: list[str | int], value: object, reason: str
) -> None:
    """With file and node."""
    with pytest.raises(InvalidModelError, match=reason):
        import_node_link(write(changed(path, value)))


def test_nodes_without_costs_are_refused(write: Write) -> None:
    """The message lists both dialects."""
    tree = {"nodes": [{"id": 0}], "links": []}
    with pytest.raises(DocumentError, match="node '0' has neither cost_cpu"):
        import_node_link(write(tree))


def test_text_that_is_no_json_is_refused(write: Write) -> None:
    """With the file's name."""
    with pytest.raises(DocumentError, match=r"graph\.json: no valid JSON at line 1"):
        import_node_link(write("{"))


CHECKMATE = {
    "fcn_8_vgg_32_416_608_3": (73, 13_484_795_520),
    "mobilenet_512_224_224_3": (185, 34_701_056_000),
    "resnet50_256_224_224_3": (353, 38_059_356_160),
    "segnet_32_416_608_3": (77, 19_943_884_288),
    "vgg16_256_224_224_3": (45, 15_825_108_992),
    "vgg19_256_224_224_3": (51, 17_058_234_368),
    "vgg_unet_32_416_608_3": (71, 20_959_461_376),
}
LAYERED = {
    "n100": (100, 46_319),
    "n250": (250, 146_840),
    "n500": (500, 284_439),
    "n1000": (1000, 608_619),
}


@pytest.mark.parametrize(
    ("name", "nodes", "peak"),
    [
        *((f"checkmate/{name}.json", *row) for name, row in CHECKMATE.items()),
        *((f"random_layered/{name}.json", *row) for name, row in LAYERED.items()),
    ],
)
def test_published_graphs_have_the_published_peaks(
    published: Published, name: str, nodes: int, peak: int
) -> None:
    """Peaks of the files' own order, from which Moccasin (ICML 2023) takes budgets."""
    graph = import_node_link(published(name))
    assert len(graph.nodes) == nodes
    trace = run_in_order(graph)
    assert trace.peak == peak
    assert trace.executions == nodes


@pytest.mark.parametrize("name", CHECKMATE)
def test_published_training_graphs_become_chains(
    published: Published, name: str
) -> None:
    """Nothing of their time is lost: forward, backward and loss."""
    path = published(f"checkmate/{name}.json")
    chain = import_node_link_chain(path)
    graph = import_node_link(path)
    assert chain.base_time == sum(node.modes[0].time for node in graph.nodes)
    assert len(chain.stages) >= 10
    assert chain.sequence[-1].name == "Loss"
