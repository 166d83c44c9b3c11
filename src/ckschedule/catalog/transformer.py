"""Transformers of the GPT and the Llama family.

Stages: the embedding, one per block, and the head (last norm and output projection);
the loss is the cross entropy, its log-probabilities in fp32.

Bytes, after Korthikanti et al., 2022, arXiv 2205.05198, section 4.1, at two bytes per
element: with ``s`` tokens, ``b`` sequences, ``h`` channels and ``a`` heads a GPT block
needs ``s b h (34 + 5 a s / h)``: attention ``11 s b h + 5 a s^2 b``, MLP ``19 s b h``,
two layer norms ``4 s b h``, dropout masks of one byte included, the norms' statistics
left out. **Translation**: their count holds the block's input (``2 s b h``, the first
norm's), and not its output, which is the next block's input. `Variant.saved` excludes
both, so that

    ``saved + input = s b h (34 + 5 a s / h)``, with ``needs_input`` and not
    ``needs_output``,

for eager attention. Selective recomputation (variant ``selective``) drops scores,
softmax and dropout, which leaves ``34 s b h``, and repeats them before their backward.
Theirs repeats the product with the values, too; ours need not, since its output is
kept. Flash attention replaces ``5 a s^2 b`` by ``4 a s b`` bytes.

The variant ``pointwise`` repeats the cheap layers: both norms and the activation
function, ``12 s b h`` bytes in a GPT block. Matrix products and sums are kept.

A GPT block (Radford et al. 2019) has ``12 h^2 + 13 h`` parameters; embedding and output
projection share ``V h``. A Llama block (Touvron et al. 2023, arXiv 2302.13971 and
2307.09288) has RMS norms, rotary embeddings, ``k`` key heads and a gated MLP of width
``f``: ``(2 + 2 k / a) h^2 + 3 h f + 2 h`` parameters, none shared, no biases and no
dropout.
"""

from ckschedule.catalog.arguments import as_positive, check_choice, check_divides
from ckschedule.catalog.assembly import assemble
from ckschedule.catalog.attention import ATTENTIONS, Attention, Tokens
from ckschedule.catalog.blocks import (
    gpt_block,
    gpt_embedding,
    llama_block,
    llama_embedding,
    loss,
    projection,
)
from ckschedule.catalog.layers import INDEX
from ckschedule.catalog.optimizer import Optimizer
from ckschedule.catalog.setting import Setting, as_setting
from ckschedule.costs.chain import Chain
from ckschedule.costs.checks import as_flag
from ckschedule.costs.device import Device, DType
from ckschedule.errors import InvalidModelError


def gpt(
    *,
    layers: int = 12,
    hidden: int = 768,
    heads: int = 12,
    batch: int = 8,
    sequence: int = 1024,
    vocabulary: int = 50257,
    positions: int | None = None,
    attention: Attention = "flash",
    dropout: bool = True,
    dtype: DType = "bf16",
    device: str | Device | None = "a100",
    optimizer: Optimizer = "adamw",
) -> Chain:
    """Return a transformer of the GPT-2 family; the defaults are its smallest.

    Parameters
    ----------
    layers, hidden, heads
        Blocks, channels, and attention heads, which divide the channels.
    batch, sequence
        Sequences, and tokens of each.
    vocabulary, positions
        Rows of the token and of the position table; None means ``sequence`` positions.
    attention
        ``flash``, which today's frameworks choose, with the variants ``all`` and
        ``pointwise``; or ``eager``, with ``all``, ``selective`` and
        ``selective+pointwise``.
    dropout
        Whether the model trains with dropout.
    dtype
        Precision of activations and weights.
    device
        Preset or own device for times in ns; None counts flops.
    optimizer
        Whose static bytes to count; ``none`` counts activations only.

    Returns
    -------
    Chain

    Raises
    ------
    InvalidModelError
        If an argument is out of range, or heads do not divide channels.

    Examples
    --------
    >>> gpt(positions=1024, dtype="fp32").static.parameters // 4
    124439808
    """
    setting = as_setting(dtype=dtype, device=device, optimizer=optimizer)
    check_choice(attention, ATTENTIONS, "gpt: attention")
    drop = as_flag(dropout, "gpt: dropout")
    layers = as_positive(layers, "gpt: layers")
    vocabulary = as_positive(vocabulary, "gpt: vocabulary")
    tokens = _tokens("gpt", sequence, batch, hidden, heads, heads, setting)
    positions = as_positive(
        tokens.sequence if positions is None else positions, "gpt: positions"
    )
    if positions < tokens.sequence:
        raise InvalidModelError(
            f"gpt: sequence is {sequence}, beyond the {positions} positions; raise "
            f"positions or shorten the sequence"
        )
    plans = [
        gpt_embedding(tokens, vocabulary, positions, drop=drop),
        *(
            gpt_block(f"block {i}", tokens, attention, drop=drop)
            for i in range(1, layers + 1)
        ),
        projection(tokens, vocabulary, bias=True, tied=True),
    ]
    return assemble(
        f"gpt-{layers}x{hidden}",
        plans,
        setting,
        loss=loss(tokens, vocabulary),
        given=INDEX * tokens.rows,
    )


def llama(
    *,
    layers: int = 32,
    hidden: int = 4096,
    heads: int = 32,
    key_heads: int | None = None,
    inner: int = 11008,
    batch: int = 1,
    sequence: int = 4096,
    vocabulary: int = 32000,
    attention: Attention = "flash",
    dtype: DType = "bf16",
    device: str | Device | None = "a100",
    optimizer: Optimizer = "adamw",
) -> Chain:
    """Return a transformer of the Llama family; the defaults are Llama 2 7B.

    Parameters
    ----------
    layers, hidden, heads
        Blocks, channels, and attention heads, which divide the channels.
    key_heads
        Heads of keys and values, which divide the heads; None means ``heads``.
    inner
        Width of the gated MLP.
    batch, sequence, vocabulary
        Sequences, tokens of each, and rows of the token table.
    attention
        ``flash``, with the variants ``all`` and ``pointwise``; or ``eager``, with
        ``all``, ``selective`` and ``selective+pointwise``.
    dtype
        Precision of activations and weights.
    device
        Preset or own device for times in ns; None counts flops.
    optimizer
        Whose static bytes to count; ``none`` counts activations only.

    Returns
    -------
    Chain

    Raises
    ------
    InvalidModelError
        If an argument is out of range, heads do not divide channels, or key heads do
        not divide heads.

    Examples
    --------
    >>> llama(dtype="fp32").static.parameters // 4
    6738415616
    """
    setting = as_setting(dtype=dtype, device=device, optimizer=optimizer)
    check_choice(attention, ATTENTIONS, "llama: attention")
    layers = as_positive(layers, "llama: layers")
    inner = as_positive(inner, "llama: inner")
    vocabulary = as_positive(vocabulary, "llama: vocabulary")
    key_heads = heads if key_heads is None else key_heads
    tokens = _tokens("llama", sequence, batch, hidden, heads, key_heads, setting)
    plans = [
        llama_embedding(tokens, vocabulary),
        *(
            llama_block(f"block {i}", tokens, attention, inner)
            for i in range(1, layers + 1)
        ),
        projection(tokens, vocabulary, bias=False, tied=False),
    ]
    return assemble(
        f"llama-{layers}x{hidden}",
        plans,
        setting,
        loss=loss(tokens, vocabulary),
        given=INDEX * tokens.rows,
    )


def _tokens(
    family: str,
    sequence: int,
    batch: int,
    hidden: int,
    heads: int,
    key_heads: int,
    setting: Setting,
) -> Tokens:
    tokens = Tokens(
        sequence=as_positive(sequence, f"{family}: sequence"),
        batch=as_positive(batch, f"{family}: batch"),
        hidden=as_positive(hidden, f"{family}: hidden"),
        heads=as_positive(heads, f"{family}: heads"),
        key_heads=as_positive(key_heads, f"{family}: key_heads"),
        element=setting.element,
    )
    check_divides(tokens.heads, tokens.hidden, "heads", f"{family}: hidden")
    check_divides(tokens.key_heads, tokens.heads, "key_heads", f"{family}: heads")
    return tokens
