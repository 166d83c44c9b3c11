"""What a schedule does with each stage of a chain: what is kept, what runs again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, TypeAlias, assert_never

from ckschedule.costs.chain import Chain
from ckschedule.operations import Compute, Free
from ckschedule.simulation import Trace

Kept: TypeAlias = Literal["yes", "later", "no"]
"""Whether an output waits for the backward: since its first forward, or a later one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePlan:
    """What becomes of one stage.

    Attributes
    ----------
    recomputed
        Forwards beyond the first.
    variant
        What is saved for the backward; None for a frozen stage.
    checkpoint
        Whether the output is kept. "yes" if it lies there when the first backward
        begins, "later" if a forward starts from it after that.
    """

    recomputed: int
    variant: str | None
    checkpoint: Kept


def stage_plans(trace: Trace, chain: Chain) -> list[StagePlan]:
    """Return the plan of each stage, the loss last; O(operations)."""
    variants: dict[int, str] = {}
    for operation in trace.schedule:
        if isinstance(operation, Compute) and operation.node.startswith("B"):
            variants[int(operation.node[1:])] = operation.mode
    kept, started = _kept_at_first_backward(trace), _started_from(trace)
    plans = []
    for i in range(1, len(chain.sequence) + 1):
        checkpoint: Kept = "no"
        if f"x{i}" in kept:
            checkpoint = "yes"
        elif i in started:
            checkpoint = "later"
        plans.append(
            StagePlan(
                recomputed=trace.recomputations.get(f"F{i}", 0),
                variant=variants.get(i),
                checkpoint=checkpoint,
            )
        )
    return plans


def _kept_at_first_backward(trace: Trace) -> set[str]:
    modes = {
        (node.name, mode.name): mode
        for node in trace.graph.nodes
        for mode in node.modes
    }
    live = set(trace.graph.inputs)
    for operation in trace.schedule:
        match operation:
            case Compute(node, mode):
                if node.startswith("B"):
                    break
                live.update(modes[node, mode].outputs)
            case Free(value):
                live.discard(value)
            case _:
                assert_never(operation)
    # Saved tensors that hold an output keep it, whether or not it was freed itself.
    held = {name for v in trace.graph.values if v.name in live for name in v.holds}
    return live | held


def _started_from(trace: Trace) -> set[int]:
    """Return the stages whose outputs a forward reads that did not just make them."""
    started, previous = set(), 0
    for operation in trace.schedule:
        if isinstance(operation, Compute):
            forward, i = operation.node.startswith("F"), int(operation.node[1:])
            if forward and i != previous + 1:
                started.add(i - 1)
            previous = i if forward else -1
    return started


def joined(plans: Sequence[StagePlan]) -> Iterator[tuple[range, StagePlan]]:
    """Give runs of neighbours with one plan, each as the range of their indices."""
    start = 0
    for plan, run in groupby(plans):
        end = start + len(list(run))
        yield range(start, end), plan
        start = end


def plan_facts(trace: Trace, chain: Chain) -> list[dict[str, Any]]:
    """Return the plan of each stage as plain data."""
    return [
        {
            "name": stage.name,
            "recomputed": plan.recomputed,
            "saved_as": plan.variant,
            "checkpoint": plan.checkpoint,
        }
        for stage, plan in zip(chain.sequence, stage_plans(trace, chain), strict=True)
    ]
