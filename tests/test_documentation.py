"""Every Python block of the documentation runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(
        re.findall(
            r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE
        )
    )
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_in_the_documentation_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a reader copies works as it stands, from an empty directory."""
    if "import torch" in block:
        pytest.importorskip("torch", reason="install ckschedule[torch]")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "documentation", "exec"), {"__name__": "__main__"})
