"""Models of a library that nobody wrote for this one."""

from typing import Any

import pytest
import torch
from torch_backend.compositions.comparing import DEVICE

import ckschedule as ck

transformers = pytest.importorskip("transformers")


def _gpt2() -> Any:
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            n_layer=3, n_embd=16, n_head=2, n_positions=16, vocab_size=31
        )
    )


def _llama() -> Any:
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=3,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=16,
            vocab_size=31,
            attention_dropout=0.1,
        )
    )


@pytest.mark.parametrize("build", [_gpt2, _llama])
@pytest.mark.filterwarnings("ignore::FutureWarning:transformers")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:transformers")
def test_language_models_with_their_own_loss_follow_the_least_plan(build: Any) -> None:
    """Called with keywords, returning objects, with dropout in attention."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model = build().train()
        text = torch.randint(31, (2, 12))
    batch = {"input_ids": text, "labels": text, "use_cache": False}
    least = ck.pareto(ck.profile(model, batch, time=DEVICE)).minimum

    ck.auto_checkpoint(model, batch, budget=least.peak, time=DEVICE)

    found = ck.verify(model, batch)
    assert found.ok, str(found)
    assert max(found.measured.executions.values()) > 1
    assert model(**batch).loss.requires_grad
