"""Options that several commands share, each declared once."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Json: TypeAlias = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document to stdout instead of tables."),
]
"""Machine-readable output."""

Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write the outcome as a ckschedule document (JSON) to this file.",
    ),
]
"""The document to write."""

Budget: TypeAlias = Annotated[
    str,
    typer.Option(
        "--budget",
        metavar="SIZE",
        help="Memory that the peak may not pass, static bytes included: '40GiB', "
        "'40GB', whole bytes, or '60%' of the peak of storing everything.",
    ),
]
"""A budget that must be given."""

Show: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--show/--no-show",
        show_default=False,
        help="Draw in the terminal, or do not.  [default: if stdout is a terminal]",
    ),
]
"""Whether to draw in the terminal."""
