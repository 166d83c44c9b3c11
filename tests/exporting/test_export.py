"""The exported text: its tables, its names, and what is no plan."""

import dataclasses
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from samples import equal

import ckschedule as ck
from ckschedule.errors import (
    InvalidScheduleError,
    InvalidSettingError,
    NoScheduleError,
    UnsupportedModelError,
)
from ckschedule.exporting import export

CHAIN = ck.catalog.uniform(stages=8, saved=2)


def table(source: str) -> str:
    start = source.index("PLAN = ")
    return source[start : source.index('"""', start)]


def test_the_plan_shows_ranges_and_names() -> None:
    """Indented by depth: halves, and halves of halves."""
    names = [f"layers.{i}" for i in range(4)]
    stages = [
        dataclasses.replace(stage, name=name)
        for stage, name in zip(CHAIN.stages, names, strict=False)
    ]
    chain = ck.Chain(input=1, stages=stages)
    source = export(ck.ChenRecursion().schedule(chain), to="torch", chain=chain)
    assert table(source) == (
        "PLAN = [\n"
        '    (0, 2),  # "layers.0" to "layers.1"\n'
        '    (0, 1),  #   "layers.0"\n'
        '    (2, 3),  # "layers.2"\n'
        "]\n"
    )
    assert '    "layers.3",  # 3\n' in source
    assert table(export(ck.solve(chain, "100%"), to="jax")) == "PLAN = []\n"


RESULT = ck.solve(CHAIN, 12)


@pytest.mark.parametrize(
    ("match", "error", "plan", "options"),
    [
        ("choose one of torch, jax", InvalidSettingError, RESULT, {"to": "keras"}),
        ("give chain=", InvalidSettingError, RESULT.schedule, {"to": "jax"}),
        (r"front\.at", InvalidSettingError, ck.pareto(CHAIN), {"to": "jax"}),
        ("leave chain= out", InvalidSettingError, RESULT, {"chain": equal(2)}),
        ("smallest budget", NoScheduleError, ck.solve(CHAIN, 3), {}),
        (
            "operation 0",
            InvalidScheduleError,
            ck.Schedule([ck.Free("x1")]),
            {"chain": CHAIN},
        ),
        (
            "is a graph",
            UnsupportedModelError,
            RESULT.schedule,
            {"chain": CHAIN.to_graph()},
        ),
    ],
)
def test_wrong_use_is_named(
    match: str, error: type[Exception], plan: Any, options: dict[str, Any]
) -> None:
    """With the way out."""
    with pytest.raises(error, match=match):
        export(plan, **{"to": "torch", **options})


def test_equal_plans_give_equal_source() -> None:
    """A result, the point of the front and the schedule; the chain may be repeated."""
    result = ck.solve(CHAIN, 12)
    assert result.schedule is not None
    source = export(result, to="jax")
    assert export(ck.pareto(CHAIN).at(12), to="jax", chain=CHAIN) == source
    assert export(result.schedule, to="jax", chain=CHAIN) == source


def test_names_cannot_become_code() -> None:
    """They stand in literals and comments, whatever they hold."""
    name = 'a"""\\\n(7, 9),\r\u2028\x0c ü'
    stage = dataclasses.replace(CHAIN.stages[0], name=name)
    chain = ck.Chain(input=1, stages=[stage, CHAIN.stages[1]], name=name)
    schedule = ck.RecomputeAll().schedule(chain)
    source = export(schedule, to="torch", chain=chain)
    tables = source[: source.index("def run")].replace("from torch", "# from torch")
    scope: dict[str, Any] = {}
    exec(compile(tables.encode(), "<exported>", "exec"), scope)
    assert scope["STAGES"] == [name, "stage 2"]
    assert scope["PLAN"] == [(0, 1)]


def test_depth_is_no_recursion() -> None:
    """More levels than Python's limit, and thousands of stages."""
    deep = ck.catalog.uniform(stages=sys.getrecursionlimit() + 200)
    schedule = ck.solve(deep, "100%", ck.Revolve(slots=1)).schedule
    assert schedule is not None
    source = export(schedule, to="jax", chain=deep)
    assert f"nested up to {len(deep.stages) - 1} deep" in source
    scope: dict[str, Any] = {}
    exec(compile(source.replace("import jax", ""), "<exported>", "exec"), scope)
    parts = scope["_nest"](scope["PLAN"], len(deep.stages))
    while isinstance(parts[0], list):
        assert len(parts) == 2
        parts = parts[0]
    assert parts == [0]
    long = ck.catalog.uniform(stages=5000)
    source = export(ck.ChenRecursion().schedule(long), to="torch", chain=long)
    assert len(re.findall(r"^    \(\d+, \d+\),", source, re.MULTILINE)) == 4999
    compile(source, "<exported>", "exec")


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_source_is_formatted(to: Any) -> None:
    """As ruff formats and checks what people write."""
    program = shutil.which("ruff", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("ruff is not installed: pip install 'ckschedule[dev]'")
    source = export(ck.solve(CHAIN, 7), to=to)
    for command in (["format", "--check"], ["check", "--select=E,F,B,RET,SIM"]):
        answer = subprocess.run(
            [program, *command, "--isolated", "-"],
            input=source,
            capture_output=True,
            text=True,
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr
