"""Plans in files, plans for other models, and the ends of a front."""

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import Tensor, nn  # noqa: E402 - torch may be missing
from torch_models import CASES, mlp  # noqa: E402 - likewise
from torch_steps import (  # noqa: E402 - likewise
    differing,
    following,
    gradients,
    measured,
    profiled,
    scheduled,
    step_of,
)

import ckschedule as ck  # noqa: E402 - likewise

ELSEWHERE = """
import pathlib, sys, torch
import ckschedule as ck
from torch_models import CASES
from torch_steps import gradients, step_of

case = CASES[sys.argv[1]]()
ck.apply(case.model, ck.from_json(pathlib.Path(sys.argv[2]).read_text()))
step = step_of(case.model, case.inputs, case.loss)
torch.save(gradients(case.model, step), sys.argv[3])
"""
"""What another process does with a plan from a file."""


def linears(count: int, width: int = 16) -> nn.Sequential:
    return nn.Sequential(*[nn.Linear(width, width) for _ in range(count)])


def plan_for(model: nn.Module, x: Tensor, budget: str | int = "60%") -> ck.ParetoPoint:
    return ck.pareto(profiled(model, x, loss=torch.sum)).minimum


X = torch.ones(64, 16)


@pytest.mark.parametrize("name", ["vit", "lstm"])
def test_plan_from_a_file_gives_equal_gradients_in_another_process(
    name: str, tmp_path: Path
) -> None:
    """R53: names of stages are all that binds a plan to a model."""
    case = CASES[name]()
    chain = profiled(case.model, *case.inputs, loss=case.loss, stages=case.stages)
    result = ck.solve(chain, ck.pareto(chain).minimum.peak)
    text = ck.to_json(result)
    assert ck.from_json(text) == result
    assert "NaN" not in text
    assert "Infinity" not in text
    plan, found = tmp_path / "plan.json", tmp_path / "gradients.pt"
    plan.write_text(text)
    subprocess.run(
        [sys.executable, "-W", "error", "-c", ELSEWHERE, name, str(plan), str(found)],
        check=True,
        env={"PYTHONPATH": ":".join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"},
    )
    step = step_of(case.model, case.inputs, case.loss)
    assert differing(gradients(case.model, step), torch.load(found)) == []


def test_plan_for_fewer_stages_names_the_first_difference() -> None:
    """R54: 24 stages on 25; not an IndexError in the backward."""
    plan = plan_for(linears(24), X)
    with pytest.raises(ck.errors.PlanMismatchError, match=r"25\.57 KiB|parameters"):
        ck.apply(linears(25), plan)


def test_plan_for_more_stages_names_the_missing_one() -> None:
    plan = plan_for(linears(25), X)
    with pytest.raises(ck.errors.PlanMismatchError, match="'24'"):
        ck.apply(linears(24), plan)


def test_plan_for_other_sizes_names_the_first_difference() -> None:
    """R54: the same count, another layer."""
    plan = plan_for(linears(24), X)
    other = linears(24)
    other[7] = nn.Linear(16, 16, bias=False)
    with pytest.raises(ck.errors.PlanMismatchError, match=r"stage 8 \('7'\)"):
        ck.apply(other, plan)


def test_refused_plan_leaves_the_model_alone() -> None:
    """Nothing of it is applied."""
    model = linears(24)
    with pytest.raises(ck.errors.PlanMismatchError):
        ck.apply(model, plan_for(linears(25), X))
    assert ck.plan_of(model) is None
    model(X).sum().backward()


def test_plan_of_another_kind_of_model_is_refused() -> None:
    """Neither a bare schedule without its chain nor a chain's cost is a plan."""
    chain = profiled(linears(4), X, loss=torch.sum)
    schedule = ck.solve(chain, "100%").schedule
    assert schedule is not None
    with pytest.raises(ck.errors.PlanMismatchError, match="chain="):
        ck.apply(linears(4), schedule)
    with pytest.raises(ck.errors.PlanMismatchError, match="Chain"):
        ck.apply(linears(4), chain)  # type: ignore[arg-type]  # wrong on purpose


def test_result_without_a_schedule_is_refused() -> None:
    """It says what is the smallest budget."""
    chain = profiled(linears(4), X, loss=torch.sum)
    with pytest.raises(ck.errors.NoScheduleError, match="smallest budget"):
        ck.apply(linears(4), ck.solve(chain, 1000))


@pytest.mark.parametrize(("batch", "warns"), [(16, False), (64, False), (160, True)])
def test_other_sizes_than_profiled_give_equal_gradients(
    batch: int, warns: bool
) -> None:
    """R55: a plan fixes what is computed, not how large it is."""
    model = linears(6)
    plan = plan_for(model, X)
    x = torch.randn(batch, 16)
    step = step_of(model, (x,), torch.sum)
    expected = gradients(model, step)
    with following(model, plan):
        if warns:
            with pytest.warns(UserWarning, match="profiled"):
                found = gradients(model, step)
        else:
            found = gradients(model, step)
    assert differing(expected, found) == []


def test_smaller_inputs_than_profiled_take_no_more_memory() -> None:
    """R55: the promise holds up to the profiled size."""
    model = linears(6)
    plan = plan_for(model, X)
    peaks = []
    for rows in (64, 32, 8):
        x = X[:rows].clone()
        with following(model, plan):
            peaks.append(measured(model, (x,), step_of(model, (x,), torch.sum)).peak)
    assert peaks == sorted(peaks, reverse=True)
    assert peaks[0] <= plan.peak


def test_whole_budget_recomputes_nothing() -> None:
    """R68: at "100%" each stage runs once."""
    case = mlp()
    chain = profiled(case.model, *case.inputs, loss=case.loss)
    result = ck.solve(chain, "100%")
    assert result.schedule is not None
    assert result.overhead == 0
    assert set(scheduled(chain, result.schedule).values()) == {1}
    step = step_of(case.model, case.inputs, case.loss)
    with following(case.model, result):
        found = measured(case.model, case.inputs, step)
    assert set(found.executions.values()) == {1}
    assert found.peak <= result.budget


def test_schedule_with_its_chain_is_a_plan() -> None:
    """For those who write schedules themselves."""
    model = linears(6)
    chain = profiled(model, X, loss=torch.sum)
    schedule = ck.RecomputeAll().schedule(chain)
    step = step_of(model, (X,), torch.sum)
    expected = gradients(model, step)
    with following(model, schedule, chain):
        assert ck.plan_of(model) is schedule
        found = measured(model, (X,), step)
        assert differing(expected, gradients(model, step)) == []
    assert found.executions == scheduled(chain, schedule)
    assert found.peak == ck.simulate(chain, schedule).peak
