"""Good schedules of training graphs, by dynamic programming over cuts.

A graph turns somewhere: nodes before the turn are its forward part, cut into units
1 .. L, nodes from there on its backward part, in their order. Each backward node has an
anchor, the unit up to which forward values are at hand when it runs; anchors fall from
L to 0 (`ckschedule.solvers.cut_dp.training`).

A cut after unit c keeps X_c, what crosses it. For i < k < j, nested cuts share what
both keep: D(i, k) are the bytes of X_k from units beyond i, D'(i, k) those that are
still needed after the prelude of k, the backward nodes anchored there that need no more
than X_k (`ckschedule.solvers.cut_dp.costs`). Let G_j be the level of gradients after
the prelude of j, w_c the bytes that running unit c adds to X_{c-1}, P_k and R_j the
most bytes that the prelude of k and the other nodes anchored at j take beside forward
values. T(i, j) is how long the backward between cuts i and j takes beyond its own
nodes, as a function of memory, while X_i is kept outside and X_j lies there::

    T(j-1, j):  memory = D'(j-1, j) + max(R_j, G_j),  time = 0

    T(i, j), advancing to a cut k, i < k < j:
        memory = max(G_j + D'(c-1, j) + D(i, c-1) + w_c    for i < c <= k,
                     D(i, k) + P_k,
                     D(i, k) + T(k, j),
                     T(i, k))
        time   = time of units i+1 .. k without what X'_j has
                 + time T(k, j) + time T(i, k)

Keeping everything is to advance by one unit again and again; the whole is T(0, L + 1)
for a cut L + 1 that is the turn itself, whose first advances cost nothing. Units of
several nodes may keep their inner values from the advance to their own backward, too.

The units of a path have one value each: the recurrence then is that of binomial
checkpointing (Griewank, Walther, doi:10.1145/347837.347846), and exact. Elsewhere it is
an estimate, for memory is counted in slots, values that are read out of turn are not
accounted for one by one, and all of a cut is kept or none. The answers for memories
around the budget are written as sequences of computations, measured exactly, repaired
where they pass the budget, and improved by taking repetitions out and repairing again
(`ckschedule.solvers.cut_dp.sequences`).
"""

from ckschedule.solvers.cut_dp.solver import CutDP as CutDP
