"""Files of other programs, recognised where a document of ours is expected."""

import re
import shlex
from pathlib import Path
from typing import Final

_ENOUGH: Final = 4096
"""Bytes at a file's start that tell its format."""

_NODE_LINK: Final = re.compile(r'"(directed|multigraph|nodes|links|edges)"\s*:')


def import_command(path: str) -> str | None:
    """Return the command that turns a file into a model; None if no format fits."""
    with open(path, "rb") as file:
        start = file.read(_ENOUGH).decode("utf-8-sig", errors="replace").lstrip()
    if re.match(r"node\d+ -- ", start):
        found = "pipedream"
    elif start.startswith("{") and _NODE_LINK.search(start):
        found = "node-link-chain"
    elif Path(path).suffix.lower() == ".csv" or start.startswith("name,"):
        found = "csv"
    else:
        return None
    quoted = shlex.quote(path)
    return f"ckschedule import {found} {quoted} -o model.json"
