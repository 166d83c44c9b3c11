"""Solvers by the names that the command line takes."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from math import isqrt
from types import MappingProxyType
from typing import Any, Final

from ckschedule.costs.chain import Chain
from ckschedule.errors import InvalidSettingError
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
from ckschedule.solvers.cp_sat import RetentionCpSat
from ckschedule.solvers.cut_dp import CutDP
from ckschedule.solvers.exhaustive import Exhaustive
from ckschedule.solvers.greedy import GreedyEviction
from ckschedule.solvers.local_search import LocalSearch
from ckschedule.solvers.lower_sets import LowerSetDP
from ckschedule.solvers.milp import LpRounding, Milp
from ckschedule.solvers.portfolio import Portfolio
from ckschedule.solvers.revolve import Revolve
from ckschedule.solvers.slot_dp import SlotDP

_SEARCHES: Final[Mapping[str, AbstractSolver]] = MappingProxyType(
    {
        "auto": AutoSolver(),
        "chain-dp": ChainDP(),
        "slot-dp": SlotDP(),
        "exhaustive": Exhaustive(),
        "portfolio": Portfolio(),
        "cp-sat": RetentionCpSat(),
        "milp": Milp(),
        "lp-rounding": LpRounding(),
        "local-search": LocalSearch(),
        "greedy": GreedyEviction(),
        "cut-dp": CutDP(),
        "lower-sets": LowerSetDP(),
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

OF_GRAPHS: Final = ("store-all", "greedy", "local-search", "cut-dp", "lower-sets")
"""Names of heuristics for graphs, which a comparison shows."""

_PARTS: Final = ("RetentionCpSat", "LocalSearch", "CutDP", "LowerSetDP")
"""Solvers that a portfolio asks with settings of its own."""

SOLVERS: Final = (*_SEARCHES, *CONSTRUCTIONS)
"""What ``--solver`` accepts."""


def solver_named(
    name: str,
    model: Model,
    *,
    order: str | None = None,
    time_limit: float | None = None,
) -> AbstractSolver:
    """Return the solver of a name in `SOLVERS`.

    Parameters
    ----------
    name, model
        Its name, and what it is for.
    order, time_limit
        Settings that differ from the default ones; None: the default.

    Raises
    ------
    InvalidSettingError
        If the solver has no such setting.
    """
    if name in _SIZED:
        steps = (
            len(model.stages) - model.frozen_prefix if isinstance(model, Chain) else 1
        )
        solver = _SIZED[name](max(1, isqrt(max(0, steps - 1)) + 1))
    else:
        solver = _SEARCHES[name] if name in _SEARCHES else _UNSIZED[name]
    given = {"order": order, "time_limit": time_limit}
    settings = {key: value for key, value in given.items() if value is not None}
    known = dataclass_fields(solver)
    for key in settings:
        if key not in known:
            raise InvalidSettingError(
                f"solver {name!r} has no setting {key!r}; leave out "
                f"--{key.replace('_', '-')}, or choose another solver"
            )
    return type(solver)(**known | settings)


def dataclass_fields(solver: AbstractSolver) -> dict[str, Any]:
    """Return a solver's settings by name."""
    assert is_dataclass(solver), "as all of these are"
    return {field.name: getattr(solver, field.name) for field in fields(solver)}


def short_name(solver: str) -> str:
    """Return a solver's text without its settings where they are the default ones."""
    auto = AutoSolver()
    known = [*_SEARCHES.values(), *_UNSIZED.values(), auto.exact, auto.bracket]
    names = {repr(s): type(s).__name__ for s in [*known, auto.oracle]}
    if solver in names:
        return names[solver]
    kind = solver.partition("(")[0]
    # Its settings are shares of the time that was left; --json has them.
    return kind if kind in _PARTS else solver
