"""Reading returns what was written, whatever it was."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckschedule.costs import (
    Chain,
    Graph,
    Mode,
    Node,
    Stage,
    StaticMemory,
    Value,
    Variant,
)
from ckschedule.documents import from_json, to_json
from ckschedule.errors import DocumentError, InvalidScheduleError
from ckschedule.front import ParetoFront
from ckschedule.operations import Compute, Free
from ckschedule.result import Result, Scope, Status
from ckschedule.schedule import Schedule
from ckschedule.simulation import simulate

MakeFront = Callable[[Chain], ParetoFront]
Restart = Callable[[Chain, int], Schedule]

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
counts = st.integers(0, 100) | st.integers(0, 2**50)


@st.composite
def variants(draw: st.DrawFn, name: str) -> Variant:
    return Variant(
        name=name,
        saved=draw(counts),
        backward=draw(counts),
        forward=draw(st.none() | counts),
        needs_input=draw(st.booleans()),
        needs_output=draw(st.booleans()),
    )


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    labels = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    stages = [
        Stage(
            name="stage " + label,
            output=draw(counts),
            forward=draw(counts),
            variants=tuple(
                draw(variants(f"v{i}")) for i in range(draw(st.integers(1, 2)))
            ),
            gradient=draw(st.none() | counts),
            parameter_gradient=draw(st.integers(0, 9)),
        )
        for label in labels
    ]
    if draw(st.booleans()):
        stages.insert(0, Stage(name="frozen", output=draw(counts), forward=1))
    return Chain(
        name=draw(names),
        input=draw(counts),
        stages=stages,
        static=StaticMemory(parameters=draw(counts), buffers=draw(counts)),
        input_gradient=draw(st.booleans()) and not stages[0].frozen,
        time_unit=draw(st.sampled_from(["ns", "flop", "step"])),
    )


@settings(max_examples=60)
@given(chains())
def test_a_chain_comes_back_equal(chain: Chain) -> None:
    """All defaults are written out: no other version can resolve them anew."""
    text = to_json(chain)
    assert from_json(text) == chain
    assert to_json(chain) == text


@settings(max_examples=60)
@given(chains())
def test_a_graph_comes_back_equal(chain: Chain) -> None:
    """Graphs of chains use every field: modes, holds, consumes, kept values."""
    assert from_json(to_json(chain.to_graph())) == chain.to_graph()


def test_a_graph_with_unpinned_inputs_comes_back_equal() -> None:
    """No chain has them."""
    graph = Graph(
        values=(Value(name="a", size=1), Value(name="b", size=2)),
        nodes=(
            Node(
                name="n", modes=(Mode(name="m", time=1, outputs=("b",), needs=("a",)),)
            ),
        ),
        inputs=("a",),
        unpinned=("a",),
        targets=("b",),
    )
    assert from_json(to_json(graph)) == graph


@settings(max_examples=60)
@given(st.lists(st.builds(Compute, names, names) | st.builds(Free, names), max_size=20))
def test_a_schedule_comes_back_equal(operations: list[Compute | Free]) -> None:
    """Whatever its operations are called, and whether or not it is legal."""
    schedule = Schedule(operations)
    assert from_json(to_json(schedule)) == schedule


@settings(max_examples=40)
@given(chains().filter(lambda c: c.frozen_prefix == 0))
def test_a_front_comes_back_equal(make_front: MakeFront, chain: Chain) -> None:
    """Its points are simulated again, and every number agrees."""
    front = make_front(chain)
    read = from_json(to_json(front), model=chain)
    assert isinstance(read, ParetoFront)
    assert read == front
    assert [p.executions for p in read] == [p.executions for p in front]


@pytest.mark.parametrize("plain", [0, 2])
def test_a_result_comes_back_equal(
    chain: Chain, restart_schedule: Restart, plain: int
) -> None:
    """Its trace is simulated again, arrays included."""
    trace = simulate(chain, restart_schedule(chain, plain))
    result = Result(
        model=chain,
        status=Status.FEASIBLE,
        scope=Scope.UNRESTRICTED,
        budget=trace.peak + 1,
        solver="by hand",
        trace=trace,
        lower_bound=1,
        minimum_budget=None,
    )
    read = from_json(to_json(result), model=chain)
    assert isinstance(read, Result)
    assert read == result
    assert read.trace is not None
    assert np.array_equal(read.trace.live_during, trace.live_during)


def test_a_result_without_a_schedule_comes_back_equal(chain: Chain) -> None:
    """It knows no model, and needs none."""
    result = Result(
        model=chain,
        status=Status.INFEASIBLE,
        scope=Scope.PERSISTENT,
        budget=0,
        solver="by hand",
        trace=None,
        lower_bound=None,
        minimum_budget=99,
    )
    assert from_json(to_json(result)) == result


def test_numpy_integers_are_written_as_integers(chain: Chain) -> None:
    """Solvers compute with numpy; ``json`` refuses its integers."""
    result = Result(
        model=chain,
        status=Status.UNKNOWN,
        scope=Scope.PERSISTENT,
        budget=np.int64(5),  # type: ignore[arg-type]  # what a solver may leave there
        solver="by hand",
        trace=None,
        lower_bound=None,
        minimum_budget=None,
    )
    assert json.loads(to_json(result))["budget"] == 5


def test_a_float_is_not_written(chain: Chain) -> None:
    """Bytes and ticks are integers: a float would come back as something else."""
    result = Result(
        model=chain,
        status=Status.UNKNOWN,
        scope=Scope.PERSISTENT,
        budget=float("nan"),  # type: ignore[arg-type]  # the mistake under test
        solver="by hand",
        trace=None,
        lower_bound=None,
        minimum_budget=None,
    )
    with pytest.raises(DocumentError, match="budget is nan"):
        to_json(result)


def test_a_lone_surrogate_is_not_written() -> None:
    """No UTF-8 file can hold it; the error comes before any file is touched."""
    with pytest.raises(DocumentError, match="udc80"):
        to_json(Schedule([Free("x\udc80")]))


def test_something_else_is_not_written() -> None:
    """The message says what documents hold."""
    with pytest.raises(DocumentError, match="Chain, Graph"):
        to_json({"stages": 3})  # type: ignore[arg-type]  # the mistake under test


def test_an_illegal_schedule_is_not_written_with_its_model(chain: Chain) -> None:
    """A recorded model promises that the schedule runs on it."""
    with pytest.raises(InvalidScheduleError, match="operation 0"):
        to_json(Schedule([Free("x1")]), model=chain)


def test_a_front_shares_one_table_of_operations(front: ParetoFront) -> None:
    """800 points of 2,000 operations are 1.6 million integers, not as many objects."""
    tree = json.loads(to_json(front))
    assert all(isinstance(i, int) for p in tree["points"] for i in p["sequence"])
    used = {i for p in tree["points"] for i in p["sequence"]}
    assert used == set(range(len(tree["operations"])))


def test_a_schedule_of_a_thousand_stages_is_small(restart_schedule: Restart) -> None:
    """And nothing recurses along the chain."""
    stage = Stage(output=1, forward=1, variants=(Variant(saved=1, backward=1),))
    chain = Chain(input=1, stages=[stage] * 1000)
    schedule = restart_schedule(chain, 1000)
    text = to_json(schedule)
    assert len(text) < 70 * 3 * 1001 + 6 * len(schedule)
    assert from_json(text, model=chain) == schedule
    assert from_json(to_json(chain)) == chain


def test_a_written_front_with_a_wrong_number_is_refused(front: ParetoFront) -> None:
    """What cannot be read back is not written."""
    wrong = replace(front.points[-1], peak=front.points[-1].peak + 1)
    with pytest.raises(DocumentError, match=r"points\[\d\]\.peak"):
        to_json(replace(front, points=[*front.points[:-1], wrong]))


def test_a_code_outside_the_graph_is_refused(front: ParetoFront) -> None:
    """Compiled code would read beyond its arrays."""
    wrong = replace(front.points[0], codes=np.array([10**6], np.int64))
    with pytest.raises(DocumentError, match="outside"):
        to_json(replace(front, points=[wrong, *front.points[1:]]))
