"""The picture of a schedule has a block for each computation, in its stage's row."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.patches import Patch
from plotting.graphs import diamond

import ckschedule as ck
from ckschedule.plotting import plot_plan, plot_schedule

CHAIN = ck.catalog.uniform(stages=6, saved=2)


@pytest.fixture(scope="module")
def point() -> ck.ParetoPoint:
    return ck.pareto(CHAIN).minimum


def blocks(ax: Axes) -> dict[str, int]:
    """Return how many blocks there are of each name in the legend."""
    box = ax.get_legend()
    assert box is not None
    names = {
        to_hex(to_rgba(patch.get_facecolor())): text.get_text()
        for patch, text in zip(box.get_patches(), box.get_texts(), strict=True)
        if isinstance(patch, Patch)
    }
    return {
        names[to_hex(tuple(np.asarray(c.get_facecolor())[0]))]: len(c.get_paths())
        for c in ax.collections
        if isinstance(c, PolyCollection)
    }


def test_every_computation_is_a_block(point: ck.ParetoPoint) -> None:
    """6 stages and a loss: 7 first forwards, 7 backwards, and what runs again."""
    found = blocks(plot_schedule(point.trace, CHAIN))
    assert found["forward"] == found["backward"] == 7
    assert found["recompute"] == point.recomputations


def test_outputs_are_held_from_each_computation(point: ck.ParetoPoint) -> None:
    """A bar for each time that one is computed while it was not there."""
    found = blocks(plot_schedule(point.trace, CHAIN))
    assert found["output held"] <= point.executions
    assert found["saved tensors held"] == 7


def test_stages_run_down_by_name(point: ck.ParetoPoint) -> None:
    """The first at the top."""
    ax = plot_schedule(point.trace, CHAIN)
    low, high = ax.get_ylim()
    assert low > high
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [stage.name for stage in CHAIN.sequence]


def test_names_are_no_formulas() -> None:
    """Dollars in a name stay dollars."""
    stage = ck.Stage(
        output=1, forward=1, variants=[ck.Variant(saved=1, backward=1)], name="$\\frac$"
    )
    chain = ck.Chain(input=1, stages=[stage])
    ax = plot_schedule(ck.pareto(chain).fastest.trace, chain)
    ax.figure.canvas.draw()
    assert ax.get_yticklabels()[0].get_text() == "$\\frac$"


def test_a_thousand_stages_are_cells_with_numbered_rows() -> None:
    """Thousands of rectangles and names would be a blot."""
    chain = ck.catalog.uniform(stages=1_000)
    trace = ck.solve(chain, 10**6).raise_for_status()
    ax = plot_schedule(trace, chain)
    assert len(ax.images) == 1
    assert not ax.collections
    numbers = [int(y) for y in ax.get_yticks()]
    assert numbers[0] == 1
    assert numbers[-1] == 1_001
    assert len(numbers) < 12
    assert ax.get_ylabel() == "stage"


def test_a_graph_has_a_row_a_node() -> None:
    """Computed once or again; nothing is known of backwards."""
    graph = diamond()
    point = ck.pareto(graph).fastest
    found = blocks(plot_schedule(point.trace, graph))
    assert found["compute"] == 4
    assert "backward" not in found


def test_memory_and_schedule_share_their_axis(point: ck.ParetoPoint) -> None:
    """One figure, so that a peak can be looked up in the schedule below it."""
    above = plot_plan(point.trace, CHAIN, budget=point.peak)
    figure = above.get_figure(root=True)
    assert figure is not None
    below = figure.axes[1]
    assert above.get_xlim() == below.get_xlim()
    assert above.get_title(loc="left") == CHAIN.name
