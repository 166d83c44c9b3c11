"""``ckschedule import``: models of other programs."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli.app import app
from ckschedule.importers import import_model


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["import", *map(str, arguments)])


def test_a_file_becomes_a_document(tmp_path: Path) -> None:
    """Equal to what the library imports; the sums can be checked against the file."""
    table, out = tmp_path / "stages.csv", tmp_path / "model.json"
    table.write_text(
        "name,output,forward,saved,backward\ninput,4,,,\na,4,1,8,2\nb,4,3,8,6\n"
    )
    result = run("csv", table, "-o", out, "--json")
    assert result.exit_code == 0, result.output
    model = ck.read_json(out)
    assert model == import_model(table, format="csv")
    assert isinstance(model, ck.Chain)
    sums = json.loads(result.stdout)["sums"]
    assert sums["forward_time"] == sum(stage.forward for stage in model.sequence) == 4
    assert "sum of outputs" in run("csv", table).stdout


def test_a_graph_is_said_to_have_a_chain(tmp_path: Path) -> None:
    """Its whole front is exact, where a graph's is searched for."""
    path = tmp_path / "net.json"
    nodes = [{"id": i, "cost_cpu": 1, "cost_ram": 1, "backward": False} for i in (0, 1)]
    links = [{"source": 0, "target": 1}]
    path.write_text(json.dumps({"directed": True, "nodes": nodes, "links": links}))
    result = run("node-link", path)
    assert result.exit_code == 0, result.output
    assert "node-link-chain" in result.stderr


def test_wrong_use_ends_with_2(tmp_path: Path) -> None:
    """An unknown format, a missing file, a file of another format."""
    other = tmp_path / "other.txt"
    other.write_text("no graph\n")
    assert "pipedream" in run("onnx", other).stderr
    for arguments in (("onnx", other), ("csv", tmp_path / "no"), ("json", other)):
        result = run(*arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.count("Error:") == 1
