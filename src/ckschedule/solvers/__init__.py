"""Solvers: each an immutable settings value that proposes schedules."""
