"""The exact solver for chains."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ckschedule.costs.chain import Chain
from ckschedule.costs.encoding import encode
from ckschedule.result import Scope
from ckschedule.schedule import from_codes
from ckschedule.simulation import Model
from ckschedule.solvers.base import (
    AbstractFrontSolver,
    FrontProposal,
    PointProposal,
    Progress,
    Proposal,
    as_chain,
    as_setting,
)
from ckschedule.solvers.chain_dp.arrays import LARGEST, chain_arrays
from ckschedule.solvers.chain_dp.fronts import FrontTables, solve_fronts
from ckschedule.solvers.chain_dp.rebuild import rebuild

MEMORY_LIMIT: Final = 2 * 2**30
"""Default bytes for the fronts of all intervals, 2 GiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainDP(AbstractFrontSolver):
    """Exact optimum of a chain among persistent schedules, for one budget or for all.

    Attributes
    ----------
    memory_limit
        Bytes that the fronts may take, zero or more; past it `ResourceLimitError`.

    Raises
    ------
    InvalidSettingError
        If ``memory_limit`` is no integer, or negative.

    Notes
    -----
    Memory is not discretised. For every interval of stages the least cost as a function
    of memory is a decreasing step function, kept as its breakpoints; see
    `ckschedule.solvers.chain_dp` for the recurrence. One run answers all budgets; a run
    for one budget leaves out the points beyond it and is faster.

    Ties in time go to fewer forward executions.
    """

    memory_limit: int = MEMORY_LIMIT

    def __post_init__(self) -> None:
        limit = as_setting(self.memory_limit, "ChainDP: memory_limit", least=0)
        object.__setattr__(self, "memory_limit", limit)

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        """Return an optimal schedule, or the proof that none fits.

        Raises
        ------
        UnsupportedModelError
            If the model is a graph.
        ResourceLimitError
            If the fronts would pass ``memory_limit``, times are too fine, or sizes
            too large.
        """
        chain = as_chain(model, self)
        room = budget - chain.input - chain.static.total
        if room >= 0:
            tables = self.tables(chain, cap=room, progress=progress)
            memory, cost = tables.root()
            if len(memory):
                return _proposal(chain, tables, int(memory[-1]), int(cost[-1]))
        # The least memory is the first breakpoint of a run that leaves nothing out.
        memory, _ = self.tables(chain, progress=progress).root()
        return Proposal(
            scope=Scope.PERSISTENT,
            infeasible=True,
            minimum_budget=int(memory[0]) + chain.input + chain.static.total,
        )

    def tables(
        self,
        chain: Chain,
        *,
        cap: int = LARGEST,
        progress: Progress | None = None,
    ) -> FrontTables:
        """Return the fronts of all intervals of a chain.

        Parameters
        ----------
        chain
            Any chain.
        cap
            Bytes above input and static memory: points that need more are left out.
        progress
            Told (done, all) as the work proceeds.

        Raises
        ------
        ResourceLimitError
            As `search`.
        """
        return solve_fronts(
            chain_arrays(chain),
            cap=min(cap, LARGEST),
            memory_limit=self.memory_limit,
            progress=progress,
        )

    def front(self, model: Model, progress: Progress | None = None) -> FrontProposal:
        """Return every breakpoint of the optimum; see `AbstractFrontSolver`."""
        chain = as_chain(model, self)
        tables = self.tables(chain, progress=progress)
        return FrontProposal(
            scope=Scope.PERSISTENT,
            exact=True,
            points=_points(chain, tables),
            solver=repr(self),
        )


def _points(chain: Chain, tables: FrontTables) -> Iterator[PointProposal]:
    outside = chain.input + chain.static.total
    memory, cost = tables.root()
    fastest = None
    for room, value in zip(memory.tolist(), cost.tolist(), strict=True):
        makespan = tables.arrays.ticks(value)
        if makespan == fastest:
            # More memory that only saves executions is no point of the front.
            continue
        fastest = makespan
        yield PointProposal(
            codes=rebuild(tables, room),
            peak=room + outside,
            makespan=makespan,
            lower_bound=makespan,
        )


def _proposal(chain: Chain, tables: FrontTables, memory: int, cost: int) -> Proposal:
    makespan = tables.arrays.ticks(cost)
    return Proposal(
        scope=Scope.PERSISTENT,
        schedule=from_codes(rebuild(tables, memory), encode(chain.to_graph())),
        makespan=makespan,
        peak=memory + chain.input + chain.static.total,
        lower_bound=makespan,
    )
