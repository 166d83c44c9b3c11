"""Maps of memory come back equal, and none is believed."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from arena.walks import walks
from hypothesis import given, settings
from hypothesis import strategies as st

import ckschedule as ck
from ckschedule.documents import json_schema
from ckschedule.errors import DocumentError

Restart = Callable[[ck.Chain, int], ck.Schedule]


@pytest.fixture
def arena(chain: ck.Chain, restart_schedule: Restart) -> ck.Arena:
    """Of a schedule that computes two stages again; B3 writes over its input."""
    schedule = restart_schedule(chain, 2)
    arena = ck.plan_arena(chain, schedule, alignment=4, inplace=["B3"])
    assert arena.inplace == ("B3",)
    return arena


@pytest.fixture
def tree(arena: ck.Arena) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(ck.to_json(arena))
    return tree


def refusal(tree: object) -> str:
    with pytest.raises(DocumentError) as caught:
        ck.from_json(json.dumps(tree))
    return str(caught.value)


@settings(max_examples=60)
@given(walks())
def test_an_arena_comes_back_equal(walk: tuple[ck.Graph, ck.Schedule]) -> None:
    """Model, schedule, blocks and claims."""
    graph, schedule = walk
    arena = ck.plan_arena(graph, schedule, inplace=lambda name: name < "N3")
    assert ck.from_json(ck.to_json(arena), model=graph) == arena


def test_an_arena_of_a_chain_comes_back_equal(
    arena: ck.Arena, tree: dict[str, Any]
) -> None:
    """And its document follows the schema."""
    assert ck.from_json(ck.to_json(arena)) == arena
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(json_schema()).validate(tree)


def test_an_arena_is_a_document_about_its_model(
    arena: ck.Arena, chain: ck.Chain
) -> None:
    """Another model is refused, as for results."""
    other = replace(chain, input=5)
    with pytest.raises(DocumentError, match="input is 4 in the document, 5"):
        ck.from_json(ck.to_json(arena), model=other)


def test_blocks_that_overlap_are_refused(tree: dict[str, Any]) -> None:
    """Moved by one unit of the alignment onto another."""
    tall = max(tree["blocks"], key=lambda b: (b["size"] > 0, b["offset"]))
    tall["offset"] -= 4
    assert "while both live" in refusal(tree) or "written over" in refusal(tree)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "x9"}, "blocks[1].name is 'x9'"),
        ({"first": 3}, "blocks[1].first is 3"),
        ({"last": 0}, "blocks[1].last is 0"),
        ({"size": 1}, "blocks[1].size is 1"),
        ({"offset": 401}, "size is"),
    ],
)
def test_a_block_that_is_not_the_schedules_is_refused(
    tree: dict[str, Any], change: dict[str, object], reason: str
) -> None:
    """With its place and both values."""
    tree["blocks"][1] |= change
    assert reason in refusal(tree)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"size": 10**6}, "size is 1000000, but the blocks end at"),
        ({"lower_bound": 1}, "lower_bound is 1, outside"),
        ({"lower_bound": 10**6}, "lower_bound is 1000000, outside"),
        ({"live_peak": 1}, "live_peak is 1 in the document"),
        ({"peak": 1}, "peak is 1 in the document"),
        ({"static": 1}, "static is 1 in the document"),
        ({"alignment": 0}, "alignment is 0"),
        ({"alignment": 3}, "the arena is wrong"),
        ({"inplace": []}, "the arena is wrong"),
        ({"inplace": ["B9"]}, "'B9', which is no node"),
        ({"inplace": ["B3", "B2"]}, "the arena is wrong"),
        ({"blocks": []}, "blocks: there are 0"),
        ({"sequence": []}, "sequence: the simulator refuses it"),
        ({"sequence": [99]}, "sequence[0] is 99"),
        ({"stop": "tired"}, "stop is 'tired'"),
    ],
)
def test_an_arena_that_contradicts_itself_is_refused(
    tree: dict[str, Any], change: dict[str, object], reason: str
) -> None:
    """Everything that follows from the schedule is worked out again."""
    assert reason in refusal(tree | change)


junk: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just([])
)


@settings(max_examples=100)
@given(walks(), st.data())
def test_any_change_of_an_arena_is_read_or_refused(
    walk: tuple[ck.Graph, ck.Schedule], data: st.DataObject
) -> None:
    """Never another exception, whatever stands in whatever place."""
    tree = json.loads(ck.to_json(ck.plan_arena(*walk)))
    node, key = tree, data.draw(st.sampled_from(sorted(tree)))
    while node[key] and isinstance(node[key], dict | list) and data.draw(st.booleans()):
        node = node[key]
        keys = sorted(node) if isinstance(node, dict) else range(len(node))
        key = data.draw(st.sampled_from(keys))
    node[key] = data.draw(junk | st.just(2**63 - 1))
    with suppress(DocumentError):
        ck.from_json(json.dumps(tree))


def test_a_wrong_arena_is_not_written(arena: ck.Arena) -> None:
    """What cannot be read back is not written."""
    with pytest.raises(DocumentError, match="the arena is wrong: size"):
        ck.to_json(replace(arena, size=arena.size + 4))
