"""``ckschedule export``: a plan in a file becomes source."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli.app import app
from ckschedule.documents import to_json
from ckschedule.exporting import export

CHAIN = ck.catalog.uniform(stages=8, saved=2)
RESULT = ck.solve(CHAIN, "60%")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    ck.write_json(RESULT, path)
    return path


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_the_source_is_the_librarys(plan: Path, to: str) -> None:
    """On stdout, and nothing else with it."""
    result = run(plan, "--to", to)
    assert result.exit_code == 0, result.output
    assert result.stdout == export(RESULT, to=to)  # type: ignore[arg-type]  # its names
    assert result.stderr == ""
    compile(result.stdout, "plan.py", "exec")


def test_the_source_is_written(plan: Path, tmp_path: Path) -> None:
    """And named on stderr."""
    path = tmp_path / "plan.py"
    result = run(plan, "--to", "torch", "-o", path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"wrote {path}\n"
    assert path.read_text("utf-8") == export(RESULT, to="torch")


def test_a_schedule_with_its_chain_is_a_plan(tmp_path: Path) -> None:
    """Without it the message says what to export instead."""
    schedule = RESULT.schedule
    assert schedule is not None
    path = tmp_path / "schedule.json"
    path.write_text(to_json(schedule, model=CHAIN), "utf-8")
    assert run(path, "--to", "jax").stdout == export(schedule, to="jax", chain=CHAIN)
    path.write_text(to_json(schedule), "utf-8")
    refused = run(path, "--to", "jax")
    assert refused.exit_code == 2
    assert "export a result of 'ckschedule solve'" in refused.stderr


def test_a_result_without_schedule_ends_with_1(tmp_path: Path) -> None:
    """There is nothing to export, and the file says why."""
    path = tmp_path / "plan.json"
    ck.write_json(ck.solve(CHAIN, 3), path)
    result = run(path, "--to", "torch")
    assert result.exit_code == 1
    assert "nothing fits" in result.stderr


def test_models_and_fronts_are_answered_by_the_command_that_makes_a_plan(
    tmp_path: Path,
) -> None:
    """It takes their files."""
    path = tmp_path / "file.json"
    for document in (CHAIN, ck.pareto(CHAIN)):
        ck.write_json(document, path)
        result = run(path, "--to", "torch")
        assert result.exit_code == 2
        assert f"ckschedule solve {path} --budget" in result.stderr
        command = ["solve", str(path), "--budget=60%", "-o", str(tmp_path / "p.json")]
        assert CliRunner().invoke(app, command).exit_code == 0
        assert run(tmp_path / "p.json", "--to", "torch").exit_code == 0


def test_wrong_use_ends_with_2(plan: Path) -> None:
    """An unknown framework, none, and a file or a folder that is missing."""
    for arguments, remedy in (
        ((plan, "--to", "tensorflow"), "torch, jax"),
        ((plan,), "--to"),
        ((plan.with_name("no.json"), "--to", "jax"), "no.json"),
        ((plan, "--to", "jax", "-o", "no/folder/p.py"), "create it first"),
    ):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert remedy in result.stderr
