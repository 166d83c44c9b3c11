"""Solvers by the names that the command line takes."""

from collections.abc import Mapping
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

SOLVERS: Final[Mapping[str, AbstractSolver]] = MappingProxyType(
    {
        "auto": AutoSolver(),
        "chain-dp": ChainDP(),
        "slot-dp": SlotDP(),
        "exhaustive": Exhaustive(),
        "revolve": Revolve(),
        "store-all": StoreAll(),
        "recompute-all": RecomputeAll(),
        "sqrt": SqrtSegments(),
        "chen-budget": ChenBudget(),
        "chen-recursion": ChenRecursion(),
    }
)
"""What ``--solver`` accepts, with default settings."""


def constructions(model: Model) -> tuple[AbstractSolver, ...]:
    """Return the known constructions to compare with, sized for ``model``."""
    steps = len(model.stages) - model.frozen_prefix if isinstance(model, Chain) else 1
    root = max(1, isqrt(max(0, steps - 1)) + 1)
    return (
        StoreAll(),
        RecomputeAll(),
        EveryNth(root),
        UniformSegments(root),
        SqrtSegments(),
        ChenBudget(),
        ChenRecursion(),
        Revolve(),
    )
