"""Matplotlib through its objects: no pyplot, no global state, whole files."""

from __future__ import annotations

import io
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckschedule.documents.files import AnyPath, write_atomically
from ckschedule.errors import DocumentError, MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS: Final = (".png", ".svg", ".pdf")
"""Suffixes of picture files."""

_DPI: Final = 200


def new_axes(*, width: float = 6.4, height: float = 4.0) -> Axes:
    """Return the axes of a new figure that belongs to nobody else.

    Parameters
    ----------
    width, height
        Inches.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    check_installed()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def check_installed() -> None:
    """Refuse to go on without matplotlib.

    Raises
    ------
    MissingDependencyError
        If it is not installed.
    """
    if find_spec("matplotlib") is None:
        raise MissingDependencyError(
            "plots need matplotlib, which is not installed; run "
            "pip install 'ckschedule[plot]'"
        )


def check_format(path: AnyPath) -> None:
    """Refuse a picture that cannot be written, before any work for it.

    Raises
    ------
    DocumentError
        If the suffix is none of `FORMATS`.
    MissingDependencyError
        If matplotlib is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise DocumentError(
            f"{os.fspath(path)}: pictures are {', '.join(FORMATS)}, not "
            f"{suffix or 'files without a suffix'}; name the file accordingly"
        )
    check_installed()


def save_plot(ax: Axes, path: AnyPath) -> None:
    """Write the figure of ``ax``; the file appears whole or not at all.

    Parameters
    ----------
    ax
        Axes of the figure to write.
    path
        File to write or replace, ending in one of `FORMATS`.

    Raises
    ------
    DocumentError
        If the suffix is another.
    OSError
        If the file cannot be written.
    """
    check_format(path)
    figure = ax.get_figure(root=True)
    assert figure is not None, "axes that were drawn on have a figure"
    kind = Path(path).suffix.lower()[1:]
    # A date would make two pictures of one front differ.
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    data = io.BytesIO()
    figure.savefig(data, format=kind, dpi=_DPI, metadata=undated)
    write_atomically(path, data.getvalue())
