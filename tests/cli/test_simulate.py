"""``ckschedule simulate``: what a file claims is measured again."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli.app import app

CHAIN = ck.catalog.uniform(stages=8, saved=2)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["simulate", *map(str, arguments)])


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    ck.write_json(ck.solve(CHAIN, "60%"), path)
    return path


def test_a_result_is_measured_against_its_own_budget(plan: Path) -> None:
    """Peak, makespan and recomputations are the simulator's."""
    result = run(plan, "--json")
    assert result.exit_code == 0, result.output
    document, trace = json.loads(result.stdout), ck.solve(CHAIN, "60%").trace
    assert trace is not None
    assert document["budget"] == 16  # 60 % of 27 bytes, rounded down
    assert document["held"] is True
    assert document["peak"] == trace.peak
    assert document["recomputations"] == trace.recomputations
    assert "forwards of" in run(plan).stdout


def test_a_budget_that_is_passed_ends_with_1(plan: Path) -> None:
    """By how much is said on stderr."""
    result = run(plan, "--budget", "15", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["held"] is False
    assert "passes the budget of 15 by 1 byte\n" in result.stderr


def test_what_becomes_of_each_stage_is_shown(plan: Path) -> None:
    """Recorded forwards of the JSON add up to the recomputations."""
    document = json.loads(run(plan, "--json").stdout)
    stages = document["stages"]
    assert len(stages) == len(CHAIN.sequence)
    assert sum(stage["recomputed"] for stage in stages) == document["recomputed"]
    assert {stage["saved_as"] for stage in stages} == {"all"}
    assert "saved tensors" in run(plan).stdout


def test_the_model_takes_its_options(tmp_path: Path) -> None:
    """As with every other command; without a model they are refused."""
    path = tmp_path / "plan.json"
    ck.write_json(ck.solve(CHAIN, "60%"), path)
    options = ["--stages", "8", "--saved-bytes", "2"]
    assert run(path, "--model", "uniform", *options).exit_code == 0
    refused = run(path, *options)
    assert refused.exit_code == 2
    assert "name the model that this is for with --model" in refused.stderr


def test_a_bare_schedule_needs_its_model(tmp_path: Path) -> None:
    """The message says how to give it."""
    schedule = ck.solve(CHAIN, "60%").schedule
    assert schedule is not None
    path, model = tmp_path / "schedule.json", tmp_path / "model.json"
    ck.write_json(schedule, path)
    ck.write_json(CHAIN, model)
    refused = run(path)
    assert refused.exit_code == 2
    assert "--model" in refused.stderr
    assert run(path, "--model", model, "--budget", "60%").exit_code == 0


def test_another_model_is_refused(plan: Path) -> None:
    """A schedule of one network says nothing about another."""
    result = run(plan, "--model", "uniform")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")


def test_a_front_is_listed_and_asked_for_a_budget(tmp_path: Path) -> None:
    """As by `pareto`, but from the file."""
    path, front = tmp_path / "front.json", ck.pareto(CHAIN)
    ck.write_json(front, path)
    assert "knee" in run(path).stdout
    assert len(json.loads(run(path, "--json").stdout)["points"]) == len(front)
    answer = json.loads(run(path, "--budget", "60%", "--json").stdout)
    assert answer["peak"] == front.at("60%").peak
    assert run(path, "--budget", "1").exit_code == 1


def test_a_model_has_nothing_to_simulate(tmp_path: Path) -> None:
    """The message says how to make a schedule."""
    path = tmp_path / "model.json"
    ck.write_json(CHAIN, path)
    result = run(path)
    assert result.exit_code == 2
    assert "ckschedule solve" in result.stderr


def test_a_result_without_schedule_ends_with_1(tmp_path: Path) -> None:
    """There is nothing to measure, and the file says why."""
    path = tmp_path / "plan.json"
    ck.write_json(ck.solve(CHAIN, 3), path)
    result = run(path)
    assert result.exit_code == 1
    assert "nothing fits" in result.stderr


def test_a_tampered_file_is_refused(plan: Path) -> None:
    """A recorded peak that the simulator does not find is no peak."""
    document = json.loads(plan.read_text())
    document["trace"]["peak"] -= 1
    plan.write_text(json.dumps(document))
    result = run(plan)
    assert result.exit_code == 2
    assert "peak" in result.stderr


def test_memory_over_time_is_drawn_on_request(plan: Path) -> None:
    """With the budget as dashes."""
    shown = run(plan, "--show").stdout
    assert "live memory, B" in shown
    assert "dashes: budget" in shown


def test_memory_and_schedule_are_drawn_into_files(plan: Path, tmp_path: Path) -> None:
    """A front has many schedules: its budget must be named."""
    pytest.importorskip("matplotlib", reason="needs ckschedule[plot]")
    picture, front = tmp_path / "plan.svg", tmp_path / "front.json"
    result = run(plan, "--plot", picture)
    assert result.exit_code == 0, result.output
    assert picture.read_bytes().startswith(b"<?xml")
    ck.write_json(ck.pareto(CHAIN), front)
    refused = run(front, "--plot", tmp_path / "front.png")
    assert refused.exit_code == 2
    assert "add --budget" in refused.stderr


def test_a_map_of_addresses_holds_its_schedule(tmp_path: Path) -> None:
    """It can be simulated like the result that it was made for."""
    path = tmp_path / "map.json"
    chain = ck.catalog.uniform(stages=4, saved=2)
    result = ck.solve(chain, "60%")
    assert result.schedule is not None
    ck.write_json(ck.plan_arena(chain, result.schedule), path)
    answer = CliRunner().invoke(app, ["simulate", str(path), "--json"])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["peak"] == result.peak
