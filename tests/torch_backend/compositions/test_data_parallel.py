"""Gradients under DDP: reduced once, and not before all stages have added to them."""

from typing import Any

import pytest
from torch_backend.compositions import rank_tasks
from torch_backend.compositions.processes import RANKS, Ranks


@pytest.mark.parametrize(
    "how",
    [
        "auto_checkpoint before",
        "apply before",
        "apply after",
        "executed modules",
        "executed functions",
    ],
)
def test_a_weight_of_three_stages_is_reduced_when_all_have_added_to_it(
    ranks: Ranks, how: str
) -> None:
    """Reduced after the first stage's backward, it would be 0.9135632515, silently."""
    # Derivative of sum(tanh(W tanh(W tanh(W x)))) by W, W all 0.5, x = (1, 1) on one
    # rank and (2, 2) on the other, averaged: the value of plain DDP.
    for found in ranks(rank_tasks.shared_linear, how):
        assert found == [pytest.approx([0.8245666623] * 2, abs=1e-7)] * 2


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(False, id="before"),
        pytest.param(True, id="after", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("accumulate", [False, True], ids=["one", "no_sync"])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("gpt", {}),
        ("gpt", {"find_unused_parameters": True}),
        ("gpt", {"gradient_as_bucket_view": True}),
        # Buckets of one parameter each: reduced one by one, as they come.
        ("gpt", {"bucket_cap_mb": 0.001}),
        # Experts that no token of a rank chooses.
        ("moe", {"find_unused_parameters": True}),
        ("lora_mlp", {}),
    ],
)
def test_three_updates_are_those_of_plain_data_parallelism(
    ranks: Ranks, name: str, settings: dict[str, Any], accumulate: bool, after: bool
) -> None:
    """Bit by bit: a stage's gradients are computed by the same operators either way."""
    task = rank_tasks.data_parallel

    assert ranks(task, name, settings, accumulate, after) == [True] * RANKS


def test_a_static_graph_is_static_under_a_plan(ranks: Ranks) -> None:
    """DDP counts the hooks of the first step, and expects as many in each."""
    task = rank_tasks.data_parallel

    assert ranks(task, "gpt", {"static_graph": True}, False, False) == [True] * RANKS
