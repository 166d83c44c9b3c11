"""The published schema is the one that reading follows."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ckschedule.costs import Chain
from ckschedule.documents import from_json, json_schema, to_json
from ckschedule.documents.schema import generate_schema
from ckschedule.errors import DocumentError
from ckschedule.front import ParetoFront
from ckschedule.result import Result, Scope, Status
from ckschedule.schedule import Schedule
from ckschedule.simulation import simulate

Restart = Callable[[Chain, int], Schedule]


@pytest.fixture
def texts(chain: Chain, front: ParetoFront, restart_schedule: Restart) -> list[str]:
    trace = simulate(chain, restart_schedule(chain, 1))
    result = Result(
        model=chain,
        status=Status.FEASIBLE,
        scope=Scope.PERSISTENT,
        budget=trace.peak,
        solver="by hand",
        trace=trace,
        lower_bound=None,
        minimum_budget=None,
    )
    schedule = restart_schedule(chain, 1)
    return [
        *(to_json(item) for item in (chain, chain.to_graph(), schedule, result, front)),
        to_json(schedule, model=chain),
    ]


def test_the_file_is_what_the_models_generate() -> None:
    """After a change of wire.py, write ``generate_schema()`` to schema.json again."""
    assert json_schema() == generate_schema()


def test_every_kind_follows_the_schema(texts: list[str]) -> None:
    """Judged by an implementation that is not ours."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(json_schema())
    validator = jsonschema.Draft202012Validator(json_schema())
    for text in texts:
        validator.validate(json.loads(text))


@pytest.mark.parametrize(
    "change", [{"version": 2}, {"kind": "plan"}, {"extra": 1}, {"format": "x"}]
)
def test_what_the_schema_refuses_reading_refuses(
    texts: list[str], change: dict[str, Any]
) -> None:
    """And the other way round, for what a schema can say."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json_schema())
    for text in texts:
        tree = json.loads(text) | change
        assert not validator.is_valid(tree)
        with pytest.raises(DocumentError):
            from_json(json.dumps(tree))


def test_importing_the_package_loads_neither_pydantic_nor_numba() -> None:
    """Only a call needs them."""
    code = (
        "import sys, ckschedule.documents, ckschedule.importers;"
        "print([m for m in ('pydantic', 'numba', 'networkx') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
