"""Searches that share nothing with the solvers but the meaning of a chain."""
