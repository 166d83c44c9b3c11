"""Schedules become nested checkpoints, or the operation that forbids it is named."""

import dataclasses
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import equal
from strategies import chains

import ckschedule as ck
from ckschedule.errors import UnsupportedModelError
from ckschedule.exporting import export
from ckschedule.exporting.nesting import checkpoints


def operations(text: str) -> ck.Schedule:
    """Read "F1 F2* B2 -s1": plain, recorded, backward, free."""
    read: list[ck.Operation] = []
    for word in text.split():
        if word.startswith("-"):
            read.append(ck.Free(word[1:]))
        elif word.startswith("B") or word.endswith("*"):
            read.append(ck.Compute(word.rstrip("*"), "all"))
        else:
            read.append(ck.Compute(word, "plain"))
    return ck.Schedule(read)


def forwards(chain: ck.Chain, schedule: ck.Schedule) -> list[int]:
    """Count runs of each stage but the loss, once and per checkpoint around it."""
    runs = [1] * len(chain.stages)
    for checkpoint in checkpoints(chain, schedule):
        for i in range(checkpoint.first, checkpoint.stop):
            runs[i] += 1
    return runs


def simulated(chain: ck.Chain, trace: ck.Trace) -> list[int]:
    return [trace.computations[f"F{i}"] for i in range(1, len(chain.sequence))]


@given(chain=chains(variants=1, max_stages=9), data=st.data())
def test_every_breakpoint_nests(chain: ck.Chain, data: st.DataObject) -> None:
    """Persistent schedules do; the checkpoints around a stage count its forwards."""
    front = ck.pareto(chain, solver=ck.ChainDP())
    point = data.draw(st.sampled_from(front.points))
    assert forwards(chain, point.schedule) == simulated(chain, point.trace)


@pytest.mark.parametrize(
    "solver",
    [
        ck.StoreAll(),
        ck.RecomputeAll(),
        ck.SqrtSegments(),
        ck.EveryNth(3),
        ck.FirstN(2),
        ck.ChenRecursion(k=2),
        ck.Revolve(slots=2),
    ],
    ids=repr,
)
def test_other_solvers_nest_too(solver: ck.AbstractSolver) -> None:
    """Their schedules are persistent as well."""
    chain = ck.catalog.uniform(stages=12, saved=2)
    trace = ck.solve(chain, "100%", solver).raise_for_status()
    assert forwards(chain, trace.schedule) == simulated(chain, trace)


@given(chain=chains(max_stages=3, largest=4))
@settings(max_examples=60)
def test_an_unrestricted_schedule_nests_or_is_refused(chain: ck.Chain) -> None:
    """Never silently changed: what is accepted runs as often as scheduled."""
    trace = ck.pareto(chain, solver=ck.Exhaustive()).minimum.trace
    try:
        found = forwards(chain, trace.schedule)
    except UnsupportedModelError as error:
        refused = str(error)
    else:
        assert found == simulated(chain, trace)
        return
    assert re.match(r"operation \d+: ", refused)


def test_a_frozen_prefix_is_recomputed_only_where_the_schedule_does() -> None:
    """x2 is kept in the first schedule; in the second it is computed once more."""
    chain = ck.Chain(
        input=1,
        stages=[
            *[ck.Stage(output=1, forward=1, name=name) for name in ("a", "b")],
            *equal(2).stages,
        ],
    )
    kept = operations("F1 -x1 F2 F3 F4* F5* -x5 B5 B4 -x4 -x3 F3* B3")
    again = operations("F1 F2 -x2 F3 F4* F5* -x5 B5 B4 -x4 -x3 F2 F3* B3")
    assert [(c.first, c.stop) for c in checkpoints(chain, kept)] == [(2, 3)]
    assert [(c.first, c.stop) for c in checkpoints(chain, again)] == [(1, 3)]


def refusal(chain: ck.Chain, text: str) -> str:
    with pytest.raises(UnsupportedModelError) as caught:
        checkpoints(chain, operations(text))
    return str(caught.value)


def test_saved_tensors_that_are_dropped_are_refused() -> None:
    """A checkpoint drops what it has not recorded, and nothing else."""
    assert refusal(equal(2), "F1* F2* -s1 F3* B3").startswith(
        "operation 2: Free('s1') drops saved tensors before B1 has used them"
    )


def test_a_sweep_across_two_checkpoints_is_refused() -> None:
    """Stages 2 and 3 ran again from a kept x1, which then is freed and recomputed."""
    text = "F1 F2 F3 F4* F5* B5 B4 -x3 -x2 F2 F3* B3 -x1 F1 F2* B2"
    assert refusal(equal(4), text).startswith(
        "operation 14: Compute('F2', 'all') belongs to a sweep from operation 13 whose "
        "stages last ran in two: from operation 0 and from operation 9"
    )


def test_a_second_start_of_a_sweep_is_refused() -> None:
    """Only a backward makes room for recomputing."""
    assert refusal(equal(2), "F1 F2 -x1 F1 F3*").startswith(
        "operation 3: Compute('F1', 'plain') comes after F2 with no backward"
    )


def test_recomputing_early_is_refused() -> None:
    """Frameworks recompute when a backward asks for it; B2 needs nothing of stage 1."""
    assert refusal(equal(2), "F1 F2* F3* B3 -x1 F1* B2 B1").startswith(
        "operation 5: Compute('F1', 'all') recomputes while B2 can run"
    )


def test_recomputing_too_much_is_refused() -> None:
    """Stage 3 has been reversed; stage 2 is live."""
    assert refusal(equal(3), "F1 F2 F3* F4* B4 B3 F1 F2 F3 B2").startswith(
        "operation 8: Compute('F3', 'plain') runs a stage again whose B3 has run"
    )
    assert refusal(equal(3), "F1 F2* F3 F4* B4 F1 F2 F3* B3").startswith(
        "operation 6: Compute('F2', 'plain') runs a stage again whose saved tensors"
    )
    assert refusal(equal(3), "F1 F2 F3* F4* B4 B3 F1 B2").startswith(
        "operation 7: Compute('B2', 'all') comes after a sweep that ended with F1"
    )
    assert refusal(equal(1), "F1* F2* B2 B1 F1").startswith(
        "operation 4: Compute('F1', 'plain') runs a stage again whose B1"
    )


def test_a_sweep_for_no_backward_is_refused() -> None:
    """A frozen stage that runs once more at the end."""
    frozen = ck.Stage(output=1, forward=1, name="frozen")
    chain = ck.Chain(input=1, stages=[frozen, *equal(1).stages])
    assert refusal(chain, "F1 F2* F3* B3 B2 -x1 F1").startswith(
        "operation 6: begins a sweep of forwards that no backward follows"
    )


def test_another_variant_is_refused() -> None:
    """Frameworks would save what the first one saves."""
    (stage,) = equal(1).stages
    small = dataclasses.replace(stage.variants[0], name="small")
    stage = dataclasses.replace(stage, variants=(stage.variants[0], small))
    chain = ck.Chain(input=1, stages=[stage])
    schedule = ck.Schedule(
        [
            ck.Compute("F1", "small"),
            ck.Compute("F2", "all"),
            ck.Compute("B2", "all"),
            ck.Compute("B1", "small"),
        ]
    )
    with pytest.raises(
        UnsupportedModelError, match=r"operation 0: .* records a variant other"
    ):
        export(schedule, to="torch", chain=chain)
