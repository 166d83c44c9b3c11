"""``ckschedule solve``: an optimal schedule, or the proof that there is none."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli.app import app
from ckschedule.cli.solvers import SOLVERS
from ckschedule.cli.summary import gap_percent, live_names

MODEL = ["uniform", "--stages", "8", "--saved-bytes", "2"]
CHAIN = ck.catalog.uniform(stages=8, saved=2)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["solve", *map(str, arguments)])


def test_json_has_the_numbers_of_the_library() -> None:
    """Bytes and ticks are integers, not text."""
    result = run(*MODEL, "--budget", "60%", "--json")
    assert result.exit_code == 0, result.output
    document, expected = json.loads(result.stdout), ck.solve(CHAIN, "60%")
    assert expected.trace is not None
    assert document["status"] == "optimal"
    assert document["budget"] == expected.budget
    assert document["gap"] == 0.0
    assert document["lower_bound"] == expected.lower_bound
    schedule = document["schedule"]
    assert schedule["peak"] == expected.peak
    assert schedule["makespan"] == expected.makespan
    assert schedule["overhead"] == expected.overhead
    assert schedule["live_at_peak"] == expected.trace.live_at_peak


def test_the_table_shows_status_peak_budget_and_what_is_live() -> None:
    """The questions that users ask first."""
    result = run("gpt2", "--layers", "2", "--batch", "2", "--seq", "64", "--budget=2GB")
    assert result.exit_code == 0, result.output
    for text in (
        "optimal within",
        "persistent schedules",
        "unused",
        "static",
        "lower bound",
        "recomputed",
        "live at the peak",
        "over storing",
    ):
        assert text in result.stdout


def test_the_result_is_written_and_read_again(tmp_path: Path) -> None:
    """The document is the library's."""
    path = tmp_path / "plan.json"
    assert run(*MODEL, "--budget", "60%", "-o", path).exit_code == 0
    assert ck.read_json(path) == ck.solve(CHAIN, "60%", ck.AutoSolver())


def test_an_infeasible_budget_ends_with_1_and_the_smallest_that_works() -> None:
    """Below input, output, saved tensors and two gradients nothing runs."""
    result = run(*MODEL, "--budget", "6")
    assert result.exit_code == 1
    assert "nothing fits within 6 B" in result.stdout
    assert "--budget 7" in result.stdout
    document = json.loads(run(*MODEL, "--budget", "6", "--json").stdout)
    assert document["status"] == "infeasible"
    assert document["minimum_budget"] == 7
    assert document["schedule"] is None
    assert run(*MODEL, "--budget", "7").exit_code == 0


def test_an_infeasible_budget_leaves_an_old_plan(tmp_path: Path) -> None:
    """A good plan is not replaced by none, and stderr says so."""
    path = tmp_path / "plan.json"
    written = run(*MODEL, "--budget", "60%", "-o", path)
    assert written.stderr == f"wrote {path}\n"
    plan = path.read_bytes()
    refused = run(*MODEL, "--budget", "6", "-o", path)
    assert refused.stderr == f"{path} was not written: there is no schedule\n"
    assert path.read_bytes() == plan


def test_the_plan_joins_stages_that_are_treated_alike() -> None:
    """All is kept where all fits: one row for eight stages and the loss."""
    lines = run(*MODEL, "--budget", "100%").stdout.splitlines()
    rows = [line.split() for line in lines if "stage 1 to" in line]
    assert rows[0][:3] == ["stage", "1", "to"]
    assert "kept" in rows[0]
    # The live values of neighbours are joined as well: 8 stages save 2 bytes each.
    assert any("saved tensors of stage 1 to " in line for line in lines)


def test_a_gap_is_never_rounded_to_none() -> None:
    """It bounds from above."""
    assert gap_percent(0.0) == "0 %"
    assert gap_percent(1e-9) == "0.001 %"
    assert gap_percent(0.012341) == "1.235 %"


def test_zero_bytes_are_a_budget() -> None:
    """Valid, and infeasible."""
    assert run(*MODEL, "--budget", "0").exit_code == 1


def test_static_bytes_beyond_the_budget_are_said_to_be_the_reason() -> None:
    """No schedule can help; counting activations only can be what was meant."""
    result = run("gpt2", "--layers", "2", "--budget", "100MB")
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    assert "static alone" in text
    assert "--optimizer none, to count activations only" in text


def test_an_optimizer_that_fits_is_named() -> None:
    """With momentum gpt2 of two layers has 613 MiB of static bytes, with sgd 409."""
    text = run("gpt2", "--layers", "2", "--budget", "600MiB").stdout
    assert "--optimizer sgd" in text
    assert "--optimizer momentum" not in text
    assert "a smaller --batch (8 now)" in text


def test_a_tiny_budget_without_a_unit_is_asked_about() -> None:
    """40 is bytes; but bytes can be meant for a model that is counted in them."""
    assert "--budget 40GiB, if that was meant" in run("gpt2", "--budget", "40").stdout
    assert "GiB" not in run(*MODEL, "--budget", "6").stdout


def test_gradients_are_named_by_whose_they_are() -> None:
    """That of the chain's input belongs to no stage's output."""
    live = {"g0": 1, "g1": 1, "g3": 1, "transient of B2": 4}
    assert live_names(CHAIN, live) == [
        ("running the backward of stage 2", 4),
        ("input gradient, output gradient of stage 1", 2),
        ("output gradient of stage 3", 1),
    ]


def test_a_construction_that_does_not_fit_ends_with_1() -> None:
    """Its own peak is the smallest budget for it."""
    result = run(*MODEL, "--budget", "10", "--solver", "store-all", "--json")
    assert result.exit_code == 1
    # The input, eight stages of three bytes, a gradient and the one being made.
    assert json.loads(result.stdout)["minimum_budget"] == 1 + 8 * 3 + 1 + 1


OF_GRAPHS = ("milp", "lp-rounding", "local-search", "greedy", "cut-dp", "lower-sets")
"""They take weighted pebbling only."""


@pytest.mark.parametrize(
    "name", [n for n in SOLVERS if n not in ("exhaustive", *OF_GRAPHS)]
)
def test_every_solver_can_be_chosen_by_name(name: str) -> None:
    """With room for everything each finds a schedule."""
    result = run("uniform", "--stages", "4", "--budget", "100", "--solver", name)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("name", ["auto", "exhaustive", "cp-sat", *OF_GRAPHS])
def test_every_solver_of_graphs_can_be_chosen_by_name(
    name: str, tmp_path: Path
) -> None:
    """On a graph that each of them takes."""
    path = tmp_path / "path.json"
    ck.write_json(ck.catalog.training_path(4), path)
    result = run(path, "--budget", "5", "--solver", name, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["schedule"]["makespan"] >= 10


def test_order_and_time_limit_reach_the_solver(tmp_path: Path) -> None:
    """And are refused by name where a solver has none."""
    path = tmp_path / "path.json"
    ck.write_json(ck.catalog.training_path(4), path)
    given = ("--solver", "cp-sat", "--order", "free", "--time-limit", "7")
    answer = json.loads(run(path, "--budget", "4", *given, "--json").stdout)
    assert "free" in answer["solver"]
    assert "time_limit=7" in answer["solver"]
    assert answer["stop"] == "finished"
    assert answer["bound_source"]
    refused = run(path, "--budget", "4", "--solver", "exhaustive", "--order", "free")
    assert refused.exit_code == 2
    assert "has no setting 'order'" in refused.output


@pytest.mark.parametrize(
    ("arguments", "culprit", "remedy"),
    [
        ((*MODEL, "--budget", "10 gigs"), "10 gigs", "10GiB"),
        ((*MODEL, "--budget", "-1"), "-1", "write whole bytes"),
        ((*MODEL,), "--budget", "--help"),
        ((*MODEL, "--budget", "9", "--solver", "oracle"), "oracle", "chain-dp"),
        (("gpt2", "--budget", "9GB", "--solver", "revolve"), "variants", "ChainDP"),
    ],
)
def test_wrong_use_ends_with_2_and_names_culprit_and_remedy(
    arguments: tuple[str, ...], culprit: str, remedy: str
) -> None:
    """One message on stderr, nothing on stdout."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert culprit in result.stderr
    assert remedy in result.stderr


def test_a_model_larger_than_the_machine_ends_with_2() -> None:
    """A slip of the finger must not read as "nothing fits"."""
    result = run("uniform", "--stages", "99999999999", "--budget", "10")
    assert result.exit_code == 2
    assert "ask for fewer stages" in result.output
