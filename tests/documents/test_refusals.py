"""Bad documents are refused with a reason, before they can do harm."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckschedule.costs import Chain, Stage, Variant
from ckschedule.documents import Documented, from_json, read_model, to_json
from ckschedule.errors import DocumentError
from ckschedule.front import ParetoFront
from ckschedule.operations import Compute, Free
from ckschedule.result import Result, Scope, Status
from ckschedule.schedule import Schedule
from ckschedule.simulation import simulate

Restart = Callable[[Chain, int], Schedule]


@pytest.fixture
def tree(chain: Chain) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(to_json(chain))
    return tree


@pytest.fixture
def result(chain: Chain, restart_schedule: Restart) -> dict[str, Any]:
    trace = simulate(chain, restart_schedule(chain, 0))
    result = Result(
        model=chain,
        status=Status.OPTIMAL,
        scope=Scope.PERSISTENT,
        budget=trace.peak,
        solver="by hand",
        trace=trace,
        lower_bound=trace.makespan,
        minimum_budget=None,
    )
    tree: dict[str, Any] = json.loads(to_json(result))
    return tree


def refusal(document: object) -> str:
    text = document if isinstance(document, str | bytes) else json.dumps(document)
    with pytest.raises(DocumentError) as caught:
        from_json(text)
    return str(caught.value)


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity"])
def test_tokens_that_are_no_json_are_refused(chain: Chain, token: str) -> None:
    """Python's parser takes them by default."""
    text = to_json(chain).replace('"input":4', f'"input":{token}')
    assert f"{token} is no JSON" in refusal(text)


@pytest.mark.parametrize(
    "number", ["4.0", "4e0", "1e999", '"4"', "true", "null", "-1", str(2**63), "[]"]
)
def test_a_number_is_a_whole_one_in_range(chain: Chain, number: str) -> None:
    """Strict types: nothing is converted on the way in."""
    text = to_json(chain).replace('"input":4', f'"input":{number}')
    assert refusal(text).startswith("input is ")


def test_a_huge_integer_is_refused_unconverted(chain: Chain) -> None:
    """Converting takes time in the square of the digits."""
    text = to_json(chain).replace('"input":4', f'"input":{"9" * 1_000_000}')
    assert "1000000 digits" in refusal(text)


def test_a_long_number_in_a_name_is_no_integer(chain: Chain) -> None:
    """The guard against long integers must not look into strings."""
    text = to_json(chain).replace('"small"', '"' + "1" * 50 + '"')
    assert isinstance(from_json(text), Chain)


def test_a_repeated_key_is_refused(chain: Chain) -> None:
    """Parsers disagree on which of the two counts."""
    text = to_json(chain).replace('"input":4', '"input":4,"input":5')
    assert "'input' twice" in refusal(text)


def test_a_newer_version_says_so(tree: dict[str, Any]) -> None:
    """The way out is another version of the package, not another file."""
    assert "newer ckschedule; this one reads version 1" in refusal(
        tree | {"version": 2}
    )


@pytest.mark.parametrize("version", [0, True, "1", 1.5, None])
def test_an_unknown_version_is_refused(tree: dict[str, Any], version: object) -> None:
    """Including True, which Python takes for 1."""
    assert refusal(tree | {"version": version}).startswith("version is")


@pytest.mark.parametrize("kind", ["plan", None, 3, ["chain"]])
def test_an_unknown_kind_is_refused(tree: dict[str, Any], kind: object) -> None:
    """The message lists the known ones."""
    assert "choose one of chain, graph" in refusal(tree | {"kind": kind})


@pytest.mark.parametrize("document", [[], 3, "text", None, {}, {"nodes": []}])
def test_something_else_is_no_document(document: object) -> None:
    """Other JSON files go through the importers."""
    assert "format" in refusal(json.dumps(document))


def test_an_unknown_field_is_refused_by_its_path(tree: dict[str, Any]) -> None:
    """A misspelt field would silently mean nothing."""
    tree["stages"][1]["outptu"] = 4
    assert refusal(tree).startswith("stages[1].outptu is 4")


def test_a_missing_field_is_refused_by_its_path(tree: dict[str, Any]) -> None:
    """There are no defaults in a document."""
    del tree["stages"][1]["variants"][0]["saved"]
    assert refusal(tree).startswith("stages[1].variants[0].saved")


def test_numbers_that_make_no_model_are_refused(tree: dict[str, Any]) -> None:
    """The model's own message stands behind the document's."""
    tree["stages"][1]["transient"] = 0
    assert "no model: stage 2 ('conv'): transient is 0" in refusal(tree)


def test_a_gradient_of_the_loss_is_refused(tree: dict[str, Any]) -> None:
    """Chain sets it to 0: reading would silently change the document."""
    tree["loss"]["gradient"] = 5
    assert refusal(tree).startswith("loss.gradient is 5")


def test_a_truncated_text_is_refused_anywhere(chain: Chain) -> None:
    """At every length; the line and column are named."""
    text = to_json(chain).strip()
    for length in range(0, len(text), 7):
        assert "no valid JSON at line 1" in refusal(text[:length])


def test_text_in_another_encoding_is_refused(chain: Chain) -> None:
    """UTF-16, Latin-1 and a byte-order mark each have a reason."""
    text = to_json(chain)
    assert "no UTF-8" in refusal(text.encode("utf-16"))
    assert "no UTF-8" in refusal(text.replace("λ", "ä").encode("latin-1"))
    assert "byte-order mark" in refusal(text.encode("utf-8-sig"))
    assert "byte-order mark" in refusal("\ufeff" + text)


def test_a_lone_surrogate_is_refused(tree: dict[str, Any]) -> None:
    """JSON can spell what no name may be; the message itself stays printable."""
    tree["name"] = "\ud800"
    refusal(tree).encode()
    refusal(tree | {"\ud800": 1}).encode()


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_nesting_is_refused(opening: str) -> None:
    """Neither a crash nor a RecursionError."""
    assert "nested too deeply" in refusal(opening * 200_000)


def test_nesting_within_the_parser_s_limit_is_refused_by_the_format() -> None:
    """Depth alone is no error, but nothing in the format is that deep."""
    text = '{"format":"ckschedule","version":1,"kind":"chain","name":' + "[" * 300
    assert refusal(text + "]" * 300 + "}")


def test_a_text_over_the_size_limit_is_refused(chain: Chain) -> None:
    """The message names the setting."""
    text = to_json(chain)
    with pytest.raises(DocumentError, match="raise max_bytes"):
        from_json(text, max_bytes=100)


def test_too_many_elements_are_refused_before_parsing() -> None:
    """Twenty million empty arrays would take gigabytes."""
    assert "over the limit" in refusal("[" + "[]," * 20_000_000)


def test_an_object_with_many_fields_is_refused() -> None:
    """One error each would take longer than the file is worth."""
    assert "100 fields" in refusal({f"k{i}": i for i in range(100)})


def test_a_list_of_wrong_items_costs_one_error(tree: dict[str, Any]) -> None:
    """pydantic would otherwise collect an error for each."""
    tree["stages"] = [0] * 300_000
    assert refusal(tree).startswith("stages[0] is 0")


@pytest.mark.parametrize("field", ["peak", "makespan", "executions"])
def test_a_recorded_number_is_simulated_again(
    result: dict[str, Any], field: str
) -> None:
    """The message names the field and both values."""
    true = result["trace"][field]
    result["trace"][field] = true - 1
    message = refusal(result)
    assert f"trace.{field} is {true - 1} in the document" in message
    assert f"the simulation gives {true}" in message


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("status", "infeasible", "there is a schedule"),
        ("status", "sure", "status is 'sure'"),
        ("scope", "all", "scope is 'all'"),
        ("static", 3, "static is 3"),
        ("base_time", 3, "base_time is 3"),
        ("budget", 1, "the schedule reaches"),
        ("lower_bound", 10**6, "lower_bound is 1000000"),
        ("lower_bound", 0, "'optimal' with lower_bound 0"),
        ("lower_bound", None, "'optimal' with lower_bound None"),
        ("trace", None, "there is no schedule"),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(
    result: dict[str, Any], field: str, value: object, reason: str
) -> None:
    """A claim of optimality must not be editable without being noticed."""
    assert reason in refusal(result | {field: value})


def test_an_illegal_trace_is_refused(result: dict[str, Any]) -> None:
    """The simulator's message names the operation."""
    result["trace"]["sequence"] = result["trace"]["sequence"][1:]
    assert "simulator refuses it: operation 0" in refusal(result)


def test_a_position_outside_the_table_is_refused(result: dict[str, Any]) -> None:
    """With its place."""
    result["trace"]["sequence"][2] = 999
    assert "trace.sequence[2] is 999" in refusal(result)


def test_an_operation_of_an_unknown_sort_is_refused(result: dict[str, Any]) -> None:
    """A newer version may have more of them."""
    result["trace"]["operations"][0]["op"] = "offload"
    assert refusal(result).startswith("trace.operations[0]")


def test_a_front_is_checked_point_by_point(front: ParetoFront) -> None:
    """Order, bounds, minimum, simulation and table."""
    tree = json.loads(to_json(front))

    def changed(k: int, field: str, value: object) -> str:
        copy = json.loads(json.dumps(tree))
        copy["points"][k][field] = value
        return refusal(copy)

    assert "peaks rise and makespans fall" in changed(1, "peak", 1)
    last = len(tree["points"]) - 1
    assert f"points[{last}].peak is 99999" in changed(last, "peak", 99_999)
    assert "points[0].executions is 1" in changed(0, "executions", 1)
    assert "points[0].lower_bound is 99999" in changed(0, "lower_bound", 99_999)
    assert "points[0].sequence[0] is 9999" in changed(0, "sequence", [9999])
    assert "points[0]: the simulator refuses it" in changed(0, "sequence", [])
    assert "base_time is 99999" in refusal(tree | {"base_time": 99_999})
    assert refusal(tree | {"points": []}).startswith("points is an array")
    tree["operations"][0] = {"op": "free", "value": "nothing"}
    assert "operations: operation 0" in refusal(tree)


def test_a_schedule_that_does_not_run_on_its_model_is_refused(
    chain: Chain, restart_schedule: Restart
) -> None:
    """The recorded model, and the model at hand where none is recorded."""
    tree = json.loads(to_json(restart_schedule(chain, 0), model=chain))
    tree["sequence"].pop()
    tree["sequence"].pop()
    assert "does not fit the model 'small'" in refusal(tree)
    bare = to_json(Schedule([Compute("F9", "all"), Free("x9")]))
    with pytest.raises(DocumentError, match="operation 0"):
        from_json(bare, model=chain)


def test_a_schedule_without_a_model_says_how_to_record_one(tmp_path: Any) -> None:
    """`read_model` works for every kind that knows its model."""
    path = tmp_path / "plan.json"
    path.write_text(to_json(Schedule([Free("x1")])))
    with pytest.raises(DocumentError, match="write it with model="):
        read_model(path)


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every container of a tree with each of its keys or positions."""
    found: list[tuple[Any, Any]] = []
    pending = [tree]
    while pending:
        node = pending.pop()
        keys = node if isinstance(node, dict) else range(len(node))
        for key in keys:
            found.append((node, key))
            if isinstance(node[key], dict | list):
                pending.append(node[key])
    return found


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner)
    ),
    max_leaves=4,
)


@settings(max_examples=150)
@given(st.data())
def test_any_change_of_a_document_is_read_or_refused(
    make_front: Callable[[Chain], ParetoFront], data: st.DataObject
) -> None:
    """Never another exception, whatever stands in whatever place."""
    stage = Stage(output=4, forward=1, variants=(Variant(saved=9, backward=2),))
    chain = Chain(input=4, stages=[stage] * 2)
    front = make_front(chain)
    trace = front.points[0].trace
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
    items: list[Documented] = [chain, front, result]
    item = data.draw(st.sampled_from(items))
    tree = json.loads(to_json(item))
    node, key = data.draw(st.sampled_from(places(tree)))
    node[key] = data.draw(junk)
    with suppress(DocumentError):
        from_json(json.dumps(tree))


@settings(max_examples=150)
@given(st.data())
def test_any_bytes_are_read_or_refused(data: st.DataObject) -> None:
    """A document with bytes changed, dropped or put in."""
    stage = Stage(output=4, forward=1, variants=(Variant(saved=9, backward=2),))
    text = to_json(Chain(input=4, stages=[stage])).encode()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 5)))
    with suppress(DocumentError):
        from_json(text[:start] + data.draw(st.binary(max_size=5)) + text[end:])


def test_claims_that_contradict_each_other_are_refused(
    chain: Chain, result: dict[str, Any]
) -> None:
    """A replay cannot confirm a bound, but two claims can refute each other."""
    nothing = result | {"status": "infeasible", "trace": None, "lower_bound": None}
    assert "minimum_budget is 0" in refusal(nothing | {"minimum_budget": 0})
    assert "lower_bound is 5" in refusal(nothing | {"lower_bound": 5})
    assert "the schedule keeps" in refusal(result | {"minimum_budget": 10**6})


def test_an_exact_front_has_no_gap(front: ParetoFront) -> None:
    """Exact means that each point is proved."""
    tree = json.loads(to_json(front))
    tree["points"][0]["lower_bound"] -= 1
    assert "exact is true, but points[0].lower_bound" in refusal(tree)
