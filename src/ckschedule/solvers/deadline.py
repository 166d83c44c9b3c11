"""When a search has to end: its time is over, or the user interrupts it.

Searches that last ask their `Deadline` whether to go on. Within one, Ctrl-C does not
raise: it is noted, the search ends at the next question and hands back the best that it
has found. A second Ctrl-C raises `KeyboardInterrupt` as ever.
"""

import signal
import threading
import time
from collections.abc import Callable
from math import inf
from types import FrameType, TracebackType
from typing import Final, Self, TypeVar

from ckschedule.result import Stop

_Found = TypeVar("_Found")

_POLL: Final = 0.05
"""Seconds between two looks at an interrupt while foreign code computes."""

_open: "list[Deadline]" = []
"""Deadlines that are entered, in the main thread; one signal ends them all."""


class Deadline:
    """A time limit and the user's interrupt, as a context.

    Parameters
    ----------
    limit
        Seconds of wall time; infinity for none. Within another deadline it ends with
        that one at the latest.

    Attributes
    ----------
    interrupted
        Whether the user asked to stop.
    """

    def __init__(self, limit: float = inf) -> None:
        self.limit = limit
        self.interrupted = False
        self._start = time.monotonic()
        self._end = self._start + limit
        self._before: Callable[[int, FrameType | None], object] | int | None = None
        self._listens = False

    def __enter__(self) -> Self:
        # Python hands signals to the main thread alone, and a handler that somebody
        # else has put there is theirs.
        if threading.current_thread() is threading.main_thread():
            current = signal.getsignal(signal.SIGINT)
            if current is signal.default_int_handler:
                self._before = signal.signal(signal.SIGINT, _interrupt)
                self._listens = True
            # What calls this one has to end, too.
            if _open:
                self._end = min(self._end, time.monotonic() + _open[-1].remaining)
            _open.append(self)
            self.interrupted = any(other.interrupted for other in _open)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self in _open:
            _open.remove(self)
        if self._listens:
            signal.signal(signal.SIGINT, self._before)

    @property
    def remaining(self) -> float:
        """Seconds left; zero or more."""
        return max(0.0, self._end - time.monotonic())

    @property
    def elapsed(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self._start

    @property
    def passed(self) -> bool:
        """Whether the search has to end."""
        return self.interrupted or time.monotonic() >= self._end

    @property
    def stop(self) -> Stop:
        """Why a search ends here."""
        if self.interrupted:
            return Stop.INTERRUPTED
        return Stop.TIME_LIMIT if self.passed else Stop.FINISHED

    def run(self, work: Callable[[], _Found], cancel: Callable[[], object]) -> _Found:
        """Return what ``work`` returns, which runs in a thread of its own.

        Parameters
        ----------
        work
            Foreign code that looks at no deadline and does not let signals through.
        cancel
            Called once when the deadline passes: has ``work`` return soon.
        """
        found: list[_Found] = []
        failed: list[BaseException] = []

        def call() -> None:
            try:
                found.append(work())
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=call, name="ckschedule search", daemon=True)
        thread.start()
        cancelled = False
        try:
            while thread.is_alive():
                thread.join(_POLL)
                if self.passed and not cancelled:
                    cancelled = True
                    cancel()
        except BaseException:
            if not cancelled:
                cancel()
            raise
        if failed:
            raise failed[0]
        return found[0]


def _interrupt(number: int, frame: FrameType | None) -> None:
    if all(deadline.interrupted for deadline in _open):
        signal.default_int_handler(number, frame)
    for deadline in _open:
        deadline.interrupted = True
