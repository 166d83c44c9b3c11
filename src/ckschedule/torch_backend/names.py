"""Names of stages: how a plan that came from a file finds its modules again.

"start" is what the model does before its first named stage, "end" the rest with the
loss; "layers.3" is a module, "cell#2" the second call of one, and "0+1" two calls that
make one stage.
"""

from collections.abc import Sequence
from typing import Final

START: Final = "start"
"""The stage before the first module."""

END: Final = "end"
"""The loss, with what the model does after the last stage."""


def call_name(path: str, call: int) -> str:
    """Return the name of the ``call``-th call (from 1) of a module."""
    return path if call == 1 else f"{path}#{call}"


def stage_name(calls: Sequence[str]) -> str:
    """Return the name of a stage of several calls."""
    return "+".join(calls)


def modules_of(stage: str) -> list[str]:
    """Return the module paths of a stage, in the order of their calls."""
    return [call.partition("#")[0] for call in stage.split("+")]
