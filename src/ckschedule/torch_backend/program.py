"""A schedule of a chain as the executor reads it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ckschedule.costs.lowering import PLAIN
from ckschedule.errors import PlanMismatchError
from ckschedule.operations import Compute, Free, Operation
from ckschedule.schedule import Schedule

FORWARD: Final = 0
BACKWARD: Final = 1
FREE: Final = 2
FORGET: Final = 3


@dataclass(frozen=True, slots=True)
class Step:
    """One operation, by the stage it is about.

    Attributes
    ----------
    kind
        FORWARD, BACKWARD, FREE of an output, or FORGET saved tensors.
    stage
        1 to n; for FREE the index of the value, 0 for the input.
    mode
        Of a forward: "plain" or the variant's name.
    plain
        Whether it is a forward that saves nothing.
    """

    kind: int
    stage: int
    mode: str = ""
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Leg:
    """The steps between two moments at which the caller's graph is met.

    Attributes
    ----------
    start, end
        Positions in the program.
    before
        Steps up to the one that the leg leads to.
    step
        That one: a stage's first forward, or its backward.
    frees
        Outputs that are freed right after it: what the schedule frees there and, after
        a backward, the stage's input and output, unless they are read again.
    """

    start: int
    end: int
    before: tuple[Step, ...]
    step: Step
    frees: tuple[int, ...]


def read_legs(steps: Sequence[Step]) -> tuple[dict[int, Leg], dict[int, Leg]]:
    """Return the legs that lead to each stage's first forward, and to its backward.

    O(steps).
    """
    dead = _dead_after_backward(steps)
    forwards: dict[int, Leg] = {}
    backwards: dict[int, Leg] = {}
    start = position = 0
    while position < len(steps):
        step = steps[position]
        position += 1
        legs = forwards if step.kind == FORWARD else backwards
        if step.kind not in (FORWARD, BACKWARD) or step.stage in legs:
            continue
        frees = list(dead.get(position - 1, ()))
        end = position
        while end < len(steps) and steps[end].kind == FREE:
            frees.append(steps[end].stage)
            end += 1
        before = tuple(steps[start : position - 1])
        legs[step.stage] = Leg(
            start, end, before, step, tuple(free for free in frees if free)
        )
        start = position = end
    return forwards, backwards


def _dead_after_backward(steps: Sequence[Step]) -> dict[int, list[int]]:
    """Return for each backward's position which of its two cuts nothing reads later.

    A schedule frees them a little later; gradients of parameters are added up before.
    """
    read: dict[int, bool] = {}
    dead = {}
    for position in range(len(steps) - 1, -1, -1):
        step = steps[position]
        if step.kind == FORWARD:
            read[step.stage] = False
            read[step.stage - 1] = True
        elif step.kind == BACKWARD:
            cuts = (step.stage, step.stage - 1)
            dead[position] = [cut for cut in cuts if cut and not read.get(cut, False)]
    return dead


def read_program(schedule: Schedule, stages: int) -> tuple[Step, ...]:
    """Return a schedule's operations as steps; O(operations).

    Parameters
    ----------
    schedule
        Over the names that a chain lowers to.
    stages
        n, the loss included.

    Raises
    ------
    PlanMismatchError
        If it names a stage beyond n, or what no chain has, or does not compute and
        differentiate every stage.
    """
    steps: list[Step] = []
    known: dict[Operation, Step] = {}
    for index, operation in enumerate(schedule):
        step = known.get(operation) or _read(operation)
        if operation not in known:
            if step is None or step.stage > stages:
                raise PlanMismatchError(
                    f"operation {index} of the plan is {operation}, which a model of "
                    f"{stages} stages (the loss included) does not have"
                )
            known[operation] = step
        steps.append(known[operation])
    present = {step.stage for step in steps if step.kind == FORWARD}
    missing = [i for i in range(1, stages + 1) if i not in present]
    if missing:
        raise PlanMismatchError(
            f"the plan never computes stage {missing[0]} of {stages} (the loss "
            f"included); it was made for another model"
        )
    return tuple(steps)


def _read(operation: Compute | Free) -> Step | None:
    match operation:
        case Compute(node, mode):
            kind, number = node[:1], node[1:]
            if kind in "FB" and number.isdecimal():
                if kind == "F":
                    return Step(FORWARD, int(number), mode, mode == PLAIN)
                return Step(BACKWARD, int(number))
        case Free(value):
            kind, number = value[:1], value[1:].partition(":")[0]
            if kind in "xs" and number.isdecimal():
                return Step(FREE if kind == "x" else FORGET, int(number))
    return None
