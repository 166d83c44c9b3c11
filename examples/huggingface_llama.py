"""Train a Llama of Hugging Face's `transformers` within a memory budget.

Needs ``pip install 'ckschedule[torch]' transformers``. Nothing is downloaded, as the
weights are random. Run ``python examples/huggingface_llama.py [--budget 60%]``.
"""

import argparse

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import ckschedule as ck
from ckschedule.units import format_bytes


def build() -> LlamaForCausalLM:
    """Return a small Llama with random weights, ready to train."""
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=128,
        intermediate_size=344,
        num_hidden_layers=12,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
    )
    return LlamaForCausalLM(config).train()


def main() -> None:
    """Plan, train a few steps, and compare promise and measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--budget", default="60%", help="bytes, '2GiB', or a percentage"
    )
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()

    torch.manual_seed(0)
    model = build()
    text = torch.randint(512, (4, 128))
    batch = {"input_ids": text, "labels": text, "use_cache": False}

    # A step of the model as it is, before anything is changed.
    plain = ck.measure_plain(model, batch)

    # This line is all that a training script needs.
    model = ck.auto_checkpoint(model, batch, budget=options.budget)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(options.steps):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.4f}")
    optimizer.zero_grad()

    plan = ck.plan_of(model)
    if plan is None:
        print(f"the plain model keeps the budget: peak {format_bytes(plain.peak)}")
        return
    planned = ck.measure_step(model, batch)
    print(f"plain step      {format_bytes(plain.peak)}")
    print(f"budget          {format_bytes(plan.budget)}")
    print(f"predicted peak  {format_bytes(plan.peak)}")
    print(f"measured peak   {format_bytes(planned.peak)}")
    again = sum(planned.executions.values()) - len(planned.executions)
    print(f"recomputations  {again}")


if __name__ == "__main__":
    main()
