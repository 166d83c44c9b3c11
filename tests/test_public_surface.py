"""What ``import ckschedule`` offers, and what it costs."""

import importlib
import json
import pkgutil
import subprocess
import sys
from importlib.resources import files

import pytest

import ckschedule

NAMES = [
    "AbstractFrontSolver",
    "AbstractSolver",
    "Answer",
    "Arena",
    "AutoSolver",
    "Block",
    "Chain",
    "ChainDP",
    "ChenBudget",
    "ChenRecursion",
    "Compute",
    "CutDP",
    "Device",
    "EveryNth",
    "Exhaustive",
    "FirstN",
    "Free",
    "FrontProposal",
    "Graph",
    "GreedyEviction",
    "LocalSearch",
    "LowerSetDP",
    "LpRounding",
    "Measurement",
    "Milp",
    "Mode",
    "Model",
    "Node",
    "Operation",
    "Order",
    "ParetoFront",
    "ParetoPoint",
    "PointProposal",
    "Portfolio",
    "Progress",
    "Proposal",
    "RecomputeAll",
    "Report",
    "Result",
    "RetentionCpSat",
    "Revolve",
    "Schedule",
    "Scope",
    "SlotDP",
    "SqrtSegments",
    "Stage",
    "StaticMemory",
    "Status",
    "Stop",
    "Storages",
    "StoreAll",
    "SweepRecord",
    "Trace",
    "UniformSegments",
    "Value",
    "Variant",
    "Verification",
    "apply",
    "auto_checkpoint",
    "catalog",
    "errors",
    "execute",
    "export",
    "from_json",
    "import_model",
    "json_schema",
    "measure",
    "measure_plain",
    "measure_step",
    "pareto",
    "plan_arena",
    "plan_of",
    "profile",
    "read_json",
    "read_model",
    "share_storage",
    "simulate",
    "solve",
    "sweep",
    "to_json",
    "unapply",
    "verify",
    "write_json",
]

ALIASES = {"Model", "Operation", "Progress"}
"""Names of types, which have no docstrings of their own."""

HEAVY = [
    "matplotlib",
    "networkx",
    "numba",
    "ortools",
    "pydantic",
    "rich",
    "scipy",
    "torch",
    "typer",
]


def submodules() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(ckschedule.__path__)]


def test_the_public_names_are_these() -> None:
    """Adding or removing one is a decision, not an accident."""
    public = [name for name in dir(ckschedule) if not name.startswith("_")]
    assert sorted(public) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_says_what_it_is(name: str) -> None:
    """``help(ckschedule.name)`` is the first thing people read."""
    if name in ALIASES:
        return
    assert getattr(ckschedule, name).__doc__


@pytest.mark.parametrize("name", submodules())
def test_no_function_hides_a_submodule(name: str) -> None:
    """``import ckschedule.simulate`` and ``ckschedule.simulate`` cannot both work."""
    if name != "__main__":
        module = importlib.import_module(f"ckschedule.{name}")
        assert vars(ckschedule).get(name, module) is module


def test_importing_the_package_loads_nothing_heavy() -> None:
    """Half a second of imports for `ckschedule.Chain` would be felt in every script."""
    program = (
        "import json, sys, ckschedule;"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert json.loads(answer.stdout) == []


def test_importing_the_package_configures_no_logging() -> None:
    """Handlers belong to applications."""
    program = (
        "import logging, ckschedule;"
        "print(logging.getLogger('ckschedule').handlers, logging.root.handlers)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert answer.stdout == "[] []\n"


def test_type_checkers_may_read_the_package() -> None:
    """PEP 561's marker."""
    assert files("ckschedule").joinpath("py.typed").is_file()
