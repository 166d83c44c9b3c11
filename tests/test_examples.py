"""The scripts in examples/ run, and keep what they promise."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
LONGEST = 100
"""Lines: an example that is longer is no example."""

pytestmark = pytest.mark.skipif(
    not SCRIPTS, reason="the examples are in the repository only"
)


def run(name: str, *arguments: str, folder: Path) -> str:
    """Return what a script printed, run from an empty folder."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / name), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_is_short(script: Path) -> None:
    """It is read before it is run."""
    assert len(script.read_text("utf-8").splitlines()) <= LONGEST


def test_the_adjoint_of_time_stepping_is_exact(tmp_path: Path) -> None:
    """The script itself compares with storing everything and with differences."""
    said = run("time_stepping_adjoint.py", folder=tmp_path)
    # 1000 + p(1000, 10), by the closed form of Griewank and Walther.
    assert "1000 steps in 10 stored states: 4636 steps computed" in said


def test_a_small_resnet_is_planned_and_drawn(tmp_path: Path) -> None:
    """The script with a network that takes no time; without matplotlib, no picture."""
    given = ("--depth", "50", "--picture", "front.png")
    said = run("resnet_1001.py", *given, folder=tmp_path)
    assert "within 25%" in said
    assert (tmp_path / "front.png").exists() == (find_spec("matplotlib") is not None)


@pytest.mark.slow
def test_the_resnet_of_the_paper_is_planned(tmp_path: Path) -> None:
    """As a reader runs it."""
    assert "336 stages" in run("resnet_1001.py", folder=tmp_path)


@pytest.mark.slow
def test_a_llama_trains_within_its_budget(tmp_path: Path) -> None:
    """The predicted peak is not passed, and lies below that of the plain model."""
    pytest.importorskip("torch", reason="install ckschedule[torch]")
    pytest.importorskip("transformers")
    said = run("huggingface_llama.py", folder=tmp_path)
    sizes = dict(
        re.findall(
            r"^(plain step|budget|predicted peak|measured peak) +(.+)$", said, re.M
        )
    )
    units = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

    def size(name: str) -> float:
        value, unit = sizes[name].split()
        return float(value.replace(",", "")) * units[unit]

    assert size("predicted peak") <= size("budget") < size("plain step")
    assert size("measured peak") <= size("predicted peak")
