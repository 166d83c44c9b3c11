"""Formats of model files by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from ckschedule.documents import read_model
from ckschedule.documents.files import AnyPath
from ckschedule.errors import DocumentError
from ckschedule.importers.node_link import import_node_link, import_node_link_chain
from ckschedule.importers.pipedream import import_pipedream
from ckschedule.importers.stage_table import import_stage_table
from ckschedule.simulation import Model

Importer: TypeAlias = Callable[[AnyPath], Model]
"""Turns a file into a model."""

FORMATS: Final[Mapping[str, Importer]] = MappingProxyType(
    {
        "json": read_model,
        "csv": import_stage_table,
        "pipedream": import_pipedream,
        "node-link": import_node_link,
        "node-link-chain": import_node_link_chain,
    }
)
"""Importers by the names that `import_model` and the command line take."""


def import_model(path: AnyPath, *, format: str) -> Model:
    """Return the chain or graph in a file.

    Parameters
    ----------
    path
        The file.
    format
        A name in `FORMATS`: "json" (any document of `write_json` that records a model),
        "csv" (`import_stage_table`), "pipedream" (`import_pipedream`), "node-link"
        (`import_node_link`) or "node-link-chain" (`import_node_link_chain`). For their
        settings call these functions themselves.

    Returns
    -------
    Chain or Graph

    Raises
    ------
    DocumentError
        If the format is unknown or the file cannot be read.
    InvalidModelError
        If its numbers make no model.
    UnsupportedModelError
        If the file holds no chain where one is asked for.
    OSError
        If the file cannot be opened.
    """
    if format not in FORMATS:
        raise DocumentError(
            f"format {format!r} is unknown; choose one of {', '.join(FORMATS)}"
        )
    return FORMATS[format](path)
