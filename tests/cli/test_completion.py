"""Completion in the shell, as the scripts that Typer installs ask for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckschedule.catalog import CATALOG
from ckschedule.cli.app import app
from ckschedule.cli.solvers import SOLVERS
from ckschedule.costs.device import DEVICES


def completed(
    line: str, *, shell: str = "bash", folder: Path | None = None
) -> set[str]:
    """Return what is offered after ``line``, whose last word is begun or empty."""
    words = line.split(" ")
    environment = {
        **os.environ,
        "_CKSCHEDULE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        [sys.executable, "-m", "ckschedule"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "Error" not in done.stderr, done.stderr
    return {entry.split("\t")[0].strip() for entry in done.stdout.splitlines()} - {""}


def test_commands_are_offered() -> None:
    """All of them, or those that begin so."""
    commands = {command.name for command in app.registered_commands}
    assert completed("ckschedule ") == commands
    assert completed("ckschedule p") == {"pareto", "profile"}


def test_solvers_are_offered() -> None:
    """Nobody remembers twenty names."""
    assert completed("ckschedule solve resnet --solver ") == set(SOLVERS)
    assert completed("ckschedule solve resnet --solver cut") == {"cut-dp"}


def test_models_of_the_catalogue_are_offered() -> None:
    """By every command that takes one."""
    for command in ("pareto", "solve", "compare", "report", "catalog"):
        assert set(CATALOG) <= completed(f"ckschedule {command} ")
    gpts = {name for name in CATALOG if name.startswith("gpt2")}
    assert completed("ckschedule solve gpt2") == gpts


def test_files_of_models_are_offered(tmp_path: Path) -> None:
    """Relative and absolute ones, also where the folder's name is a pattern."""
    folder = tmp_path / "a[1]"
    folder.mkdir()
    (folder / "mine.json").touch()
    (folder / "mine.txt").touch()
    assert completed("ckschedule solve mi", folder=folder) == {"mine.json"}
    assert completed(f"ckschedule solve {folder}/m") == {f"{folder}/mine.json"}


def test_choices_of_options_are_offered() -> None:
    """Devices by name, as an example of a list that changes."""
    offered = completed("ckschedule solve resnet --device ")
    assert set(DEVICES) <= offered


def test_options_are_offered() -> None:
    """With both spellings of a switch."""
    assert completed("ckschedule pareto resnet --s") >= {"--show", "--seq", "--stages"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_answered(shell: str) -> None:
    """Each in a notation of its own, which holds the word."""
    offered = completed("ckschedule solve resnet --solver cut", shell=shell)
    assert any("cut-dp" in entry for entry in offered)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_by_this_variable(shell: str) -> None:
    """It is what ``--install-completion`` writes."""
    done = subprocess.run(
        [sys.executable, "-m", "ckschedule", "--show-completion", shell],
        capture_output=True,
        text=True,
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"_CKSCHEDULE_COMPLETE=complete_{shell}" in done.stdout
