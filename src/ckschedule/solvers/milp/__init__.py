"""Checkmate's staged rematerialisation program, solved by HiGHS.

**Stages.** Stage t ends with the first computation of node t; before it, in the graph's
order, other nodes i < t may run again, each at most once [1]_. Binary variables:

- R(t, i): node i runs in stage t; R(t, t) = 1.
- S(t, i): value i lies there when stage t begins; S(n, i) = 1 if it stays to the end.
- A(t, i, j): value i lies there just before its user j would run in stage t.

With the users j_1 < ... < j_d of i that may run in stage t, A(t, i, j_1) stands for
R(t, i) + S(t, i), which is at most 1, and A(t, i, j_{d+1}) for S(t + 1, i). ::

    minimise   sum of time_i R(t, i), i < t
    R(t, j_m)         <= A(t, i, j_m)      a value is there when it is read
    A(t, i, j_{m+1})  <= A(t, i, j_m)      and does not come back by itself
    level(t, k)       <= budget            for each k that may run in stage t

    level(t, k) = (size_k + extra_k) R(t, k) + size_k S(t, k)
                  + sum of size_i S(t, i), k < i < t
                  + sum of size_i A(t, i, j), i < k, j the first user from k on

A take the place of Checkmate's U and FREE: value i is freed after j_m where
A(t, i, j_m) > A(t, i, j_{m+1}). There are as many as FREE, but the rows need no large
constants, and the relaxation is tighter for it. Where the level rows would have too
many entries, the levels become variables, and rows hold their differences.

**It ranges over all staged schedules.** From a schedule take R, and free every value
after its last read before it is next computed, or where it was computed if there is
none: no level rises. A value that lies there from the beginning of a stage need not be
computed in it, and one computed in it need not lie there before: nobody reads it before
that, for users come later in the order. So R + S <= 1, and all rows hold. Conversely,
what satisfies the rows has each value there when it is read, within the budget at each
computation; levels in between are no higher. Nodes that run once have R(t, i) = 0 for
i < t, values that stay S(t, i) = 1 for all t > i, and both only fix variables.

**Variables that are left out.** Some runs cannot be part of a schedule within the
budget, or of one better than the best that is known: see `fixing`. A value that can
neither be read nor computed in stage t has S(t + 1, i) = S(t, i), one variable: if it
is not kept on, it was not worth keeping into t. S(t, i) = 0 after the last stage that
can read it, and 1 up to the first computation of a user if it cannot be computed again
until then. Where a user is the stage's own node, A = 1 for all users before. Then
multipliers of the relaxation rule out further ones, given a good schedule: see
`tightening`. Schedules come from other solvers and from rounding the relaxation. Of
Checkmate's ResNet-50 (353 nodes) at 90 % of its peak, 62 thousand runs may be chosen at
first, and 224 thousand variables are left; with a schedule 0.12 % above running
everything once 23 and 70 thousand, after the relaxation 1 and 4 thousand.

**Numbers.** Sizes are divided by what they have in common and then by a power of two,
hence exactly, to at most 2^16. The budget of the program is raised by what rounding can
add up to, but no more than half a unit if sizes are small integers: no schedule is
lost, hence "infeasible" does not hang on a tolerance. What HiGHS finds is simulated in
integers. If it passes the budget all the same, the program is solved once more with the
budget lowered as much; the bound stays that of the first. Bounds of relaxations are
computed from their multipliers, and hold however far HiGHS came.

References
----------
.. [1] Jain et al. (2020). Checkmate: Breaking the memory wall with optimal tensor
   rematerialization. MLSys. arXiv:1910.02653.
"""

from ckschedule.solvers.milp.bound import lp_bound as lp_bound
from ckschedule.solvers.milp.relaxed import LpRounding as LpRounding
from ckschedule.solvers.milp.solver import Milp as Milp
