"""PipeDream's profiles and their traps."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckschedule.errors import DocumentError, InvalidModelError
from ckschedule.importers import coarsen, import_pipedream, read_pipedream

Published = Callable[[str], Path]


def row(
    name: str,
    description: str,
    forward: str = "1.000",
    size: str = "8.000",
    backward: str = "2.000",
    parameters: str = "0.000",
) -> str:
    return (
        f"{name} -- {description} -- forward_compute_time={forward}, "
        f"backward_compute_time={backward}, activation_size={size}, "
        f"parameter_size={parameters}\n"
    )


SAMPLE = (
    row("node3", "ReLU(inplace)", "0.539")
    + row("node2", "Conv2d(3, 64, kernel_size=(11, 11), stride=(4, 4))", "22.316")
    + row("node10", "Linear(in_features=4, bias=True)", size="5000000000.000")
    + row("node5", "Size(0)", "0.000", "4.000", "0.000")
    + row("node4", "MaxPool2d(kernel_size=3)", "0.391", "6.000")
    + row("node6", "View(9216)", "0.000", "6.000", "0.000")
    + row("node7", "Dropout(p=0.5)", "0.000", "0.000", "0.000")
    + row("node1", "Input", "635.902", "40.000", "0.000")
    + "\tnode7 -- node10\n\tnode4 -- node5\n\tnode5 -- node6\n\tnode4 -- node6\n"
    + "\tnode6 -- node7\n\tnode1 -- node2\n\tnode3 -- node4\n\tnode2 -- node3"
)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "graph.txt"
        path.write_text(text, encoding="utf-8")
        return path

    return write


Write = Callable[[str], Path]


def test_the_traps_of_a_profile(write: Write) -> None:
    """In one small file: each assertion is one trap."""
    chain = import_pipedream(write(SAMPLE))
    # File order is not topological, and "node10" comes after "node7". The in-place ReLU
    # lies in the convolution's output, the view in the pooling's, and the node of its
    # size is jumped over.
    names = [stage.name for stage in chain.stages]
    assert names == ["node3", "node6", "node7", "node10"]
    relu, view, dropout, linear = chain.stages
    assert (relu.output, relu.variants[0].saved) == (8, 0)
    assert (view.output, view.variants[0].saved) == (6, 4)
    # Zero bytes and zero time are legal.
    assert (dropout.output, dropout.forward, dropout.variants[0].backward) == (0, 0, 0)
    # Sums beyond 2**32.
    assert linear.output == 5_000_000_000
    # Milliseconds become nanoseconds, exactly.
    assert relu.forward == 22_855_000
    # Loading is not part of any stage; the data is the input.
    assert chain.input == 40
    assert chain.time_unit == "ns"
    assert chain.name == "graph"


def test_every_row_is_a_layer(write: Write) -> None:
    """Before coarsening nothing is dropped, so that sums are the file's."""
    dag = read_pipedream(write(SAMPLE))
    assert [layer.name for layer in dag.order][:3] == ["node1", "node2", "node3"]
    assert sum(layer.output for layer in dag.layers) == 5_000_000_072
    assert [layer.name for layer in dag.layers if layer.source] == ["node1"]


def test_a_residual_sum_in_place_overwrites_what_nobody_else_reads(
    write: Write,
) -> None:
    """The shortcut is saved by the convolution beside it, and must stay."""
    text = (
        row("node1", "ReLU(inplace)")
        + row("node2", "Conv2d(1)")
        + row("node3", "Add(inplace)")
        + "\tnode1 -- node2\n\tnode1 -- node3\n\tnode2 -- node3\n"
    )
    dag = read_pipedream(write(text))
    assert [layer.shares for layer in dag.layers] == [None, None, "node2"]
    assert [stage.name for stage in coarsen(dag).stages] == ["node1", "node3"]


def test_a_setting_that_says_not_in_place_is_believed(write: Write) -> None:
    """Newer versions of torch print ``inplace=False``."""
    rows = row("node1", "Conv2d(1)"), row("node2", "Dropout(p=0.5, inplace=False)")
    text = "".join(rows) + "\tnode1 -- node2\n"
    assert [layer.shares for layer in read_pipedream(write(text)).layers] == [None] * 2


def test_several_sinks_leave_together(write: Write) -> None:
    """Inception's auxiliary classifier."""
    text = (
        "".join(row(f"node{i}", "Conv2d(1)") for i in (1, 2, 3))
        + "\tnode1 -- node2\n\tnode1 -- node3\n"
    )
    assert [s.name for s in import_pipedream(write(text)).stages] == [
        "node1",
        "node2+node3",
    ]


def test_sizes_in_a_list_are_added(write: Write) -> None:
    """A node with several outputs."""
    text = row("node1", "LSTM(4)", size="[1.0; 2.0]")
    assert read_pipedream(write(text)).layers[0].output == 3


def test_a_partitioned_profile_is_read(write: Write) -> None:
    """PipeDream's optimizer adds a fourth part."""
    text = row("node1", "Conv2d(1)").strip() + " -- stage_id=1\n"
    assert len(read_pipedream(write(text)).layers) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no node"),
        ("hello\n", "line 1: a node is"),
        (row("node1", "Conv", "x"), r"line 1 \('node1'\): forward_compute_time is 'x'"),
        (row("node1", "Conv", "nan"), "forward_compute_time is 'nan'"),
        (row("node1", "Conv", "-1.0"), "forward_compute_time is '-1.0'"),
        (row("node1", "Conv", "1e999999999"), "forward_compute_time is"),
        (row("node1", "Conv", size=""), "activation_size is ''"),
        (row("node1", "Conv").replace("parameter_size", "p"), "parameter_size is miss"),
        (row("node1", "Conv") * 2, "line 2: 'node1' occurs twice"),
        (row("node1", "Conv") + "\tnode1 -- node9\n", "line 2: the edge names 'node9'"),
        (row("node1", "Conv") + "\tnode1\n", "line 2: an edge is"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(
    write: Write, text: str, reason: str
) -> None:
    """With file and number."""
    with pytest.raises(DocumentError, match=reason):
        read_pipedream(write(text))


@settings(max_examples=150)
@given(st.data())
def test_any_change_of_a_profile_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Never another exception."""
    start = data.draw(st.integers(0, len(SAMPLE)))
    end = data.draw(st.integers(start, min(len(SAMPLE), start + 5)))
    junk = data.draw(st.text("0123456789.e-=[; \t\nnode\0", max_size=5))
    path = tmp_path_factory.getbasetemp() / "changed.txt"
    path.write_text(SAMPLE[:start] + junk + SAMPLE[end:], encoding="utf-8")
    with suppress(DocumentError, InvalidModelError):
        import_pipedream(path)


def test_a_circle_is_refused(write: Write) -> None:
    """With a layer on it."""
    text = row("node1", "Conv") + row("node2", "Conv")
    with pytest.raises(InvalidModelError, match="'node1' depends on itself"):
        read_pipedream(write(text + "\tnode1 -- node2\n\tnode2 -- node1\n"))


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    """With the byte at fault."""
    path = tmp_path / "graph.txt"
    path.write_bytes(b"node1\xff")
    with pytest.raises(DocumentError, match="byte 5 is no UTF-8"):
        read_pipedream(path)


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "size", "largest", "forward", "backward"),
    [
        ("alexnet", 23, 23, 1_278_713_860, 198_246_400, 680_703, 40_520),
        ("densenet121", 429, 487, 12_527_921_156, 205_520_896, 186_489, 148_751),
        ("inception_v3", 326, 362, 16_686_773_768, 708_083_712, 310_969, 399_769),
        ("resnet101", 347, 380, 14_458_415_108, 205_520_896, 207_723, 213_786),
        ("resnet50", 177, 193, 19_308_728_324, 411_041_792, 201_450, 260_931),
        ("squeezenet1_0", 68, 76, 12_476_317_700, 1_167_949_824, 587_884, 172_119),
        ("vgg16", 41, 41, 14_759_219_204, 1_644_167_168, 251_874, 438_633),
    ],
)
def test_published_profiles_import_with_their_sums(
    published: Published,
    name: str,
    nodes: int,
    edges: int,
    size: int,
    largest: int,
    forward: int,
    backward: int,
) -> None:
    """Sums of the files' columns, times in microseconds; most bytes pass 2**32."""
    dag = read_pipedream(published(f"pipedream/{name}.txt"))
    assert len(dag.layers) == nodes
    assert sum(len(layer.inputs) for layer in dag.layers) == edges
    assert sum(layer.output for layer in dag.layers) == size
    assert max(layer.output for layer in dag.layers) == largest
    assert sum(layer.forward for layer in dag.layers) == forward * 1000
    assert sum(layer.backward for layer in dag.layers) == backward * 1000
    chain = coarsen(dag)
    assert len(chain.stages) > 10
    assert chain.base_time < (forward + backward) * 1000
