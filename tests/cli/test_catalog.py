"""``ckschedule catalog``: what is known by name."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.catalog import CATALOG
from ckschedule.cli.app import app
from ckschedule.cli.models import catalog_options, options_of
from ckschedule.costs.device import DEVICES


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["catalog", *map(str, arguments)])


def test_all_models_and_devices_are_listed() -> None:
    """For people and for programs."""
    text, document = run().stdout, json.loads(run("--json").stdout)
    for name in (*CATALOG, *DEVICES):
        assert name in text
    assert set(document["models"]) == set(CATALOG)
    assert set(document["devices"]) == set(DEVICES)


@pytest.mark.parametrize("name", ["uniform", "resnet", "lstm", "gpt2"])
def test_a_model_shows_its_options_and_stages(name: str) -> None:
    """With the flags that the commands take."""
    result = run(name)
    assert result.exit_code == 0, result.output
    for key in options_of(name):
        assert catalog_options()[key].flag in result.stdout
    assert "output" in result.stdout
    assert "loss" in result.stdout


def test_json_has_every_stage() -> None:
    """Equal stages are joined for people only."""
    stages = json.loads(run("uniform", "--stages", "5", "--json").stdout)["stages"]
    assert [stage["name"] for stage in stages] == [
        *(f"stage {i}" for i in range(1, 6)),
        "loss",
    ]


def test_the_chain_is_written_with_its_options(tmp_path: Path) -> None:
    """Blocks are given with commas; no device counts flops."""
    path = tmp_path / "resnet.json"
    result = run("resnet", "--blocks=2,1,1,1", "--device=none", "--batch=2", "-o", path)
    assert result.exit_code == 0, result.output
    expected = CATALOG["resnet"].build(blocks=(2, 1, 1, 1), device=None, batch=2)
    assert ck.read_json(path) == expected
    assert expected.time_unit == "flop"


def test_options_need_a_model() -> None:
    """They belong to one."""
    for arguments in (("--batch", "3"), ("-o", "x.json")):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "name the model" in result.stderr
