"""The memory bound of sqrt segments, exactly as it is documented."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import equal

from ckschedule.costs import Chain, Stage, Variant
from ckschedule.simulation import simulate
from ckschedule.solvers.baselines import SqrtSegments, sqrt_bound, sqrt_segment

size = st.integers(0, 20) | st.integers(0, 10**9)


@settings(max_examples=150)
@given(
    n=st.integers(1, 40) | st.integers(1, 300),
    output=size,
    saved=size,
    gradient=size,
    smallest=st.booleans(),
)
def test_sqrt_segments_keep_their_bound(
    n: int, output: int, saved: int, gradient: int, smallest: bool
) -> None:
    """2 sqrt(n x (x + s)) + (x + s) + 2 g, with one g less if transients are least."""
    variant = Variant(
        saved=saved, backward=1, backward_transient=0 if smallest else None
    )
    stage = Stage(output=output, forward=1, variants=(variant,), gradient=gradient)
    chain = Chain(input=output, stages=[stage] * n)
    trace = simulate(chain, SqrtSegments().schedule(chain))
    bound = sqrt_bound(n, output, saved, gradient)
    # With one stage the loss's own transient g is all there is.
    assert trace.activation_peak <= bound - (gradient if smallest else 0)
    assert max(trace.computations.values()) <= 2


def test_bound_is_nearly_met() -> None:
    """A bound with slack would hide a segment rule that got worse: n = 100, s = 0.

    10 checkpoints, 10 stages and two gradients: 22; the bound is 20 + 1 + 2.
    """
    chain = equal(100, gradient=None)
    trace = simulate(chain, SqrtSegments().schedule(chain))
    assert trace.activation_peak == 22
    assert sqrt_bound(100, 1, 0, 1) == 23


@given(n=st.integers(0, 10**6), output=size, saved=size)
def test_segment_size_is_the_rounded_up_root(n: int, output: int, saved: int) -> None:
    """m = ceil(sqrt(n x / (x + s))), in integers, and at least one step."""
    m = sqrt_segment(n, output, saved)
    x, s = (output, saved) if output + saved else (1, 0)
    assert m * m * (x + s) >= n * x
    assert m == 1 or (m - 1) ** 2 * (x + s) < n * x


def test_bound_of_no_stages_is_refused() -> None:
    """There is no such chain."""
    with pytest.raises(ValueError, match="n is 0"):
        sqrt_bound(0, 1, 1, 1)
