"""Where the command line writes: tables and JSON to stdout, all else to stderr."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from ckschedule.arena import Arena
    from ckschedule.front import ParetoFront
    from ckschedule.result import Result
    from ckschedule.simulation import Model


def console() -> Console:
    """Return a console on stdout that prints text as it is."""
    return Console(markup=False, emoji=False, highlight=False)


def emit_json(document: Mapping[str, Any]) -> None:
    """Print one strict JSON document; nothing else goes to stdout with it."""
    typer.echo(json.dumps(document, allow_nan=False, indent=2))


def fail(message: str, code: int, *, hint: str | None = None) -> int:
    """Print one error to stderr and return the exit code."""
    typer.echo(f"Error: {message}", err=True)
    if hint is not None:
        typer.echo(hint, err=True)
    return code


def report_written(path: Path) -> None:
    """Say on stderr that a file is there, whole."""
    typer.echo(f"wrote {path}", err=True)


def write_document(
    document: "Model | Result | ParetoFront | Arena", path: Path | None
) -> None:
    """Write a document, if a path is given, and say so on stderr."""
    if path is None:
        return
    from ckschedule.documents import write_json

    write_json(document, path)
    report_written(path)


def check_writable(path: Path | None, option: str) -> None:
    """Refuse a file that cannot be written, before any long work.

    Raises
    ------
    typer.BadParameter
        If it is a folder, or its folder is missing or read-only.
    """
    if path is None:
        return
    folder = path.resolve().parent
    if path.is_dir():
        raise typer.BadParameter(f"{option} {path} is a folder; name a file in it")
    if not folder.is_dir():
        raise typer.BadParameter(
            f"{option} {path}: the folder {folder} does not exist; create it first"
        )
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise typer.BadParameter(
            f"{option} {path} cannot be written; choose another place"
        )
