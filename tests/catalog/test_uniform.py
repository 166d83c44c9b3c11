"""Uniform chains: the literature's symbols, term by term."""

import pytest

from ckschedule.catalog import uniform
from ckschedule.errors import InvalidModelError


def test_symbols_of_rotor_are_the_arguments() -> None:
    """w_a = 1, w_abar = 3, w_d = 0, u_f = 1, u_b = 0."""
    chain = uniform(stages=10, output=1, saved=2, gradient=0, forward=1, backward=0)
    assert chain.time_unit == "step"
    assert len(chain.stages) == 10
    assert chain.input == 1
    for stage in chain.stages:
        assert stage.output + stage.variants[0].saved == 3
        assert stage.gradient == 0
    assert chain.base_time == 10


def test_loss_is_free() -> None:
    """The last of the literature's stages has a backward like all others."""
    loss = uniform(stages=2).loss
    assert loss is not None
    assert (loss.output, loss.forward, loss.variants[0].backward) == (0, 0, 0)


def test_transients_and_flags_pass_through() -> None:
    """Memory models differ in them."""
    chain = uniform(
        stages=1,
        transient=5,
        forward_transient=6,
        backward_transient=7,
        needs_input=False,
        needs_output=False,
    )
    (variant,) = chain.stages[0].variants
    assert chain.stages[0].transient == 5
    assert (variant.forward_transient, variant.backward_transient) == (6, 7)
    assert (variant.needs_input, variant.needs_output) == (False, False)


def test_empty_chain_is_refused() -> None:
    """A chain has at least one stage."""
    with pytest.raises(InvalidModelError, match="uniform: stages is 0"):
        uniform(stages=0)
