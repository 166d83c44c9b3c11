"""``ckschedule compare``: what known constructions waste."""

import json

import pytest
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli.app import app

MODEL = ["uniform", "--stages", "8"]
CHAIN = ck.catalog.uniform(stages=8)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["compare", *arguments])


def test_every_construction_is_no_faster_than_the_optimum_at_its_peak() -> None:
    """All of them are persistent schedules, among which the optimum is exact."""
    result = run(*MODEL, "--budget", "9", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["optimum"]["point"]["makespan"] == ck.solve(CHAIN, 9).makespan
    rows = document["constructions"]
    assert len(rows) == 8
    for row in rows:
        assert row["optimum_at_same_peak"]["peak"] <= row["schedule"]["peak"]
        assert row["optimum_at_same_peak"]["makespan"] <= row["schedule"]["makespan"]
        assert row["fits"] == (row["schedule"]["peak"] <= 9)


def test_rows_are_named_as_solvers_are_chosen() -> None:
    """What looks good here can be asked for."""
    document = json.loads(run(*MODEL, "--budget", "9", "--json").stdout)
    for row in document["constructions"]:
        options = [*MODEL, "--budget", "100", "--solver", row["name"], "--json"]
        solved = json.loads(CliRunner().invoke(app, ["solve", *options]).stdout)
        assert solved["solver"] == row["solver"]


def test_rows_that_fit_come_first_and_the_fastest_of_them_leads() -> None:
    """The best choice is read at the top."""
    rows = json.loads(run(*MODEL, "--budget", "9", "--json").stdout)["constructions"]
    order = [(not row["fits"], row["schedule"]["makespan"]) for row in rows]
    assert order == sorted(order)


def test_a_construction_that_saves_nothing_is_named() -> None:
    """Keeping every output of stages that save nothing else keeps everything."""
    result = run(*MODEL, "--budget", "9")
    assert "recompute-all: saves nothing" in result.stdout


def test_a_construction_that_refuses_the_model_says_why() -> None:
    """Revolve takes uniform chains only."""
    result = run("vgg11", "--batch", "1", "--budget", "100%")
    assert result.exit_code == 0, result.output
    assert "revolve: not applicable (stages differ)" in result.stdout.splitlines()


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_budget_that_nothing_fits_ends_with_1(more: tuple[str, ...]) -> None:
    """The table is printed all the same."""
    result = run(*MODEL, "--budget", "3", *more)
    assert result.exit_code == 1
    assert "store-all" in result.stdout
