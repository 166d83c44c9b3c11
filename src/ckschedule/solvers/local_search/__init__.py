"""Simulated annealing over sequences of computations, for graphs of any size."""

from ckschedule.solvers.local_search.solver import LocalSearch as LocalSearch
