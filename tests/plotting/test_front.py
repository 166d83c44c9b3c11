"""The picture of a front shows the front, and leaves matplotlib as it was."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import ckschedule as ck
from ckschedule.errors import (
    DocumentError,
    InvalidBudgetError,
    MissingDependencyError,
)
from ckschedule.plotting import backend, plot_front, save_plot

CHAIN = ck.catalog.uniform(stages=8, saved=2)


@pytest.fixture(scope="module")
def front() -> ck.ParetoFront:
    return ck.pareto(CHAIN)


@pytest.fixture(scope="module")
def real() -> ck.ParetoFront:
    return ck.pareto(ck.catalog.gpt(layers=3, batch=4, sequence=256))


def legend(ax: Axes) -> list[str]:
    box = ax.get_legend()
    assert box is not None
    return [text.get_text() for text in box.get_texts()]


def test_the_curve_has_every_point(front: ck.ParetoFront) -> None:
    """Memory in bytes for a small model, overhead in percent of 16 steps."""
    curve = plot_front(front).get_lines()[0]
    points = [(float(x), float(y)) for x, y in np.asarray(curve.get_data()).T]
    expected = [(p.peak, 100 * (p.makespan - 16) / 16) for p in front]
    assert points[: len(front)] == expected
    assert curve.get_drawstyle() == "steps-post"


def test_axes_name_quantity_and_unit(real: ck.ParetoFront) -> None:
    """Gigabytes for a real model."""
    ax = plot_front(real)
    assert ax.get_xlabel() == "peak memory (GiB)"
    assert ax.get_ylabel() == "overhead over storing everything (%)"
    assert plot_front(real, time="makespan").get_ylabel() == "makespan (ms)"


def test_minimum_knee_static_and_budgets_are_marked(real: ck.ParetoFront) -> None:
    """Each with its numbers in the legend."""
    labels = legend(plot_front(real, budgets=["80%", 1]))
    starts = ["static: ", "minimum: ", "knee: ", "within ", "within ", "store all: "]
    assert len(labels) == len(starts)
    assert all(any(text.startswith(s) for text in labels) for s in starts)
    assert "within 1 B: nothing fits" in labels


def test_a_model_without_static_bytes_has_no_band(front: ck.ParetoFront) -> None:
    """Nothing to shade."""
    assert not any(text.startswith("static") for text in legend(plot_front(front)))


def test_a_steep_end_is_cut_and_said_to_be(front: ck.ParetoFront) -> None:
    """A point that was asked for stays within the axis."""
    long = ck.pareto(ck.catalog.uniform(stages=40))
    ax = plot_front(long)
    assert any(text.endswith("(beyond the axis)") for text in legend(ax))
    whole = plot_front(long, budgets=[long.minimum.peak])
    assert not any("beyond" in text for text in legend(whole))


def test_the_minimum_stands_where_the_curve_leaves_a_cut_axis() -> None:
    """Not beside the line."""
    long = ck.pareto(ck.catalog.uniform(stages=40))
    lines = plot_front(long).get_lines()
    (minimum,) = (x for x in lines if str(x.get_label()).startswith("minimum"))
    peak, top = (float(values[0]) for values in np.asarray(minimum.get_data()))
    inside = [p for p in long if 100 * p.overhead / long.model.base_time <= top]
    assert peak == inside[0].peak


def test_overheads_are_marked_with_the_point_that_answers(
    front: ck.ParetoFront,
) -> None:
    """16 steps once: 30 % allow 20, of which the least memory is drawn."""
    answer = front.within_time(20)
    assert answer is not None
    labels = legend(plot_front(front, overheads=[Fraction(3, 10)]))
    (label,) = (text for text in labels if text.startswith("at most +30 %"))
    assert f" {answer.peak} B, " in label


def test_the_title_is_the_models_name_unless_given(front: ck.ParetoFront) -> None:
    """The command line adds what was asked."""
    assert plot_front(front).get_title(loc="left") == "uniform-8"
    assert plot_front(front, title="mine").get_title(loc="left") == "mine"


def test_given_axes_are_used(front: ck.ParetoFront) -> None:
    """A picture can be part of a larger one."""
    ax = Figure().add_subplot()
    assert plot_front(front, ax=ax) is ax


def test_a_budget_that_cannot_be_read_is_refused(front: ck.ParetoFront) -> None:
    """Before anything is drawn."""
    ax = Figure().add_subplot()
    with pytest.raises(InvalidBudgetError):
        plot_front(front, ax=ax, budgets=["10 gigs"])
    assert not ax.get_lines()


def test_equal_fronts_give_equal_files(front: ck.ParetoFront, tmp_path: Path) -> None:
    """No dates: pictures can be compared and versioned."""
    first, second = tmp_path / "a.png", tmp_path / "b.png"
    save_plot(plot_front(front), first)
    save_plot(plot_front(front), second)
    assert first.read_bytes() == second.read_bytes()


def test_an_unknown_format_is_refused(front: ck.ParetoFront, tmp_path: Path) -> None:
    """The message lists those that exist."""
    with pytest.raises(DocumentError, match=r"\.png, \.svg, \.pdf"):
        save_plot(plot_front(front), tmp_path / "front.bmp")
    assert not list(tmp_path.iterdir())


def test_a_missing_matplotlib_is_named_with_its_extra(
    front: ck.ParetoFront, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures are optional."""
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    with pytest.raises(
        MissingDependencyError, match=r"pip install 'ckschedule\[plot\]'"
    ):
        plot_front(front)


def test_pyplot_is_never_imported() -> None:
    """It would choose a backend for the whole process."""
    script = (
        "import sys\nimport ckschedule as ck\n"
        "from ckschedule.plotting import plot_front\n"
        "assert 'matplotlib' not in sys.modules\n"
        "plot_front(ck.pareto(ck.catalog.uniform(stages=3)))\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=600)
