"""Small graphs under weighted pebbling, and an oracle asked one budget at a time."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from ckschedule.costs import Graph, Mode, Node, Value
from ckschedule.front import ParetoFront
from ckschedule.simulation import Model
from ckschedule.solvers.base import AbstractSolver, Progress, Proposal
from ckschedule.solvers.exhaustive import Exhaustive

Numbers = Sequence[int]


def pebbling(
    needs: Sequence[Sequence[int]], sizes: Numbers, times: Numbers, name: str = "small"
) -> Graph:
    """Return a graph whose node v needs the values of ``needs[v]``; the last is due."""
    values = tuple(Value(name=f"v{i}", size=size) for i, size in enumerate(sizes))
    nodes = tuple(
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
    )
    return Graph(
        values=values,
        nodes=nodes,
        targets=(f"v{len(needs) - 1}",),
        time_unit="step",
        name=name,
    )


def training(sizes: Numbers, times: Numbers, name: str = "training") -> Graph:
    """Return k forwards, a loss, and k backwards that need their forward's output."""
    k = len(sizes)
    needs: list[list[int]] = [[i - 1] if i else [] for i in range(k + 1)]
    needs.extend([k + j, k - 1 - j] for j in range(k))
    return pebbling(
        needs, [*sizes, 1, *reversed(sizes)], [*times, 1, *reversed(times)], name
    )


@st.composite
def pebblings(draw: st.DrawFn, *, largest: int = 9) -> Graph:
    """Up to six nodes, each with up to three predecessors."""
    n = draw(st.integers(1, 6))
    needs = [
        draw(st.lists(st.integers(0, i - 1), max_size=3, unique=True)) if i else []
        for i in range(n)
    ]
    number = st.integers(0, largest)
    sizes = draw(st.lists(number, min_size=n, max_size=n))
    times = draw(st.lists(number, min_size=n, max_size=n))
    return pebbling(needs, sizes, times)


@dataclass(frozen=True, slots=True)
class OneBudget(AbstractSolver):
    """The oracle, for one budget at a time; says in a file what it does."""

    log: str | None = None
    pause: float = 0.0

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        self._note(f"start {os.getpid()} {model.name} {budget}")
        time.sleep(self.pause)
        proposal = Exhaustive().search(model, budget, progress)
        self._note(f"end {os.getpid()} {model.name} {budget}")
        return proposal

    def _note(self, line: str) -> None:
        if self.log is not None:
            # One write of a short line: several processes may append.
            with open(self.log, "a") as file:
                file.write(line + "\n")


@dataclass(frozen=True, slots=True)
class Through(AbstractSolver):
    """Asks the oracle, and passes its answer through a function."""

    change: Callable[[Proposal, int], Proposal] = lambda proposal, budget: proposal
    asked: list[int] = field(default_factory=list, compare=False, repr=False)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        self.asked.append(budget)
        return self.change(Exhaustive().search(model, budget, progress), budget)


def without_proof(proposal: Proposal, budget: int) -> Proposal:
    """Keep the schedule only."""
    return replace(proposal, lower_bound=None, infeasible=False, minimum_budget=None)


def numbers(front: ParetoFront) -> list[tuple[int, int]]:
    """Return peak and makespan of every point."""
    return [(point.peak, point.makespan) for point in front]
