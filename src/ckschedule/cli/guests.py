"""Code of the user: where it is imported from, what it prints, warns of and raises."""

import logging
import os
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Final

import typer

import ckschedule
from ckschedule.errors import CkscheduleError

_log = logging.getLogger(__name__)

_OURS: Final = str(Path(ckschedule.__file__).parent)
"""Folder of this package."""

_LIBRARIES: Final = tuple(
    sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
"""Folders of code that is neither the user's nor ours."""


@contextmanager
def guest_code(doing: str) -> Iterator[None]:
    """Give a context for code of the user.

    Modules are imported from the current directory first. What is printed goes to
    stderr, where it does not disturb JSON; warnings go there as a line each.

    Parameters
    ----------
    doing
        Subject of "... raised ValueError".

    Raises
    ------
    typer.TyperException
        For what the code raises. What ckschedule itself raises is passed on: errors for
        the user as they are, faults with their traceback.
    """
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        with redirect_stdout(sys.stderr), _warnings_told():
            yield
    except (CkscheduleError, typer.TyperException):
        raise
    except (Exception, SystemExit) as error:
        if _is_ours(error):
            raise
        _log.info("%s", doing, exc_info=error)
        place = _place(error)
        where = f" ({place})" if place else ""
        raise typer.TyperException(
            f"{doing} raised {_headline(error)}{where}; 'ckschedule -v' before the "
            f"command shows its traceback"
        ) from error
    finally:
        if here in sys.path:
            sys.path.remove(here)


@contextmanager
def _warnings_told() -> Iterator[None]:
    """Print each different warning for users as one line to stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", category=UserWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(_first_line(str(w.message)) for w in caught):
                typer.echo(f"Warning: {text}", err=True)


def _is_ours(error: BaseException) -> bool:
    """Whether this package raised it, and not what it called."""
    frames = traceback.extract_tb(error.__traceback__)
    # Torch raises from C++, without a frame: out of memory, for one.
    foreign = isinstance(error, RuntimeError | SystemExit)
    return not foreign and Path(frames[-1].filename).is_relative_to(_OURS)


def _headline(error: BaseException) -> str:
    """Return the last line of a traceback; the first where the message has several."""
    lines = traceback.format_exception_only(error)
    # Those before it, of a syntax error, are the place.
    return _first_line(lines[-1 if isinstance(error, SyntaxError) else 0])


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _place(error: BaseException) -> str | None:
    """Return file and line of the user's code that was reached last."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [(Path(frame.filename), frame.lineno) for frame in reversed(frames)]
    if isinstance(error, SyntaxError) and error.filename:
        places.insert(0, (Path(error.filename), error.lineno))
    here = Path.cwd()
    for path, line in places:
        if path.is_absolute() and not any(
            path.is_relative_to(folder) for folder in (_OURS, *_LIBRARIES)
        ):
            shown = path.relative_to(here) if path.is_relative_to(here) else path
            return f"{shown}:{line}"
    return None
