"""Recognising a uniform chain: what Revolve needs to know of it, or why it is none."""

from dataclasses import dataclass, fields
from typing import Final

from ckschedule.costs.chain import Chain, Stage, Variant
from ckschedule.errors import UnsupportedModelError

_TAKES: Final = "Revolve takes chains of equal stages only"
_REMEDY: Final = "use ChainDP, which takes any chain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A uniform chain: n equal steps and a loss without bytes.

    Attributes
    ----------
    steps
        n: the loss excluded.
    input, static
        Bytes of ``x_0``, and static bytes.
    stage, variant
        Step n, and the way to record it.
    first_transient
        ``tB_1``: step 1 yields the gradient of the chain's input, or none.
    loss
        The way to record the loss.
    """

    steps: int
    input: int
    static: int
    stage: Stage
    variant: Variant
    first_transient: int
    loss: Variant


def uniform_shape(chain: Chain) -> Shape:
    """Return what is needed of a uniform chain, or refuse the chain.

    Uniform means: every stage but the loss is equal in all numbers and flags and has
    one variant; only the first stage's backward transient may differ, since its
    backward yields another gradient. The loss has no bytes beyond the gradient that its
    backward yields; its times are free.

    Raises
    ------
    UnsupportedModelError
        If the chain is not uniform; the message names the first stage and field that
        differ.
    """
    loss = chain.sequence[-1]
    for i, stage in enumerate(chain.stages, start=1):
        if len(stage.variants) != 1:
            raise UnsupportedModelError(
                f"{_TAKES}: stage {i} ({stage.name!r}) has {len(stage.variants)} "
                f"variants, not 1; {_REMEDY}"
            )
        reference = chain.stages[0 if i < 3 else 1]
        for name, own, other in _differences(stage, reference, transient=i > 2):
            raise UnsupportedModelError(
                f"{_TAKES}: stage {i} ({stage.name!r}) has {name} {own}, but stage "
                f"{reference.name!r} has {other}: not uniform; {_REMEDY}"
            )
    last = loss.variants[0]
    yielded = chain.input_gradients[-1]
    for name, own, other in (
        ("variants", len(loss.variants), 1),
        ("output", loss.output, 0),
        ("parameter_gradient", loss.parameter_gradient, 0),
        ("saved", last.saved, 0),
        ("forward_transient", last.forward_transient, 0),
        ("backward_transient", last.backward_transient, yielded),
    ):
        if own != other:
            raise UnsupportedModelError(
                f"{_TAKES}: the loss ({loss.name!r}) has {name} {own}, but must have "
                f"{other}; {_REMEDY}"
            )
    stage = chain.stages[-1]
    return Shape(
        steps=len(chain.stages),
        input=chain.input,
        static=chain.static.total,
        stage=stage,
        variant=stage.variants[0],
        first_transient=chain.stages[0].variants[0].backward_transient or 0,
        loss=last,
    )


def _differences(
    stage: Stage, reference: Stage, *, transient: bool
) -> list[tuple[str, object, object]]:
    """Return the fields in which two stages of one variant differ, with both values."""
    skipped = {"name", "variants"} | (set() if transient else {"backward_transient"})
    return [
        (field.name, getattr(own, field.name), getattr(other, field.name))
        for own, other in (
            (stage, reference),
            (stage.variants[0], reference.variants[0]),
        )
        for field in fields(own)
        if field.name not in skipped
        and getattr(own, field.name) != getattr(other, field.name)
    ]
