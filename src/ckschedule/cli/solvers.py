"""Solvers by the names that the command line takes."""

from collections.abc import Callable, Mapping
from math import isqrt
from types import MappingProxyType
from typing import Final

from ckschedule.costs.chain import Chain
from ckschedule.simulation import Model
from ckschedule.solvers.auto import AutoSolver
from ckschedule.solvers.base import AbstractSolver
from ckschedule.solvers.baselines import (
    ChenBudget,
    ChenRecursion,
    EveryNth,
    RecomputeAll,
    SqrtSegments,
    StoreAll,
    UniformSegments,
)
from ckschedule.solvers.chain_dp import ChainDP
from ckschedule.solvers.exhaustive import Exhaustive
from ckschedule.solvers.revolve import Revolve
from ckschedule.solvers.slot_dp import SlotDP

_SEARCHES: Final[Mapping[str, AbstractSolver]] = MappingProxyType(
    {
        "auto": AutoSolver(),
        "chain-dp": ChainDP(),
        "slot-dp": SlotDP(),
        "exhaustive": Exhaustive(),
    }
)

_UNSIZED: Final[Mapping[str, AbstractSolver]] = MappingProxyType(
    {
        "revolve": Revolve(),
        "store-all": StoreAll(),
        "recompute-all": RecomputeAll(),
        "sqrt": SqrtSegments(),
        "chen-budget": ChenBudget(),
        "chen-recursion": ChenRecursion(),
    }
)

_SIZED: Final[Mapping[str, Callable[[int], AbstractSolver]]] = MappingProxyType(
    {"every-nth": EveryNth, "uniform-segments": UniformSegments}
)
"""Take the square root of the number of steps."""

CONSTRUCTIONS: Final = (*_UNSIZED, *_SIZED)
"""Names of the known constructions, which a comparison shows."""

SOLVERS: Final = (*_SEARCHES, *CONSTRUCTIONS)
"""What ``--solver`` accepts."""


def solver_named(name: str, model: Model) -> AbstractSolver:
    """Return the solver of a name in `SOLVERS`, with default settings for a model."""
    if name in _SIZED:
        steps = (
            len(model.stages) - model.frozen_prefix if isinstance(model, Chain) else 1
        )
        return _SIZED[name](max(1, isqrt(max(0, steps - 1)) + 1))
    return _SEARCHES[name] if name in _SEARCHES else _UNSIZED[name]


def short_name(solver: str) -> str:
    """Return a solver's text without its settings where they are the default ones."""
    auto = AutoSolver()
    known = [*_SEARCHES.values(), *_UNSIZED.values(), auto.exact, auto.bracket]
    names = {repr(s): type(s).__name__ for s in [*known, auto.oracle]}
    return names.get(solver, solver)
