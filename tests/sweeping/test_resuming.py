"""Fronts that stop and go on, in this process and from a file."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pebblings import OneBudget, Through, numbers, training, without_proof

import ckschedule as ck
from ckschedule import Answer, Exhaustive, ParetoFront, Proposal, Status, Stop
from ckschedule.errors import DocumentError

GRAPH = training([5, 3, 7, 2, 6], [3, 1, 4, 1, 5])
EXACT = ck.pareto(GRAPH, Exhaustive())


def test_an_interrupt_leaves_the_front_so_far() -> None:
    """Ctrl-C during the third question; another call goes on from there."""

    def interrupt(proposal: Proposal, budget: int) -> Proposal:
        if len(solver.asked) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return proposal

    solver = Through(interrupt)
    front = ck.pareto(GRAPH, solver, points=1000)
    assert front.stop is Stop.INTERRUPTED
    assert len(front.answers) == 3
    rest = Through()
    done = ck.pareto(GRAPH, rest, points=1000, start=front)
    assert numbers(done) == numbers(EXACT)
    assert not {answer.budget for answer in front.answers} & {*rest.asked}


def test_a_front_goes_on_from_any_of_its_states() -> None:
    """After JSON, too: the same front, and no budget is solved twice."""
    states: list[str] = []
    whole = ck.pareto(
        GRAPH, OneBudget(), points=1000, on_point=lambda f: states.append(ck.to_json(f))
    )
    asked = [answer.budget for answer in whole.answers]
    assert len(states) == len(asked)
    for count, state in enumerate(states, start=1):
        start = ck.from_json(state, model=GRAPH)
        assert isinstance(start, ParetoFront)
        assert len(start.answers) == count
        logged: list[ParetoFront] = []
        done = ck.pareto(
            GRAPH,
            OneBudget(),
            points=1000,
            start=start,
            on_point=logged.append,
        )
        assert done == whole
        assert len(logged) == len(asked) - count


def test_a_finished_front_is_not_computed_again() -> None:
    """Not by its own solver, nor any other if it ranges over all schedules."""
    solver = Through()
    assert ck.pareto(GRAPH, solver, start=EXACT) is EXACT
    assert solver.asked == []
    chain = ck.catalog.uniform(stages=4, saved=1)
    persistent = ck.pareto(chain)
    assert ck.pareto(chain, ck.ChainDP(), start=persistent) is persistent


def test_another_solver_asks_again_what_was_left_unproved() -> None:
    """And only that."""
    first = ck.pareto(GRAPH, Through(without_proof), points=8)
    unproved = {a.budget for a in first.answers if not a.proved}
    assert unproved
    second = ck.pareto(GRAPH, OneBudget(), points=1000, start=first)
    assert numbers(second) == numbers(EXACT)
    assert second.exact
    again = ck.pareto(GRAPH, Through(without_proof), points=8, start=first)
    assert again.answers == first.answers


def test_a_better_schedule_of_the_start_is_kept() -> None:
    """Whoever found it."""

    def slower(proposal: Proposal, budget: int) -> Proposal:
        return Proposal(scope=proposal.scope)

    front = ck.pareto(
        GRAPH, Through(slower), points=4, start=replace(EXACT, exact=False)
    )
    assert numbers(front) == numbers(EXACT)


SCRIPT = """
import sys
import ckschedule as ck
from pebblings import OneBudget, Through, numbers, training, without_proof

model = training([5, 3, 7, 2, 6], [3, 1, 4, 1, 5])
log, out = sys.argv[1:]
ck.pareto(model, OneBudget(log, 0.1), points=1000,
          on_point=lambda front: ck.write_json(front, out))
"""


@pytest.mark.slow
def test_a_killed_process_loses_one_budget_at_most(tmp_path: Path) -> None:
    """The file is whole at any moment, and what it says is not solved again."""
    log, out = tmp_path / "log", tmp_path / "front.json"
    tests = str(Path(__file__).parents[1])
    path = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(log), str(out)],
        env=os.environ | {"PYTHONPATH": path},
    )
    try:
        end = time.monotonic() + 60
        while not log.exists() or log.read_text().count("end") < 4:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    start = ck.read_json(out, model=GRAPH)
    assert isinstance(start, ParetoFront)
    assert len(start.answers) >= 3
    solver = OneBudget(str(log), 0.1)
    done = ck.pareto(GRAPH, solver, points=1000, start=start)
    lines = [line.split() for line in log.read_text().splitlines()]
    written = {str(answer.budget) for answer in start.answers}
    ended = {
        b for what, pid, _, b in lines if what == "end" and int(pid) == process.pid
    }
    begun = {b for what, pid, _, b in lines if int(pid) == os.getpid()}
    assert written <= ended
    assert not written & begun
    assert done == ck.pareto(GRAPH, solver, points=1000)
    assert numbers(done) == numbers(EXACT)


# --- Documents -----------------------------------------------------------------------


def test_an_unfinished_front_comes_back_equal() -> None:
    """With its answers, and why it stopped."""
    for front in (
        ck.pareto(GRAPH, OneBudget(), points=5),
        ck.pareto(GRAPH, OneBudget(), time_limit=0),
        ck.pareto(GRAPH, Through(without_proof), points=7),
    ):
        assert ck.from_json(ck.to_json(front), model=GRAPH) == front


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.update(infeasible=10**6),
            r"infeasible is 1000000, but points\[0\]",
        ),
        (lambda t: t["answers"].reverse(), r"answers\[1\].budget is .* budgets rise"),
        (
            lambda t: t["answers"][-1].update(lower_bound=10**6),
            "lower_bound is 1000000",
        ),
        (
            lambda t: t["answers"][-1].update(lower_bound=0),
            "'optimal' with lower_bound",
        ),
        (lambda t: t["answers"][-1].update(status="unknown"), "points keep"),
        (lambda t: t["answers"][0].update(budget=0, status="optimal"), "0 points keep"),
    ],
    ids=["infeasible", "order", "bound", "proof", "status", "nothing"],
)
def test_answers_that_contradict_the_points_are_refused(
    change: Callable[[dict[str, object]], None], message: str
) -> None:
    """What is read is checked like all else."""
    tree = json.loads(ck.to_json(ck.pareto(GRAPH, OneBudget(), points=5)))
    change(tree)
    with pytest.raises(DocumentError, match=message):
        ck.from_json(json.dumps(tree))


def test_an_answer_says_whether_it_is_a_proof() -> None:
    """Only those are never asked again."""
    proved = [
        status
        for status in Status
        if Answer(budget=1, status=status, lower_bound=None).proved
    ]
    assert proved == [Status.OPTIMAL, Status.INFEASIBLE]
