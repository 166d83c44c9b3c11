"""From bytes to slots: what a uniform chain needs while a step is being reversed.

When step i is about to be reversed, its input is there and with it at most the slots'
states; so at most ``min(i, m)`` states for ``m = slots + 1``: those of the slots and
the current one. Beyond them live the parameter gradients of the later steps, (n - i) p,
and the working memory of the step itself. Only step 1, whose backward may yield
nothing, and step n, which the loss follows, differ from the others in that.
"""

from ckschedule.costs.chain import Chain
from ckschedule.solvers.revolve.shape import Shape, uniform_shape


def slots_for(chain: Chain, budget: int) -> int:
    """Return the most slots with which Revolve's schedule keeps a budget.

    The first slot is the initial state's, ``x_0``, which the chain always has; each
    further one costs x bytes. Set apart are the static bytes; the current state, x
    (unless the chain has one step); the working memory of the reversed step,
    ``g + max(tR, s + x + tB)`` with what flags and chain ends take off it; plain
    transients; and the parameter gradients. These grow as the backward goes: p a step,
    while from step m = slots + 1 on fewer states than slots can exist. So the largest m
    is sought for which ``x_0 + (min(i, m) - 1) x + (n - i) p + working(i)`` fits for
    every step i.

    Parameters
    ----------
    chain
        A uniform chain, see `ckschedule.solvers.revolve.shape`.
    budget
        Bytes, static bytes included.

    Returns
    -------
    int
        From 0, for a budget below that of one slot, to max(1, n - 1), beyond which
        slots gain nothing.

    Raises
    ------
    UnsupportedModelError
        If the chain is not uniform.

    Notes
    -----
    O(log n).

    Examples
    --------
    >>> from ckschedule.catalog import uniform
    >>> [slots_for(uniform(stages=4, saved=1), budget) for budget in range(4, 9)]
    [0, 0, 1, 2, 3]
    """
    return slots_within(uniform_shape(chain), budget)


def peak(shape: Shape, slots: int) -> int:
    """Return bytes that Revolve's schedule with these slots never passes; O(1)."""
    m = slots + 1 if shape.steps > 1 else 1
    return max(
        _states(shape, i, m) + max(_working(shape, i), _plain(shape, i))
        for i in _critical(shape, m)
    )


def slots_within(shape: Shape, budget: int) -> int:
    """Return the most slots whose `peak` keeps the budget, 0 if none; O(log n)."""
    low, high = 0, max(1, shape.steps - 1)
    while low < high:
        middle = (low + high + 1) // 2
        if peak(shape, middle) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def least_peak(shape: Shape) -> int:
    """Return bytes that no single-tape schedule undercuts.

    Each step is reversed once while ``x_0`` and its input live, and to reach the
    last step's input, a forward runs on the state before it.
    """
    m = min(shape.steps, 2)
    least = max(_states(shape, i, m) + _working(shape, i) for i in _critical(shape, m))
    if shape.steps > 1:
        forward = min(shape.stage.transient or 0, shape.variant.forward_transient or 0)
        states = shape.input + (shape.stage.output if shape.steps > 2 else 0)
        least = max(least, shape.static + states + forward)
    return least


def slots_at_most(shape: Shape, budget: int) -> int:
    """Return slots that no single-tape schedule within the budget can make more of.

    The states at the reversal of the last two steps bound those of all others,
    whose parameter gradients leave less. Between two reversals more states may
    exist, but none that helps: those no longer needed can go first, and the others
    are there at the next reversal.
    """
    most = 2
    for i in {shape.steps, max(1, shape.steps - 1)}:
        left = budget - _states(shape, i, 1) - _working(shape, i)
        size = shape.stage.output
        extra = shape.steps if size == 0 else max(0, left) // size
        most = max(most, min(i, 1 + extra))
    return most - 1


def _critical(shape: Shape, m: int) -> set[int]:
    # Between steps 2 and n - 1 the level is linear in i up to m, and falls after.
    n = shape.steps
    return {1, min(2, n), max(1, n - 1), n, min(max(m, 1), n)}


def _states(shape: Shape, i: int, m: int) -> int:
    """Return bytes of all that outlives the reversal of step i."""
    later = (shape.steps - i) * shape.stage.parameter_gradient
    states = shape.input + (min(i, m) - 1) * shape.stage.output
    return shape.static + states + later


def _working(shape: Shape, i: int) -> int:
    """Return the bytes that reversing step i takes beyond `_states`."""
    output, variant = shape.stage.output, shape.variant
    gradient, last = shape.stage.gradient or 0, i == shape.steps
    # The chain's input is pinned; another state goes unless the tape holds it.
    taped = variant.saved - (0 if variant.needs_input or i == 1 else output)
    own = shape.first_transient if i == 1 else variant.backward_transient or 0
    forward = (0 if last else gradient) + (variant.forward_transient or 0)
    backward = gradient + taped + output * variant.needs_output + own
    if not last:
        return max(forward, backward)
    held = output * (variant.needs_output or shape.loss.needs_input)
    loss = taped + held + (shape.loss.backward_transient or 0)
    return max(forward, backward, loss)


def _plain(shape: Shape, i: int) -> int:
    """Return what a sweep towards step i takes beyond `_states`, or 0 without."""
    if i == 1:
        return 0
    gradient = 0 if i == shape.steps else shape.stage.gradient or 0
    return gradient + (shape.stage.transient or 0)
