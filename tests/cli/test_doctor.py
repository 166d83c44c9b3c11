"""``ckschedule doctor``: what is here, and whether it works."""

import json
import subprocess
import sys
import time
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli import doctor
from ckschedule.cli.app import app
from ckschedule.cli.doctor import CORE, EXTRAS

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *arguments])


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Answers of the processes, which tests change."""
    given: dict[str, Any] = {
        "print_cache": {"folder": "/cache", "writable": True, "warm": True},
        "print_self_test": {"checks": [], "ok": True},
        "print_accelerator": {"usable": False, "torch": "2.13", "device": None},
    }
    monkeypatch.setattr(doctor, "tried", lambda function, limit: given[function])
    return given


def lacking(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Have packages not installed."""

    def version(name: str) -> str:
        if name in names:
            raise metadata.PackageNotFoundError(name)
        return metadata.version(name)

    monkeypatch.setattr(doctor, "version", version)


def test_a_sound_installation_is_told_so() -> None:
    """Everything for real, as a newcomer runs it."""
    done = run("--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["ok"]
    assert document["ckschedule"] == ck.__version__
    assert all(package["ok"] for package in document["core"])
    assert document["cache"]["writable"]
    assert [check["ok"] for check in document["self_test"]["checks"]] == [True] * 3


def test_torch_is_not_imported_here() -> None:
    """A broken driver must not take the command along, nor anything else heavy."""
    script = (
        "import sys\nfrom ckschedule.cli import doctor\n"
        "doctor.tried = lambda function, limit: {'error': 'not tried'}\n"
        "try:\n    doctor.run_doctor(json=False)\n"
        "except BaseException:\n    pass\n"
        "heavy = ('torch', 'numba', 'ortools', 'scipy', 'matplotlib', 'dask')\n"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def test_packages_are_those_of_the_project_file() -> None:
    """A new dependency, or a new least version, is looked for as well."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    assert [f"{name}>={least}" for name, least in CORE.items()] == project[
        "dependencies"
    ]
    extras = {
        name: [f"{each}>={least}" for each, least in extra.packages.items()]
        for name, extra in EXTRAS.items()
    }
    declared = project["optional-dependencies"]
    for_developers = {"dev", "docs"}
    assert extras == {n: declared[n] for n in declared if n not in for_developers}


def test_a_missing_extra_is_no_fault_and_comes_with_its_command(
    answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way out stands beside what is missing."""
    lacking(monkeypatch, "plotly")
    done = run()
    assert done.exit_code == 0, done.output
    assert "pip install 'ckschedule[report]'" in done.stdout
    assert EXTRAS["report"].adds in done.stdout


def test_a_missing_part_of_the_core_is_a_fault(
    answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if what was tried did not need it."""
    lacking(monkeypatch, "highspy")
    done = run()
    assert done.exit_code == 1
    assert "the core lacks highspy" in done.stdout


def test_an_old_version_is_a_fault(
    answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compared as numbers: 1.9 is older than 1.26."""
    monkeypatch.setattr(doctor, "version", lambda name: "0.9.1rc2")
    done = run("--json")
    assert done.exit_code == 1
    assert not json.loads(done.stdout)["core"][0]["ok"]


def test_a_failed_self_test_is_a_fault(answers: dict[str, Any]) -> None:
    """With its reason."""
    answers["print_self_test"] = {"error": "ended with -11: no message"}
    done = run()
    assert done.exit_code == 1
    assert "ended with -11" in done.stdout
    assert "does NOT work" in done.stdout


def test_a_self_test_that_compiles_kernels_gets_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first command of a newcomer may be this one."""
    limits: list[float] = []

    def tried(function: str, limit: float) -> dict[str, Any]:
        if function != "print_self_test":
            return {"error": "not tried"}
        limits.append(limit)
        done = {"checks": [], "ok": True}
        return done if len(limits) == 2 else {"error": "late", "timed_out": True}

    monkeypatch.setattr(doctor, "tried", tried)
    assert run("--json").exit_code == 0
    assert limits == [doctor.QUICK, doctor.COMPILING]


def test_torch_is_not_tried_where_it_is_missing(
    answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would only fail."""
    lacking(monkeypatch, "torch")
    del answers["print_accelerator"]
    document = json.loads(run("--json").stdout)
    assert document["accelerator"]["error"] == "torch is not installed"
    assert document["ok"]


def test_a_check_that_hangs_is_given_up() -> None:
    """The command ends, whatever a driver does."""
    begin = time.monotonic()
    # Nobody ever writes to this pipe.
    hanging = "os.read(checkups.os.pipe()[0], 1) or checkups.print_cache"
    found = doctor.tried(hanging, 2.0)
    assert found == {"error": "no answer within 2 s", "timed_out": True}
    assert time.monotonic() - begin < 30


def test_a_check_that_fails_says_its_last_line() -> None:
    """That is the exception's message."""
    found = doctor.tried("no_such_checkup", 60)
    assert "ended with 1: AttributeError" in found["error"]
    assert "no_such_checkup" in found["error"]


def test_an_unwritable_cache_comes_with_a_way_out(answers: dict[str, Any]) -> None:
    """Kernels would be compiled anew in every process."""
    answers["print_cache"] = {"folder": "/cache", "writable": False, "warm": False}
    done = run()
    assert "NUMBA_CACHE_DIR" in done.stdout
