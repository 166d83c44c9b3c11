"""The command as a process: exit codes, streams, signals, start."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ckschedule as ck

COMMAND = (sys.executable, "-m", "ckschedule")
# Typer itself may use pydantic once a command is chosen.
HEAVY = ("numba", "matplotlib", "plotext", "scipy", "ortools", "torch")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        timeout=600,
        check=False,
    )


def test_the_version_is_the_packages() -> None:
    """And help costs no heavy import, or it would be slow."""
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"ckschedule {ck.__version__}\n")


@pytest.mark.parametrize("arguments", [("--help",), ("pareto", "--help"), ("catalog",)])
def test_help_and_lists_import_nothing_heavy(arguments: tuple[str, ...]) -> None:
    """A newcomer's first command answers at once."""
    script = (
        "import sys\nfrom ckschedule.cli.app import app\n"
        f"try:\n    app({list(arguments)!r})\n"
        "finally:\n"
        f"    loaded = [m for m in {HEAVY!r} if m in sys.modules]\n"
        "    print(loaded, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_output_that_is_no_terminal_has_no_escapes() -> None:
    """Neither colours nor cursor movements; width follows COLUMNS."""
    done = run("pareto", "uniform", "--stages", "4", COLUMNS="80", TERM="xterm")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_stdout_of_json_is_one_document() -> None:
    """Logs go to stderr."""
    done = run("--verbose", "solve", "uniform", "--budget", "5", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["command"] == "solve"
    assert "optimal" in done.stderr


def test_a_terminal_without_unicode_gets_its_answer(tmp_path: Path) -> None:
    """Characters are replaced; the program does not fail."""
    path = tmp_path / "chain.json"
    chain = replace(ck.catalog.uniform(stages=3), name="naïve λ")
    ck.write_json(chain, path)
    done = run("pareto", str(path), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "na?ve ?" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupted_search_leaves_no_file(tmp_path: Path) -> None:
    """Exit code 130, one message, an old file untouched.

    The log says when the search begins; without buffers each line arrives at once.
    """
    old, picture = tmp_path / "front.json", tmp_path / "front.png"
    old.write_text("old")
    process = subprocess.Popen(
        [
            *COMMAND,
            "-v",
            "pareto",
            "resnet",
            "--depth=1001",
            f"-o{old}",
            f"--plot={picture}",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    assert process.stderr is not None
    assert any(line.endswith(b": searching\n") for line in process.stderr)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=600)
    assert (process.returncode, stdout) == (130, b"")
    assert stderr == b"Error: interrupted\n"
    assert old.read_text() == "old"
    assert os.listdir(tmp_path) == ["front.json"]
