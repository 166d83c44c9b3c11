"""Times of stages: equal ones are equal, and the first pays for nobody."""

import pytest

torch = pytest.importorskip("torch", reason="install ckschedule[torch]")

from torch import nn  # noqa: E402 - torch may be missing
from torch_models import mlp  # noqa: E402 - likewise

import ckschedule as ck  # noqa: E402 - likewise


def times(stage: ck.Stage) -> tuple[object, ...]:
    return stage.forward, *((v.forward, v.backward) for v in stage.variants)


def test_equal_stages_share_one_time() -> None:
    """R29: noise between equal stages would make a solver tell them apart."""
    model = nn.Sequential(*[nn.Linear(128, 128) for _ in range(6)])
    chain = ck.profile(model, torch.randn(64, 128), loss=torch.sum)
    # The first has no gradient of its input, the last has one of a sum: expanded.
    assert len({times(stage) for stage in chain.stages[1:-1]}) == 1


def test_first_stage_pays_for_no_warm_up() -> None:
    """R29: position in the model says nothing about time."""
    model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(6)])
    x = torch.randn(256, 512)
    chains = [ck.profile(model, x, loss=torch.sum) for _ in range(3)]
    # The least of three: other processes of the machine only ever add to a time.
    forwards = [
        min(stage.forward for stage in stages)
        for stages in zip(*(chain.stages for chain in chains), strict=True)
    ]
    assert max(forwards) <= 2 * min(forwards)


def test_roofline_is_the_same_every_time() -> None:
    """Nothing is measured."""
    case = mlp()
    first, second = [
        ck.profile(case.model, *case.inputs, loss=case.loss, time="a100")
        for _ in range(2)
    ]
    assert first == second
