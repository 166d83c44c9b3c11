"""Evictions with known future: a schedule within milliseconds."""

from ckschedule.solvers.greedy.solver import GreedyEviction as GreedyEviction
