"""``ckschedule pareto``: the front in a table, in JSON, in a file, in a picture."""

import json
from pathlib import Path

import pytest
from pebblings import training
from typer.testing import CliRunner, Result

import ckschedule as ck
from ckschedule.cli.app import app
from ckschedule.errors import UnsupportedModelError

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


# --- Graphs --------------------------------------------------------------------------


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have AutoSolver answer single budgets only; the list says which."""
    asked: list[int] = []

    def search(
        self: ck.Portfolio,
        model: ck.Model,
        budget: int,
        progress: ck.Progress | None = None,
    ) -> ck.Proposal:
        asked.append(budget)
        return ck.Exhaustive().search(model, budget, progress)

    def front(
        self: ck.AutoSolver, model: ck.Model, progress: ck.Progress | None = None
    ) -> ck.FrontProposal:
        raise UnsupportedModelError("too large for all budgets at once")

    monkeypatch.setattr(ck.Portfolio, "search", search)
    monkeypatch.setattr(ck.AutoSolver, "front", front)
    return asked


GRAPH = training([5, 3, 7, 2, 6], [3, 1, 4, 1, 5])


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.json"
    ck.write_json(GRAPH, path)
    return path


def test_a_graph_has_a_front_of_as_many_points_as_one_wants(
    graph: Path, one_by_one: list[int]
) -> None:
    """Percentages are of running every node once; the end points are true."""
    result = run(graph, "--points", "5", "--json", "--budget", "100%")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert len(one_by_one) == 5
    assert document["exact"] is False
    assert document["stop"] == "finished"
    assert document["infeasible"] == 15
    assert document["budgets"][0]["point"]["makespan"] == GRAPH.base_time
    text = run(graph, "--points", "5").stdout
    assert "points, " in text
    assert "of them optimal, the others at most" in text
    assert "stopped" not in text


def test_a_front_is_written_as_it_grows_and_gone_on_with(
    graph: Path, tmp_path: Path, one_by_one: list[int]
) -> None:
    """No budget is solved twice; the whole front is in the file in the end."""
    kept = tmp_path / "kept.json"
    arguments: list[str | Path] = [graph, "--resume", kept, "--json"]
    assert run(*arguments, "--points", "5").exit_code == 0
    first = ck.read_json(kept)
    assert isinstance(first, ck.ParetoFront)
    assert len(first.answers) == 5
    assert run(*arguments, "--points", "100").exit_code == 0
    assert len(set(one_by_one)) == len(one_by_one) > 5
    second = ck.read_json(kept)
    assert isinstance(second, ck.ParetoFront)
    assert second.exact
    expected = ck.pareto(GRAPH, ck.Exhaustive())
    assert [(p.peak, p.makespan) for p in second] == [
        (p.peak, p.makespan) for p in expected
    ]
    before = list(one_by_one)
    assert run(*arguments).exit_code == 0
    assert one_by_one == before


def test_a_front_that_cannot_go_on_says_why(
    graph: Path, tmp_path: Path, one_by_one: list[int]
) -> None:
    """More time alone asks no budget again."""
    arguments: list[str | Path] = [graph, "--resume", tmp_path / "kept.json"]
    assert "raise --points" not in run(*arguments, "--points", "2").stderr
    again = run(*arguments, "--points", "2", "--time-limit", "600")
    assert "raise --points" in again.stderr
    assert len(one_by_one) == 2


def test_what_was_found_before_a_fault_is_in_the_file(
    graph: Path, tmp_path: Path, one_by_one: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written after every budget, not in the end."""
    kept = tmp_path / "kept.json"
    search = ck.Portfolio.search

    def breaks(
        self: ck.Portfolio,
        model: ck.Model,
        budget: int,
        progress: ck.Progress | None = None,
    ) -> ck.Proposal:
        if len(one_by_one) == 3:
            raise MemoryError
        return search(self, model, budget, progress)

    monkeypatch.setattr(ck.Portfolio, "search", breaks)
    assert run(graph, "--resume", kept).exit_code != 0
    front = ck.read_json(kept)
    assert isinstance(front, ck.ParetoFront)
    assert len(front.answers) == 3
    assert front.stop is ck.Stop.INTERRUPTED


def test_a_front_without_time_says_that_it_stopped(
    graph: Path, one_by_one: list[int]
) -> None:
    """And how to go on."""
    result = run(graph, "--time-limit", "0")
    assert result.exit_code == 0, result.output
    assert one_by_one == []
    assert "time limit; with --resume FILE" in " ".join(result.stdout.split())


def test_a_budget_below_an_unproved_minimum_names_no_smallest_one(
    graph: Path, one_by_one: list[int]
) -> None:
    """For less may do."""
    result = run(graph, "--time-limit", "0", "--budget", "17")
    assert result.exit_code == 1
    assert "within 17: nothing fits" not in result.stdout
    assert "within 17: no schedule found" in result.stdout
    assert "smallest that works" not in result.stdout


def test_a_front_of_a_chain_is_kept_likewise(tmp_path: Path) -> None:
    """It is finished at once, and read the next time."""
    kept = tmp_path / "kept.json"
    assert run(*MODEL, "--resume", kept).exit_code == 0
    assert ck.read_json(kept) == ck.pareto(CHAIN)
    assert run(*MODEL, "--resume", kept).exit_code == 0


@pytest.mark.parametrize(
    ("document", "culprit"),
    [(CHAIN, "holds a Chain"), (ck.pareto(CHAIN), "does not fit the model")],
    ids=["chain", "front"],
)
def test_only_a_front_of_the_model_can_be_gone_on_with(
    graph: Path, tmp_path: Path, document: ck.Chain | ck.ParetoFront, culprit: str
) -> None:
    """The file stays as it is."""
    kept = tmp_path / "kept.json"
    ck.write_json(document, kept)
    before = kept.read_bytes()
    arguments = MODEL if isinstance(document, ck.Chain) else [graph]
    result = run(*arguments, "--resume", kept)
    assert result.exit_code == 2
    assert culprit in " ".join(result.stderr.split())
    assert kept.read_bytes() == before
