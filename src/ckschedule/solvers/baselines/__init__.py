"""Known constructions to compare with; each is still simulated like any schedule."""

from ckschedule.solvers.baselines.chen_budget import BudgetPlan as BudgetPlan
from ckschedule.solvers.baselines.chen_budget import ChenBudget as ChenBudget
from ckschedule.solvers.baselines.chen_budget import budget_plan as budget_plan
from ckschedule.solvers.baselines.chen_recursion import ChenRecursion as ChenRecursion
from ckschedule.solvers.baselines.chen_recursion import (
    recursion_checkpoints as recursion_checkpoints,
)
from ckschedule.solvers.baselines.chen_recursion import (
    recursion_forwards as recursion_forwards,
)
from ckschedule.solvers.baselines.cutting import segments as segments
from ckschedule.solvers.baselines.cutting import torch_segments as torch_segments
from ckschedule.solvers.baselines.fixed import EveryNth as EveryNth
from ckschedule.solvers.baselines.fixed import FirstN as FirstN
from ckschedule.solvers.baselines.fixed import RecomputeAll as RecomputeAll
from ckschedule.solvers.baselines.fixed import StoreAll as StoreAll
from ckschedule.solvers.baselines.fixed import UniformSegments as UniformSegments
from ckschedule.solvers.baselines.sqrt import SqrtSegments as SqrtSegments
from ckschedule.solvers.baselines.sqrt import sqrt_bound as sqrt_bound
from ckschedule.solvers.baselines.sqrt import sqrt_segment as sqrt_segment
