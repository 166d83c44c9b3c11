"""The picture of promises and measurements shows every pair, and the worst."""

import pytest
from matplotlib.axes import Axes

import ckschedule as ck
from ckschedule.errors import DocumentError
from ckschedule.plotting import Pair, pair_of, pairs_of_rows, plot_fidelity

ROWS = [
    {"name": "mlp/plain", "family": "mlp", "measured_peak": 7},
    {"family": "mlp", "predicted_peak": 100, "measured_peak": 100},
    {"family": "mlp", "predicted_peak": 200, "measured_peak": 190},
    {"family": "gpt", "predicted_peak": 1000, "measured_peak": 1010},
]


def legend(ax: Axes) -> list[str]:
    box = ax.get_legend()
    assert box is not None
    return [text.get_text() for text in box.get_texts()]


def test_rows_of_a_benchmark_become_pairs() -> None:
    """Those without a promise are left out."""
    assert pairs_of_rows(ROWS, "peak") == [
        Pair(predicted=100, measured=100, group="mlp"),
        Pair(predicted=200, measured=190, group="mlp"),
        Pair(predicted=1000, measured=1010, group="gpt"),
    ]
    assert pairs_of_rows(ROWS, "time ratio") == []


def test_a_number_that_is_none_is_refused_with_its_place() -> None:
    """Logarithmic axes have no zero."""
    rows = [{"predicted_peak": 0, "measured_peak": 1}]
    with pytest.raises(DocumentError, match=r"rows\[0\]\.predicted_peak is 0"):
        pairs_of_rows(rows, "peak")


def test_each_group_has_a_mark_and_its_worst_pair() -> None:
    """190 of 200 are 5 % less; 1010 of 1000 are 1 % more."""
    ax = plot_fidelity(pairs_of_rows(ROWS, "peak"))
    assert legend(ax) == [
        "within 10 %",
        "mlp: 2, worst -5 %",
        "gpt: 1, worst +1 %",
    ]
    assert ax.get_xlabel() == "promised peak memory (B)"
    assert ax.get_xlim() == ax.get_ylim()


def test_times_have_a_readable_unit() -> None:
    """Nanoseconds, as measured."""
    pairs = [Pair(predicted=2_000_000, measured=2_100_000)]
    ax = plot_fidelity(pairs, "time")
    assert ax.get_ylabel() == "measured time (ms)"
    assert "plans: 1, worst +5 %" in legend(ax)


def test_nothing_to_draw_is_refused() -> None:
    """An empty picture would look like a result."""
    with pytest.raises(ValueError, match="no pairs"):
        plot_fidelity([])


def test_a_measurement_is_paired_with_its_plan() -> None:
    """A step does not show an optimiser's state: its bytes are added."""
    torch_backend = pytest.importorskip(
        "ckschedule.torch_backend", reason="needs ckschedule[torch]"
    )
    chain = ck.catalog.vgg(depth=11, batch=1)
    assert chain.static.optimizer > 0
    result = ck.solve(chain, 2**40)
    measured = torch_backend.Measurement(
        peak=result.raise_for_status().peak - chain.static.optimizer,
        time=7,
        executions={},
    )
    peak, time = (pair_of(result, measured, q) for q in ("peak", "time"))
    assert peak is not None
    assert peak.excess == 0
    assert time is not None
    assert time.measured == 7


def test_steps_cannot_be_compared_with_nanoseconds() -> None:
    """A chain that counts steps promises no time."""
    torch_backend = pytest.importorskip(
        "ckschedule.torch_backend", reason="needs ckschedule[torch]"
    )
    chain = ck.catalog.uniform(stages=3)
    measured = torch_backend.Measurement(peak=1, time=1, executions={})
    assert pair_of(ck.solve(chain, 10**6), measured, "time") is None
