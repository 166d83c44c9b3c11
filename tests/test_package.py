"""What is published: contents of wheel and sdist, and the wheel as users have it."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

import ckschedule as ck

ROOT = Path(__file__).parents[1]
CACHES = {".pyc", ".nbi", ".nbc"}
FOLDERS = ("src", "tests", "bench", "docs", "examples")
SIZE = 4 * 2**20
"""Bytes that the installed package may take, without dependencies."""
IMPORT = 1.0
"""Seconds of ``import ckschedule``, generously: a busy machine must not fail."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ROOT / "pyproject.toml").is_file(),
        reason="packages are built from the repository",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Built:
    """Paths of the two files."""

    wheel: Path
    sdist: Path


@dataclass(frozen=True, kw_only=True)
class Installed:
    """An environment in which nothing of this repository can be imported."""

    python: Path
    folder: Path

    def run(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Return a finished process of the environment's interpreter."""
        return subprocess.run(
            [str(self.python), *words],
            capture_output=True,
            text=True,
            cwd=cwd,
            env=environment(),
            timeout=900,
            check=False,
        )


def environment(**more: str) -> dict[str, str]:
    """Return the environment without ways to the source tree."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return kept | more


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The sdist of this tree, and the wheel of that sdist, as an index would have."""
    folder = tmp_path_factory.mktemp("built")
    tools = folder / "tools"
    got = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet"),
            *("--disable-pip-version-check", "--target", str(tools), "hatchling"),
        ],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=300,
        check=False,
    )
    if got.returncode != 0:
        reason = (got.stderr.strip().splitlines() or ["no message"])[-1]
        pytest.skip(f"hatchling cannot be installed: {reason}")

    def build(target: str, source: Path) -> Path:
        out = folder / target
        subprocess.run(
            [
                *(sys.executable, "-m", "hatchling", "build"),
                *("-t", target, "-d", str(out)),
            ],
            cwd=source,
            env=environment(PYTHONPATH=str(tools)),
            capture_output=True,
            timeout=300,
            check=True,
        )
        (path,) = out.glob("ckschedule-*")
        return path

    sdist = build("sdist", ROOT)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    return Built(sdist=sdist, wheel=build("wheel", source))


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, beside the dependencies that are here."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(python), "install"),
            *("--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"),
            *("--no-compile", str(built.wheel)),
        ],
        env=environment(),
        capture_output=True,
        timeout=300,
        check=True,
    )
    own = next((folder / "lib").glob("python*/site-packages"))
    # Searched after its own folder; an editable installation there is not followed.
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(python=python, folder=own / "ckschedule")


def source_files(folder: Path) -> Iterator[str]:
    """Yield the files below a folder of the tree that are no caches."""
    for path in folder.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if (
            path.is_file()
            and path.suffix not in CACHES
            and not any(p.startswith(".") or p == "__pycache__" for p in parts)
        ):
            yield path.relative_to(ROOT).as_posix()


def test_the_wheel_has_the_package_and_nothing_else(built: Built) -> None:
    """Data files too: types, schema, assets of the report; no tests, no caches."""
    with zipfile.ZipFile(built.wheel) as archive:
        names = set(archive.namelist())
    info = f"ckschedule-{ck.__version__}.dist-info/"
    package = {name for name in names if not name.startswith(info)}
    expected = {n.removeprefix("src/") for n in source_files(ROOT / "src")}
    assert package == expected
    assert package >= {
        "ckschedule/py.typed",
        "ckschedule/__init__.pyi",
        "ckschedule/documents/schema.json",
        "ckschedule/report/assets/page.html",
        "ckschedule/report/assets/page.js",
        "ckschedule/report/assets/page.css",
    }
    assert f"{info}licenses/LICENSE" in names


def test_the_sdist_has_all_that_a_packager_needs(built: Built) -> None:
    """Sources, tests, benchmarks, documentation, examples."""
    with tarfile.open(built.sdist) as archive:
        members = [PurePosixPath(m.name) for m in archive.getmembers() if m.isfile()]
    names = {PurePosixPath(*member.parts[1:]).as_posix() for member in members}
    for folder in FOLDERS:
        assert not set(source_files(ROOT / folder)) - names
    assert names >= {"README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml"}
    assert not [name for name in names if PurePosixPath(name).suffix in CACHES]


def test_the_installed_package_is_small(installed: Installed) -> None:
    """Its dependencies are what takes room."""
    files = [
        path
        for path in installed.folder.rglob("*")
        if path.is_file() and path.suffix not in CACHES
    ]
    assert 0 < sum(path.stat().st_size for path in files) < SIZE


def test_the_installed_package_imports_quickly(
    installed: Installed, tmp_path: Path
) -> None:
    """The best of some: what is slow every time is slow."""
    script = (
        "import time; begin = time.perf_counter(); import ckschedule;"
        "print(time.perf_counter() - begin)"
    )
    runs = [installed.run("-c", script, cwd=tmp_path) for _ in range(5)]
    assert min(float(done.stdout) for done in runs) < IMPORT


def test_the_installed_package_is_the_wheels(
    installed: Installed, tmp_path: Path
) -> None:
    """Otherwise the tests below say nothing."""
    done = installed.run(
        "-c", "import ckschedule as c; print(c.__file__)", cwd=tmp_path
    )
    assert done.stdout.strip() == str(installed.folder / "__init__.py"), done.stderr


def test_the_installed_command_works(installed: Installed, tmp_path: Path) -> None:
    """Solve, write, read and replay; then say that all is well."""
    command = str(installed.python.parent / "ckschedule")
    for words in (
        ("--version",),
        ("solve", "uniform", "--stages", "6", "--budget", "80%", "-o", "plan.json"),
        ("simulate", "plan.json"),
        ("pareto", "uniform", "--stages", "6"),
    ):
        done = installed.run(command, *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    done = installed.run(command, "doctor", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["folder"] == str(installed.folder)


def test_the_installed_package_finds_its_data(
    installed: Installed, tmp_path: Path
) -> None:
    """The schema, and the parts of the report page."""
    script = (
        "from importlib.resources import files\n"
        "import ckschedule as ck\n"
        "assert ck.json_schema()['$defs']\n"
        "assert files('ckschedule').joinpath('py.typed').is_file()\n"
        "assert files('ckschedule.report').joinpath('assets', 'page.js').read_text()\n"
    )
    done = installed.run("-c", script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_part_of_the_suite_passes_on_the_installed_package(
    installed: Installed, tmp_path: Path
) -> None:
    """From a copy of the tests without the sources beside them."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    chosen = (
        "tests/test_public_surface.py",
        "tests/test_words.py",
        "tests/test_units.py",
        "tests/documents",
        "tests/cli/test_catalog.py",
    )
    done = installed.run(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *chosen),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
