"""Hooks of users on the modules that are stages."""

import pytest
import torch
from torch import nn
from torch_backend.compositions.comparing import gradients, identical, least_plan

import ckschedule as ck
from ckschedule.errors import UnfaithfulStageError


def _hooked(*, in_place: bool) -> tuple[nn.Sequential, torch.Tensor, list[str]]:
    """Return a model whose hooks change what passes, and a record of their calls."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model = nn.Sequential(
            nn.Linear(4, 8), nn.ReLU(inplace=in_place), nn.Linear(8, 4), nn.Tanh()
        )
        x = torch.randn(16, 4)
    calls: list[str] = []

    def double(_module: nn.Module, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        calls.append("before")
        return (args[0] * 2,)

    def triple(_module: nn.Module, _args: object, out: torch.Tensor) -> torch.Tensor:
        calls.append("after")
        return out * 3

    model[0].register_forward_pre_hook(double)
    model[1].register_forward_hook(triple)
    model[2].register_forward_hook(triple)
    return model, x, calls


def test_forward_hooks_change_each_result_once() -> None:
    """They are part of what the plain model computes."""
    model, x, calls = _hooked(in_place=False)
    expected = gradients(model, (x,), torch.sum)
    once = list(calls)
    ck.apply(model, least_plan(model, x, loss=torch.sum))

    for _ in range(2):
        calls.clear()
        assert identical(gradients(model, (x,), torch.sum), expected)
        assert calls == once


def test_hooks_of_modules_that_make_one_stage_are_refused() -> None:
    """They would run around the stage and within it."""
    model, x, _ = _hooked(in_place=True)
    with pytest.raises(UnfaithfulStageError, match="hooks"):
        ck.profile(model, x, loss=torch.sum)
