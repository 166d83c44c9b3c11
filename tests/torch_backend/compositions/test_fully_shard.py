"""Gradients under FSDP2: gathered for each computation, reduced once per backward."""

import pytest
from torch_backend.compositions import rank_tasks
from torch_backend.compositions.processes import RANKS, Ranks


@pytest.mark.parametrize("accumulate", [False, True], ids=["one", "accumulated"])
@pytest.mark.parametrize(
    "which", ["least", pytest.param("middle", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("order", ["apply, shard", "shard, apply"])
def test_three_updates_are_those_of_the_sharded_plain_model(
    ranks: Ranks, order: str, which: str, accumulate: bool
) -> None:
    """The plan was made before; whether it is applied before does not matter."""
    task = rank_tasks.sharded

    assert ranks(task, "blocks and model", order, which, accumulate) == [True] * RANKS


@pytest.mark.parametrize(
    "order", ["apply, shard", pytest.param("shard, apply", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("sharding", list(rank_tasks.SHARDINGS)[1:])
def test_other_shardings_follow_the_plan_too(
    ranks: Ranks, sharding: str, order: str
) -> None:
    """Whatever is sharded as one lies within a stage, between them, or is the model."""
    found = ranks(rank_tasks.sharded, sharding, order, "least", False)

    assert found == [True] * RANKS


def test_a_model_may_be_sharded_after_auto_checkpoint(ranks: Ranks) -> None:
    """The plan is still followed: stages are computed again."""
    for same, executions in ranks(rank_tasks.auto_then_shard):
        assert same
        assert executions["transformer.h.0"] > 1


def test_recomputed_blocks_do_not_stay_gathered(ranks: Ranks) -> None:
    """A plan with few checkpoints would otherwise gather the whole model."""
    # The one that is computed, and the one that FSDP prefetches.
    for gathered in ranks(rank_tasks.gathered_after_recomputation):
        assert gathered <= 2


def test_a_sharded_module_of_several_stages_is_refused(ranks: Ranks) -> None:
    """FSDP would reduce its gradient after the first of them, and lose the others."""
    for refusal in ranks(rank_tasks.shared_cell, "cell"):
        assert "'cell' and 'cell#2' share" in refusal


def test_a_module_of_several_stages_works_where_only_the_model_is_sharded(
    ranks: Ranks,
) -> None:
    """The model's own parameters stay gathered to the end of the backward."""
    assert ranks(rank_tasks.shared_cell, "model") == [""] * RANKS


@pytest.mark.parametrize("how", ["containers", "list"])
def test_a_sharding_across_stages_is_refused(ranks: Ranks, how: str) -> None:
    """Its parameters come and go with the first and the last of its modules."""
    for refusal in ranks(rank_tasks.across_stages, how):
        assert "part of several stages" in refusal


@pytest.mark.parametrize("verb", ["profile", "verify"])
def test_a_sharded_model_is_not_measured(ranks: Ranks, verb: str) -> None:
    """A rank's share of the bytes is no chain: profile first, then shard."""
    for refusal in ranks(rank_tasks.asked_when_sharded, verb):
        assert "fully_shard" in refusal
