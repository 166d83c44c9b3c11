"""When a search ends: by time, by the first Ctrl-C; the second one raises."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from math import inf, isfinite

import pytest

from ckschedule.result import Stop
from ckschedule.solvers.deadline import Deadline


@pytest.fixture(autouse=True)
def usual_handler() -> Iterator[None]:
    """Python's own handler before each test, and still there after it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def press() -> None:
    """Ctrl-C, as a terminal sends it."""
    os.kill(os.getpid(), signal.SIGINT)
    # The handler runs between two instructions of the main thread, soon.
    time.sleep(0.01)


def test_time_that_is_over_is_a_reason_to_stop() -> None:
    """Zero seconds are over at once."""
    with Deadline(0) as deadline:
        assert deadline.passed
        assert deadline.remaining == 0.0
        assert deadline.stop is Stop.TIME_LIMIT


def test_without_a_limit_nothing_ends_the_search() -> None:
    """And the time that it took is a number all the same."""
    with Deadline() as deadline:
        assert not deadline.passed
        assert deadline.remaining == inf
        assert deadline.stop is Stop.FINISHED
        assert isfinite(deadline.elapsed)
        assert deadline.elapsed >= 0


def test_what_remains_and_what_has_passed_make_up_the_limit() -> None:
    """Both are read off one clock, which went on in between."""
    with Deadline(1000) as deadline:
        before, remaining, after = (
            deadline.elapsed,
            deadline.remaining,
            deadline.elapsed,
        )
    # Up to what floats lose.
    assert before <= 1000 - remaining + 1e-6
    assert after >= 1000 - remaining - 1e-6


def test_the_first_interrupt_is_noted() -> None:
    """The search may hand back what it has."""
    with Deadline() as deadline:
        press()
        assert deadline.interrupted
        assert deadline.passed
        assert deadline.stop is Stop.INTERRUPTED


def test_an_interrupt_is_the_reason_even_if_the_time_is_over_too() -> None:
    """The user is told what the user did."""
    with Deadline(0) as deadline:
        press()
        assert deadline.stop is Stop.INTERRUPTED


def test_the_second_interrupt_raises() -> None:
    """A search that does not look at its deadline can still be left."""
    with Deadline() as deadline:
        press()
        assert deadline.interrupted
        with pytest.raises(KeyboardInterrupt):
            press()


def test_an_interrupt_after_the_search_raises() -> None:
    """Nothing is swallowed outside."""
    with Deadline():
        pass
    with pytest.raises(KeyboardInterrupt):
        press()


def test_the_handler_comes_back_after_an_error() -> None:
    """The fixture looks for it."""
    with pytest.raises(ZeroDivisionError), Deadline():
        _ = 1 // 0


def test_a_handler_of_somebody_else_stays() -> None:
    """It is theirs to decide what Ctrl-C does."""
    seen: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with Deadline() as deadline:
            press()
            assert seen == [signal.SIGINT]
            assert not deadline.interrupted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_one_interrupt_ends_a_search_within_a_search() -> None:
    """Else the outer one would go on as if nothing had happened."""
    with Deadline() as outer:
        with Deadline() as inner:
            press()
            assert inner.interrupted
        assert outer.interrupted
        with Deadline() as later:
            assert later.interrupted
        with pytest.raises(KeyboardInterrupt):
            press()


def test_the_inner_time_is_not_the_outer_one() -> None:
    """Limits are each search's own."""
    with Deadline(1000) as outer, Deadline(0) as inner:
        assert inner.passed
        assert not outer.passed


def test_a_search_in_a_worker_thread_leaves_signals_alone() -> None:
    """Python hands them to the main thread; setting a handler elsewhere would raise."""
    found: list[bool] = []

    def search() -> None:
        with Deadline(0) as deadline:
            found.append(deadline.passed)

    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    assert found == [True]


def test_foreign_code_returns_what_it_found() -> None:
    """Nobody cancels what is fast enough."""
    cancelled: list[bool] = []
    with Deadline(1000) as deadline:
        assert deadline.run(lambda: 7, lambda: cancelled.append(True)) == 7
    assert cancelled == []


def test_foreign_code_is_cancelled_once_when_the_time_is_over() -> None:
    """It returns its best by then."""
    asked = threading.Event()
    calls: list[bool] = []

    def cancel() -> None:
        calls.append(True)
        asked.set()

    def work() -> str:
        assert asked.wait(10)
        time.sleep(0.2)
        return "best"

    with Deadline(0.01) as deadline:
        assert deadline.run(work, cancel) == "best"
        assert deadline.stop is Stop.TIME_LIMIT
    assert calls == [True]


def test_foreign_code_is_cancelled_by_an_interrupt() -> None:
    """Though it never returns to Python by itself."""
    asked = threading.Event()

    def work() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        assert asked.wait(10)
        return "best"

    with Deadline() as deadline:
        assert deadline.run(work, asked.set) == "best"
        assert deadline.stop is Stop.INTERRUPTED


def test_a_second_interrupt_leaves_foreign_code_behind() -> None:
    """It has been cancelled, once, but is not waited for."""
    go_on = threading.Event()
    calls: list[bool] = []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)
        go_on.wait(10)

    with pytest.raises(KeyboardInterrupt), Deadline() as deadline:
        deadline.run(work, lambda: calls.append(True))
    go_on.set()
    assert calls == [True]


def test_an_error_of_foreign_code_is_the_callers() -> None:
    """As if it had run without a thread."""

    def work() -> None:
        raise ValueError("broken")

    with Deadline() as deadline, pytest.raises(ValueError, match="broken"):
        deadline.run(work, lambda: None)


def test_a_deadline_ends_with_the_one_around_it() -> None:
    """A part of a search gets no time that the whole has not."""
    with Deadline(0.0), Deadline(100.0) as inner:
        assert inner.passed
        assert inner.stop is Stop.TIME_LIMIT
    with Deadline(100.0) as outer, Deadline() as inner:
        assert inner.remaining <= outer.remaining + 1.0
