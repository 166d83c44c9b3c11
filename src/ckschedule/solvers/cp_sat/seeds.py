"""Where a search starts from: schedules and bounds of faster methods."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ckschedule.costs.chain import Chain
from ckschedule.errors import ResourceLimitError, UnsupportedModelError
from ckschedule.result import Scope
from ckschedule.schedule import to_codes
from ckschedule.simulation import Model, as_graph
from ckschedule.solvers.chain_dp import ChainDP
from ckschedule.solvers.cp_sat.solver import RetentionCpSat
from ckschedule.solvers.order import Order
from ckschedule.solvers.pebbling import pebbling_of

if TYPE_CHECKING:
    from ckschedule.solvers.base import AbstractSolver
    from ckschedule.solvers.cp_sat.rounds import Rounds

_PART: Final = 0.1
"""Part of the time left that one seed may take."""

_SEARCH: Final = 8.0
"""Seconds that one takes at most."""

_GIVEN: Final = 0.3
"""Part of the time left for the given order where any order is searched."""

_MANY: Final = 200
"""Nodes above which local search is worth its time where others found something."""

_logger = logging.getLogger(__name__)


def default_seeds(model: Model, rounds: Rounds) -> Iterator[AbstractSolver]:
    """Yield the solvers to start from, fast ones first.

    Parameters
    ----------
    model
        Chain or graph.
    rounds
        The search so far: what it has already says what else it needs.
    """
    order = rounds.order
    if isinstance(model, Chain):
        yield ChainDP()
    pebbling = pebbling_of(as_graph(model))
    if pebbling is not None:
        yield from _of_pebblings(rounds, len(pebbling))
    if order is Order.FREE:
        # Its schedules are some of all, and far fewer to search.
        yield RetentionCpSat(
            time_limit=_GIVEN * rounds.deadline.remaining,
            workers=rounds.workers,
            seeds=(),
        )


def _of_pebblings(rounds: Rounds, n: int) -> Iterator[AbstractSolver]:
    # Imported here: each loads kernels of its own.
    from ckschedule.solvers.cut_dp import CutDP
    from ckschedule.solvers.greedy import GreedyEviction
    from ckschedule.solvers.local_search import LocalSearch

    order, seconds = rounds.order, rounds.deadline.remaining
    yield GreedyEviction(order=order)
    yield CutDP(time_limit=min(_SEARCH, _PART * seconds))
    rounds.tighten()
    if order is Order.FREE or n > _MANY or rounds.incumbent is None:
        yield LocalSearch(order=order, time_limit=min(_SEARCH, _PART * seconds))


def plant(
    rounds: Rounds,
    model: Model,
    budget: int,
    seeds: tuple[AbstractSolver, ...] | None,
) -> None:
    """Offer the schedules and bounds of seeds to a search, while it needs any."""
    deadline = rounds.deadline
    chosen = default_seeds(model, rounds) if seeds is None else iter(seeds)
    for seed in chosen:
        if rounds.proved or deadline.passed:
            return
        name = type(seed).__name__
        try:
            proposal = seed.search(model, budget)
        except (UnsupportedModelError, ResourceLimitError) as error:
            _logger.info("seed %s passed over: %s", name, error)
            continue
        if proposal.schedule is not None:
            codes = to_codes(proposal.schedule, rounds.problem.encoding)
            taken = rounds.offer(codes[codes >= 0].tolist())
            _logger.info("seed %s: %s", name, rounds.ceiling if taken else "no better")
        # What holds for all schedules holds for those of the order.
        if proposal.scope in (rounds.order.scope, Scope.UNRESTRICTED):
            if proposal.infeasible:
                rounds.infeasible = True
            elif proposal.lower_bound is not None:
                rounds.raise_bound(proposal.lower_bound, proposal.bound_source or name)
