"""Transformers: published parameter counts and Megatron's bytes."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckschedule.catalog import CATALOG, gpt, llama
from ckschedule.costs.chain import Stage, Variant
from ckschedule.errors import InvalidModelError


@dataclass(frozen=True)
class Published:
    """A model of Korthikanti et al. 2022, table 3, and its numbers."""

    hidden: int
    heads: int
    mebibytes: int
    ratio: int
    saved: float


GPT3 = Published(hidden=12288, heads=96, mebibytes=2736, ratio=80, saved=70.2)
MT_NLG = Published(hidden=20480, heads=128, mebibytes=3920, ratio=64, saved=65.3)


def megatron(hidden: int, heads: int, *, batch: int = 1, sequence: int = 2048) -> Stage:
    """Return a block as Megatron counts it: eager, fp16."""
    chain = gpt(
        layers=1,
        hidden=hidden,
        heads=heads,
        batch=batch,
        sequence=sequence,
        attention="eager",
        dtype="fp16",
        device=None,
    )
    return chain.stages[1]


def count(variant: Variant, block: Stage) -> int:
    """Return what a block needs by Megatron's count: its input included."""
    assert variant.needs_input
    assert not variant.needs_output
    return variant.saved + block.output


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gpt2", 124_439_808),
        ("gpt2-medium", 354_823_168),
        ("gpt2-large", 774_030_080),
        ("gpt2-xl", 1_557_611_200),
        ("llama-7b", 6_738_415_616),
        ("llama-13b", 13_015_864_320),
        ("llama-70b", 68_976_648_192),
    ],
)
def test_presets_have_the_published_parameters(name: str, parameters: int) -> None:
    """Shapes, biases and tied embeddings are all in this number."""
    chain = CATALOG[name].build(batch=1, sequence=128, dtype="fp32")
    assert chain.static.parameters == 4 * parameters


@pytest.mark.parametrize("model", [GPT3, MT_NLG])
def test_a_layer_needs_what_megatron_counts(model: Published) -> None:
    """The published bytes per layer at 2048 tokens."""
    block = megatron(model.hidden, model.heads)
    everything, selective, _ = block.variants
    assert count(everything, block) == model.mebibytes * 2**20
    assert 5 * model.heads * 2048 == model.ratio * model.hidden
    dropped = 1 - count(selective, block) / count(everything, block)
    assert round(100 * dropped, 1) == model.saved


@given(
    batch=st.integers(1, 4),
    sequence=st.integers(1, 300),
    heads=st.integers(1, 12),
    width=st.integers(1, 64),
)
def test_blocks_follow_the_formula_of_megatron(
    batch: int, sequence: int, heads: int, width: int
) -> None:
    """``s b h (34 + 5 a s / h)``, and ``34 s b h`` after selective recomputation."""
    hidden = heads * width
    block = megatron(hidden, heads, batch=batch, sequence=sequence)
    everything, selective, smallest = block.variants
    linear = sequence * batch * hidden
    assert count(everything, block) == 34 * linear + 5 * heads * sequence**2 * batch
    assert count(selective, block) == 34 * linear
    # Both norms' outputs of 2 s b h, and the GELU's of 8 s b h.
    assert count(smallest, block) == 22 * linear


@given(sequence=st.integers(1, 300), heads=st.integers(1, 12))
def test_flash_attention_saves_one_number_per_row_of_scores(
    sequence: int, heads: int
) -> None:
    """``34 s b h + 4 a s b`` bytes; ``22 s b h`` and the same statistics at least."""
    chain = gpt(layers=1, hidden=heads * 8, heads=heads, batch=2, sequence=sequence)
    everything, pointwise = chain.stages[1].variants
    linear, statistics = sequence * 2 * heads * 8, 4 * heads * sequence * 2
    assert count(everything, chain.stages[1]) == 34 * linear + statistics
    assert count(pointwise, chain.stages[1]) == 22 * linear + statistics


def test_selective_recomputation_repeats_the_core_alone() -> None:
    """Scores, softmax and dropout: ``2 s^2 b h`` flops and 8 per score."""
    block = megatron(1024, 16)
    everything, selective, _ = block.variants
    scores = 16 * 2048**2
    assert selective.backward - everything.backward == 2 * 2048**2 * 1024 + 8 * scores


def test_matrix_products_of_a_block_are_those_of_megatron() -> None:
    """``24 b s h^2 + 4 b s^2 h`` flops forward; pointwise work is below 1 % of it."""
    products = 24 * 2048 * 12288**2 + 4 * 2048**2 * 12288
    assert products < megatron(12288, 96).forward < 1.01 * products


def test_variants_trade_bytes_for_time() -> None:
    """Each variant after the first saves less and takes longer."""
    for attention in ("flash", "eager"):
        for chain in (
            gpt(layers=1, attention=attention),
            llama(layers=1, attention=attention),
            llama(layers=1, attention=attention, key_heads=8),
        ):
            variants = chain.stages[1].variants
            for more, less in pairwise(variants):
                assert less.saved < more.saved
                assert less.backward > more.backward


def test_without_dropout_there_are_no_masks() -> None:
    """The softmax is then saved once: ``2 a s^2 b``, and ``2 s b h`` are spared."""
    chain = gpt(layers=1, batch=1, sequence=64, attention="eager", dropout=False)
    block = chain.stages[1]
    linear = 64 * 768
    assert count(block.variants[0], block) == 32 * linear + 2 * 12 * 64**2


def test_llama_block_follows_its_formula() -> None:
    """Widths of two bytes: x, norm, q, k, v, context, sum, norm are 8 h; MLP is 4 f."""
    chain = llama(layers=1, sequence=256)
    block = chain.stages[1]
    rows, statistics = 256, 4 * 32 * 256
    assert count(block.variants[0], block) == (
        2 * rows * (8 * 4096 + 4 * 11008) + statistics
    )


def test_fewer_key_heads_save_fewer_bytes() -> None:
    """Keys and values of an eighth of the width, as in Llama 2 70B."""
    full = llama(layers=1, sequence=64).stages[1].variants[0].saved
    grouped = llama(layers=1, sequence=64, key_heads=4).stages[1].variants[0].saved
    assert full - grouped == 2 * 2 * 64 * (4096 - 512)


def test_loss_keeps_log_probabilities_in_single_precision() -> None:
    """``4 s b V`` bytes, whatever the logits' precision."""
    chain = gpt(layers=1, batch=2, sequence=16)
    assert chain.loss is not None
    assert chain.stages[-1].output == 2 * 2 * 16 * 50257
    assert chain.loss.variants[0].saved == 4 * 2 * 16 * 50257


def test_first_stage_holds_the_tokens() -> None:
    """Eight bytes per token, and as many per label, lie there throughout."""
    assert gpt(layers=1, batch=2, sequence=16).input == 2 * 8 * 2 * 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heads": 7}, "gpt: hidden is 768, not divisible by heads 7; .*763 or 770"),
        ({"heads": 1000}, "hidden is 768, not divisible by heads 1000; .*to 1000,"),
        ({"layers": 0}, "gpt: layers is 0"),
        ({"sequence": "long"}, "sequence is 'long', a str"),
        ({"positions": 512}, "sequence is 1024, beyond the 512 positions"),
        ({"attention": "linear"}, "attention is 'linear'; choose one of flash, eager"),
        ({"dropout": 0.1}, "dropout is 0.1; give True or False"),
        ({"vocabulary": -5}, "vocabulary is -5"),
    ],
)
def test_gpt_refuses_what_cannot_be_meant(
    arguments: dict[str, int], message: str
) -> None:
    """Each message names the argument, the value and the way out."""
    with pytest.raises(InvalidModelError, match=message):
        gpt(**arguments)  # type: ignore[arg-type]  # misuse is the subject


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"key_heads": 5}, "llama: heads is 32, not divisible by key_heads 5"),
        ({"inner": 0}, "llama: inner is 0"),
        ({"batch": True}, "llama: batch is True"),
    ],
)
def test_llama_refuses_what_cannot_be_meant(
    arguments: dict[str, int], message: str
) -> None:
    """Each message names the argument, the value and the way out."""
    with pytest.raises(InvalidModelError, match=message):
        llama(**arguments)  # type: ignore[arg-type]  # misuse is the subject
