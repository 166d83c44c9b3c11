"""LSTM: the cut between time steps, and what a step saves."""

import pytest

from ckschedule.catalog import lstm
from ckschedule.errors import InvalidModelError


def test_cut_is_the_state_of_all_layers() -> None:
    """Hidden and cell of each layer, fp32, and the running loss."""
    chain = lstm(steps=3)
    assert [stage.output for stage in chain.stages] == [2 * 4 * 64 * 1024 * 4 + 4] * 3


def test_step_saves_gates_and_log_probabilities() -> None:
    """``5 b H`` elements per layer and ``b V``; states are input and output."""
    for stage in lstm(steps=3).stages:
        (variant,) = stage.variants
        assert variant.saved == 4 * (4 * 5 * 64 * 1024 + 64 * 5000)
        assert variant.needs_input
        assert variant.needs_output


def test_weights_are_shared_by_all_steps() -> None:
    """``4 H (k + H + 2)`` per layer of k inputs, and the classifier."""
    parameters = (
        4 * 1024 * (50 + 1024 + 2) + 3 * 4 * 1024 * (2 * 1024 + 2) + 1025 * 5000
    )
    for steps in (1, 7):
        assert lstm(steps=steps).static.parameters == 4 * parameters


def test_data_of_all_steps_lies_there_throughout() -> None:
    """50 inputs and a label per step and sequence, and the first state."""
    chain = lstm(steps=5)
    assert chain.input == 5 * 64 * (50 * 4 + 8) + chain.stages[0].output


def test_first_step_needs_no_gradient_of_its_state() -> None:
    """Its recurrent products have a weight gradient only."""
    first, second, third = (s.variants[0] for s in lstm(steps=3).stages)
    assert first.backward < second.backward == third.backward


def test_steps_grow_linearly() -> None:
    """Without recomputation memory is linear in the unroll length."""
    short, long = lstm(steps=10), lstm(steps=100)
    assert long.base_time - short.base_time == 90 * (
        short.stages[1].forward + short.stages[1].variants[0].backward
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "lstm: steps is 0; it must be 1 or more"),
        ({"layers": -1}, "lstm: layers is -1"),
        ({"hidden": 1.5}, "lstm: hidden is 1.5, a float"),
        ({"classes": 0}, "lstm: classes is 0"),
    ],
)
def test_lstm_refuses_what_cannot_be_meant(
    arguments: dict[str, int], message: str
) -> None:
    """Each message names the argument, the value and the way out."""
    with pytest.raises(InvalidModelError, match=message):
        lstm(**arguments)  # type: ignore[arg-type]  # misuse is the subject
