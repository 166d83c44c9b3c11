"""Files: bounded reading, and writing that leaves the old file or the whole new one."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from ckschedule.errors import DocumentError

AnyPath: TypeAlias = str | os.PathLike[str]
"""A path as callers give it."""


def read_bytes(path: AnyPath, *, max_bytes: int) -> bytes:
    """Return the contents of a file.

    Parameters
    ----------
    path
        Any readable file.
    max_bytes
        Larger files are refused, most of them unread.

    Raises
    ------
    DocumentError
        If the file is larger.
    OSError
        If it cannot be opened or read.
    """
    with open(path, "rb") as file:
        # A pipe has no size: the read is bounded as well.
        size = os.fstat(file.fileno()).st_size
        data = b"" if size > max_bytes else file.read(max_bytes + 1)
    if max(size, len(data)) > max_bytes:
        raise DocumentError(
            f"the file has more than {max_bytes} bytes; raise max_bytes if you trust it"
        )
    return data


def write_atomically(path: AnyPath, data: bytes) -> None:
    """Write a file whole or not at all.

    A temporary file in the same folder is written, synced and renamed; it is removed
    after any exception, an interrupt included. A symbolic link keeps pointing to the
    file, an existing file keeps its permissions. Devices and pipes are written into.

    Raises
    ------
    OSError
        If the folder is missing, the path is a folder, or the file cannot be written.
    """
    try:
        existing = os.stat(path)
    except FileNotFoundError:
        existing = None
    if existing is not None and not stat.S_ISREG(existing.st_mode):
        # Renaming onto /dev/null would replace the device. Opening a folder raises.
        with open(path, "wb") as file:
            file.write(data)
        return
    if existing is not None and not os.access(path, os.W_OK):
        # Renaming asks the folder, not the file, for permission.
        raise PermissionError(errno.EACCES, "the file is read-only", os.fspath(path))
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT,
            "the folder does not exist; create it first",
            str(target.parent),
        )
    temporary = target.with_name(f".ckschedule-{secrets.token_hex(8)}.tmp")
    try:
        # Not `tempfile`: its files are private to the user, ours follow the umask.
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if existing is not None:
            temporary.chmod(stat.S_IMODE(existing.st_mode))
        temporary.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
