"""Binomial checkpointing of uniform chains: counts, schedules as streams, a solver."""

from ckschedule.solvers.revolve.binomial import Action as Action
from ckschedule.solvers.revolve.binomial import RevolveArrays as RevolveArrays
from ckschedule.solvers.revolve.binomial import revolve_actions as revolve_actions
from ckschedule.solvers.revolve.binomial import revolve_arrays as revolve_arrays
from ckschedule.solvers.revolve.counts import advances as advances
from ckschedule.solvers.revolve.counts import beta as beta
from ckschedule.solvers.revolve.counts import first_advance as first_advance
from ckschedule.solvers.revolve.counts import mixed_forwards as mixed_forwards
from ckschedule.solvers.revolve.counts import repetitions as repetitions
from ckschedule.solvers.revolve.rule import ADVANCE as ADVANCE
from ckschedule.solvers.revolve.rule import REVERSE as REVERSE
from ckschedule.solvers.revolve.rule import STORE as STORE
from ckschedule.solvers.revolve.slots import slots_for as slots_for
from ckschedule.solvers.revolve.solver import Revolve as Revolve
