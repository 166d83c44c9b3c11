"""Leaf tensors of a recorded stage: all that its gradient has to reach."""

from collections import Counter
from typing import Any, NamedTuple

import torch
from torch.autograd.graph import GradientEdge

from ckschedule.errors import UnfaithfulStageError
from ckschedule.torch_backend.stage import TorchStage
from ckschedule.torch_backend.tape import Tape


def sequence_number() -> int:
    """Return a number that later nodes of this thread's graphs exceed."""
    with torch.enable_grad():
        marker = torch.empty(0, requires_grad=True).view(0)
    assert marker.grad_fn is not None, "made just now"
    return int(marker.grad_fn._sequence_nr())


class Leaves(NamedTuple):
    """Leaf tensors that a tape uses.

    Attributes
    ----------
    unnamed
        Those that no gradient is asked for.
    repeated
        Identities of those that it uses more than once.
    recurrent
        Whether it holds a fused recurrent layer: on the CPU another kernel runs where
        nothing needs a gradient.
    """

    unnamed: tuple[torch.Tensor, ...]
    repeated: frozenset[int]
    recurrent: bool


def find_leaves(stage: TorchStage, tape: Tape, known: set[int], start: int) -> Leaves:
    """Return the leaf tensors that a tape uses; refuse other stages' graphs.

    Parameters
    ----------
    stage, tape
        What was recorded.
    known
        Identities of the leaves that gradients are asked for anyway.
    start
        From `sequence_number`, just before recording.

    Raises
    ------
    UnfaithfulStageError
        If the stage used a tensor that another stage computed and that did not come to
        it as an argument: its gradient would be lost.
    """
    found: dict[int, Any] = {}
    uses: Counter[int] = Counter()
    recurrent = False
    waiting = [edge.node for edge in tape.outputs if edge is not None]
    ends = {id(edge.node) for edge in tape.inputs if isinstance(edge, GradientEdge)}
    seen = set(ends)
    keep = []
    while waiting:
        node = waiting.pop()
        if (leaf := getattr(node, "variable", None)) is not None:
            uses[id(leaf)] += 1
        if id(node) in seen:
            continue
        seen.add(id(node))
        keep.append(node)
        recurrent = recurrent or "Rnn" in node.name()
        if leaf is not None:
            if id(leaf) not in known:
                found[id(leaf)] = leaf
            continue
        if node._sequence_nr() < start:
            raise UnfaithfulStageError(
                f"stage {stage.name!r} uses a tensor that was computed outside of it "
                f"({node.name()}) and is not the output of the stage before; its "
                f"gradient would be lost: put both into one stage, or pass it on as "
                f"an output"
            )
        waiting.extend(n for n, _ in node.next_functions if n is not None)
    repeated = frozenset(key for key, count in uses.items() if count > 1)
    # A backward that accumulates by itself reaches all leaves, named or not.
    unnamed = () if stage.inner_backward else tuple(found.values())
    return Leaves(unnamed, repeated, recurrent)
