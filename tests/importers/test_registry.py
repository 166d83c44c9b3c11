"""Formats by name."""

from pathlib import Path

import pytest

from ckschedule.costs import Chain, Stage, Variant
from ckschedule.documents import write_json
from ckschedule.errors import DocumentError
from ckschedule.importers import FORMATS, import_model


def test_the_names_of_formats_are_public() -> None:
    """Scripts and the command line use them."""
    assert list(FORMATS) == ["json", "csv", "pipedream", "node-link", "node-link-chain"]


def test_a_document_is_a_model_too(tmp_path: Path) -> None:
    """Our own format goes through the same door."""
    stage = Stage(output=1, forward=1, variants=(Variant(saved=1, backward=1),))
    chain = Chain(input=1, stages=[stage])
    write_json(chain, tmp_path / "chain.json")
    assert import_model(tmp_path / "chain.json", format="json") == chain


def test_a_table_is_imported_by_name(tmp_path: Path) -> None:
    """With the settings' defaults."""
    path = tmp_path / "net.csv"
    path.write_text("name,output,forward,saved,backward\ninput,4,,,\na,1,2,3,4\n")
    assert len(import_model(path, format="csv").to_graph().nodes) == 4  # type: ignore[union-attr]  # a table is a chain


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    """The message lists the known ones."""
    with pytest.raises(
        DocumentError, match="'onnx' is unknown; choose one of json, csv"
    ):
        import_model(tmp_path / "model.onnx", format="onnx")


def test_a_missing_file_stays_a_missing_file(tmp_path: Path) -> None:
    """As with any other function that opens files."""
    for name in FORMATS:
        with pytest.raises(FileNotFoundError):
            import_model(tmp_path / "nothing", format=name)
