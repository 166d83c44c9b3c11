"""What pictures show of a schedule is what the simulator measured."""

import numpy as np
import pytest
from hypothesis import given, settings
from plotting.graphs import diamond
from strategies import chains

import ckschedule as ck
from ckschedule.plotting.timeline import clock_of, layout_of, timeline_of
from ckschedule.simulation import Trace


def total(trace: Trace, model: ck.Model) -> list[int]:
    line = timeline_of(trace, model)
    sums = line.levels.sum(axis=0) + line.transient + model.static.total
    return [int(level) for level in sums]


@given(chains(max_stages=3))
@settings(max_examples=40)
def test_the_kinds_add_up_to_the_simulators_level(chain: ck.Chain) -> None:
    """At every operation of every point: nothing is left out or counted twice."""
    for point in ck.pareto(chain):
        assert total(point.trace, chain) == point.trace.live_during.tolist()


def test_a_graphs_kinds_add_up_as_well() -> None:
    """Its values are inputs and all others."""
    graph = diamond()
    for point in ck.pareto(graph):
        assert total(point.trace, graph) == point.trace.live_during.tolist()


@given(chains(max_stages=3))
@settings(max_examples=20)
def test_an_interval_is_a_value_that_lives(chain: ck.Chain) -> None:
    """Replayed, the values of the intervals at the peak are the simulator's."""
    trace = ck.pareto(chain).minimum.trace
    line = timeline_of(trace, chain)
    at = trace.peak_index
    alive = line.value[(line.born < at) & (line.died >= at)]
    names = {trace.graph.values[v].name for v in alive}
    if at < 0:
        names = set(trace.graph.inputs)
    expected = {k for k in trace.live_at_peak if not k.startswith("transient of ")}
    assert names == expected


def test_recomputations_are_told_from_first_runs() -> None:
    """As often as the simulator counts them."""
    chain = ck.catalog.uniform(stages=6, saved=2)
    point = ck.pareto(chain).minimum
    again = timeline_of(point.trace, chain).again
    assert int(again.sum()) == point.recomputations > 0


def test_time_runs_to_the_makespan_and_operations_to_their_number() -> None:
    """Both axes end where the schedule does."""
    chain = ck.catalog.uniform(stages=6)
    trace = ck.pareto(chain).fastest.trace
    assert clock_of(trace, "makespan").edges[-1] == trace.makespan
    assert clock_of(trace, "operations").edges[-1] == len(trace.schedule)
    assert np.all(np.diff(clock_of(trace, "makespan").edges) >= 0)


def test_a_schedule_without_time_is_told_by_operations() -> None:
    """All of it would stand at one place."""
    stage = ck.Stage(output=1, forward=0, variants=[ck.Variant(saved=1, backward=0)])
    chain = ck.Chain(input=1, stages=[stage] * 2)
    trace = ck.pareto(chain).fastest.trace
    assert clock_of(trace, "makespan").label == "operation"


@pytest.mark.parametrize("frozen", [0, 1])
def test_rows_are_stages(frozen: int) -> None:
    """Forward and backward of a stage stand in one row, the loss in the last."""
    still = ck.Stage(output=1, forward=1, name="still")
    stage = ck.Stage(output=1, forward=1, variants=[ck.Variant(saved=1, backward=1)])
    chain = ck.Chain(input=1, stages=[still] * frozen + [stage] * 2)
    layout = layout_of(chain)
    nodes = [node.name for node in chain.to_graph().nodes]
    assert layout.rows == tuple(stage.name for stage in chain.sequence)
    rows = dict(zip(nodes, layout.node_row.tolist(), strict=True))
    assert rows["F2"] == rows["B2"] == 1
    assert layout.backward[nodes.index("B2")] == 1
    assert layout.backward[nodes.index("F2")] == 0
