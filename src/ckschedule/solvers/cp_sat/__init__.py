"""Exact schedules of any graph: CP-SAT on retention intervals.

A value lives in *retention intervals*, each from a computation of its node to a free
(Bartan et al., "Moccasin", ICML 2023, arXiv 2304.14463). Variables are the moments at
which they start and end, and who serves whom::

    min  extra ticks
    s.t. for each need of a computation b, exactly one interval of that value has
         start + 1 <= start(b) and start(b) + 1 <= end      (end = start(b): consumed)
         sum of sizes of the intervals over any moment <= capacity

**Orders.** In the graph's order (`Order.GIVEN`), step k of n first runs at the end of
stage k and again only within later stages, at most once in each and in order:
Checkmate's frontier-advancing schedules (arXiv 1910.02653), at any number of
recomputations. So moment ``stage * n + k`` is affine in one variable with n values.
In any order (`Order.FREE`) computations take turns on a line as long as there can be
computations, and the proof ranges over all schedules.

**Copies.** Moccasin fixes two computations a node, and what it proves holds for no
more. Here a model has as many as a schedule below a *ceiling* could need
(`ckschedule.solvers.cp_sat.copies`), so that a proof is one for any number. For
graphs under weighted pebbling in their order, the memory at all first computations,
relaxed, bounds ticks and copies before any search (`...pricing`), and often ends it.

**Ceilings.** The ceiling is the incumbent, or a guess between the bound and it: below a
guess there are fewer copies, a proof that nothing is there raises the bound, and what
is found there is optimal when the model has been searched through. Models with too few
copies look for a first schedule only (`...rounds`).

**Trust.** Every schedule is simulated before it counts, and simulated ticks, not
CP-SAT's, are the ceiling. Linear programs only suggest multipliers, whose bounds are
recomputed in integers. Bytes that are too many for CP-SAT after division by their gcd
are rounded up; then nothing is claimed about optima.

Nodes from which no target can be reached are left out before anything else: a schedule
in the graph's order is one of those that are left.
"""

from ckschedule.solvers.cp_sat.solver import RetentionCpSat as RetentionCpSat
