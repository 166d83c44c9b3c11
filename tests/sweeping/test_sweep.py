"""`sweep`: every combination has its record, here, in processes, and on a cluster."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pebblings import OneBudget, training

import ckschedule as ck
from ckschedule import Exhaustive, Graph, Proposal, Scope, Status, Stop, SweepRecord
from ckschedule.costs.device import DEVICES
from ckschedule.errors import (
    InvalidModelError,
    InvalidSettingError,
    MissingDependencyError,
)
from ckschedule.simulation import Model
from ckschedule.solvers.base import AbstractSolver, Progress

GRAPH = training([5, 3, 7, 2], [3, 1, 4, 1], "graph")
CHAIN = replace(ck.catalog.uniform(stages=4, saved=1), name="chain")


def test_every_combination_has_its_record_in_order() -> None:
    """Models first, then solvers, then budgets; each is what `solve` says."""
    models: dict[str, Model] = {"a": GRAPH, "b": CHAIN}
    solvers = [Exhaustive(), ck.StoreAll()]
    budgets: list[int | str] = [20, "100%"]
    records = ck.sweep(models, budgets, solvers=solvers)
    assert [(r.model, r.solver, r.budget) for r in records] == [
        (name, repr(solver), budget)
        for name in models
        for solver in solvers
        for budget in budgets
    ]
    for record in records:
        solver = next(s for s in solvers if repr(s) == record.solver)
        expected = ck.solve(models[record.model], record.budget, solver)
        assert record.result == expected
        assert (record.error, record.device) == (None, None)
        assert record.seconds >= 0


def test_models_may_bring_their_own_names() -> None:
    """And the solver is then the one that picks by the model."""
    records = ck.sweep([GRAPH, CHAIN], ["100%"])
    assert [record.model for record in records] == ["graph", "chain"]
    assert {record.solver for record in records} == {repr(ck.AutoSolver())}


def test_nothing_to_ask_gives_no_records() -> None:
    """Not even a process is started."""
    assert ck.sweep({}, ["60%"]) == ()
    assert ck.sweep([GRAPH], []) == ()


def test_a_budget_that_works_nowhere_is_an_outcome() -> None:
    """The sweep goes on."""
    first, second = ck.sweep([GRAPH], [0, "100%"], solvers=[Exhaustive()])
    assert first.result is not None
    assert second.result is not None
    assert first.result.status is Status.INFEASIBLE
    assert second.result.status is Status.OPTIMAL


@dataclass(frozen=True, slots=True)
class Broken(AbstractSolver):
    """A solver of somebody else's."""

    def search(
        self, model: Model, budget: int, progress: Progress | None = None
    ) -> Proposal:
        raise ZeroDivisionError("no time")


def test_an_error_is_a_record() -> None:
    """Of a budget, of a solver that refuses the model, of a fault."""
    records = ck.sweep(
        {"g": GRAPH},
        ["60 per cent", "100%"],
        solvers=[ck.SqrtSegments(), Broken(), Exhaustive()],
    )
    kinds = [None if r.error is None else r.error.split(":")[0] for r in records]
    assert kinds == [
        "InvalidBudgetError",
        "UnsupportedModelError",
        "InvalidBudgetError",
        "ZeroDivisionError",
        "InvalidBudgetError",
        None,
    ]
    for record in records:
        assert (record.result is None) == (record.error is not None)
    assert records[0].error is not None
    assert "'60 per cent'" in records[0].error


def test_models_are_built_for_every_device() -> None:
    """By the catalogue's formulas, or any function that takes one."""
    vgg = partial(ck.catalog.vgg, batch=1)
    mine = replace(DEVICES["a100"], name="mine", efficiency=50)
    records = ck.sweep({"vgg": vgg}, ["80%"], devices=["a100", mine])
    assert [record.device for record in records] == ["a100", "mine"]
    fast, slow = (record.result for record in records)
    assert fast is not None
    assert slow is not None
    assert fast == ck.solve(vgg(device="a100"), "80%")
    assert slow.model.base_time > fast.model.base_time
    (alone,) = ck.sweep({"vgg": vgg}, ["80%"])
    assert alone.result == fast


def test_each_record_is_told_as_it_comes() -> None:
    """A caller can keep them."""
    told: list[SweepRecord] = []
    records = ck.sweep([GRAPH], [20, 30], solvers=[Exhaustive()], on_record=told.append)
    assert tuple(told) == records


def test_an_interrupt_leaves_the_records_so_far() -> None:
    """Ctrl-C within the second question."""

    @dataclass(frozen=True, slots=True)
    class Interrupting(AbstractSolver):
        def search(
            self, model: Model, budget: int, progress: Progress | None = None
        ) -> Proposal:
            if budget == 2:
                os.kill(os.getpid(), signal.SIGINT)
            return Proposal(scope=Scope.UNRESTRICTED, stop=Stop.FINISHED)

    records = ck.sweep([GRAPH], [1, 2, 3], solvers=[Interrupting()])
    assert [record.budget for record in records] == [1, 2]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ck.sweep([GRAPH, GRAPH], [1]), InvalidSettingError, "'graph'"),
        (lambda: ck.sweep([GRAPH], [1], jobs=0), InvalidSettingError, "jobs is 0"),
        (lambda: ck.sweep([GRAPH], [1], jobs=True), InvalidSettingError, "jobs is"),
        (
            lambda: ck.sweep([GRAPH], [1], solvers=["auto"]),  # type: ignore[list-item]  # mistake
            InvalidSettingError,
            "solver is 'auto'",
        ),
        (
            lambda: ck.sweep({"g": GRAPH}, [1], devices=["a100"]),
            InvalidSettingError,
            "'g' is built already",
        ),
        (
            lambda: ck.sweep({"g": 5}, [1]),  # type: ignore[arg-type]  # likewise
            InvalidModelError,
            "the model is 5",
        ),
        (
            lambda: ck.sweep({"vgg": ck.catalog.vgg}, [1], devices=["abacus"]),
            InvalidModelError,
            "abacus",
        ),
    ],
    ids=["names", "none", "bool", "solver", "built", "model", "device"],
)
def test_what_cannot_be_meant_is_refused_at_once(
    call: Any, error: type[Exception], message: str
) -> None:
    """Before the first of perhaps a thousand solves."""
    with pytest.raises(error, match=message):
        call()


def test_without_joblib_the_message_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And without jobs nothing needs it."""
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(MissingDependencyError, match=r"ckschedule\[cluster\]"):
        ck.sweep([GRAPH], ["100%"], jobs=2)
    monkeypatch.delitem(sys.modules, "joblib")
    assert ck.sweep([GRAPH], ["100%"], solvers=[Exhaustive()])[0].result is not None


# --- Processes and clusters ----------------------------------------------------------


def reported(log: Path) -> list[list[str]]:
    """Words of each line that the solvers have written so far."""
    return (
        [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    )


def expected(graph: Graph, budgets: list[int]) -> list[int | None]:
    return [ck.solve(graph, budget, Exhaustive()).makespan for budget in budgets]


@pytest.mark.slow
def test_processes_give_the_same_records(tmp_path: Path) -> None:
    """None of them is this one."""
    pytest.importorskip("joblib", reason="needs ckschedule[cluster]")
    log = tmp_path / "log"
    budgets = [*range(8, 20)]
    solver = OneBudget(str(log))
    records = ck.sweep([GRAPH], budgets, solvers=[solver], jobs=2)
    assert records == ck.sweep([GRAPH], budgets, solvers=[solver])
    assert all(r.result is None or r.result.model is GRAPH for r in records)
    pids = {pid for _, pid, *_ in reported(log)}
    assert str(os.getpid()) in pids
    assert len(pids) > 1
    assert [r.result.makespan for r in records if r.result] == expected(GRAPH, budgets)


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="needs ckschedule[cluster]")
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # the cluster's own, as a worker dies
def test_a_cluster_loses_nothing_with_a_worker(tmp_path: Path) -> None:
    """Only what the dead worker was at is started again; nothing is finished twice."""
    joblib = pytest.importorskip("joblib", reason="needs ckschedule[cluster]")
    log = tmp_path / "log"
    solver = OneBudget(str(log), 0.5)
    budgets = [*range(8, 24)]
    killed: list[str] = []
    finished: list[list[str]] = []
    told: list[SweepRecord] = []

    def kill() -> None:
        # A worker that has just begun, once some have finished and told so.
        while True:
            time.sleep(0.02)
            lines = reported(log)
            if len(told) < 4:
                continue
            ended = [line for line in lines if line[0] == "end"]
            begun = [line for line in lines if line[0] == "start"]
            for _, pid, _, budget in begun:
                if not any(line[1] == pid and line[3] == budget for line in ended):
                    finished.extend(ended)
                    os.kill(int(pid), signal.SIGKILL)
                    killed.append(pid)
                    return

    with cluster(2), joblib.parallel_config("dask"):
        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        records = ck.sweep([GRAPH], budgets, solvers=[solver], on_record=told.append)
        thread.join(10)
    assert len(killed) == 1
    assert [record.error for record in records] == [None] * len(budgets)
    assert [r.budget for r in records] == budgets
    assert [r.result.makespan if r.result else 0 for r in records] == expected(
        GRAPH, budgets
    )
    assert len(told) == len(budgets)
    lines = reported(log)
    ends = [line[3] for line in lines if line[0] == "end"]
    assert sorted(ends) == sorted(map(str, budgets))
    after = {line[3] for line in finished}
    starts = [line[3] for line in lines if line[0] == "start"]
    assert all(starts.count(budget) == 1 for budget in after)
    assert len(starts) <= len(budgets) + 1
