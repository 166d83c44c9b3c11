"""Many questions at once: the front of a model, and models by budgets by solvers."""

from ckschedule.sweeping.fronts import pareto as pareto
from ckschedule.sweeping.tasks import SweepRecord as SweepRecord
from ckschedule.sweeping.tasks import sweep as sweep
