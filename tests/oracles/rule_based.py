"""Persistent schedules by their rules: Dijkstra over live sets, for tiny chains.

The rules, with t the stage whose backward comes next:

- P1: each backward runs once.
- P2: saved tensors end only in their own backward, and while they live their stage is
  not computed again.
- P3: if x_i stays live across a computation other than the F_{i+1} directly following
  its own, then once it is freed F_{i+1} is never computed again.
- P4: between two consecutive backwards there is at most one sweep F_a, F_{a+1}, ...,
  F_t of consecutive stages, ending with t recorded; none starts if s_t is live.

Nothing here knows the recurrence: a state is what lives and what the rules remember.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count

from ckschedule.costs import Chain

Point = tuple[int, int, int]
"""Peak, ticks, forward executions."""


@dataclass(frozen=True, order=True)
class State:
    """Stages are numbered 1..n; bit i of a mask stands for x_i or for stage i.

    ``tapes`` has the recorded variant of each stage, -1 for none. ``stayed`` are the
    live outputs that rule P3 has noticed, ``banned`` the stages that it forbids.
    ``sweep`` is the stage that ran last since the last backward, 0 for none.
    """

    turn: int
    outputs: int
    tapes: tuple[int, ...]
    stayed: int
    banned: int
    sweep: int


def persistent_front(chain: Chain) -> list[Point]:
    """Return all non-dominated (peak, ticks, executions), peak rising; static left out.

    For each peak and time the fewest executions.
    """
    n = len(chain.sequence)
    last = chain.frozen_prefix + 1
    start = State(turn=n, outputs=1, tapes=(-1,) * (n + 1), stayed=0, banned=0, sweep=0)
    # Labels leave the queue by (ticks, executions, peak): one is useful only if its
    # peak is below all peaks that reached its state before.
    order = count()
    queue = [(0, 0, chain.input, next(order), start)]
    lowest: dict[State, int] = {}
    ends: list[Point] = []
    while queue:
        ticks, executions, peak, _, state = heappop(queue)
        if lowest.get(state, peak + 1) <= peak:
            continue
        lowest[state] = peak
        if state.turn < last:
            if not ends or peak < ends[-1][0]:
                ends.append((peak, ticks, executions))
            continue
        for after, spent, ran, level in moves(chain, state):
            heappush(
                queue,
                (ticks + spent, executions + ran, max(peak, level), next(order), after),
            )
    return ends[::-1]


def moves(chain: Chain, state: State) -> Iterator[tuple[State, int, int, int]]:
    """Yield (state, ticks, forward executions, level) after every computation."""
    for after, spent, ran, level in computations(chain, state):
        for freed in subsets(freeable(chain, after)):
            yield (
                replace(
                    after,
                    outputs=after.outputs & ~freed,
                    stayed=after.stayed & ~freed,
                    # x_i freed after it stayed: stage i + 1 never runs again.
                    banned=after.banned | (freed & after.stayed) << 1,
                ),
                spent,
                ran,
                level,
            )


def computations(chain: Chain, state: State) -> Iterator[tuple[State, int, int, int]]:
    before = level_of(chain, state)
    t = state.turn
    if state.tapes[t] >= 0:
        variant = chain.sequence[t - 1].variants[state.tapes[t]]
        yield (
            State(
                turn=t - 1,
                outputs=state.outputs,
                tapes=(*state.tapes[:t], -1, *state.tapes[t + 1 :]),
                stayed=state.outputs,
                banned=state.banned,
                sweep=0,
            ),
            variant.backward,
            0,
            before + (variant.backward_transient or 0),
        )
        if state.sweep == 0:
            return
    candidates = [state.sweep + 1] if state.sweep else range(1, t + 1)
    for i in candidates:
        if i > t or not state.outputs >> (i - 1) & 1 or state.banned >> i & 1:
            continue
        if state.tapes[i] >= 0:
            continue
        stage = chain.sequence[i - 1]
        # Live outputs stay across it, but for x_{i-1} right after F_{i-1}.
        exempt = 1 << (i - 1) if state.sweep == i - 1 and state.sweep else 0
        stayed = state.stayed | (state.outputs & ~exempt)
        common = State(
            turn=t,
            outputs=state.outputs | 1 << i,
            tapes=state.tapes,
            # A second copy of x_i does not make the first one new.
            stayed=stayed,
            banned=state.banned,
            sweep=i,
        )
        if not state.outputs >> i & 1 and i < t:
            yield common, stage.forward, 1, before + (stage.transient or 0)
        for v, variant in enumerate(stage.variants):
            tapes = (*state.tapes[:i], v, *state.tapes[i + 1 :])
            yield (
                replace(common, tapes=tapes),
                variant.forward or 0,
                1,
                before + (variant.forward_transient or 0),
            )


def level_of(chain: Chain, state: State) -> int:
    """Bytes that live: outputs, tapes, the gradient to be consumed, those done."""
    sizes = [chain.input, *(stage.output for stage in chain.sequence)]
    total = sum(size for i, size in enumerate(sizes) if state.outputs >> i & 1)
    for i, v in enumerate(state.tapes):
        if v >= 0:
            total += chain.sequence[i - 1].variants[v].saved
    n, t = len(chain.sequence), state.turn
    if t < n:
        total += chain.input_gradients[t]
    return total + sum(stage.parameter_gradient for stage in chain.sequence[t:])


def freeable(chain: Chain, state: State) -> int:
    mask = state.outputs & ~1
    for i, v in enumerate(state.tapes):
        if v >= 0:
            variant = chain.sequence[i - 1].variants[v]
            mask &= ~(variant.needs_input << (i - 1))
            mask &= ~(variant.needs_output << i)
    return mask


def subsets(mask: int) -> Iterator[int]:
    chosen = mask
    while True:
        yield chosen
        if chosen == 0:
            return
        chosen = (chosen - 1) & mask
