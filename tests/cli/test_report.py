"""``ckschedule report``: fronts and models as one page."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli.app import app
from ckschedule.cli.solvers import CONSTRUCTIONS

pytest.importorskip("plotly", reason="needs ckschedule[report]")

MODEL = ["uniform", "--stages", "8", "--saved-bytes", "2"]
CHAIN = ck.catalog.uniform(stages=8, saved=2)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def facts(path: Path) -> list[dict[str, Any]]:
    match = re.search(r'id="facts">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert match is not None
    found: list[dict[str, Any]] = json.loads(match[1])
    return found


def test_a_model_becomes_a_page(tmp_path: Path) -> None:
    """With its title, its budgets, and the constructions that apply to it."""
    out = tmp_path / "report.html"
    result = run(*MODEL, "--budget", "60%", "-o", out)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert f"wrote {out}" in result.stderr
    (found,) = facts(out)
    assert found["name"] == "uniform-8, stages 8, saved-bytes 2"
    assert found["named"][-1]["label"] == "60%"
    assert {b["name"] for b in found["baselines"]} <= set(CONSTRUCTIONS)
    assert "sqrt" in {b["name"] for b in found["baselines"]}


def test_a_front_is_shown_as_it_was_written(tmp_path: Path) -> None:
    """Nothing is searched again: its points are the page's."""
    front = ck.pareto(CHAIN)
    some = ck.ParetoFront(
        model=CHAIN,
        points=front.points[::3],
        scope=front.scope,
        exact=False,
        solver=front.solver,
    )
    path, out = tmp_path / "front.json", tmp_path / "report.html"
    ck.write_json(some, path)
    assert run(path, "-o", out).exit_code == 0
    (found,) = facts(out)
    assert found["points"]["peak"] == [str(point.peak) for point in some]
    assert found["exact"] is False


def test_several_share_a_page(tmp_path: Path) -> None:
    """Options are for the catalogue's models; files stay as they are."""
    path, out = tmp_path / "chain.json", tmp_path / "report.html"
    ck.write_json(ck.catalog.uniform(stages=3), path)
    result = run("uniform", path, "--stages", "4", "-o", out)
    assert result.exit_code == 0, result.output
    assert [found["name"] for found in facts(out)] == [
        "uniform-4, stages 4",
        "uniform-3",
    ]


def test_a_graph_has_its_nodes_once_in_order_as_baseline(tmp_path: Path) -> None:
    """The constructions are for chains."""
    mode = ck.Mode(name="run", time=1, outputs=("v",))
    graph = ck.Graph(
        values=(ck.Value(name="v", size=1),),
        nodes=(ck.Node(name="N", modes=(mode,)),),
        targets=("v",),
    )
    path, out = tmp_path / "graph.json", tmp_path / "report.html"
    ck.write_json(graph, path)
    assert run(path, "-o", out).exit_code == 0
    (found,) = facts(out)
    assert [b["name"] for b in found["baselines"]] == ["once each, in order"]
    assert found["stages"] is None


@pytest.mark.parametrize(
    ("arguments", "culprit", "remedy"),
    [
        ((*MODEL,), "--out", "--help"),
        ((*MODEL, "-o", "no/folder/r.html"), "no/folder", "create it first"),
        (("-o", "r.html"), "MODEL", "--help"),
        ((*MODEL, "--budget", "much", "-o", "r.html"), "'much'", "60%"),
        (("gpt3", "-o", "r.html"), "'gpt3'", "did you mean"),
        (("missing.json", "-o", "r.html"), "missing.json", "No such file"),
    ],
)
def test_wrong_use_ends_with_2_and_names_culprit_and_remedy(
    arguments: tuple[str, ...],
    culprit: str,
    remedy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One message on stderr, and no page."""
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert culprit in result.stderr
    assert remedy in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_program_is_answered_by_the_command_that_imports_it(
    tmp_path: Path,
) -> None:
    """As everywhere."""
    path = tmp_path / "net.json"
    path.write_text('{"directed": true, "nodes": []}')
    result = run(path, "-o", tmp_path / "report.html")
    assert result.exit_code == 2
    assert "ckschedule import node-link-chain" in result.stderr
