"""The picture of an arena shows every block at its place."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import ckschedule as ck
from ckschedule.errors import InvalidBudgetError, MissingDependencyError
from ckschedule.plotting import backend, plot_arena, save_plot

CHAIN = ck.catalog.uniform(stages=8, saved=2)


@pytest.fixture(scope="module")
def arena() -> ck.Arena:
    schedule = ck.solve(CHAIN, "60%").raise_for_status().schedule
    return ck.plan_arena(CHAIN, schedule)


def legend(ax: Axes) -> list[str]:
    box = ax.get_legend()
    assert box is not None
    return [text.get_text() for text in box.get_texts()]


def rectangles(ax: Axes) -> list[tuple[float, ...]]:
    """Left, right, bottom and top of each."""
    found = []
    for collection in ax.collections:
        if isinstance(collection, PolyCollection):
            for path in collection.get_paths():
                (left, low), (right, high) = (
                    np.asarray(path.vertices).min(axis=0),
                    np.asarray(path.vertices).max(axis=0),
                )
                found.append((float(left), float(right), float(low), float(high)))
    return sorted(found)


@pytest.mark.parametrize("colour", ["kind", "node"])
def test_each_block_is_a_rectangle(arena: ck.Arena, colour: str) -> None:
    """From its first to its last operation, at its addresses; bytes in this model."""
    ax = plot_arena(arena, time="operations", colour=colour)  # type: ignore[arg-type]  # both literals
    end = len(arena.trace.schedule)
    expected = sorted(
        (b.first, min(b.last + 1, end), b.offset, b.offset + b.size)
        for b in arena.blocks
        if b.size
    )
    assert rectangles(ax) == expected


def test_time_is_the_models_unless_operations_are_wanted(arena: ck.Arena) -> None:
    """Frees take none."""
    ax = plot_arena(arena)
    assert ax.get_xlabel() == "time (step)"
    assert ax.get_xlim() == (0, arena.trace.makespan)
    assert plot_arena(arena, time="operations").get_xlabel() == "operation"


def test_the_live_bytes_lie_over_the_blocks(arena: ck.Arena) -> None:
    """With their most, and the arena's end."""
    ax = plot_arena(arena, time="operations")
    line = ax.get_lines()[0]
    heights = [float(y) for y in np.asarray(line.get_ydata())]
    assert heights[:-1] == arena.load[:-1].tolist()
    assert "live bytes: at most 16 B" in legend(ax)
    assert "arena: 16 B, 0.0% fragmented" in legend(ax)


def test_kinds_and_later_copies_are_named(arena: ck.Arena) -> None:
    """Each once."""
    labels = legend(plot_arena(arena, budget=20))
    for label in ("outputs", "saved tensors", "gradients", "computed again"):
        assert labels.count(label) == 1
    assert "budget without static: 20 B" in labels


def test_static_bytes_are_taken_off_the_budget() -> None:
    """They lie outside the arena."""
    chain = ck.catalog.vgg(depth=11, batch=1)
    trace = ck.solve(chain, "100%").raise_for_status()
    ax = plot_arena(ck.plan_arena(chain, trace.schedule), budget=trace.peak)
    drawn = [float(np.asarray(line.get_ydata())[0]) for line in ax.get_lines()]
    assert drawn[-1] == pytest.approx(drawn[-2]), "the budget is met exactly"


def test_a_graph_is_coloured_by_node(arena: ck.Arena) -> None:
    """Its values have no kinds; a bar beside the axes tells the positions."""
    ax = plot_arena(ck.plan_arena(CHAIN.to_graph(), arena.trace.schedule))
    assert "inputs" in legend(ax)
    figure = ax.get_figure(root=True)
    assert figure is not None
    assert len(figure.axes) == 2


def test_a_schedule_without_time_or_operations_is_drawn() -> None:
    """By operations, of which there may be none."""
    graph = ck.Graph(values=(ck.Value(name="a", size=3),), nodes=(), inputs=("a",))
    ax = plot_arena(ck.plan_arena(graph, ck.Schedule([])))
    assert ax.get_xlabel() == "operation"
    assert "live bytes: at most 3 B" in legend(ax)


def test_given_axes_are_used(arena: ck.Arena) -> None:
    """A picture can be part of a larger one."""
    ax = Figure().add_subplot()
    assert plot_arena(arena, ax=ax, title="mine") is ax
    assert ax.get_title(loc="left") == "mine"


def test_a_budget_that_cannot_be_read_is_refused(arena: ck.Arena) -> None:
    """Before anything is drawn."""
    ax = Figure().add_subplot()
    with pytest.raises(InvalidBudgetError):
        plot_arena(arena, ax=ax, budget="10 gigs")
    assert not ax.collections


def test_equal_arenas_give_equal_files(arena: ck.Arena, tmp_path: Path) -> None:
    """Pictures can be compared and versioned."""
    first, second = tmp_path / "a.png", tmp_path / "b.png"
    save_plot(plot_arena(arena), first)
    save_plot(plot_arena(arena), second)
    assert first.read_bytes() == second.read_bytes()


def test_a_missing_matplotlib_is_named_with_its_extra(
    arena: ck.Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures are optional."""
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="plot"):
        plot_arena(arena)
