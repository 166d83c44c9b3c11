"""Optimal activation checkpointing: exact schedules under a memory budget.

>>> import ckschedule as ck
>>> chain = ck.catalog.uniform(stages=8, saved=2)
>>> front = ck.pareto(chain)
>>> point = front.at("60%")
>>> point.peak, point.makespan
(16, 20)
>>> str(ck.solve(chain, "60%").status)
'optimal'
"""

from ckschedule import catalog as catalog
from ckschedule import errors as errors
from ckschedule.costs import Chain as Chain
from ckschedule.costs import Device as Device
from ckschedule.costs import Graph as Graph
from ckschedule.costs import Mode as Mode
from ckschedule.costs import Node as Node
from ckschedule.costs import Stage as Stage
from ckschedule.costs import StaticMemory as StaticMemory
from ckschedule.costs import Value as Value
from ckschedule.costs import Variant as Variant
from ckschedule.documents import from_json as from_json
from ckschedule.documents import json_schema as json_schema
from ckschedule.documents import read_json as read_json
from ckschedule.documents import read_model as read_model
from ckschedule.documents import to_json as to_json
from ckschedule.documents import write_json as write_json
from ckschedule.front import ParetoFront as ParetoFront
from ckschedule.front import ParetoPoint as ParetoPoint
from ckschedule.importers import import_model as import_model
from ckschedule.operations import Compute as Compute
from ckschedule.operations import Free as Free
from ckschedule.operations import Operation as Operation
from ckschedule.result import Result as Result
from ckschedule.result import Scope as Scope
from ckschedule.result import Status as Status
from ckschedule.schedule import Schedule as Schedule
from ckschedule.simulation import Trace as Trace
from ckschedule.simulation import simulate as simulate
from ckschedule.solvers.auto import AutoSolver as AutoSolver
from ckschedule.solvers.base import AbstractSolver as AbstractSolver
from ckschedule.solvers.base import Proposal as Proposal
from ckschedule.solvers.baselines import ChenBudget as ChenBudget
from ckschedule.solvers.baselines import ChenRecursion as ChenRecursion
from ckschedule.solvers.baselines import EveryNth as EveryNth
from ckschedule.solvers.baselines import FirstN as FirstN
from ckschedule.solvers.baselines import RecomputeAll as RecomputeAll
from ckschedule.solvers.baselines import SqrtSegments as SqrtSegments
from ckschedule.solvers.baselines import StoreAll as StoreAll
from ckschedule.solvers.baselines import UniformSegments as UniformSegments
from ckschedule.solvers.chain_dp import ChainDP as ChainDP
from ckschedule.solvers.exhaustive import Exhaustive as Exhaustive
from ckschedule.solvers.revolve import Revolve as Revolve
from ckschedule.solvers.slot_dp import SlotDP as SlotDP
from ckschedule.solving import solve as solve
from ckschedule.sweeping import pareto as pareto

__version__ = "0.1.0"
