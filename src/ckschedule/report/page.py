"""The page: template, style and scripts put together into one text."""

import base64
import hashlib
import html
import json
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Final

from ckschedule.errors import MissingDependencyError
from ckschedule.front import ParetoFront
from ckschedule.report.subject import Subject, facts_of, packed, points_shown
from ckschedule.simulation import Trace
from ckschedule.units import Budget

_SCRIPTS: Final = (
    "wording.js",
    "replay.js",
    "raster.js",
    "charts.js",
    "tables.js",
    "page.js",
)
"""In order: each uses only those before it."""

_TOP_LEVEL: Final = '"use strict";\n'


def render(
    front: ParetoFront,
    *,
    baselines: Mapping[str, Trace] | None = None,
    budgets: Sequence[Budget] = (),
    title: str | None = None,
) -> str:
    """Return a page of HTML about a front, whole: it needs no network.

    Parameters
    ----------
    front
        What to show: each point with its schedule, memory, live values and document.
    baselines
        Simulated schedules of the same model to compare with, by name.
    budgets
        To name and to mark, as `ckschedule.solve` takes them.
    title
        None means the model's name.

    Returns
    -------
    str
        To write as UTF-8. The same front gives the same text.

    Raises
    ------
    MissingDependencyError
        If plotly is not installed.
    InvalidBudgetError
        If a budget cannot be read.
    InvalidScheduleError
        If a baseline is a schedule of another model.
    DocumentError
        If a name in the model cannot be written as UTF-8.

    Examples
    --------
    >>> import ckschedule as ck
    >>> front = ck.pareto(ck.catalog.uniform(stages=4))
    >>> page = render(front, budgets=["60%"])  # doctest: +SKIP
    """
    subject = Subject(
        front=front, baselines=baselines or {}, budgets=budgets, title=title
    )
    return render_all([subject])


def render_all(subjects: Sequence[Subject]) -> str:
    """Return one page about several fronts, between which a reader chooses.

    Raises
    ------
    ValueError
        If there are none.
    MissingDependencyError, InvalidBudgetError, DocumentError
        As `render`.
    """
    if not subjects:
        raise ValueError("there is no front to show; give at least one")
    check_installed()
    shown = [points_shown(subject) for subject in subjects]
    facts = [facts_of(s, points) for s, points in zip(subjects, shown, strict=True)]
    blobs = [packed(s, points) for s, points in zip(subjects, shown, strict=True)]
    plotly, licence, plotly_hash = _plotly()
    script = _TOP_LEVEL + "".join(_asset(name) for name in _SCRIPTS)
    # Only these two scripts run, and nothing is loaded from anywhere.
    policy = (
        f"default-src 'none'; script-src {_hash(script)} {plotly_hash}; "
        f"style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        f"form-action 'none'"
    )
    names = ", ".join(dict.fromkeys(subject.name for subject in subjects))
    return _filled(
        _asset("page.html"),
        {
            "policy": html.escape(policy),
            "title": html.escape(names),
            "style": _asset("page.css"),
            "facts": _in_script(facts),
            "packed": "\n".join(
                f'<script type="text/plain" id="packed-{k}">{blob}</script>'
                for k, blob in enumerate(blobs)
            ),
            "licence": html.escape(licence),
            "plotly": plotly,
            "script": script,
        },
    )


def check_installed() -> None:
    """Refuse to go on without plotly.

    Raises
    ------
    MissingDependencyError
        If it is not installed.
    """
    if find_spec("plotly") is None:
        raise MissingDependencyError(
            "report pages need plotly, which is not installed; run "
            "pip install 'ckschedule[report]'"
        )


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """Return a template with its ``{{ parts }}``; what is filled in is not read."""
    pieces = template.split("{{ ")
    text = [pieces[0]]
    for piece in pieces[1:]:
        name, rest = piece.split(" }}", 1)
        text += [parts[name], rest]
    return "".join(text)


def _in_script(tree: Any) -> str:
    """Return JSON that no HTML parser takes for the end of a script."""
    text = json.dumps(tree)
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _asset(name: str) -> str:
    return files("ckschedule.report").joinpath("assets", name).read_text("utf-8")


@cache
def _plotly() -> tuple[str, str, str]:
    """Return plotly.js in base64 of a zlib stream, its licence, and its hash.

    Packed it has two megabytes instead of five. What the browser unpacks runs as it is,
    which the hash in the page's policy makes sure of.
    """
    from plotly.offline import get_plotlyjs

    source: str = get_plotlyjs()
    head = source[: source.index("*/")] if "*/" in source else ""
    licence = "\n".join(line.strip("/* ") for line in head.splitlines()).strip()
    data = zlib.compress(source.encode(), 9)
    return base64.b64encode(data).decode(), licence, _hash(source)
