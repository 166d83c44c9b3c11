"""Brackets of a chain's optimum by dynamic programming over discretised memory.

The recurrence is that of `ckschedule.solvers.chain_dp`, with its tables A(s, t), which
keeps the input x_{s-1} outside, and R(s, t), which counts it (X = x_{s-1}). Where exact
fronts grow too long, the least cost of an interval is tabulated at memory in multiples
of u bytes only, and rounded in one direction: downward. That gives a **lower bound**.
The **schedule** comes from a descent in exact bytes that uses the table as its
estimate.

**Grids.** Row [s, t] of table A is indexed by k and stands for

    m(k) = u k + theta_s + p_1 + ... + p_t    bytes;

table R for x_{s-1} bytes more. theta_{s+1} = theta_s - (x_s + s_s), with the saved
bytes of the stage's first variant. So k counts memory as if every stage before s were
recorded and every backward after t done, and

- recording a stage with its first variant keeps k: nothing is rounded;
- the left part of a cut, which gives P(q, t) away, keeps k: nothing is rounded;
- the right part R(q, t) goes from k to k + ceil((theta_s - theta_q - x_{q-1}) / u), for
  the sizes summed in bytes first: less than a unit is lost for each checkpoint that
  lives, whatever the number of stages between them. Other variants round likewise.

**The rows are lower bounds.** Let L(k) be the entry of [s, t] and C(m) its least cost
within m bytes, infinite below its least memory. Claim: L(k) <= C(m) for every m <= m(k)
that can come to [s, t]. By induction on length: take the option that attains C(m). In
L(k) the same option

- is admitted, since its thresholds (g_t + X + transients; the backward's need) are
  compared in bytes with m(k), which is no less than m;
- passes to each part m(k) less the sum of sizes that the recurrence takes off; the part
  is read at the least index whose memory is no less than that, so by induction the
  entry is no more than the part's cost within what it gets of m;
- adds its own time, rounded down to a multiple of the grid's unit of cost, which is one
  tick unless costs pass 2^29.

A finished row is stored in 16 bits an entry, relative to its last entry, rounded down
to a multiple of a power of two (its step), which is 1 unless the row's costs range over
more than 2^16.

Rows are cut at both ends. Below the exact least memory nothing fits. Above the memory
at which every stage can be recorded once, in its cheapest variant, costs cannot fall
further. And no more than the budget less x_{s-1} and the later parameter gradients can
come to [s, t], s > 1, because these always lie outside of it: a read beyond the least
index that covers this gets the entry there. The whole chain's grid is placed such that
the largest budget is on it.

**Cutting off.** If a schedule of cost U is known, an interval that runs within m bytes
in a better one costs less than U minus every other stage run once. A coarser grid
bounds its cost from below, so memory at which that is refuted is left out of finer
grids, and entries that are refuted in the same way need not be told apart, which keeps
steps small. The root then bounds every schedule cheaper than U, and the smaller of the
two is the bound.

**The schedule.** From the whole chain down, each interval is given exact bytes. Among
the options whose thresholds fit and whose parts get at least their exact least memory,
the one with the least estimate is taken: hence the result fits, whatever the estimates
are. Rows are optimistic by up to a unit for each checkpoint that lives at once, so they
are read somewhat lower; a few degrees of that are tried and the fastest schedule is
kept.

On 350 random stages the gap is about 1 to 2 % at 500 units in the budget, 0.1 to 0.2 %
at 3,000 to 4,000 and 0.07 % at 9,000; on 1,000 stages 3 to 7 % at 500, 0.3 to 0.7 % at
3,000.
"""

from ckschedule.solvers.slot_dp.bracket import Bracket as Bracket
from ckschedule.solvers.slot_dp.bracket import bracket_optimum as bracket_optimum
from ckschedule.solvers.slot_dp.solver import SlotDP as SlotDP
