"""The parts of an exported module that call torch; text only, torch is not imported."""

from typing import Final

TORCH_DOCSTRING: Final = '''\
"""A training schedule as nested ``torch.utils.checkpoint.checkpoint`` calls.

``run(stages, x)`` replaces the forward of the model; the loss is computed from what it
returns, and ``loss.backward()`` recomputes what the schedule recomputes.

What these calls cannot do, whatever the schedule:

* The peak is not promised. Autograd decides when a tensor is released: the input of a
  checkpoint lives until the backwards inside it have ended.
* A stage that is recomputed is called again, with all its side effects: BatchNorm
  updates its running statistics once more, counters count, hooks fire. Random numbers
  of torch are drawn anew as they were; those of ``random`` and of NumPy are not.
* Recomputing stops as soon as everything needed is there, possibly inside the last
  stage of a checkpoint, whose forward hooks do not fire then. Where no stage of a
  checkpoint saves anything, nothing is recomputed.
* A stage must do the same on every call. Torch notices other shapes and fewer saved
  tensors, but neither other values nor more saved tensors.
* A stage must not change its input in place where a checkpoint begins: torch refuses
  to run the backward.
* Tensors are released if a stage returns a tensor or a tuple of tensors. Those inside
  lists, dicts and tuples of tuples are held until the backward.
* Every further backward through the same graph (``retain_graph=True``) recomputes
  everything again. Where gradients are off, nothing is recomputed.
* A stage saves all that autograd wants it to: variants that save less are not exported.
* A few hundred levels of checkpoints reach Python's recursion limit; raise it by
  ``sys.setrecursionlimit``.
"""
'''
"""Docstring of the module, with the limits seen with torch 2.13."""

TORCH_IMPORTS: Final = """\
from functools import partial

from torch.utils.checkpoint import checkpoint
"""
"""All that the module needs."""

TORCH_RUN: Final = '''\
def run(stages, x):
    """Return the output of the last stage.

    Parameters
    ----------
    stages
        Callables in the order of ``STAGES``: a list, an ``nn.ModuleList`` or an
        ``nn.Sequential``. Each is called with what the one before it returned.
    x
        Input of the first stage.
    """
    if len(stages) != len(STAGES):
        raise ValueError(f"{len(stages)} stages given; the plan is for {len(STAGES)}")
    return _run(stages, _nest(PLAN, len(STAGES)), x)


def _run(stages, parts, x):
    for part in parts:
        if not isinstance(part, list):
            x = stages[part](x)
            continue
        inside = partial(_run, stages, part)
        if isinstance(x, tuple):
            # Only tensors that are arguments themselves are released in between.
            x = checkpoint(
                lambda *values, inside=inside: inside(values), *x, use_reentrant=False
            )
        else:
            x = checkpoint(inside, x, use_reentrant=False)
    return x
'''
"""The functions that run stages under the plan."""
