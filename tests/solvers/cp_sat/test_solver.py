"""Settings, limits, interrupts, and graphs whose optimum is known."""

import os
import signal
import threading
from dataclasses import replace

import pytest

import ckschedule as ck
from ckschedule import (
    Chain,
    Graph,
    Mode,
    Node,
    Scope,
    Stage,
    Status,
    Stop,
    Value,
    Variant,
)
from ckschedule.errors import InvalidSettingError
from ckschedule.solvers.base import Report
from ckschedule.solvers.cp_sat import RetentionCpSat
from ckschedule.solvers.greedy import GreedyEviction
from ckschedule.solvers.order import Order

ALONE = RetentionCpSat(seeds=())
"""CP-SAT without any help."""


def pebbling(needs: list[list[int]], sizes: list[int], times: list[int]) -> Graph:
    """Compute the last node, with all its inputs live."""
    return Graph(
        name="pebbling",
        values=tuple(Value(name=f"v{i}", size=b) for i, b in enumerate(sizes)),
        nodes=tuple(
            Node(
                name=f"n{i}",
                modes=(
                    Mode(
                        name="run",
                        time=times[i],
                        outputs=(f"v{i}",),
                        needs=tuple(f"v{j}" for j in before),
                    ),
                ),
            )
            for i, before in enumerate(needs)
        ),
        targets=(f"v{len(needs) - 1}",),
        time_unit="step",
    )


def unit_chain(k: int) -> Graph:
    """Checkmate's chain of 2 k + 1 nodes (arXiv 1910.02653), all numbers one."""
    needs: list[list[int]] = [[i - 1] if i else [] for i in range(k + 1)]
    needs.extend([k + j, k - 1 - j] for j in range(k))
    return pebbling(needs, [1] * (2 * k + 1), [1] * (2 * k + 1))


def layered(n: int, seed: int) -> Graph:
    """A random graph in which each node reads the one before it and two of twenty."""
    state = seed

    def draw(most: int) -> int:
        nonlocal state
        state = (state * 1103515245 + 12345) % 2**31
        return state // 65536 % most

    needs = [
        sorted({i - 1, *(max(0, i - 1 - draw(20)) for _ in range(2))}) if i else []
        for i in range(n)
    ]
    return pebbling(
        needs, [1 + draw(9) for _ in range(n)], [1 + draw(9) for _ in range(n)]
    )


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize(
    ("budget", "ticks"), [(4, 26), (5, 22), (6, 21), (9, 18), (10, 17), (100, 17)]
)
def test_the_unit_chain_of_seventeen_nodes(
    order: Order, budget: int, ticks: int
) -> None:
    """Two computations of a node are not enough at four bytes; both orders agree."""
    result = ck.solve(unit_chain(8), budget, RetentionCpSat(order=order))
    assert (result.status, result.makespan) == (Status.OPTIMAL, ticks)


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "ticks"), [(3, 45), (4, 26)])
def test_a_unit_chain_without_seeds(budget: int, ticks: int) -> None:
    """Three bytes: every forward is computed anew for each backward."""
    result = ck.solve(unit_chain(8), budget, ALONE)
    assert (result.status, result.makespan) == (Status.OPTIMAL, ticks)


@pytest.mark.parametrize("order", Order)
def test_a_budget_in_which_nothing_fits(order: Order) -> None:
    """A backward needs two values and yields a third."""
    result = ck.solve(unit_chain(8), 2, RetentionCpSat(order=order))
    assert (result.status, result.stop) == (Status.INFEASIBLE, Stop.FINISHED)
    assert result.scope is order.scope


def test_a_given_order_that_does_not_fit_where_another_does() -> None:
    """Infeasibility, too, is a statement about the scope."""
    # Node 0 takes six bytes to yield one; both of the others yield two and read it not.
    # In the given order node 2 runs while v1 and v0 lie there or must come again.
    needs: list[list[int]] = [[], [], [1], [0, 2]]
    graph = pebbling(needs, [3, 4, 1, 1], [1, 1, 1, 1])
    graph = replace(
        graph,
        nodes=(replace(graph.nodes[0], recomputable=False), *graph.nodes[1:]),
    )
    assert ck.solve(graph, 7, ALONE).status is Status.INFEASIBLE
    free = ck.solve(graph, 7, replace(ALONE, order=Order.FREE))
    assert (free.status, free.makespan) == (Status.OPTIMAL, 4)
    assert free.scope is Scope.UNRESTRICTED


def test_a_circle_is_infeasible() -> None:
    """Two nodes that need each other."""
    circle = pebbling([[1], [0]], [1, 1], [1, 1])
    for order in Order:
        result = ck.solve(circle, 10**9, RetentionCpSat(order=order))
        assert result.status is Status.INFEASIBLE


def test_without_time_there_is_no_proof() -> None:
    """Being out of time says nothing about what fits."""
    graph = layered(40, 1)
    peak = ck.solve(graph, 10**6, ALONE).peak
    assert peak is not None
    result = ck.solve(graph, peak - 1, replace(ALONE, time_limit=0.0))
    assert (result.status, result.stop) == (Status.UNKNOWN, Stop.TIME_LIMIT)


def test_without_time_a_schedule_that_just_fits_is_found() -> None:
    """Every node once needs no search, and is optimal where it fits."""
    result = ck.solve(layered(40, 1), 10**6, replace(ALONE, time_limit=0.0))
    assert (result.status, result.stop) == (Status.OPTIMAL, Stop.FINISHED)


def test_seeds_are_the_least_that_comes_back() -> None:
    """A chain's persistent optimum is where the search starts."""
    chain = ck.catalog.uniform(stages=30, saved=2)
    seed = ck.solve(chain, "30%", ck.ChainDP())
    result = ck.solve(
        chain, "30%", RetentionCpSat(seeds=(ck.ChainDP(),), time_limit=0.5)
    )
    assert result.makespan is not None
    assert seed.makespan is not None
    assert result.makespan <= seed.makespan
    assert result.lower_bound is not None
    assert result.lower_bound >= chain.base_time


def test_seeds_that_cannot_take_the_model_are_passed_over() -> None:
    """ChainDP takes no graphs."""
    solver = RetentionCpSat(seeds=(ck.ChainDP(),))
    assert ck.solve(unit_chain(4), 4, solver).status is Status.OPTIMAL


class _Interrupter:
    """Sends SIGINT to this process at the first schedule it is told of."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self._lock = threading.Lock()

    def __call__(self, report: Report) -> None:
        with self._lock:
            sent = any(r.makespan is not None for r in self.reports)
            self.reports.append(report)
        if not sent and report.makespan is not None:
            os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_hands_back_the_best_schedule() -> None:
    """Ctrl-C is a reason to stop, not an error."""
    # Greedy eviction takes 626 ticks, the optimum 615.
    graph = layered(120, 3)
    told = _Interrupter()
    solver = RetentionCpSat(seeds=(GreedyEviction(),), time_limit=120.0)
    result = ck.solve(graph, 80, solver, progress=told)
    assert (result.status, result.stop) == (Status.FEASIBLE, Stop.INTERRUPTED)
    assert result.gap is not None


def test_progress_tells_schedules_and_bounds() -> None:
    """They close in on each other."""
    reports: list[Report] = []
    ck.solve(unit_chain(8), 4, ALONE, progress=reports.append)
    spans = [r.makespan for r in reports if r.makespan is not None]
    bounds = [r.lower_bound for r in reports if r.lower_bound is not None]
    assert spans == sorted(spans, reverse=True)
    assert (min(spans), max(bounds)) == (26, 26)
    assert all(0 <= r.done <= r.total for r in reports)


def test_bytes_too_fine_for_the_solver_are_rounded_and_prove_nothing() -> None:
    """Budgets hold all the same: sizes are rounded up."""
    graph = unit_chain(4)
    huge = replace(
        graph,
        values=tuple(replace(v, size=2**55 + i) for i, v in enumerate(graph.values)),
        nodes=tuple(
            replace(n, modes=tuple(replace(m, transient=None) for m in n.modes))
            for n in graph.nodes
        ),
    )
    result = ck.solve(huge, 4 * 2**55 + 2**20, ALONE)
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert result.makespan == ck.solve(graph, 4, ALONE).makespan


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"order": "any"}, "order is 'any'; give 'given' or 'free'"),
        ({"time_limit": -1}, "time_limit is -1"),
        ({"workers": 0}, "workers is 0"),
        ({"seeds": ("greedy",)}, "seeds has 'greedy'"),
    ],
)
def test_settings_that_cannot_be_meant(
    setting: dict[str, object], message: str
) -> None:
    """The message names the setting and its value."""
    with pytest.raises(InvalidSettingError, match=message):
        RetentionCpSat(**setting)  # type: ignore[arg-type]  # that is the point


def test_a_chain_with_modes_and_holds_beats_its_persistent_optimum() -> None:
    """Saved tensors may go before their backward: persistence is a restriction."""
    stages = [
        Stage(output=o, forward=f, gradient=g, variants=(Variant(saved=s, backward=b),))
        for o, f, g, s, b in [(1, 1, 1, 4, 1), (4, 2, 1, 5, 1), (2, 3, 1, 1, 1)]
    ]
    chain = Chain(input=1, stages=stages)
    for budget in range(8, 20):
        exact = ck.solve(chain, budget, RetentionCpSat())
        persistent = ck.solve(chain, budget, ck.ChainDP())
        if persistent.makespan is None:
            continue
        assert exact.status is Status.OPTIMAL
        assert exact.makespan is not None
        assert exact.makespan <= persistent.makespan


def test_ticks_too_fine_for_the_solver_are_rounded_and_bounds_hold() -> None:
    """Operations of large networks pass what floats tell apart."""
    plain = ck.catalog.training_path(8)
    # Incommensurable, so that no common divisor helps.
    fine = replace(
        plain,
        nodes=tuple(
            replace(node, modes=(replace(node.modes[0], time=10**17 + 7 * k),))
            for k, node in enumerate(plain.nodes)
        ),
    )
    least = ck.solve(fine, 4, ck.Exhaustive()).makespan
    result = ck.solve(fine, 4, RetentionCpSat(seeds=(), time_limit=20))
    assert least is not None
    assert result.makespan is not None
    assert result.lower_bound is not None
    assert result.lower_bound <= least <= result.makespan < least + 10**17
