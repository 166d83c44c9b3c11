"""Exact Pareto fronts of chains among persistent schedules.

A schedule of a chain is *persistent* when each backward runs once; saved tensors end
only in their own backward, and while they live their stage is not computed again; an
output that stays live across any computation but the next stage's is, once freed, never
computed from again; and between two backwards at most one sweep of consecutive forwards
runs, ending with a recording for the next backward.

Memory is relative to everything outside the interval [s, t], the parameter gradients of
later stages included. A(s, t) keeps the input x_{s-1} outside throughout (X = 0);
R(s, t) counts it and releases it at its last use (X = x_{s-1}). Both are sets of
(memory, time) points, and a maximum or a sum of two sets is taken over all pairs of
points. With A(t+1, t) = R(t+1, t) = {(g_t, 0)} and P(a, b) = p_a + ... + p_b, the
fronts of T in {A, R} are the non-dominated points of these options.

Cut at q, s < q <= t: run s..q-1 plainly, keep x_{q-1}, finish q..t, then s..q-1. ::

    memory = max(g_t + X + tF_s,
                 g_t + X + x_{j-1} + tF_j       for s < j < q,
                 X + R(q, t),
                 P(q, t) + T(s, q-1))
    time   = f_s + ... + f_{q-1} + time R(q, t) + time T(s, q-1)

Record s in variant v, with K = s_s^v + (X if needs_input). ::

    memory = max(g_t + X + tR_s^v,
                 K + x_s + A(s+1, t)  if needs_output  else  K + R(s+1, t),
                 g_s + K + (x_s if needs_output) + P(s+1, t) + tB_s^v)
    time   = f_s^v + b_s^v + time of the right part

Frozen s: run it plainly and go on. ::

    memory = max(g_t + X + tF_s, R(s+1, t)),  time = f_s + time R(s+1, t)

An interval without any backward costs (0, 0). The answer is x_0 + A(1, n).

Unlike in rotor (Beaumont et al., arXiv 1911.13214), whose recurrence this extends,
memory is exact, stages have variants and flags, parameter gradients accumulate while
the backward goes, and a cut is charged with the transients of the stages before it
only.
"""

from ckschedule.solvers.chain_dp.solver import ChainDP as ChainDP
