"""What known ways of checkpointing cost beside the optimum, at equal budgets.

Run ``python bench/baselines.py``; see bench/README.md.
"""

from collections.abc import Sequence
from typing import Final

from instances import NETWORKS, chain
from measure import arguments, console, in_child, selected, write_results
from rich.table import Table

import ckschedule as ck
from ckschedule.solving import budget_bytes

BUDGETS: Final = ("80%", "60%", "50%", "40%", "30%", "25%", "20%", "15%", "10%")
"""Of the peak of storing everything; the networks have no static bytes."""

OPTIMUM: Final = "optimum"

_ENOUGH: Final = 2**62
"""Bytes."""


def main() -> None:
    parser = arguments("Baselines beside the optimum.", repeat="always 1")
    options = parser.parse_args()
    table = Table(
        "network",
        "by",
        *BUDGETS,
        title="extra time in % of computing everything once, by budget",
    )
    records: list[dict[str, object]] = []
    terminal = console()
    for name in selected(list(NETWORKS), options.rows):
        with terminal.status(name):
            overheads = in_child(overheads_of, name)
        for by, values in overheads.items():
            records.append(
                {
                    "name": name,
                    "by": by,
                    "overhead": dict(zip(BUDGETS, values, strict=True)),
                }
            )
            table.add_row(
                name, by, *("-" if v is None else f"{100 * v:.2f}" for v in values)
            )
        table.add_section()
    terminal.print(table)
    terminal.print(f"written to {write_results('baselines', records, options.out)}")


def overheads_of(name: str) -> dict[str, list[float | None]]:
    """Return extra time over base time by method and budget; None where none fits."""
    model = chain(name)
    budgets = [budget_bytes(model, budget) for budget in BUDGETS]
    front = ck.pareto(model)
    optimum = [
        front.at(budget).overhead / model.base_time
        if budget >= front.minimum.peak
        else None
        for budget in budgets
    ]
    overheads = {OPTIMUM: optimum}
    for by, family in _families(len(model.stages)).items():
        points = [p for solver in family for p in _points(model, _ENOUGH, solver)]
        overheads[by] = [_best(model, points, budget) for budget in budgets]
    # The only one that looks at the budget.
    overheads["Chen's budget search"] = [
        _best(model, _points(model, budget, ck.ChenBudget()), budget)
        for budget in budgets
    ]
    return overheads


def _points(
    model: ck.Chain, budget: int, solver: ck.AbstractSolver
) -> list[tuple[int, int]]:
    """Return simulated peak and makespan of a construction, if it keeps the budget."""
    trace = ck.solve(model, budget, solver).trace
    return [(trace.peak, trace.makespan)] if trace else []


def _best(
    model: ck.Chain, points: Sequence[tuple[int, int]], budget: int
) -> float | None:
    makespans = [makespan for peak, makespan in points if peak <= budget]
    return min(makespans) / model.base_time - 1 if makespans else None


def _families(n: int) -> dict[str, Sequence[ck.AbstractSolver]]:
    """Return methods that ignore the budget; every useful value of their parameters."""
    counts = range(1, n + 1)
    return {
        "recompute every stage": [ck.RecomputeAll()],
        "every k-th stage, best k": [ck.EveryNth(k) for k in counts],
        "k equal segments, best k": [ck.UniformSegments(k) for k in counts],
        "first k stages, best k": [ck.FirstN(k) for k in counts],
        "sqrt segments": [ck.SqrtSegments()],
        "Chen's recursion, best k": [ck.ChenRecursion(k) for k in range(1, 9)],
    }


if __name__ == "__main__":
    main()
