"""The format as a JSON Schema, for other tools."""

from importlib.resources import files
from typing import Any

from ckschedule.documents import json_text


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of all ckschedule documents.

    Returns
    -------
    dict
        The contents of ``ckschedule/documents/schema.json``. It says what a document
        looks like; that its numbers agree with the simulator, only reading checks.

    Examples
    --------
    >>> sorted(json_schema()["discriminator"]["mapping"])
    ['arena', 'chain', 'front', 'graph', 'result', 'schedule']
    """
    text = files("ckschedule.documents").joinpath("schema.json").read_bytes()
    schema = json_text.decode(text, max_bytes=json_text.MAX_BYTES)
    assert isinstance(schema, dict), "a file of this package"
    return schema


def generate_schema() -> dict[str, Any]:
    """Return the schema made anew from the wire models; a test compares the file."""
    from pydantic import TypeAdapter

    from ckschedule.documents import wire

    adapter: TypeAdapter[Any] = TypeAdapter(wire.Document)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ckschedule document, version 1",
        **adapter.json_schema(),
    }
