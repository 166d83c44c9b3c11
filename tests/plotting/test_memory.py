"""The picture of memory shows every byte, the budget and the peak."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from plotting.graphs import diamond

import ckschedule as ck
from ckschedule.errors import InvalidBudgetError
from ckschedule.plotting import plot_memory, save_plot

CHAIN = ck.catalog.uniform(stages=6, saved=2)


@pytest.fixture(scope="module")
def trace() -> ck.Trace:
    return ck.solve(CHAIN, "80%").raise_for_status()


def legend(ax: Axes) -> list[str]:
    box = ax.get_legend()
    assert box is not None
    return [text.get_text() for text in box.get_texts()]


def top(ax: Axes) -> float:
    """Return the highest place that any band reaches."""
    ends = [c.get_paths()[0].get_extents().y1 for c in ax.collections]
    return float(max(ends))


@pytest.mark.parametrize("time", ["makespan", "operations"])
@pytest.mark.parametrize("by", ["kind", "stage"])
def test_the_bands_end_at_the_peak(trace: ck.Trace, time: str, by: str) -> None:
    """Whatever they are stacked by: small sizes are drawn in bytes."""
    ax = plot_memory(trace, CHAIN, time=time, by=by)  # type: ignore[arg-type]  # parametrized
    assert top(ax) == trace.peak


def test_axes_and_legend_have_units_and_names(trace: ck.Trace) -> None:
    """From top to bottom as the bands lie."""
    ax = plot_memory(trace, CHAIN, budget="80%")
    assert ax.get_ylabel() == "memory (B)"
    assert ax.get_xlabel() == "time (step)"
    assert legend(ax) == [
        f"peak: {trace.peak} B",
        f"budget: {int(0.8 * ck.solve(CHAIN, 10**6).raise_for_status().peak)} B",
        "transients",
        "gradients",
        "saved tensors",
        "outputs",
    ]


def test_static_bytes_do_not_press_the_rest_into_a_strip() -> None:
    """The axis begins above zero, and says so."""
    chain = ck.catalog.gpt(layers=2, batch=1, sequence=64)
    trace = ck.pareto(chain).fastest.trace
    assert chain.static.total > 0.6 * trace.peak
    ax = plot_memory(trace, chain)
    assert ax.get_ylim()[0] > 0
    assert any("axis begins at" in text.get_text() for text in ax.texts)


def test_a_long_schedule_is_drawn_by_columns_and_keeps_its_peak() -> None:
    """Each column shows its highest operation: 10,000 edges would be all ink."""
    chain = ck.catalog.uniform(stages=200)
    point = ck.pareto(chain).minimum
    assert len(point.codes) > 4_000
    ax = plot_memory(point.trace, chain, time="operations")
    longest = max(
        np.asarray(c.get_paths()[0].vertices).shape[0] for c in ax.collections
    )
    assert top(ax) == point.peak
    assert longest < 20_000


def test_a_graph_is_drawn_by_inputs_and_values() -> None:
    """No more is known of it."""
    graph = diamond()
    trace = ck.pareto(graph).fastest.trace
    labels = legend(plot_memory(trace, graph))
    assert {"inputs", "values", "transients"} <= set(labels)
    assert "node 1" in legend(plot_memory(trace, graph, by="stage"))


def test_given_axes_are_used_and_refusals_come_before_drawing(trace: ck.Trace) -> None:
    """A picture can be part of a larger one."""
    ax = Figure().add_subplot()
    with pytest.raises(InvalidBudgetError):
        plot_memory(trace, CHAIN, ax=ax, budget="much")
    assert not ax.collections
    assert plot_memory(trace, CHAIN, ax=ax) is ax


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_equal_schedules_give_equal_files(
    trace: ck.Trace, tmp_path: Path, suffix: str
) -> None:
    """Pictures can be compared and versioned: but for the ids that an svg draws."""
    paths = [tmp_path / f"{k}.{suffix}" for k in range(2)]
    for path in paths:
        save_plot(plot_memory(trace, CHAIN), path)
    sizes = {path.stat().st_size for path in paths}
    assert len(sizes) == 1
    assert np.all([size > 1_000 for size in sizes])
