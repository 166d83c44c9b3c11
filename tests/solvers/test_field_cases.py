"""Faults that users of such tools met, on graphs: small inputs, right results."""

from collections.abc import Sequence

import pytest

import ckschedule as ck
from ckschedule.result import Scope, Status
from ckschedule.solvers.base import AbstractSolver

SOLVERS: tuple[AbstractSolver, ...] = (
    ck.AutoSolver(time_limit=20),
    ck.Portfolio(time_limit=20),
    ck.RetentionCpSat(time_limit=20),
    ck.RetentionCpSat(order=ck.Order.FREE, time_limit=20),
    ck.Milp(time_limit=20),
)
"""Those that end with a proof."""


def weighted_chain(
    forward: Sequence[int], backward: Sequence[int], sizes: Sequence[int]
) -> ck.Graph:
    """Return f0 .. f(L-1), b(L-1) .. b0 under weighted pebbling.

    f(i) needs f(i-1); the last backward needs the last two forwards, b(i) needs b(i+1)
    and f(i-1). A backward's value is as large as its forward's.
    """
    count = len(forward)
    reads = {f"f{i}": [f"f{i - 1}"] * (i > 0) for i in range(count)}
    for i in reversed(range(count)):
        above = f"f{i}" if i == count - 1 else f"b{i + 1}"
        reads[f"b{i}"] = [above] + [f"f{i - 1}"] * (i > 0)
    times = {f"f{i}": t for i, t in enumerate(forward)}
    times |= {f"b{i}": t for i, t in enumerate(backward)}
    return ck.Graph(
        name=f"weighted-chain-{count}",
        values=tuple(ck.Value(name=name, size=sizes[int(name[1:])]) for name in reads),
        nodes=tuple(
            ck.Node(
                name=name,
                modes=(
                    ck.Mode(
                        name="run",
                        time=times[name],
                        outputs=(name,),
                        needs=tuple(needs),
                    ),
                ),
            )
            for name, needs in reads.items()
        ),
        targets=("b0",),
        time_unit="step",
    )


def unit(count: int) -> ck.Graph:
    return weighted_chain([1] * count, [1] * count, [1] * count)


def makespan(graph: ck.Graph, budget: int, solver: AbstractSolver) -> int | None:
    """Return the proved optimum; None if it is proved that nothing fits."""
    result = ck.solve(graph, budget, solver)
    assert result.status in (Status.OPTIMAL, Status.INFEASIBLE)
    return result.makespan


every_solver = pytest.mark.parametrize(
    "solver", SOLVERS, ids=["auto", "portfolio", "cp-sat", "cp-sat free", "milp"]
)


@every_solver
@pytest.mark.parametrize("more", [0, 1, 10**18])
def test_where_the_plain_model_fits_nothing_runs_twice(
    solver: AbstractSolver, more: int
) -> None:
    """Solvers called feasible models infeasible (checkmate#151, #144)."""
    graph = weighted_chain([2, 1, 4, 1, 3], [4, 2, 8, 2, 6], [4, 6, 2, 5, 1])
    naive = ck.solve(graph, 2**62, ck.StoreAll()).raise_for_status()
    result = ck.solve(graph, naive.peak + more, solver)
    assert result.status is Status.OPTIMAL
    assert set(result.raise_for_status().computations.values()) == {1}


@every_solver
@pytest.mark.parametrize(
    ("count", "optima"),
    [
        (4, {2: None, 3: 11, 4: 9, 5: 8, 9: 8}),
        (6, {2: None, 3: 22, 4: 15, 5: 14, 6: 13, 7: 12}),
        (8, {2: None, 3: 37, 4: 23, 5: 20, 6: 19, 7: 18, 8: 17, 9: 16}),
    ],
)
def test_minimum_budgets_of_unit_chains(
    solver: AbstractSolver, count: int, optima: dict[int, int | None]
) -> None:
    """Off by one in either direction in the field (checkmate#144, #151)."""
    if count > 4 and solver in (SOLVERS[1], SOLVERS[3]):
        pytest.skip("any order of a longer one takes CP-SAT minutes to prove")
    graph = unit(count)
    assert {b: makespan(graph, b, solver) for b in optima} == optima


@every_solver
def test_an_unequal_chain_at_every_budget(solver: AbstractSolver) -> None:
    """Asked of PyTorch's solver (pytorch#32219)."""
    graph = weighted_chain([2, 1, 4, 1, 3], [4, 2, 8, 2, 6], [4, 6, 2, 5, 1])
    found = {b: makespan(graph, b, solver) for b in range(12, 21)}
    assert found == {
        **dict.fromkeys((12, 13)),
        14: 36,
        **dict.fromkeys((15, 16), 35),
        **dict.fromkeys((17, 18), 34),
        **dict.fromkeys((19, 20), 33),
    }


@every_solver
def test_stages_without_time_are_no_excuse(solver: AbstractSolver) -> None:
    """What costs nothing was recomputed for nothing (ColossalAI#1521)."""
    graph = weighted_chain([0, 3, 0, 3, 0], [0, 6, 0, 6, 0], [4, 4, 0, 4, 1])
    found = {b: makespan(graph, b, solver) for b in (8, 9, 10, 26)}
    assert found == {8: None, 9: 21, 10: 18, 26: 18}
    trace = ck.solve(graph, 26, solver).raise_for_status()
    assert set(trace.computations.values()) == {1}


@every_solver
def test_the_smallest_budget_is_named_below_it(solver: AbstractSolver) -> None:
    """A budget that is too small names one that is not, where that is known."""
    result = ck.solve(unit(4), 2, solver)
    assert result.status is Status.INFEASIBLE
    assert result.minimum_budget in (None, 3)
    if isinstance(solver, ck.AutoSolver | ck.Portfolio):
        assert result.minimum_budget == 3
        assert result.scope is Scope.UNRESTRICTED
