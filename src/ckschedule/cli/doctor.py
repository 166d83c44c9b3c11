"""``ckschedule doctor``: what is installed here, and whether it works."""

import json as json_module
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import typer

import ckschedule
from ckschedule.cli.options import Json
from ckschedule.cli.output import console, emit_json
from ckschedule.units import format_bytes

CORE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "numpy": "1.26",
        "scipy": "1.12",
        "highspy": "1.10",
        "ortools": "9.12",
        "numba": "0.61",
        "pydantic": "2.9",
        "typer": "0.29",
        "rich": "13.9",
        "plotext": "6",
        "lazy-loader": "0.4",
    }
)
"""Packages that nothing works without, and their least versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """Optional packages that are installed together.

    Attributes
    ----------
    adds
        What they are for.
    packages
        Least versions by name.
    """

    adds: str
    packages: Mapping[str, str]


EXTRAS: Final[Mapping[str, Extra]] = MappingProxyType(
    {
        "torch": Extra(
            adds="profile and run torch models, auto_checkpoint",
            packages={"torch": "2.13"},
        ),
        "plot": Extra(
            adds="pictures: --plot, plot_front and others",
            packages={"matplotlib": "3.8"},
        ),
        "report": Extra(
            adds="pages to explore: ckschedule report", packages={"plotly": "6"}
        ),
        "cluster": Extra(
            adds="sweeps on many processes or machines",
            packages={"joblib": "1.4", "dask": "2024.8", "distributed": "2024.8"},
        ),
    }
)
"""By the name that pip takes."""

QUICK: Final = 10.0
"""Seconds that a check may take: whatever takes longer is broken."""

COMPILING: Final = 120.0
"""Seconds of a second self-test, if the first one was not done: compiling kernels takes
some ten seconds on a fast machine, once."""

LOADING: Final = 60.0
"""Seconds for torch to load and to find an accelerator."""

_UNWAITED: Final = 2.0
"""Seconds that a killed process is waited for: one that hangs in a driver stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """An installed package, or one that is missing.

    Attributes
    ----------
    version
        None if it is missing.
    least
        The version that is needed.
    ok
        Whether it is there, and recent enough.
    """

    name: str
    version: str | None
    least: str
    ok: bool


def run_doctor(*, json: Json = False) -> None:
    """Show what is installed, what is missing, and whether the core works.

    Solves a tiny chain and a tiny graph and replays the schedules. Exit code 0 if that
    works, 1 if it does not; missing extras are no fault.

    [bold]Examples[/bold]

      ckschedule doctor
      ckschedule doctor --json
    """
    core = [_package(name, least) for name, least in CORE.items()]
    extras = {
        name: [_package(each, least) for each, least in extra.packages.items()]
        for name, extra in EXTRAS.items()
    }
    cache = tried("print_cache", QUICK)
    test = tried("print_self_test", QUICK)
    if test.get("timed_out"):
        # Kernels may have to be compiled; those that are done need not be again.
        test = tried("print_self_test", COMPILING)
    accelerator: dict[str, Any] = {"usable": False, "error": "torch is not installed"}
    if all(package.ok for package in extras["torch"]):
        accelerator = tried("print_accelerator", LOADING)
    ok = all(package.ok for package in core) and bool(test.get("ok"))
    document = {
        "command": "doctor",
        "ok": ok,
        "ckschedule": ckschedule.__version__,
        "folder": str(Path(ckschedule.__file__).parent),
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cores": _cores(),
        "memory": _memory(),
        "core": [asdict(package) for package in core],
        "extras": {
            name: {
                "adds": EXTRAS[name].adds,
                "install": _install(name),
                "packages": [asdict(package) for package in packages],
                "ok": all(package.ok for package in packages),
            }
            for name, packages in extras.items()
        },
        "cache": cache,
        "accelerator": accelerator,
        "self_test": test,
    }
    if json:
        emit_json(document)
    else:
        _show(document)
    if not ok:
        raise typer.Exit(1)


def _package(name: str, least: str) -> Package:
    try:
        found = version(name)
    except PackageNotFoundError:
        return Package(name=name, version=None, least=least, ok=False)
    ok = _numbers(found) >= _numbers(least)
    return Package(name=name, version=found, least=least, ok=ok)


def _numbers(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: enough to tell releases apart."""
    numbers: list[int] = []
    for part in text.split("+")[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def tried(function: str, limit: float) -> dict[str, Any]:
    """Return what a function of `checkups` printed, or ``{"error": why not}``.

    Parameters
    ----------
    function
        Its name. It runs in a process of its own, which is killed after ``limit``.
    limit
        Seconds.
    """
    script = f"from ckschedule.cli import checkups; checkups.{function}()"
    process = subprocess.Popen(
        # Without the current folder, where a file may have a package's name.
        [sys.executable, "-P", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": _search_path()},
    )
    try:
        said, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_UNWAITED)
        return {"error": f"no answer within {limit:.0f} s", "timed_out": True}
    if process.returncode != 0:
        lines = errors.strip().splitlines() or ["no message"]
        return {"error": f"ended with {process.returncode}: {lines[-1]}"}
    document: dict[str, Any] = json_module.loads(said.splitlines()[-1])
    return document


def _search_path() -> str:
    """Return a PYTHONPATH under which a child finds this very package."""
    here = str(Path(ckschedule.__file__).resolve().parents[1])
    given = os.environ.get("PYTHONPATH")
    return here if not given else os.pathsep.join((here, given))


def _cores() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _memory() -> int | None:
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names:
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _install(extra: str) -> str:
    return f"pip install 'ckschedule[{extra}]'"


def _show(document: Mapping[str, Any]) -> None:
    from ckschedule.cli.tables import facts_table, ruled_table

    memory, cores = document["memory"], document["cores"]
    out = console()
    out.print(
        facts_table(
            {
                "ckschedule": f"{document['ckschedule']} in {document['folder']}",
                "python": f"{document['python']}, {document['executable']}",
                "platform": document["platform"],
                "machine": f"{cores or 'unknown'} cores, "
                f"{'unknown' if memory is None else format_bytes(memory)} memory",
                "kernels": _cache_in_words(document["cache"]),
                "accelerator": _accelerator_in_words(document["accelerator"]),
            }
        )
    )
    table = ruled_table(("package", "version", "part of", "state"), left=(0, 1, 2, 3))
    for package in document["core"]:
        table.add_row(*_cells(package, "the core"))
    for name, extra in document["extras"].items():
        for package in extra["packages"]:
            table.add_row(*_cells(package, name))
    out.print(table)
    missing = {n: e for n, e in document["extras"].items() if not e["ok"]}
    if missing:
        adds = ruled_table(("to add", "run"), left=(0, 1))
        for extra in missing.values():
            adds.add_row(extra["adds"], extra["install"])
        out.print(adds)
    out.print(facts_table(_test_in_words(document["self_test"])))
    broken = [p["name"] for p in document["core"] if not p["ok"]]
    if broken:
        out.print(f"the core lacks {', '.join(broken)}: run pip install ckschedule")
    out.print("all well" if document["ok"] else "the core does NOT work")


def _cells(package: Mapping[str, Any], part: str) -> Sequence[str]:
    state = "ok"
    if package["version"] is None:
        state = "missing"
    elif not package["ok"]:
        state = f"too old: {package['least']} is needed"
    return package["name"], package["version"] or "-", part, state


def _cache_in_words(cache: Mapping[str, Any]) -> str:
    if "error" in cache:
        # Numba's own words where it finds no folder that it can write.
        hint = "; set NUMBA_CACHE_DIR to a folder that can be written"
        return f"{cache['error']}{hint if 'locator' in cache['error'] else ''}"
    state = "there" if cache["warm"] else "to be compiled, some ten seconds once"
    if not cache["writable"]:
        state += "; the folder is read-only, set NUMBA_CACHE_DIR to another one"
    return f"{state}, in {cache['folder']}"


def _accelerator_in_words(found: Mapping[str, Any]) -> str:
    if "error" in found:
        return f"none: {found['error']}"
    if found["device"] is None:
        return "none is seen by torch: models are run and measured on the CPU"
    count = f"{found['count']} x " if found["count"] > 1 else ""
    return (
        f"{count}{found['device']}, {'works' if found['usable'] else 'does NOT work'}"
    )


def _test_in_words(test: Mapping[str, Any]) -> dict[str, str]:
    if "error" in test:
        return {"self-test": test["error"]}
    return {
        f"self-test: {check['name']}": (
            f"{'ok' if check['ok'] else 'FAILED'}, {check['solver']} takes "
            f"{check['makespan']} steps in {check['peak']} of {check['budget']} bytes; "
            f"{check['expected']} is optimal"
        )
        for check in test["checks"]
    }
