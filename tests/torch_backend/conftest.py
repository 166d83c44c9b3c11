"""One thread: with more, waiting for each other takes longer than these operators."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch = pytest.importorskip("torch", reason="install ckschedule[torch]")
    torch.set_num_threads(1)
