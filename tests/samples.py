"""Small models that several modules test on, and how a solver's schedule is run."""

from ckschedule.costs import Chain, Graph, Node, Stage, Value, Variant
from ckschedule.costs.graph import Mode
from ckschedule.simulation import Trace, simulate
from ckschedule.solvers.base import AbstractSolver


def equal(
    n: int, *, output: int = 1, saved: int = 0, gradient: int | None = 0
) -> Chain:
    """Return n equal stages of unit times before a loss without bytes and times."""
    variant = Variant(saved=saved, backward=1)
    stage = Stage(output=output, forward=1, variants=(variant,), gradient=gradient)
    return Chain(input=output, stages=[stage] * n)


def one_node() -> Graph:
    """Return the smallest graph; its name is 'graph'."""
    mode = Mode(name="run", time=1, outputs=("v",))
    return Graph(
        values=(Value(name="v", size=1),), nodes=(Node(name="N", modes=(mode,)),)
    )


def run(solver: AbstractSolver, chain: Chain, budget: int = 0) -> Trace:
    """Simulate what a solver proposes, whether or not it keeps the budget."""
    schedule = solver.search(chain, budget).schedule
    assert schedule is not None
    return simulate(chain, schedule)
