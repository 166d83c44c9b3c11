"""Forward DAGs become chains without losing a byte or a tick."""

import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckschedule.costs import Chain, Stage
from ckschedule.errors import InvalidModelError
from ckschedule.importers import ForwardDag, Layer, coarsen
from ckschedule.importers.segment import Segment

nx: Any = pytest.importorskip("networkx")


def layer(
    name: str, inputs: str = "", *, output: int = 10, shares: str | None = None
) -> Layer:
    return Layer(
        name=name,
        forward=1,
        backward=2,
        output=output,
        inputs=tuple(inputs),
        shares=shares,
    )


def chain_of(*layers: Layer) -> Chain:
    return coarsen(ForwardDag(layers=layers))


def stage_names(chain: Chain) -> list[str]:
    return [stage.name for stage in chain.stages]


def only(chain: Chain) -> Stage:
    (stage,) = chain.stages
    return stage


@st.composite
def dags(draw: st.DrawFn) -> ForwardDag:
    """Layers that read mostly their neighbours; one data source now and then."""
    n = draw(st.integers(1, 9))
    layers: list[Layer] = []
    for i in range(n):
        near = st.integers(max(0, i - 3), max(0, i - 1))
        reads = draw(st.sets(near, max_size=2)) if i else set()
        source = i == 0 and n > 1 and draw(st.booleans())
        output = draw(st.integers(0, 9))
        alike = [k for k in sorted(reads) if layers[k].output == output]
        shares = f"n{alike[0]}" if draw(st.booleans()) and alike else None
        layers.append(
            Layer(
                name=f"n{i}",
                forward=draw(st.integers(0, 5)),
                backward=draw(st.integers(0, 5)),
                output=output,
                parameters=draw(st.integers(0, 3)),
                inputs=tuple(f"n{k}" for k in sorted(reads)),
                source=source,
                shares=shares,
            )
        )
    return ForwardDag(layers=draw(st.permutations(layers)))


@settings(max_examples=200)
@given(dags())
def test_nothing_is_lost(dag: ForwardDag) -> None:
    """Times add up, and every storage is an output or saved, once."""
    chain = coarsen(dag)
    layers = [entry for entry in dag.layers if not entry.source]
    assert sum(s.forward for s in chain.stages) == sum(e.forward for e in layers)
    backward = sum(s.variants[0].backward for s in chain.stages)
    assert backward == sum(e.backward for e in layers)
    sources = {entry.name for entry in dag.layers if entry.source}
    owned = [e.output for e in layers if e.shares is None or e.shares in sources]
    stored = sum(s.output + s.variants[0].saved for s in chain.stages)
    assert stored == sum(owned)
    assert chain.input == sum(e.output for e in dag.layers if e.source)
    assert chain.static.parameters == sum(e.parameters for e in layers)
    grads = sum(s.parameter_gradient for s in chain.stages)
    assert grads == chain.static.parameters


@settings(max_examples=200)
@given(dags())
def test_cuts_stand_where_every_path_passes(dag: ForwardDag) -> None:
    """networkx, asked layer by layer: no path from source to sink without it."""
    layers = [entry for entry in dag.layers if not entry.source]
    names = {entry.name for entry in layers}
    graph = nx.DiGraph([("source", "sink")])
    graph.remove_edge("source", "sink")
    for entry in layers:
        reads = [name for name in entry.inputs if name in names] or ["source"]
        graph.add_edges_from((name, entry.name) for name in reads)
    read = {name for entry in layers for name in entry.inputs}
    graph.add_edges_from((name, "sink") for name in names - read)
    shared = {entry.shares for entry in layers}
    sinks = names - read
    expected = set()
    for name in names - shared:
        rest = graph.copy()
        rest.remove_node(name)
        if not nx.has_path(rest, "source", "sink"):
            expected.add(name)
    stages = stage_names(coarsen(dag))
    assert set(stages[:-1]) | (expected & sinks) == expected
    assert set(stages[-1].split("+")) == sinks


@settings(max_examples=200)
@given(dags())
def test_transients_lie_between_what_stays_and_everything(dag: ForwardDag) -> None:
    """A plain forward holds at least its output and at most what it computes."""
    for stage in coarsen(dag).stages:
        assert stage.transient is not None
        everything = stage.output + stage.variants[0].saved
        assert stage.output <= stage.transient <= everything


@settings(max_examples=200)
@given(dags())
def test_a_backward_transient_is_the_most_that_lives(dag: ForwardDag) -> None:
    """Every level anew, from what has been computed and what has not.

    While layer i runs backward: saved outputs whose owner is layer i or earlier;
    gradients of layers up to i that a later layer yields, those of sinks until all
    sinks are done; gradients of parameters from i on; and what i yields, once more
    where it is there already.
    """
    layers = [entry for entry in dag.order if not entry.source]
    segment = Segment(layers, None, last=True)
    names = [entry.name for entry in layers]
    reads = [[names.index(n) for n in e.inputs if n in names] for e in layers]
    owner = list(range(len(layers)))
    for i, entry in enumerate(layers):
        if entry.shares in names:
            owner[i] = owner[names.index(entry.shares)]
    sinks = [i for i in range(len(layers)) if not any(i in r for r in reads)]
    leaving = {owner[i] for i in sinks}
    levels = [0]
    for i in range(len(layers)):
        live = sum(
            layers[k].output for k in range(i + 1) if owner[k] == k and k not in leaving
        )
        live += sum(
            layers[k].output
            for k in range(i + 1)
            if any(k in reads[j] for j in range(i + 1, len(layers)))
        )
        live += segment.output if min(sinks) <= i else 0
        live += sum(layers[j].parameters for j in range(i, len(layers)))
        live += sum(layers[k].output for k in reads[i])
        levels.append(live - segment.saved - segment.output)
    assert segment.backward_transient(0) == max(levels)


def test_a_straight_net_becomes_one_stage_a_layer() -> None:
    """In whatever order the layers are given."""
    chain = chain_of(layer("c", "b"), layer("a"), layer("b", "a"))
    assert stage_names(chain) == ["a", "b", "c"]
    assert [stage.variants[0].saved for stage in chain.stages] == [0, 0, 0]


def test_a_branch_becomes_one_stage() -> None:
    """a -> b -> c -> d with a skip from a to d: cuts at a and d only."""
    chain = chain_of(
        layer("a"), layer("b", "a"), layer("c", "b", output=5), layer("d", "ac")
    )
    assert stage_names(chain) == ["a", "d"]
    block = chain.stages[1]
    assert (block.forward, block.variants[0].backward) == (3, 6)
    assert (block.output, block.variants[0].saved) == (10, 15)
    # b + c = 15 when c runs; b is free before d: c + d = 15.
    assert block.transient == 15
    # Backward of d: gradients of a and c, 15; g_d goes (-10): 5. Backward of c: the
    # gradient of b, 10, level 15; then g_c (5) and c (5) go: 5. Backward of b: a
    # second gradient of a, 10, is added to the first: 15.
    assert block.variants[0].backward_transient == 15


def test_a_skip_around_the_whole_net_leaves_one_stage_and_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A chain with nothing to choose is worth a word."""
    with caplog.at_level(logging.WARNING):
        chain = chain_of(
            layer("a"), layer("b"), layer("c", "a"), layer("d", "bc", output=4)
        )
    assert stage_names(chain) == ["d"]
    assert "one stage" in caplog.text


def test_several_sinks_leave_together() -> None:
    """An auxiliary head forbids cuts from its branch to the end."""
    chain = chain_of(
        layer("a"), layer("b", "a"), layer("h", "b", output=1), layer("c", "b")
    )
    assert stage_names(chain) == ["a", "b", "h+c"]
    assert chain.stages[-1].output == 11


def test_an_in_place_layer_adds_no_storage() -> None:
    """The output of a no longer exists once b has overwritten it: no cut between."""
    chain = chain_of(layer("a"), layer("b", "a", shares="a"), layer("c", "b"))
    assert stage_names(chain) == ["b", "c"]
    first = chain.stages[0]
    assert (first.output, first.variants[0].saved, first.transient) == (10, 0, 10)


def test_data_sources_are_the_input_and_take_no_time() -> None:
    """Loading is never repeated; an edge from the data cuts nothing off."""
    data = Layer(name="x", forward=99, backward=0, output=7, source=True)
    chain = chain_of(data, layer("a", "x"), layer("b", "ax"), layer("c", "b"))
    assert chain.input == 7
    assert stage_names(chain) == ["a", "b", "c"]
    assert sum(stage.forward for stage in chain.stages) == 3


def test_layers_without_bytes_and_time_are_layers() -> None:
    """Profiles have them."""
    empty = Layer(name="b", forward=0, backward=0, output=0, inputs=("a",))
    assert only_zero(chain_of(layer("a"), empty, layer("c", "b")).stages[1])


def only_zero(stage: Stage) -> bool:
    return (stage.output, stage.forward, stage.variants[0].saved) == (0, 0, 0)


def test_a_long_net_needs_no_recursion() -> None:
    """20,000 layers, and seconds are far away."""
    layers = [
        Layer(
            name=f"n{i}",
            forward=1,
            backward=1,
            output=1,
            inputs=(f"n{i - 1}",) if i else (),
        )
        for i in range(20_000)
    ]
    assert len(coarsen(ForwardDag(layers=layers)).stages) == 20_000


@pytest.mark.parametrize(
    ("layers", "reason"),
    [
        ([layer("a", "b"), layer("b", "a")], "'a' depends on itself through a circle"),
        ([layer("a", "a")], "'a' depends on itself"),
        ([layer("a", "z")], "'a' reads the unknown layer 'z'"),
        ([layer("a"), layer("a")], "layer 'a' occurs twice"),
        ([], "no layers"),
        ([layer("a", output=2**62), layer("b", output=2**62)], "beyond 2"),
    ],
)
def test_a_dag_that_cannot_be_meant_is_refused(
    layers: list[Layer], reason: str
) -> None:
    """With the culprit's name."""
    with pytest.raises(InvalidModelError, match=reason):
        ForwardDag(layers=layers)


def test_a_layer_shares_only_what_it_reads() -> None:
    """And a data source reads nothing."""
    with pytest.raises(InvalidModelError, match="shares the storage of 'z'"):
        layer("a", "b", shares="z")
    with pytest.raises(InvalidModelError, match="data source but reads 'b'"):
        Layer(name="a", forward=0, backward=0, output=0, inputs=("b",), source=True)
