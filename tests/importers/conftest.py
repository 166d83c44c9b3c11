"""Where published graphs lie, if they do."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def published() -> Callable[[str], Path]:
    """Return a file under the folder that CKSCHEDULE_DATA names, or skip."""

    def find(name: str) -> Path:
        folder = os.environ.get("CKSCHEDULE_DATA")
        if not folder:
            pytest.skip("CKSCHEDULE_DATA names no folder of published graphs")
        path = Path(folder) / name
        if not path.exists():
            pytest.skip(f"{path} does not exist")
        return path

    return find
