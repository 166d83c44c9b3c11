"""``ckschedule run``: what was promised, and what a step takes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli.app import app


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["run", *map(str, arguments)])


def document(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_plan_keeps_its_budget_and_computes_what_it_says(factories: str) -> None:
    """The measured step is the predicted one; the plain model takes more."""
    result = run(
        f"{factories}:build",
        *("--budget", "75%", "--time", "a100", "--finite-differences", "--json"),
    )
    assert result.exit_code == 0, result.output
    found = document(result)
    assert found["ok"] is True
    assert found["measured"]["peak"] <= found["predicted"]["peak"] <= found["budget"]
    assert found["plain"]["peak"] > found["budget"]
    assert found["measured"]["executions"] == found["predicted"]["executions"]
    assert sum(found["measured"]["executions"].values()) > 12
    assert set(found["plain"]["executions"].values()) == {1}
    assert all(check["ok"] for check in found["checks"])
    assert "finite differences" in {check["name"] for check in found["checks"]}
    assert found["notes"] == []


def test_the_tables_compare_predicted_measured_and_left_alone(factories: str) -> None:
    """A row each, and one for each check."""
    result = run(f"{factories}:build", "--budget", "75%", "--time", "a100")
    assert result.exit_code == 0, result.output
    for text in (
        "budget",
        "predicted, on a100",
        "measured",
        "left alone",
        "gradients",
        "equal bit by bit",
        "executions",
        "held",
    ):
        assert text in result.stdout
    assert "FAILED" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_static_bytes_that_a_step_does_not_show_are_counted(factories: str) -> None:
    """Budgets include the optimiser's state."""
    options = ["--budget", "80%", "--time", "a100", "--json"]
    plain = document(run(f"{factories}:build", *options))
    found = document(run(f"{factories}:build", *options, "--optimizer", "adamw"))
    static = found["model"]["static"]
    assert static["optimizer"] == 2 * static["parameters"] > 0
    assert found["plain"]["peak"] == plain["plain"]["peak"] + static["optimizer"]
    assert found["ok"] is True


def test_the_plan_is_written_and_simulated(factories: str, tmp_path: Path) -> None:
    """The document is a result as `solve` writes it."""
    path = tmp_path / "plan.json"
    result = run(f"{factories}:build", "--budget", "75%", "-o", path, "--json")
    assert result.exit_code == 0, result.output
    plan = ck.read_json(path)
    assert isinstance(plan, ck.Result)
    assert plan.peak == document(result)["predicted"]["peak"]
    assert CliRunner().invoke(app, ["simulate", str(path)]).exit_code == 0


def test_a_budget_that_nothing_fits_ends_with_1_and_the_smallest_that_works(
    factories: str, tmp_path: Path
) -> None:
    """The plain model is measured all the same, and no file is written."""
    path = tmp_path / "plan.json"
    target, time = f"{factories}:build", ("--time", "a100")
    result = run(target, "--budget", "50KB", *time, "--json", "-o", path)
    assert result.exit_code == 1
    assert not path.exists()
    assert "was not written: there is no schedule" in result.stderr
    found = document(result)
    assert found["ok"] is False
    assert found["predicted"] is None
    assert found["measured"] is None
    assert found["plain"]["peak"] > found["budget"]
    least = found["minimum_budget"]
    text = run(target, "--budget", "50KB", *time).stdout
    assert f"--budget {least}, the smallest that works" in text
    assert run(target, "--budget", str(least), *time).exit_code == 0


def test_a_check_that_fails_ends_with_1_and_leaves_an_old_plan(
    factories: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that did not hold is no plan to keep."""
    import ckschedule.torch_backend as backend

    verify = backend.verify

    def failing(*args: Any, **kwargs: Any) -> backend.Verification:
        found = verify(*args, **kwargs)
        bad = backend.Check(name="gradients", ok=False, detail="w differs by 0.5")
        return replace(found, checks=(bad, *found.checks[1:]))

    monkeypatch.setattr(backend, "verify", failing)
    path = tmp_path / "plan.json"
    path.write_text("old")
    options = ["--budget", "75%", "--time", "a100", "-o", str(path)]
    result = run(f"{factories}:build", *options)
    assert result.exit_code == 1
    assert "FAILED" in result.stdout
    assert "Error: gradients: w differs by 0.5" in result.stderr
    assert "was not written: it did not hold" in result.stderr
    assert path.read_text() == "old"
    found = document(run(f"{factories}:build", *options, "--json"))
    assert found["ok"] is False
    assert found["checks"][0]["detail"] == "w differs by 0.5"


def test_without_verification_only_the_plan_is_run(factories: str) -> None:
    """The plain model may need more memory than there is."""
    result = run(
        f"{factories}:build", "--budget=75%", "--time=a100", "--no-verify", "--json"
    )
    assert result.exit_code == 0, result.output
    found = document(result)
    assert found["plain"] is None
    assert [check["name"] for check in found["checks"]] == ["peak"]
    assert found["measured"]["peak"] <= found["predicted"]["peak"]
    assert found["measured"]["executions"] == found["predicted"]["executions"]
    assert found["measured"]["time"] > 0


def test_a_model_that_needs_no_plan_is_said_to(
    factories: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a plan for the budget and without one: the budget is kept."""
    import ckschedule.torch_backend as backend

    options = [f"{factories}:build", "--time", "a100", "--json"]
    roomy = document(run(*options, "--budget", "1GB"))
    assert "needs no plan" in roomy["notes"][-1]
    small = backend.Measurement(peak=10, time=None, executions={})
    monkeypatch.setattr(backend, "measure_plain", lambda *_, **__: small)
    result = run(*options, "--budget", "50KB")
    assert result.exit_code == 0, result.output
    assert document(result)["predicted"] is None
    assert "needs no plan" in document(result)["notes"][-1]


@pytest.mark.parametrize(
    ("target", "options", "culprit", "remedy"),
    [
        ("build", (), "--budget", "--help"),
        ("build", ("--budget", "10 gigs"), "10 gigs", "10GiB"),
        ("build", ("--budget=75%", "--repeats=0"), "--repeats", "1"),
        ("build", ("--budget=75%", "--solver=oracle"), "oracle", "chain-dp"),
        (
            "build",
            ("--budget=75%", "--no-verify", "--finite-differences"),
            "--finite-differences",
            "--no-verify",
        ),
        ("on_meta", ("--budget=75%", "--time=a100"), "nothing can run", "profile"),
        ("broken_forward", ("--budget=75%",), "'nothing'", "-v"),
    ],
)
def test_wrong_use_ends_with_2_and_names_culprit_and_remedy(
    factories: str, target: str, options: tuple[str, ...], culprit: str, remedy: str
) -> None:
    """One message on stderr, nothing on stdout."""
    result = run(f"{factories}:{target}", *options)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert culprit in result.stderr
    assert remedy in result.stderr
