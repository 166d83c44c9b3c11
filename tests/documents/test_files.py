"""Files appear whole or not at all."""

import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ckschedule.costs import Chain
from ckschedule.documents import read_json, read_model, to_json, write_json
from ckschedule.errors import DocumentError
from ckschedule.front import ParetoFront
from ckschedule.schedule import Schedule

Restart = Callable[[Chain, int], Schedule]


def test_a_file_holds_the_text(tmp_path: Path, chain: Chain) -> None:
    """With paths as strings and as objects."""
    path = tmp_path / "chain.json"
    write_json(chain, str(path))
    assert path.read_text(encoding="utf-8") == to_json(chain)
    assert read_json(path) == chain
    assert os.listdir(tmp_path) == ["chain.json"]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError, MemoryError])
def test_an_interrupted_write_leaves_the_old_file(
    tmp_path: Path,
    chain: Chain,
    monkeypatch: pytest.MonkeyPatch,
    fault: type[BaseException],
) -> None:
    """Nothing partial, nothing temporary, whatever the interruption."""
    path = tmp_path / "chain.json"
    path.write_text("old")

    def interrupt(descriptor: int) -> None:
        raise fault

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(fault):
        write_json(chain, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["chain.json"]


def test_a_refused_object_leaves_the_old_file(tmp_path: Path, chain: Chain) -> None:
    """The text is complete before a file is opened."""
    path = tmp_path / "chain.json"
    path.write_text("old")
    with pytest.raises(DocumentError):
        write_json("no model", path)  # type: ignore[arg-type]  # the mistake under test
    assert path.read_text() == "old"


def test_a_new_file_has_the_permissions_of_any_new_file(
    tmp_path: Path, chain: Chain
) -> None:
    """Temporary files are private to the user; documents are not."""
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    write_json(chain, tmp_path / "chain.json")
    assert (tmp_path / "chain.json").stat().st_mode == ordinary.stat().st_mode


def test_an_existing_file_keeps_its_permissions(tmp_path: Path, chain: Chain) -> None:
    """As when it is opened and written."""
    path = tmp_path / "chain.json"
    path.touch()
    path.chmod(0o640)
    write_json(chain, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_still_points_to_the_file(tmp_path: Path, chain: Chain) -> None:
    """Renaming onto a symbolic link would replace it."""
    path, link = tmp_path / "chain.json", tmp_path / "link.json"
    path.touch()
    link.symlink_to(path)
    write_json(chain, link)
    assert link.is_symlink()
    assert read_json(path) == chain


def test_a_device_is_written_into(chain: Chain) -> None:
    """Renaming onto it would replace it, for root."""
    write_json(chain, os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_missing_folder_is_named(tmp_path: Path, chain: Chain) -> None:
    """Not the temporary file that could not be created."""
    with pytest.raises(FileNotFoundError, match=r"create it first.*nowhere'"):
        write_json(chain, tmp_path / "nowhere" / "chain.json")


def test_a_folder_is_no_file(tmp_path: Path, chain: Chain) -> None:
    """In either direction."""
    with pytest.raises(IsADirectoryError):
        write_json(chain, tmp_path)
    with pytest.raises(IsADirectoryError):
        read_json(tmp_path)


def test_errors_name_the_file(tmp_path: Path) -> None:
    """The reader may be one of many in a sweep."""
    path = tmp_path / "bad.json"
    path.write_bytes(b"\xff")
    with pytest.raises(DocumentError, match=r"bad\.json: byte 0 is no UTF-8"):
        read_json(path)
    with pytest.raises(DocumentError, match=r"bad\.json: the file has more than 0"):
        read_json(path, max_bytes=0)


def test_a_document_over_the_default_limit_is_written_with_a_warning(
    tmp_path: Path,
    chain: Chain,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Reading it needs the setting that the warning names."""
    monkeypatch.setattr("ckschedule.documents.writing.MAX_BYTES", 10)
    with caplog.at_level(logging.WARNING):
        write_json(chain, tmp_path / "chain.json")
    assert "max_bytes" in caplog.text


def test_every_kind_gives_its_model(
    tmp_path: Path, chain: Chain, front: ParetoFront, restart_schedule: Restart
) -> None:
    """A recorded schedule can be simulated without another file."""
    path = tmp_path / "any.json"
    write_json(chain, path)
    assert read_model(path) == chain
    write_json(chain.to_graph(), path)
    assert read_model(path) == chain.to_graph()
    write_json(front, path)
    assert read_model(path) == chain
    write_json(restart_schedule(chain, 1), path, model=chain)
    assert read_model(path) == chain
