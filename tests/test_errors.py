"""The tree of errors is as it is drawn."""

import copy
import pickle
import re

import pytest

from ckschedule import errors
from ckschedule.errors import CkscheduleError, InvalidScheduleError


def classes() -> dict[str, type[BaseException]]:
    return {
        name: item
        for name, item in vars(errors).items()
        if isinstance(item, type) and issubclass(item, BaseException)
    }


def drawn() -> dict[str, str]:
    """Each error of the module's drawing with the built-in class beside it."""
    assert errors.__doc__ is not None
    return dict(re.findall(r"[├└]── (\w+) \((\w+)\)", errors.__doc__))


def test_the_drawing_shows_every_error_with_its_bases() -> None:
    """A caller reads the docstring to know what to catch."""
    real = {
        name: tuple(base.__name__ for base in item.__bases__)
        for name, item in classes().items()
        if item is not CkscheduleError
    }
    assert {name: ("CkscheduleError", base) for name, base in drawn().items()} == real


def test_every_error_is_a_ckschedule_error() -> None:
    """One ``except`` clause catches all that the package raises on purpose."""
    assert all(issubclass(item, CkscheduleError) for item in classes().values())


@pytest.mark.parametrize("name", sorted(classes()))
def test_every_error_says_what_it_means(name: str) -> None:
    """The first line of its docstring is a sentence."""
    assert (classes()[name].__doc__ or "").splitlines()[0].endswith(".")


def test_an_invalid_schedule_carries_operation_and_cause() -> None:
    """For programs that point at the place."""
    error = InvalidScheduleError("operation 4: no", index=4, caused_by=2)
    assert (str(error), error.index, error.caused_by) == ("operation 4: no", 4, 2)


def test_an_invalid_schedule_crosses_a_process_border() -> None:
    """Workers send their errors pickled, notes included."""
    error = InvalidScheduleError("operation 4: no", index=4, caused_by=2)
    error.add_note("from worker 7")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is InvalidScheduleError
        assert (str(again), again.index, again.caused_by) == (str(error), 4, 2)
        assert again.__notes__ == ["from worker 7"]


def test_the_cause_may_be_missing() -> None:
    """Nothing earlier is to blame for a value that never was."""
    assert InvalidScheduleError("no", index=0).caused_by is None
