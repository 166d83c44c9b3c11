"""What `ckschedule doctor` tries in processes of their own.

Each function prints one JSON document. A package that crashes the interpreter, or a
driver that hangs, takes its process along and not the command's.
"""

import json
import os
from pathlib import Path
from typing import Any

import ckschedule as ck
from ckschedule.simulation import Model
from ckschedule.solvers.base import AbstractSolver


def print_cache() -> None:
    """Print where compiled kernels are kept, and whether the simulator's are there.

    Numba looks for a folder that it can write when a kernel is declared, and raises if
    there is none: then nothing of this package works.
    """
    from ckschedule.simulation import kernel

    folder = Path(kernel.replay.stats.cache_path)
    _print(
        {
            "folder": str(folder),
            "writable": os.access(folder, os.W_OK),
            "warm": any(folder.glob("kernel.replay-*.nbi")),
        }
    )


def print_self_test() -> None:
    """Print what solving a tiny chain and a tiny graph gave.

    The optimum of the graph is published: see `catalog.training_path`.
    """
    checks = [
        _check("chain", ck.catalog.uniform(stages=4, saved=1), 7, ck.ChainDP(), None),
        _check("graph", ck.catalog.training_path(8), 4, ck.RetentionCpSat(), 26),
        _check("program", ck.catalog.training_path(3), 4, ck.Milp(), None),
    ]
    _print({"checks": checks, "ok": all(check["ok"] for check in checks)})


def print_accelerator() -> None:
    """Print which accelerator torch sees, after a sum on it."""
    import torch

    if not torch.accelerator.is_available():
        _print({"usable": False, "torch": torch.__version__, "device": None})
        return
    device = torch.accelerator.current_accelerator()
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else str(device)
    works = int(torch.ones(8, device=device).sum()) == 8
    _print(
        {
            "usable": works,
            "torch": torch.__version__,
            "device": name,
            "count": torch.accelerator.device_count(),
        }
    )


def _check(
    name: str, model: Model, budget: int, solver: AbstractSolver, known: int | None
) -> dict[str, Any]:
    result = ck.solve(model, budget, solver)
    if known is None:
        known = ck.solve(model, budget, ck.Exhaustive()).makespan
    trace = None if result.schedule is None else ck.simulate(model, result.schedule)
    return {
        "name": name,
        "solver": type(solver).__name__,
        "makespan": None if trace is None else trace.makespan,
        "expected": known,
        "peak": None if trace is None else trace.peak,
        "budget": budget,
        "ok": trace is not None and trace.makespan == known and trace.peak <= budget,
    }


def _print(document: dict[str, Any]) -> None:
    print(json.dumps(document))
