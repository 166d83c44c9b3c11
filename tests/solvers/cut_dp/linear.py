"""The optimum of Checkmate's linear training graph, in closed form."""

from ckschedule.solvers.revolve import advances


def linear_optimum(k: int, budget: int) -> int:
    """Return the least ticks of ``catalog.training_path(k)`` within 3 bytes or more.

    The loss and the backwards run once. A forward value is a state of binomial
    checkpointing as well as what its backward reads, two bytes are the gradients' and
    the working value's: p(k + 1, budget - 2) forwards.
    """
    return k + 1 + advances(k + 1, budget - 2)
