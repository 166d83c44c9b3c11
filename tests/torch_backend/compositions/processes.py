"""Two processes of one gloo group, which compute what a test asks of both."""

import datetime
import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import torch
from torch import distributed

RANKS: Final = 2
_TIMEOUT: Final = 60
"""Seconds that both have for one task, imports included."""


class Ranks:
    """A pair of processes, started at the first task and after each failure.

    Parameters
    ----------
    folder
        Where they meet, in a new file for each start.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._starts = 0
        self._running: list[tuple[Any, Connection]] = []

    def __call__(self, task: Callable[..., Any], *args: Any) -> list[Any]:
        """Return what ``task(rank, *args)`` returns on each rank.

        Parameters
        ----------
        task
            A function of an importable module.
        *args
            Plain Python values, as results have to be.
        """
        if not self._running:
            self._start()
        results = []
        for _, connection in self._running:
            connection.send((task, args))
        for rank, (_, connection) in enumerate(self._running):
            if not connection.poll(_TIMEOUT):
                self.stop()
                raise TimeoutError(f"rank {rank} did not finish {task.__name__}")
            ok, result = connection.recv()
            if not ok:
                self.stop()
                raise RuntimeError(f"rank {rank} failed:\n{result}")
            results.append(result)
        return results

    def stop(self) -> None:
        """End both processes, whatever they do."""
        for process, connection in self._running:
            connection.close()
            process.kill()
            process.join()
        self._running = []

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._starts += 1
        meeting = self._folder / f"start{self._starts}"
        for rank in range(RANKS):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_serve, args=(rank, f"file://{meeting}", theirs), daemon=True
            )
            process.start()
            self._running.append((process, ours))


def _serve(rank: int, meeting: str, connection: Connection) -> None:
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo",
        init_method=meeting,
        rank=rank,
        world_size=RANKS,
        timeout=datetime.timedelta(seconds=_TIMEOUT / 2),
    )
    while True:
        task, args = connection.recv()
        try:
            connection.send((True, task(rank, *args)))
        except Exception:  # whatever it is, the test that asked is told
            connection.send((False, traceback.format_exc()))
