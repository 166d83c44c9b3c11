"""Every Python block of the documentation runs, and every command of its guides."""

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

import ckschedule as ck
from ckschedule.cli.app import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

EXTRAS = {
    "import torch": ("torch", "torch"),
    "--plot": ("matplotlib", "plot"),
    "ckschedule report": ("plotly", "report"),
}
"""What a page mentions, the package that it needs then, and the extra with it."""

_FENCE = re.compile(
    r'^```(\w+)(?: title="([^"\n]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that it is to be saved as, its text."""

    language: str
    file: str
    text: str


def blocks_of(page: Path) -> Iterator[Block]:
    for language, file, text in _FENCE.findall(page.read_text()):
        yield Block(language, file, text)


def is_guide(page: Path) -> bool:
    """Whether its blocks follow each other, in one folder."""
    return page.parent.name in ("tutorials", "how-to")


BLOCKS = [
    pytest.param(block.text, id=f"{page.stem}-{number}")
    for page in PAGES
    if not is_guide(page)
    for number, block in enumerate(
        block for block in blocks_of(page) if block.language == "python"
    )
]

GUIDES = [pytest.param(page, id=page.stem) for page in PAGES if is_guide(page)]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_in_the_documentation_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a reader copies works as it stands, from an empty directory."""
    _skip_without_extras(block)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "documentation", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", GUIDES)
def test_a_guide_works_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, commands and Python in their order, beginning in an empty directory.

    In a tutorial, a block of Python goes on where the last one stopped.
    """
    _skip_without_extras(page.read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    session: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.file:
            (tmp_path / block.file).write_text(block.text)
            # Another guide may have imported a module of that name.
            monkeypatch.delitem(sys.modules, Path(block.file).stem, raising=False)
        elif block.language == "sh":
            for line in block.text.splitlines():
                _run(line)
        elif block.language == "python":
            space = session if page.parent.name == "tutorials" else dict(session)
            exec(compile(block.text, str(page), "exec"), space)


def test_every_public_name_has_its_place_in_the_reference() -> None:
    """A new name is documented where it is exported."""
    described = {
        name
        for page in (DOCS / "reference").glob("*.md")
        for name in re.findall(r"^::: ckschedule\.(\w+)$", page.read_text(), re.M)
    }
    assert set(dir(ck)) - {"catalog"} <= described | {"errors"}


def test_every_name_of_the_catalogue_has_its_place_in_the_reference() -> None:
    """Likewise for networks."""
    page = (DOCS / "reference" / "catalog.md").read_text()
    described = set(re.findall(r"^::: ckschedule\.catalog\.(\w+)$", page, re.M))
    public = {
        name
        for name, value in vars(ck.catalog).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert public <= described


def test_benchmarks_that_the_documentation_names_exist() -> None:
    """A command that a reader copies finds its script."""
    for page in PAGES:
        for script in re.findall(r"\bbench/\w+\.py\b", page.read_text()):
            assert (ROOT / script).exists(), f"{page.name} names {script}"


def _run(line: str) -> None:
    """Run a line of a shell block if it is one of ours; comments may follow it."""
    words = shlex.split(line, comments=True)
    if not words or words[0] != "ckschedule":
        return
    outcome = CliRunner().invoke(app, words[1:])
    assert outcome.exit_code == 0, f"{line}\n{outcome.output}"


def _skip_without_extras(text: str) -> None:
    for mention, (package, extra) in EXTRAS.items():
        if mention in text:
            pytest.importorskip(package, reason=f"install ckschedule[{extra}]")
