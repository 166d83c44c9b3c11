"""Liveness: tiny stages whose bytes are derived by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckschedule.catalog.layers import (
    Layer,
    add,
    cross_entropy,
    drop_out,
    linear,
    pointwise,
    relu,
)
from ckschedule.catalog.liveness import compose
from ckschedule.catalog.plan import Plan
from ckschedule.catalog.setting import as_setting

COUNTED = as_setting(dtype="fp32", device=None, optimizer="sgd")
ACTIVATIONS = as_setting(dtype="fp32", device=None, optimizer="none")


def square(name: str, source: str, *, size: int, element: int = 1) -> Layer:
    """Return an operation that saves its input."""
    return pointwise(name, (source,), size=size, element=element, saves=(source,))


def test_linear_saves_its_input_and_needs_room_for_its_gradients() -> None:
    """x (2) W (2 x 3): dW of 6 elements of four bytes, dx of 2 bytes."""
    layer = linear("y", "x", rows=1, inner=2, outer=3, element=1, bias=False)
    stage = compose(Plan(name="linear", layers=(layer,), inputs={"x": 2}), COUNTED)
    (variant,) = stage.variants
    assert (stage.output, stage.transient) == (3, 3)
    assert (variant.saved, variant.forward_transient) == (0, 3)
    assert (variant.needs_input, variant.needs_output) == (True, False)
    assert variant.backward_transient == 6 * 4 + 2
    # 2 * 2 * 3 flops forward; as many for dx and for dW.
    assert (stage.forward, variant.backward) == (12, 24)


def test_untrained_input_costs_no_gradient() -> None:
    """The first stage of a chain yields no gradient for the data."""
    layer = linear("y", "x", rows=1, inner=2, outer=3, element=1, bias=False)
    plan = Plan(name="linear", layers=(layer,), inputs={"x": 2})
    (variant,) = compose(plan, COUNTED, input_trained=False).variants
    assert (variant.backward, variant.backward_transient) == (12, 6 * 4)


def test_activations_alone_count_no_weight_gradients() -> None:
    """Chen et al. count feature maps only."""
    layer = linear("y", "x", rows=1, inner=2, outer=3, element=1, bias=False)
    plan = Plan(name="linear", layers=(layer,), inputs={"x": 2})
    assert compose(plan, ACTIVATIONS).variants[0].backward_transient == 2


def test_storages_die_after_their_last_use() -> None:
    """Of a chain x -> a -> b -> y of 10 bytes each, two live at a time.

    Recorded, a and b stay (20) beside y. Backward of y: its gradient is the caller's,
    d_b (10), then b dies (-10); d_a (20 - 10), and so on: never above +10.
    """
    layers = (
        square("a", "x", size=10),
        square("b", "a", size=10),
        square("y", "b", size=10),
    )
    stage = compose(Plan(name="s", layers=layers, inputs={"x": 10}), COUNTED)
    (variant,) = stage.variants
    assert stage.transient == 20
    assert (variant.saved, variant.forward_transient) == (20, 30)
    assert variant.backward_transient == 10


def test_shared_storage_counts_once() -> None:
    """A ReLU's output and the next layer's input are one storage."""
    layers = (
        square("a", "x", size=10),
        relu("r", "a", size=10, element=1),
        square("y", "r", size=10),
    )
    (variant,) = compose(
        Plan(name="s", layers=layers, inputs={"x": 10}), COUNTED
    ).variants
    assert variant.saved == 10


def test_residual_gradients_are_summed_out_of_place_while_shared() -> None:
    """y = f(x) + x: the gradient of y goes to both sides without a copy.

    f's backward allocates 10; the sum with the caller's gradient needs 10 more.
    """
    layers = (
        square("f", "x", size=10),
        add("y", "f", "x", size=10, element=1),
    )
    (variant,) = compose(
        Plan(name="s", layers=layers, inputs={"x": 10}), COUNTED
    ).variants
    assert variant.saved == 0
    assert variant.backward_transient == 20


def test_masks_live_while_needed() -> None:
    """Four bytes per element and one for its mask; the plain forward drops the mask."""
    layers = (drop_out("d", "x", size=10, element=4), square("y", "d", size=1))
    stage = compose(Plan(name="s", layers=layers, inputs={"x": 40}), COUNTED)
    (variant,) = stage.variants
    assert stage.transient == 50
    assert variant.saved == 40 + 10
    assert not variant.needs_input


def test_recomputed_region_comes_back_for_its_backward() -> None:
    """Dropping b of x -> a -> b -> y saves 10 bytes and costs one forward of b."""
    layers = (
        square("a", "x", size=10),
        square("b", "a", size=10),
        square("y", "b", size=10),
    )
    plan = Plan(
        name="s", layers=layers, inputs={"x": 10}, recomputed={"less": (("b",),)}
    )
    everything, less = compose(plan, COUNTED).variants
    assert (less.saved, everything.saved) == (10, 20)
    assert less.backward == everything.backward + 10
    # b dies before the end, but not before y is there.
    assert less.forward_transient == 30
    # b comes back (10) and d_b is allocated (20).
    assert less.backward_transient == 20


def test_casting_logits_leaves_single_precision_alone() -> None:
    """At four bytes per element there is nothing to cast."""
    names = [x.name for x in cross_entropy("x", rows=1, classes=2, element=4)]
    assert names == ["log_softmax", "nll"]


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    in_place=st.lists(st.booleans(), min_size=6, max_size=6),
    trained=st.booleans(),
)
def test_transients_cover_what_a_stage_yields(
    sizes: list[int], in_place: list[bool], trained: bool
) -> None:
    """A node's peak is never below the level that it leaves."""
    layers: list[Layer] = []
    source = "x"
    for i, size in enumerate(sizes):
        layers.append(
            linear(f"l{i}", source, rows=1, inner=1, outer=size, element=1, bias=False)
        )
        source = f"l{i}"
        if in_place[i]:
            layers.append(relu(f"r{i}", source, size=size, element=1))
            source = f"r{i}"
    plan = Plan(name="s", layers=tuple(layers), inputs={"x": 5})
    stage = compose(plan, COUNTED, input_trained=trained)
    (variant,) = stage.variants
    assert stage.transient is not None
    assert variant.forward_transient is not None
    assert variant.backward_transient is not None
    assert stage.output <= stage.transient <= variant.forward_transient
    assert variant.forward_transient >= stage.output + variant.saved
    assert variant.backward_transient >= (5 if trained else 0) - variant.saved


@pytest.mark.parametrize("drop", [True, False])
def test_given_tensors_cost_nothing_to_save(drop: bool) -> None:
    """A time step's data lies there anyway."""
    layers = [linear("y", "data", rows=1, inner=2, outer=3, element=1)]
    if drop:
        layers.append(drop_out("d", "y", size=3, element=1))
    plan = Plan(name="s", layers=tuple(layers), inputs={}, given=frozenset({"data"}))
    (variant,) = compose(plan, COUNTED).variants
    assert variant.saved == (3 if drop else 0)
    assert not variant.needs_input
