"""Recomputation between lower sets of the forward graph, after Kusumoto et al.

`lower_set_dp` solves the paper's model on arrays; `LowerSetDP` makes schedules of
training graphs from its answers. See `ckschedule.solvers.lower_sets.model`.
"""

from ckschedule.solvers.lower_sets.solver import LowerSetDP as LowerSetDP
