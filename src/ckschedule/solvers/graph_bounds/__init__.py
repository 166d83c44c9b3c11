"""Lower bounds on time and memory of graphs, proved without a search.

They are cheap, hold for every schedule of their scope, and depend on no solver: a check
on the bounds that solvers claim, and a start for those that find none of their own.
"""

from ckschedule.solvers.graph_bounds.bounds import Bound as Bound
from ckschedule.solvers.graph_bounds.bounds import (
    combinatorial_bound as combinatorial_bound,
)
from ckschedule.solvers.graph_bounds.bounds import (
    proves_infeasible as proves_infeasible,
)
from ckschedule.solvers.graph_bounds.memory import LeastBudget as LeastBudget
from ckschedule.solvers.graph_bounds.memory import least_budget as least_budget
