"""What every document says of itself: format, version and kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckschedule.errors import DocumentError

if TYPE_CHECKING:
    from ckschedule.documents import wire

FORMAT_NAME: Final = "ckschedule"
"""Value of the field ``format``."""

VERSION: Final = 1
"""Version of the format that this package writes, and the only one that it reads."""


def parse_header(tree: object) -> str:
    """Return the kind of a decoded document.

    Raises
    ------
    DocumentError
        If it is no ckschedule document, or of an unknown version or kind.
    """
    from ckschedule.documents import wire

    if not isinstance(tree, dict):
        raise DocumentError(
            f"the top level is {shorten(tree)}; a document is an object with the field "
            f'"format": "{FORMAT_NAME}"'
        )
    if tree.get("format") != FORMAT_NAME:
        raise DocumentError(
            f"format is {shorten(tree.get('format'))} where {FORMAT_NAME!r} is "
            f"expected; files of other tools go through import_model"
        )
    version = tree.get("version")
    # True == 1 in Python, but not in the format.
    if type(version) is not int or version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        by = "written by a newer ckschedule; " if newer else ""
        raise DocumentError(
            f"version is {shorten(version)}: {by}this one reads version {VERSION}"
        )
    kind = tree.get("kind")
    if not isinstance(kind, str) or kind not in wire.DOCUMENTS:
        raise DocumentError(
            f"kind is {shorten(kind)}; choose one of {', '.join(wire.DOCUMENTS)}"
        )
    return kind


def parse_body(tree: object) -> wire.Body:
    """Return a decoded document with every type checked.

    Raises
    ------
    DocumentError
        If it does not follow the format; the message names the first field at fault.
    """
    from pydantic import ValidationError

    from ckschedule.documents import wire

    kind = parse_header(tree)
    try:
        return wire.DOCUMENTS[kind].model_validate(tree)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise DocumentError(
            f"{_place(first['loc'])} is {shorten(first['input'])}: {first['msg']}"
        ) from None


def dump(body: wire.Body) -> dict[str, object]:
    """Return a document as plain dicts and lists, header first."""
    return {"format": FORMAT_NAME, "version": VERSION, **body.model_dump()}


def shorten(value: object) -> str:
    """Return a value as a message can show it: ASCII, and not longer than a line."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    text = ascii(value if not isinstance(value, str) else value[:200])
    return text if len(text) <= 60 else f"{text[:57]}..."


def _place(location: tuple[int | str, ...]) -> str:
    path = ""
    for i, part in enumerate(location):
        if isinstance(part, int):
            path += f"[{part}]"
        # pydantic puts the tag of a union between a field and what is in it.
        elif i and part in _TAGS and (path.endswith("]") or path.endswith("model")):
            continue
        else:
            path += f".{part}" if path else part
    return path or "the document"


_TAGS: Final = ("chain", "graph", "compute", "free")
