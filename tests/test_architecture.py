"""Rules about the code itself: layers, lengths, names, docstrings."""

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ckschedule

ROOT = Path(ckschedule.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
LONGEST = 400
"""Lines that a module may have without giving a reason at its top."""


def name_of(module: Path) -> str:
    return module.relative_to(ROOT).as_posix()


def docstring(module: Path) -> str:
    return ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""


def test_each_layer_imports_only_from_those_below_it() -> None:
    """The contracts of pyproject.toml: layers, and a core without heavy packages."""
    project = ROOT.parent.parent
    program = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("import-linter is not installed: pip install 'ckschedule[dev]'")
    if not (project / "pyproject.toml").is_file():
        pytest.skip("the contracts stand in pyproject.toml, which is not installed")
    answer = subprocess.run(
        [program, "--no-cache"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT.parent)},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_says_what_its_subject_is(module: Path) -> None:
    """In a first line that is a sentence."""
    text = docstring(module)
    assert text, "no docstring"
    assert text.split("\n\n")[0].rstrip().endswith((".", "::", ":"))


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_long_module_says_why_it_is_long(module: Path) -> None:
    """Otherwise it has two subjects."""
    length = len(module.read_text("utf-8").splitlines())
    assert length <= LONGEST or f"Longer than {LONGEST} lines" in docstring(module)


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_no_module_is_a_drawer(module: Path) -> None:
    """What is in it has a subject, and the subject has a name."""
    assert module.stem not in {"utils", "util", "helpers", "common", "misc", "tools"}


PUBLIC = [
    (f"{name_of(module)}:{node.name}", node)
    for module in MODULES
    for node in ast.parse(module.read_text("utf-8")).body
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
]


@pytest.mark.parametrize("where", [name for name, _ in PUBLIC])
def test_a_public_function_says_what_comes_back(where: str) -> None:
    """The first line is a sentence."""
    text = ast.get_docstring(dict(PUBLIC)[where])
    assert text, "no docstring"
    assert text.split("\n\n")[0].endswith((".", "::", ":"))


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, item in vars(ckschedule).items()
        if inspect.isfunction(item) and not name.startswith("_")
    ),
)
def test_an_exported_function_describes_parameters_result_and_errors(
    name: str,
) -> None:
    """In numpydoc, every parameter by name; or it says where to see the same."""
    function = getattr(ckschedule, name)
    text = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    if re.search(r"; see `\w+`\.", text):
        return
    if signature.parameters:
        assert "\nParameters\n----------\n" in text
        described = text.split("Parameters\n----------\n")[1].split("\n\n")[0]
        listed = re.findall(r"^[\w, ]+$", described, re.MULTILINE)
        named = {word for line in listed for word in re.split(r",\s*", line)}
        assert set(signature.parameters) <= named
    if signature.return_annotation not in (None, "None"):
        assert "\nReturns\n-------\n" in text
    assert "\nExamples\n--------\n" in text or "\nRaises\n------\n" in text


def test_nothing_configures_logging_or_prints() -> None:
    """Only the command line may."""
    for module in MODULES:
        if "cli" in module.parts:
            continue
        calls = {
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(module.read_text("utf-8")))
            if isinstance(node, ast.Call)
        }
        forbidden = {"print", "logging.basicConfig", "logging.getLogger().addHandler"}
        assert not calls & forbidden, name_of(module)
