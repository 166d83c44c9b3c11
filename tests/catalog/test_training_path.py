"""Training paths: Checkmate's unit graph, edge by edge, and its optima."""

import pytest

import ckschedule as ck
from ckschedule import Exhaustive
from ckschedule.catalog import training_path
from ckschedule.errors import InvalidModelError
from ckschedule.solvers.revolve import advances


def test_a_backward_reads_the_one_before_and_its_own_forward() -> None:
    """The first of them reads the turn in place of a backward."""
    graph = training_path(2)
    needs = {node.name: set(node.modes[0].needs) for node in graph.nodes}
    assert needs == {
        "f0": set(),
        "f1": {"f0"},
        "f2": {"f1"},
        "b1": {"f2", "f1"},
        "b0": {"b1", "f0"},
    }
    assert list(needs) == ["f0", "f1", "f2", "b1", "b0"]
    assert graph.targets == ("b0",)


def test_all_is_one_step_and_one_byte_and_may_run_again() -> None:
    """So that makespans count computations, and budgets values."""
    graph = training_path(5)
    assert len(graph.nodes) == len(graph.values) == graph.base_time == 11
    assert {value.size for value in graph.values} == {1}
    assert all(node.recomputable for node in graph.nodes)
    assert (graph.time_unit, graph.static.total) == ("step", 0)


@pytest.mark.parametrize("forward", [1, 2, 3, 6])
def test_its_optima_have_a_closed_form(forward: int) -> None:
    """Revolve's number of advances; below three bytes nothing fits."""
    graph = training_path(forward)
    for budget in range(3, forward + 3):
        found = ck.solve(graph, budget, Exhaustive()).makespan
        assert found == forward + 1 + advances(forward + 1, budget - 2)
    assert ck.solve(graph, 2, Exhaustive()).minimum_budget == 3


@pytest.mark.parametrize("forward", [0, -1, 1.5, True])
def test_no_forwards_are_refused(forward: int) -> None:
    """There is nothing to turn back from."""
    with pytest.raises(InvalidModelError, match="training_path: forward"):
        training_path(forward)
