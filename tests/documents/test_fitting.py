"""A document for another model is refused with the first difference."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ckschedule.costs import Chain, Graph, StaticMemory
from ckschedule.documents import check_fits, from_json, to_json
from ckschedule.errors import DocumentError
from ckschedule.front import ParetoFront
from ckschedule.schedule import Schedule

Restart = Callable[[Chain, int], Schedule]


def with_stage(chain: Chain, position: int, **changes: Any) -> Chain:
    stages = list(chain.stages)
    stages[position] = replace(stages[position], **changes)
    return replace(chain, stages=stages)


def test_equal_models_fit_whatever_their_own_name(chain: Chain) -> None:
    """Names of models are for reports."""
    check_fits(chain, replace(chain, name="other"))
    check_fits(chain.to_graph(), chain)


def test_another_number_of_stages_is_named_with_where_they_part(chain: Chain) -> None:
    """A plan for one stage less, not an IndexError in the middle of a backward."""
    shorter = replace(chain, stages=[chain.stages[0], chain.stages[2]])
    with pytest.raises(
        DocumentError,
        match="2 stages in the document, 3 in the model; stage 2 is 'relu' in the "
        "document, 'conv' in the model",
    ):
        check_fits(shorter, chain)


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"name": "c"}, "name is 'conv' in the document, 'c' in the model"),
        ({"output": 3}, "output is 4 in the document, 3 in the model"),
        ({"forward": 9}, "forward is 3 in the document, 9 in the model"),
    ],
)
def test_the_first_differing_field_is_named_with_both_values(
    chain: Chain, changes: dict[str, Any], difference: str
) -> None:
    """Same tensors, other sizes: the plan would run and break its budget."""
    with pytest.raises(DocumentError) as caught:
        check_fits(chain, with_stage(chain, 1, **changes))
    assert f"'small': stage 2 ('conv'): {difference}" in str(caught.value)


def test_a_field_of_a_variant_is_named_by_its_path(chain: Chain) -> None:
    """Stage, variant, field."""
    variant = replace(chain.stages[1].variants[0], saved=8, forward_transient=12)
    other = with_stage(chain, 1, variants=(variant,))
    with pytest.raises(
        DocumentError, match=r"stage 2 .*: variant 1 \('all'\): saved is 9"
    ):
        check_fits(chain, other)


def test_static_bytes_differ_by_their_part(chain: Chain) -> None:
    """They are part of the budget."""
    other = replace(chain, static=StaticMemory(optimizer=8))
    with pytest.raises(DocumentError, match="static optimizer is 0 in the document, 8"):
        check_fits(chain, other)


def test_times_may_be_left_out(chain: Chain) -> None:
    """A model profiled again has other times, and the schedule is still legal."""
    slower = with_stage(chain, 1, forward=9)
    check_fits(chain, slower, times=False)
    with pytest.raises(DocumentError, match="output"):
        check_fits(chain, with_stage(slower, 0, output=3), times=False)


def test_the_time_that_overheads_refer_to_may_be_left_out(chain: Chain) -> None:
    """A graph records it where recorded forwards take longer than plain ones."""
    recorded = replace(chain.stages[1].variants[0], forward=9)
    slower = with_stage(chain, 1, variants=(recorded,)).to_graph()
    check_fits(chain.to_graph(), slower, times=False)
    with pytest.raises(DocumentError, match="time"):
        check_fits(chain.to_graph(), slower)


def test_graphs_differ_by_value_or_node(chain: Chain) -> None:
    """A result records the graph."""
    graph = chain.to_graph()
    values = (*graph.values[:3], replace(graph.values[3], size=77), *graph.values[4:])
    other = Graph(
        values=values,
        nodes=tuple(
            replace(node, modes=tuple(replace(m, transient=10**6) for m in node.modes))
            for node in graph.nodes
        ),
        inputs=graph.inputs,
        targets=graph.targets,
        kept=graph.kept,
    )
    with pytest.raises(DocumentError, match=r"value 4 \('s1'\): size is 9 .*, 77 in"):
        check_fits(chain, other)


def test_reading_checks_the_model_at_hand(
    chain: Chain, front: ParetoFront, restart_schedule: Restart
) -> None:
    """For every kind that records one."""
    other = with_stage(chain, 1, output=3)
    schedule = restart_schedule(chain, 0)
    texts = [to_json(chain), to_json(front), to_json(schedule, model=chain)]
    for text in texts:
        with pytest.raises(DocumentError, match=r"stage 2 \('conv'\): output is 4"):
            from_json(text, model=other)


def test_writing_checks_the_model_at_hand(chain: Chain, front: ParetoFront) -> None:
    """A front is never recorded for a model that is not its own."""
    with pytest.raises(DocumentError, match="does not fit"):
        to_json(front, model=with_stage(chain, 1, output=3))
