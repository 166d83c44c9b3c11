"""``ckschedule arena``: a plan's map in words, in JSON, in a file, in a picture."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli.app import app

CHAIN = ck.catalog.uniform(stages=8, saved=2)


@pytest.fixture
def result() -> ck.Result:
    return ck.solve(CHAIN, "60%")


@pytest.fixture
def plan(result: ck.Result, tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    ck.write_json(result, path)
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["arena", *map(str, arguments)])


def test_json_has_the_numbers_of_the_library(plan: Path, result: ck.Result) -> None:
    """The command only calls it."""
    answer = run(plan, "--json", "--alignment", "4")
    assert answer.exit_code == 0, answer.output
    document = json.loads(answer.stdout)
    assert result.schedule is not None
    arena = ck.plan_arena(CHAIN, result.schedule, alignment=4)
    assert document["size"] == arena.size
    assert document["live_peak"] == arena.live_peak
    assert document["alignment"] == 4
    assert len(document["blocks"]) == len(arena.blocks)
    assert document["blocks"][0]["offset"] == arena.blocks[0].offset


def test_the_table_says_what_the_arena_takes(plan: Path) -> None:
    """Beside the budget that the plan was made for."""
    answer = run(plan)
    assert answer.exit_code == 0, answer.output
    for text in ("live bytes", "the smallest that there is", "within the budget"):
        assert text in " ".join(answer.stdout.split())


def test_map_and_picture_are_written(plan: Path, tmp_path: Path) -> None:
    """The map is the library's document."""
    out, picture = tmp_path / "m.json", tmp_path / "m.png"
    answer = run(plan, "--exact", "-o", out, "--plot", picture)
    assert answer.exit_code == 0, answer.output
    arena = ck.read_json(out, model=CHAIN)
    assert isinstance(arena, ck.Arena)
    assert arena.optimal
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "wrote" in answer.stderr
    shown = run(out, "--json")
    assert json.loads(shown.stdout)["blocks"] == [
        {part: getattr(block, part) for part in ("name", "first", "last", "size")}
        | {"offset": block.offset}
        for block in arena.blocks
    ]
    again = run(out, "--exact")
    assert again.exit_code == 2
    assert "give the plan" in again.stderr


def test_a_schedule_with_its_model_is_enough(result: ck.Result, tmp_path: Path) -> None:
    """One that records none is refused with the way out."""
    assert result.schedule is not None
    path = tmp_path / "schedule.json"
    ck.write_json(result.schedule, path, model=CHAIN)
    assert run(path).exit_code == 0
    ck.write_json(result.schedule, path)
    answer = run(path)
    assert answer.exit_code == 2
    assert "records no model" in answer.stderr


@pytest.mark.parametrize("item", [CHAIN, ck.pareto(CHAIN)])
def test_a_file_without_a_plan_is_refused(
    item: ck.Chain | ck.ParetoFront, tmp_path: Path
) -> None:
    """With the command that makes one."""
    path = tmp_path / "other.json"
    ck.write_json(item, path)
    answer = run(path)
    assert answer.exit_code == 2
    assert "ckschedule solve" in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (("--alignment", "0"), "alignment is 0"),
        (("--time-limit", "-1"), "time_limit is -1"),
        (("--plot", "map.bmp"), ".png"),
        (("-o", "no/folder/m.json"), "create it first"),
    ],
)
def test_wrong_use_ends_with_2(
    plan: Path, arguments: tuple[str, str], culprit: str
) -> None:
    """One message on stderr."""
    answer = run(plan, *arguments)
    assert answer.exit_code == 2
    assert culprit in answer.stderr
    assert answer.stdout == ""
