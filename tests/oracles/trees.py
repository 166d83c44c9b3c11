"""Persistent schedules by their shape: every nesting of cuts and records, simulated.

A second check beside the rules: it shares the solvers' idea of what a schedule looks
like, but none of their arithmetic.
"""

from collections.abc import Iterator

from ckschedule import Chain, Compute, Free, Operation, Schedule, simulate

Operations = tuple[Operation, ...]


def tree_front(chain: Chain) -> list[tuple[int, int]]:
    """Return all non-dominated (peak, ticks), peak rising, of all nestings."""
    found: dict[int, int] = {}
    for operations in interval(chain, 1, len(chain.sequence), counted=False):
        trace = simulate(chain, Schedule(operations))
        best = found.get(trace.peak, trace.makespan)
        found[trace.peak] = min(best, trace.makespan)
    front: list[tuple[int, int]] = []
    for peak, ticks in sorted(found.items()):
        if not front or ticks < front[-1][1]:
            front.append((peak, ticks))
    return front


def interval(chain: Chain, s: int, t: int, *, counted: bool) -> Iterator[Operations]:
    """Yield all ways to finish the backwards of stages s..t from x_{s-1}.

    A ``counted`` input is freed at its last use.
    """
    release = (Free(f"x{s - 1}"),) if counted else ()
    if s > t or t <= chain.frozen_prefix:
        yield release
        return
    stage = chain.sequence[s - 1]
    for q in range(s + 1, t + 1):
        for right in interval(chain, q, t, counted=True):
            for left in interval(chain, s, q - 1, counted=counted):
                yield (*sweep(s, q), *right, *left)
    if stage.frozen:
        for rest in interval(chain, s + 1, t, counted=True):
            yield (Compute(f"F{s}", "plain"), *release, *rest)
    for variant in stage.variants:
        record, backward = (
            Compute(f"F{s}", variant.name),
            Compute(f"B{s}", variant.name),
        )
        early, late = ((), release) if variant.needs_input else (release, ())
        inner = not variant.needs_output
        output = () if inner else (Free(f"x{s}"),)
        for rest in interval(chain, s + 1, t, counted=inner):
            yield (record, *early, *rest, backward, *output, *late)


def sweep(s: int, q: int) -> Operations:
    """Run s..q-1 plainly and keep x_{q-1}."""
    operations: list[Operation] = []
    for j in range(s, q):
        operations.append(Compute(f"F{j}", "plain"))
        if j > s:
            operations.append(Free(f"x{j - 1}"))
    return tuple(operations)
