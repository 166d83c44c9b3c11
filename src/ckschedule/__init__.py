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

import lazy_loader

# Names come from the stub beside this file, each imported when it is first used: a
# script that only builds a chain does not wait for solvers and documents.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
