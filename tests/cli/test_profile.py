"""``ckschedule profile``: a model of the user's becomes a chain."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli.app import app


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["profile", *map(str, arguments)])


def test_json_has_every_stage_with_all_its_figures(factories: str) -> None:
    """What the factory prints goes to stderr, where it does not disturb JSON."""
    result = run(f"{factories}:build", "--json", "--time", "a100")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert "building" in result.stderr
    assert [stage["name"] for stage in document["stages"]] == [
        *map(str, range(12)),
        "end",
    ]
    # 256 samples of 32 numbers of 4 bytes; tanh saves nothing beside its output.
    tanh = document["stages"][1]
    assert tanh["output"] == document["input"] == 256 * 32 * 4
    assert tanh["variants"][0]["saved"] == 0
    assert tanh["variants"][0]["needs_output"] is True
    assert tanh["variants"][0]["needs_input"] is False
    # A weight of 32 rows and a bias.
    assert document["stages"][0]["parameter_gradient"] == (32 * 32 + 32) * 4
    assert document["model"]["static"]["parameters"] == 6 * (32 * 32 + 32) * 4
    assert document["sums"]["outputs"] == 12 * 256 * 32 * 4


def test_the_tables_name_stages_figures_and_sums(factories: str) -> None:
    """Both fit a terminal of 80 columns."""
    result = run(f"{factories}:build", "--variants", "matmul")
    assert result.exit_code == 0, result.output
    for text in (
        "Sequential",
        "what stays",
        "while running",
        "recorded",
        "or matmul",
        "sum",
        "largest",
        "input",
        "output",
    ):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_chain_is_written_and_solved(factories: str, tmp_path: Path) -> None:
    """The other commands take it as MODEL."""
    path = tmp_path / "chain.json"
    result = run(f"{factories}:Case", "--time", "cpu", "-o", path)
    assert result.exit_code == 0, result.output
    chain = ck.read_json(path)
    assert isinstance(chain, ck.Chain)
    solved = CliRunner().invoke(app, ["solve", str(path), "--budget", "80%"])
    assert solved.exit_code == 0, solved.output


def test_a_model_without_data_has_the_same_chain(factories: str) -> None:
    """Sizes and the roofline need shapes only."""
    options = ["--time", "a100", "--json"]
    real = json.loads(run(f"{factories}:build", *options).stdout)
    meta = json.loads(run(f"{factories}:build", *options, "--meta").stdout)
    assert meta == real


def test_options_reach_the_profile(factories: str) -> None:
    """Stages by pattern, static bytes by optimiser and accumulation."""
    result = run(
        f"{factories}:nested",
        *("--stages", "[0-3]", "--stages", "4", "--stages", "5", "--time", "a100"),
        *("--optimizer", "adamw", "--accumulate", "--json"),
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [s["name"] for s in document["stages"]] == [*"012345", "end"]
    static = document["model"]["static"]
    assert static["optimizer"] == 2 * static["gradients"] == 2 * static["parameters"]


def test_a_missing_loss_is_warned_of_in_one_line(factories: str) -> None:
    """Without the place in our code that warned."""
    result = run(f"{factories}:without_loss", "--time", "a100", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["command"] == "profile"
    warnings = [x for x in result.stderr.splitlines() if x.startswith("Warning: ")]
    assert len(warnings) == 1
    assert "no loss was given" in warnings[0]


@pytest.mark.parametrize(
    ("target", "culprit", "remedy"),
    [
        ("{}:raises", "ValueError: no data here", "{}.py:30"),
        ("{}:exits", "SystemExit: 3", "{}.py:34"),
        ("{}:broken_forward", "no attribute 'nothing'", "{}.py:64"),
        ("{}:needs_argument", "'depth'", "defaults"),
        ("{}:a_number", "a int", "(model, inputs, loss)"),
        ("{}:no_model", "(str, Tensor)", "torch.nn.Module"),
        ("{}:no_loss_function", "loss is a int", "a function of the model's output"),
        ("{}:no_chain", "no chain of stages", "name the modules"),
        ("{}:on_meta", "cannot be measured", "--time a100"),
        ("{}:value", "a int, which cannot be called", "write a function"),
        ("{}:biuld", "no 'biuld'", "did you mean 'build'?"),
        ("no_such_module:build", "'no_such_module'", "PYTHONPATH"),
        ("{}.part:build", "'{}.part'", "{}"),
        ("{}", "names no function", "{}:build"),
        ("{}:", "names no function", "{}:build"),
        ("..:build", "names no function", "net:build"),
        ("{}.py:build", "names a file", "{}:build"),
        ("models/{}.py:build", "names a file", "models.{}:build"),
    ],
)
def test_wrong_use_ends_with_2_and_names_culprit_and_remedy(
    factories: str, target: str, culprit: str, remedy: str
) -> None:
    """One message on stderr, nothing on stdout, no traceback."""
    result = run(target.format(factories))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert culprit.format(factories) in result.stderr
    assert remedy.format(factories) in result.stderr
    errors = [x for x in result.stderr.splitlines() if x.startswith("Error: ")]
    assert len(errors) == 1
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("options", "culprit", "remedy"),
    [
        (("--meta",), "cannot be measured", "--time a100"),
        (("--meta", "--time", "measured"), "cannot be measured", "--time a100"),
        (("--time", "abacus"), "'abacus'", "measured, h200"),
        (("--variants", "some"), "'some'", "all, matmul"),
        (("--stages", "layers.*"), "'layers.*'", "its modules are"),
        (("--optimizer", "adam"), "'adam'", "did you mean adamw?"),
        (("-o", "no/folder/chain.json"), "no/folder", "create it first"),
    ],
)
def test_wrong_options_end_with_2_and_name_culprit_and_remedy(
    factories: str, options: tuple[str, ...], culprit: str, remedy: str
) -> None:
    """As with every other command."""
    result = run(f"{factories}:build", *options)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert culprit in result.stderr
    assert remedy in result.stderr


def test_tensors_that_a_factory_puts_on_a_device_are_refused_with_meta(
    factories: str,
) -> None:
    """A model that is half there would be profiled wrongly, or raise somewhere."""
    result = run(f"{factories}:on_cpu", "--meta", "--time", "a100")
    assert result.exit_code == 2
    assert "on cpu itself" in result.stderr


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("import no_such_package\n", "No module named 'no_such_package' (broken.py:1)"),
        ("x = 1\ndef f(:\n", "SyntaxError: invalid syntax (broken.py:2)"),
    ],
)
@pytest.mark.usefixtures("factories")
def test_a_module_that_cannot_be_imported_is_not_called_missing(
    tmp_path: Path, text: str, culprit: str
) -> None:
    """It is there, and says itself what is wrong."""
    (tmp_path / "broken.py").write_text(text)
    result = run("broken:build")
    assert result.exit_code == 2
    assert "importing broken raised" in result.stderr
    assert culprit in result.stderr


def test_the_log_has_the_whole_traceback(factories: str) -> None:
    """As the message promises."""
    command = [sys.executable, "-m", "ckschedule", "-v", "profile"]
    done = subprocess.run(
        [*command, f"{factories}:raises"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert 'raise ValueError("no data here")' in done.stderr


def test_torch_that_is_missing_is_said_to_be_an_extra(factories: str) -> None:
    """Before the module is imported, which would fail with Python's words."""
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from ckschedule.cli.app import app\n"
        f"app(['profile', '{factories}:build'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "pip install 'ckschedule[torch]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_modules_are_found_here_and_nothing_stays_behind(factories: str) -> None:
    """The path is that of the command, not of the process."""
    before = list(sys.path)
    assert run(f"{factories}:raises").exit_code == 2
    assert sys.path == before
