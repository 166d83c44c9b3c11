"""Training paths of equal nodes: a bound in closed form, for any order.

Checkmate's unit training chain (`ckschedule.catalog.training_path`): forward nodes
f_0, ..., f_k, each after the one before, then backward nodes b_{k-1}, ..., b_0, each
after the one before it (the first of them after f_k) and after its own f_i.

Claim. With room for B values and equal sizes and times, every schedule of it computes
at least ``k + 1 + p(k + 1, B - 2)`` nodes, where p is Revolve's number of advances
(Griewank and Walther 2000, doi:10.1145/347837.347846), and nothing fits below B = 3.

Proof. Write b_k = f_k and c = B - 2. Consider the last time at which no b lives before
b_0 is first computed: all b's are computed after it in turn. When f_k is, all of f_0,
..., f_{k-1} have been computed; whatever lives of them when b_{k-1} runs, one sweep
over f_0, ..., f_k would have left there, too. From then on some b lives; when b_i runs,
b_{i+1}, b_i and f_i live. So there remain at least k backwards, f_k, and the
computations of this game: values f_0, ..., f_{n-1} with n = k, used in falling order;
when one is used, at most c of them live, it included; when one is computed, at most
c + 1. (Below c = 1 nothing can be used.)

Let N(c, r) be the largest n for which it can be won with no value computed more than r
times. Then ``N(c, r) + 1 <= C(c + r, c)``. This holds for r = 0 and for c = 0, where N
is 0. Else put m = N(c, r - 1). Suppose that at some time after f_m was first computed
and before its use none of f_0, ..., f_m lived: from there on these m + 1 values are
computed from nothing, each at most r - 1 times, against the choice of m. So one of them
always lives, and f_{m+1}, ... are left a game with c - 1: ``N(c, r) <= N(c, r - 1) +
1 + N(c - 1, r)``, and Pascal's rule does the rest.

In any schedule that wins the game, merge each value that is computed more than r times
with the one before it, or with nothing if there is none: what remains is legal, holds
no more, and computes each value at most r times. So all but N(c, r) values are computed
more than r times, and all computations together are at least the sum over r >= 0 of
``max(0, n - N(c, r)) >= max(0, n + 1 - C(c + r, c))``, which is p(n + 1, c).

Graphs with more edges, larger sizes or longer times only need more: the bound holds for
them with the least size and the least time, beside one run of each node.
"""

from ckschedule.solvers.pebbling import Pebbling
from ckschedule.solvers.revolve import advances


def repeated(pebbling: Pebbling, budget: int) -> int | None:
    """Return how many recomputations a training path needs at least.

    Parameters
    ----------
    pebbling
        Any graph; one with the edges of a training path is recognised.
    budget
        Bytes.

    Returns
    -------
    int or None
        None if it is no training path, or if nothing fits.
    """
    k = turn(pebbling)
    room = slots(pebbling, budget)
    if k is None or room is None or room < 3:
        return None
    if room >= k + 2:
        return 0
    return k + 1 + advances(k + 1, room - 2) - len(pebbling)


def slots(pebbling: Pebbling, budget: int) -> int | None:
    """Return how many of the smallest values the budget holds; None for no limit."""
    least = int(pebbling.size.min()) if len(pebbling) else 0
    return max(0, budget - pebbling.base) // least if least else None


def turn(pebbling: Pebbling) -> int | None:
    """Return k of a graph with the edges of a training path of k + 1 forwards.

    None if it has not. Edges beyond those do no harm. Nodes stand in a topological
    order, and a path through all of them leaves no other: no search is needed.
    """
    n = len(pebbling)
    if n < 3 or n % 2 == 0:
        return None
    k = n // 2
    before = pebbling.predecessors
    for v in range(1, n):
        if v - 1 not in before[v]:
            return None
        if v > k and n - 1 - v not in before[v]:
            return None
    return k
