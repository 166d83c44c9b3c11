"""Settings, refusals, limits and what is told on the way."""

import signal
import time

import pytest
from solvers.milp.oracle import graph_of

import ckschedule as ck
from ckschedule import AbstractSolver, Exhaustive, Status
from ckschedule.costs import Graph, Node, Value
from ckschedule.costs.graph import Mode
from ckschedule.errors import (
    InvalidSettingError,
    ResourceLimitError,
    UnsupportedModelError,
)
from ckschedule.result import Stop
from ckschedule.simulation import Model
from ckschedule.solvers.base import Progress, Proposal, Report
from ckschedule.solvers.milp import LpRounding, Milp, lp_bound
from ckschedule.solvers.pebbling import as_pebbling

SOLVERS = [Milp, LpRounding]


def _layers(n: int) -> Graph:
    """A graph of n layers whose program is not solved at once."""
    edges = [(i, i + 1) for i in range(2 * n)]
    edges += [(n - 1 - j, n + 1 + j) for j in range(n)]
    times = [3 + i * i % 7 for i in range(2 * n + 1)]
    sizes = [5 + i * 5 % 11 for i in range(2 * n + 1)]
    return graph_of(times, sizes, sorted(set(edges)))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("name", "value"),
    [("time_limit", -1), ("time_limit", "soon"), ("threads", -1), ("max_entries", 0)],
)
def test_a_setting_out_of_range_is_refused_by_name(
    solver: type[Milp] | type[LpRounding], name: str, value: object
) -> None:
    """The message names solver and setting."""
    with pytest.raises(InvalidSettingError, match=f"{solver.__name__}: {name}"):
        solver(**{name: value})  # type: ignore[arg-type]  # that is the test


@pytest.mark.parametrize("seeds", [Exhaustive(), (Exhaustive,), "greedy"])
def test_seeds_are_solvers(seeds: object) -> None:
    """In a tuple; a list becomes one."""
    with pytest.raises(InvalidSettingError, match="seeds"):
        Milp(seeds=seeds)  # type: ignore[arg-type]  # that is the test
    listed = Milp(seeds=[Exhaustive()])  # type: ignore[arg-type]  # likewise
    assert listed.seeds == (Exhaustive(),)
    assert hash(listed) == hash(Milp(seeds=(Exhaustive(),)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_models_beyond_pebbling_are_refused_by_name(
    solver: type[Milp] | type[LpRounding],
) -> None:
    """Chains have variants; a node may consume what it reads."""
    with pytest.raises(UnsupportedModelError, match=solver.__name__):
        ck.solve(ck.catalog.uniform(stages=3, saved=2), "80%", solver())
    graph = Graph(
        values=(Value(name="a", size=1), Value(name="b", size=1)),
        nodes=(
            Node(name="A", modes=(Mode(name="run", time=1, outputs=("a",)),)),
            Node(
                name="B",
                modes=(
                    Mode(
                        name="run",
                        time=1,
                        needs=("a",),
                        consumes=("a",),
                        outputs=("b",),
                    ),
                ),
            ),
        ),
        targets=("b",),
    )
    with pytest.raises(UnsupportedModelError, match="consumes"):
        ck.solve(graph, 10, solver())


@pytest.mark.parametrize("solver", SOLVERS)
def test_without_time_nothing_is_claimed(
    solver: type[Milp] | type[LpRounding],
) -> None:
    """A time-out is a reason to stop, never a proof that nothing fits."""
    result = ck.solve(_layers(20), 60, solver(time_limit=0))
    assert result.status in (Status.FEASIBLE, Status.UNKNOWN)
    assert result.stop is Stop.TIME_LIMIT
    unseeded = ck.solve(_layers(20), 60, Milp(time_limit=0, seeds=()))
    assert unseeded.status is Status.UNKNOWN
    assert unseeded.stop is Stop.TIME_LIMIT


def test_a_bound_without_time_is_that_of_running_everything_once() -> None:
    """It holds of any schedule."""
    pebbling = as_pebbling(_layers(20), Milp())
    assert lp_bound(pebbling, 60, 0.0) == pebbling.base_time


def test_a_search_ends_soon_after_its_time() -> None:
    """HiGHS is asked to stop, and left to itself if it does not."""
    begin = time.monotonic()
    ck.solve(_layers(40), 80, Milp(time_limit=0.5, seeds=()))
    assert time.monotonic() - begin < 10


def test_a_program_beyond_the_limit_is_refused() -> None:
    """Before it is built, with the way out."""
    for solver in (Milp(max_entries=10, seeds=()), LpRounding(max_entries=10)):
        with pytest.raises(ResourceLimitError, match="max_entries"):
            ck.solve(_layers(6), 45, solver)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """HiGHS would say who it is."""
    ck.solve(_layers(5), 45, Milp())
    ck.solve(_layers(5), 45, LpRounding())
    assert capfd.readouterr() == ("", "")


def test_reports_close_in_on_the_result() -> None:
    """Bounds below makespans, and neither ever gets worse."""
    reports: list[Report] = []
    result = ck.solve(_layers(8), 45, Milp(seeds=()), progress=reports.append)
    assert result.makespan is not None
    makespans = [r.makespan for r in reports if r.makespan is not None]
    bounds = [r.lower_bound for r in reports if r.lower_bound is not None]
    assert reports
    assert makespans == sorted(makespans, reverse=True)
    assert bounds == sorted(bounds)
    assert all(bound <= result.makespan for bound in bounds)


def test_an_error_of_the_listener_is_raised() -> None:
    """It must not vanish in the thread that HiGHS runs in."""

    def fail(report: Report) -> None:
        raise ZeroDivisionError("of the listener")

    with pytest.raises(ZeroDivisionError, match="of the listener"):
        ck.solve(_layers(8), 45, Milp(seeds=()), progress=fail)


def test_an_interrupt_keeps_the_best_schedule() -> None:
    """Ctrl-C ends HiGHS, not the caller."""

    def interrupt(report: Report) -> None:
        if report.makespan is not None and not interrupted:
            interrupted.append(report)
            signal.raise_signal(signal.SIGINT)

    interrupted: list[Report] = []
    result = ck.solve(_layers(20), 60, Milp(), progress=interrupt)
    assert interrupted
    assert result.status is Status.FEASIBLE
    assert result.stop is Stop.INTERRUPTED


class _Fixed(AbstractSolver):
    """A seed that proposes what it is given."""

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        return self.proposal


def test_a_seed_that_is_not_staged_is_left_out() -> None:
    """Its makespan may lie below the optimum of the scope."""
    graph = graph_of([1, 1, 1], [1, 1, 1], [(0, 2)])
    names = ("n1", "n0", "n2")
    schedule = ck.Schedule([ck.Compute(name, "run") for name in names])
    seed = _Fixed(Proposal(scope=ck.Scope.UNRESTRICTED, schedule=schedule))
    result = ck.solve(graph, 2, Milp(seeds=(seed,)))
    assert result.status is Status.OPTIMAL
    assert result.makespan == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_may_differ_from_search_to_search(threads: int) -> None:
    """HiGHS's threads are set up once in a process."""
    result = ck.solve(_layers(5), 45, Milp(threads=threads))
    assert result.status is Status.OPTIMAL
