"""docs/benchmarks.md says what the committed results say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "bench" / "page.py"

pytestmark = pytest.mark.skipif(
    not SCRIPT.is_file(), reason="the benchmarks are in the repository only"
)


def page(folder: Path, *, results: Path | None = None) -> str:
    path = folder / "page.md"
    given = [] if results is None else ["--results", str(results)]
    subprocess.run(
        [sys.executable, str(SCRIPT), *given, "-o", str(path)],
        check=True,
        capture_output=True,
    )
    return path.read_text("utf-8")


def test_the_committed_page_is_that_of_the_committed_results(tmp_path: Path) -> None:
    """If this fails, run ``python bench/page.py`` and commit what it writes."""
    committed = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    assert committed == page(tmp_path)


def test_results_that_are_not_there_are_named(tmp_path: Path) -> None:
    """A page must not look complete where a benchmark has not been run."""
    text = page(tmp_path, results=tmp_path)
    assert "## Not measured yet" in text
    assert "`python bench/quality.py`" in text
    assert "|" not in text


def test_a_published_graph_stands_beside_its_published_figure(tmp_path: Path) -> None:
    """A row that failed and one that died are shown as what they are."""
    row = {"overhead": 0.1, "limit": 30.0, "published": "Checkmate 0.1 in 434 s"}
    figures = {
        "nodes": 354,
        "overhead": 0.2,
        "bound": 0.1,
        "gap": None,
        "status": "feasible",
        "wall": 30.5,
        "passed": False,
    }
    document = {
        "command": ["python", "bench/quality.py", "-o", "elsewhere.json", "given/*"],
        "commit": "0123456789ab",
        "date": "2000-01-01",
        "machine": {
            "processor": "P",
            "cores": 2,
            "memory": 2**30,
            "system": "S",
            "python": "3",
            "load_average": [0.0, 0.0, 0.0],
        },
        "packages": {"numpy": "2", "torch": None},
        "rows": [
            {"name": "given/ResNet50@90", "row": row, **figures},
            {"name": "given/U-Net@50", "passed": False, "error": "killed"},
        ],
    }
    (tmp_path / "quality.json").write_text(json.dumps(document))
    text = page(tmp_path, results=tmp_path)
    assert "| 0.200 | 0.100 | - | feasible | 30.5 s |" in text
    assert "**missed** | Checkmate 0.1 in 434 s |" in text
    assert "`given/U-Net@50`: not measured, killed" in text
    assert "`python bench/quality.py 'given/*'`" in text
    assert "torch" not in text
