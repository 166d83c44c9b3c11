"""The parts of an exported module that call JAX; text only, JAX is not imported."""

from typing import Final

JAX_DOCSTRING: Final = '''\
"""A training schedule as nested ``jax.checkpoint`` calls.

``run(stages, x)`` replaces the forward of the model; the loss is computed from what it
returns, and ``jax.grad`` of that recomputes what the schedule recomputes.

What these calls cannot do, whatever the schedule:

* The peak is not promised. Under ``jax.jit`` XLA orders the operations and decides when
  an array is released. On a CPU its compiler merges part of what is computed twice:
  less is recomputed than in the traced program, and the peak may even rise.
* JAX drops from a recomputation what no derivative needs, such as the last operation of
  a checkpoint if its output is only passed on.
* A stage that is recomputed repeats its side effects: ``jax.debug`` prints again.
* A stage saves all that its derivative needs: variants that save less are not exported.
* Some fifty levels of checkpoints reach Python's recursion limit; raise it by
  ``sys.setrecursionlimit``. Tracing time grows faster than the number of levels.
"""
'''
"""Docstring of the module, with the limits seen with JAX 0.10."""

JAX_IMPORTS: Final = """\
from functools import partial

import jax
"""
"""All that the module needs."""

JAX_RUN: Final = '''\
def run(stages, x):
    """Return the output of the last stage.

    Parameters
    ----------
    stages
        Functions in the order of ``STAGES``, each called with what the one before it
        returned, any pytree. Parameters are bound to them, as in
        ``[partial(f, p) for f, p in zip(functions, parameters)]``, and are
        differentiated like any others.
    x
        Input of the first stage.
    """
    if len(stages) != len(STAGES):
        raise ValueError(f"{len(stages)} stages given; the plan is for {len(STAGES)}")
    return _run(stages, _nest(PLAN, len(STAGES)), x)


def _run(stages, parts, x):
    for part in parts:
        if isinstance(part, list):
            x = jax.checkpoint(partial(_run, stages, part))(x)
        else:
            x = stages[part](x)
    return x
'''
"""The functions that run stages under the plan."""
