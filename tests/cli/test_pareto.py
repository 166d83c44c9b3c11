"""``ckschedule pareto``: the front in a table, in JSON, in a file, in a picture."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli.app import app

MODEL = ["uniform", "--stages", "8", "--saved-bytes", "2"]
CHAIN = ck.catalog.uniform(stages=8, saved=2)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["pareto", *map(str, arguments)])


def test_json_has_the_numbers_of_the_library() -> None:
    """The command only calls the library."""
    result = run(*MODEL, "--json", "--budget", "60%", "--overhead", "30%")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    front = ck.pareto(CHAIN)
    assert [(p["peak"], p["makespan"]) for p in document["points"]] == [
        (p.peak, p.makespan) for p in front
    ]
    assert document["exact"] is True
    assert document["model"]["stages"] == 9
    assert document["model"]["static"]["total"] == 0
    assert document["budgets"][0]["point"]["peak"] == front.at("60%").peak
    # 16 steps once; 30 % are 4.8: at most 20.
    answer = front.within_time(20)
    assert answer is not None
    assert document["overheads"][0]["point"]["peak"] == answer.peak


def test_the_table_names_the_points_and_the_scope() -> None:
    """What a newcomer needs to read the numbers."""
    result = run(*MODEL, "--budget", "15", "--overhead", "30%", "--no-show")
    assert result.exit_code == 0, result.output
    for text in (
        "minimum",
        "knee",
        "fastest",
        "store all",
        "within 15",
        "at most +30%",
        "breakpoints of the optimum, exact",
        "persistent schedules",
        "as Chen et al. count",
        "step",
    ):
        assert text in result.stdout


def test_a_budget_that_nothing_fits_ends_with_1_and_the_smallest_that_works() -> None:
    """The table is still printed."""
    result = run(*MODEL, "--budget", "6")
    assert result.exit_code == 1
    assert "within 6: nothing fits" in result.stdout
    assert "--budget 7, the smallest that works" in result.stdout


def test_static_memory_is_shown_apart() -> None:
    """Budgets include it, and no schedule can use it."""
    result = run("vgg11", "--batch", "1")
    assert result.exit_code == 0, result.output
    assert "optimizer" in result.stdout
    assert "above static" in " ".join(result.stdout.split())
    plain = run("vgg11", "--batch", "1", "--optimizer", "none")
    assert "none counted" in plain.stdout


def test_the_front_is_written_and_read_again(tmp_path: Path) -> None:
    """The document is the library's."""
    path = tmp_path / "front.json"
    assert run(*MODEL, "-o", path).exit_code == 0
    assert ck.read_json(path) == ck.pareto(CHAIN)


@pytest.mark.parametrize(
    ("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_picture_has_the_format_of_its_suffix(
    tmp_path: Path, suffix: str, magic: bytes
) -> None:
    """And nothing else is left in the folder."""
    path = tmp_path / f"front.{suffix}"
    result = run(*MODEL, "--plot", path, "--budget", "60%")
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [path]


def test_every_picture_that_is_asked_for_is_written(tmp_path: Path) -> None:
    """And named on stderr, where it does not disturb JSON."""
    first, second = tmp_path / "a.png", tmp_path / "b.svg"
    result = run(*MODEL, "--plot", first, "--plot", second, "--json")
    assert result.stderr == f"wrote {first}\nwrote {second}\n"
    assert sorted(tmp_path.iterdir()) == [first, second]
    assert json.loads(result.stdout)["command"] == "pareto"


def test_the_terminal_plot_is_drawn_on_request() -> None:
    """Without a terminal it is left out by default."""
    assert "peak memory" not in run(*MODEL).stdout
    shown = run(*MODEL, "--show")
    assert "peak memory, B" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "culprit", "remedy"),
    [
        (("nonet",), "'nonet'", "ckschedule catalog"),
        (("resnett",), "'resnett'", "did you mean 'resnet'?"),
        (("gpt2", "--depth", "3"), "--depth", "--layers"),
        (("resnet", "--blocks", "3;4"), "--blocks", "commas"),
        (("resnet", "--device", "abacus"), "abacus", "a100"),
        (("resnet", "--depth", "3"), "--depth is 3", "--blocks 1,1,1,1"),
        ((*MODEL, "--budget", "0.5"), "0.5", "write whole bytes"),
        ((*MODEL, "--overhead", "-3%"), "--overhead", "30%"),
        ((*MODEL, "--overhead", "0.3"), "0.3", "30%"),
        ((*MODEL, "--plot", "front.bmp"), "front.bmp", ".png"),
        ((*MODEL, "--plot", "no/folder/f.png"), "no/folder", "create it first"),
        ((*MODEL, "-o", "no/folder/f.json"), "no/folder", "create it first"),
        (("missing.json",), "missing.json", "No such file"),
        ((), "MODEL", "--help"),
        (("GPT2-XL",), "'GPT2-XL'", "did you mean 'gpt2-xl'?"),
        (("resnet50",), "'resnet50'", "did you mean 'resnet --depth 50'?"),
        (("gpt2", "--batch", "x"), "--batch is 'x'", "write a whole number"),
        (("gpt2", "--batch", "-4"), "--batch is -4", "0 or more"),
        (("gpt2", "--optimizer", "adam"), "'adam'", "did you mean adamw?"),
        (("gpt2", "--hidden", "770"), "--hidden is 770", "another --heads"),
    ],
)
def test_wrong_use_ends_with_2_and_names_culprit_and_remedy(
    arguments: tuple[str, ...], culprit: str, remedy: str
) -> None:
    """One message on stderr, nothing on stdout, no traceback."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert culprit in result.stderr
    assert remedy in result.stderr
    assert result.stderr.count("Error:") == 1


def test_options_of_the_catalogue_are_refused_for_files(tmp_path: Path) -> None:
    """They would silently do nothing."""
    path = tmp_path / "chain.json"
    ck.write_json(CHAIN, path)
    result = run(path, "--batch", "4")
    assert result.exit_code == 2
    assert "--batch" in result.stderr
    assert "leave them out" in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("net.txt", "node1 -- Conv2d() -- forward_compute_time=1.0\n", "pipedream"),
        ("net.json", '{"directed": true, "nodes": []}', "node-link-chain"),
        ("net.csv", "name,output\n", "csv"),
    ],
)
def test_a_file_of_another_program_is_answered_by_the_command_that_imports_it(
    tmp_path: Path, name: str, text: str, format: str
) -> None:
    """With the file's own path."""
    path = tmp_path / name
    path.write_text(text)
    result = run(path)
    assert result.exit_code == 2
    assert f"'ckschedule import {format} {path} -o model.json'" in result.stderr


def test_a_file_gives_the_front_of_its_model(tmp_path: Path) -> None:
    """Of a chain, and of a result that records one."""
    chain, plan = tmp_path / "chain.json", tmp_path / "plan.json"
    ck.write_json(CHAIN, chain)
    ck.write_json(ck.solve(CHAIN, "60%"), plan)
    points = [
        json.loads(run(path, "--json").stdout)["points"] for path in (chain, plan)
    ]
    assert points[0] == points[1] == json.loads(run(*MODEL, "--json").stdout)["points"]
