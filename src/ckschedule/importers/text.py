"""Text files of other tools, read within bounds."""

import os
from pathlib import Path

from ckschedule.documents.files import AnyPath, read_bytes
from ckschedule.documents.json_text import MAX_BYTES
from ckschedule.errors import DocumentError


def read_text(path: AnyPath) -> str:
    """Return a file's text, its byte-order mark removed.

    Raises
    ------
    DocumentError
        If the file is larger than `MAX_BYTES` or is no UTF-8.
    OSError
        If it cannot be read.
    """
    try:
        return read_bytes(path, max_bytes=MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{path}: byte {error.start} is no UTF-8; save the file as UTF-8"
        ) from None
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from error


def stem(path: AnyPath) -> str:
    """Return the name of a file without folder and last suffix."""
    return Path(os.fspath(path)).stem
