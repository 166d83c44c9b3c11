"""Processes and settings of these tests."""

from collections.abc import Iterator

import pytest
import torch
from torch_backend.compositions.processes import Ranks


@pytest.fixture(scope="session")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ranks]:
    """Two processes of a gloo group."""
    pair = Ranks(tmp_path_factory.mktemp("ranks"))
    yield pair
    pair.stop()


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny models lose more to threads than they win."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
