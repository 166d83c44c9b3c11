"""From computations alone to a whole schedule: where each value is best freed.

Which computations run, in which modes and in which order, is all that a search has to
decide. Given those, freeing each value as soon as nothing needs it any more keeps the
level of every moment at its least, for freeing earlier never adds a byte.
"""

from collections.abc import Sequence

import numpy as np

from ckschedule.costs.encoding import Encoding, Ints, as_lists


def complete(encoding: Encoding, modes: Sequence[int] | Ints) -> Ints:
    """Return the codes of the schedule that runs some modes and frees at once.

    Parameters
    ----------
    encoding
        Of the graph.
    modes
        (n_computations,): mode indices in running order. Computations that would yield
        nothing new are left out.

    Returns
    -------
    numpy.ndarray
        (n_operations,), int64; see `ckschedule.schedule.to_codes`.

    Notes
    -----
    Going back from the end, a value is *needed* before a computation that needs it, and
    no longer before one that yields it; a value that stays is needed once it has been
    yielded; and a value that a needed one holds is needed, too. Linear in the
    computations and their values.

    What is illegal in the computations themselves stays so: the simulator tells.
    """
    sequence = [int(mode) for mode in modes]
    while True:
        codes, superfluous = _completed(encoding, sequence)
        if not superfluous:
            return np.array(codes, np.int64)
        # What a computation without result needed may be freed earlier now.
        sequence = [m for i, m in enumerate(sequence) if i not in superfluous]


def _completed(encoding: Encoding, modes: list[int]) -> tuple[list[int], set[int]]:
    """Return the codes, and the positions of computations without a new value."""
    needs = as_lists(encoding.needs_start, encoding.needs)
    outputs = as_lists(encoding.outputs_start, encoding.outputs)
    consumes = as_lists(encoding.consumes_start, encoding.consumes)
    holds = as_lists(encoding.held_start, encoding.held)
    pinned = encoding.pinned.tolist()
    live = {int(v) for v in np.flatnonzero(encoding.live)}
    # What stays, from its first computation on or from the start, is never let go.
    births = {v: -1 for v in live if pinned[v]}
    for i, mode in enumerate(modes):
        for v in outputs[mode]:
            if pinned[v]:
                births.setdefault(v, i)
    first_frees, after = _last_uses(births, modes, needs, outputs, holds)
    codes: list[int] = []
    superfluous: set[int] = set()

    def release(values: Sequence[int]) -> None:
        for v in values:
            if v in live and not pinned[v]:
                live.discard(v)
                codes.append(-1 - v)

    release(first_frees)
    for i, mode in enumerate(modes):
        if outputs[mode] and live.issuperset(outputs[mode]):
            superfluous.add(i)
        codes.append(mode)
        live.difference_update(consumes[mode])
        live.update(outputs[mode])
        release(after[i])
    return codes, superfluous


def _last_uses(
    births: dict[int, int],
    modes: list[int],
    needs: list[list[int]],
    outputs: list[list[int]],
    holds: list[list[int]],
) -> tuple[list[int], list[list[int]]]:
    """Return the values to free at the start and after each computation.

    ``births`` has the values that stay and the computation that first yields each, -1
    for inputs. Holders stand before what they hold. Values that are not live there may
    be among them.
    """
    # How many reasons there are to keep a value: its own uses, and needed holders.
    reasons = [0] * len(holds)
    wanted = [False] * len(holds)

    def add(v: int) -> None:
        reasons[v] += 1
        if reasons[v] == 1:
            for held in holds[v]:
                add(held)

    def drop(v: int) -> None:
        reasons[v] -= 1
        if reasons[v] == 0:
            for held in holds[v]:
                drop(held)

    for v in births:
        wanted[v] = True
        add(v)
    heights = _heights(holds)
    after: list[list[int]] = []
    for i in range(len(modes) - 1, -1, -1):
        mode = modes[i]
        # Not needed after it: born here, or needed here for the last time.
        seen = _with_held([*outputs[mode], *needs[mode]], holds)
        done = [v for v in seen if reasons[v] == 0]
        for v in outputs[mode]:
            if wanted[v] and births.get(v, i) == i:
                wanted[v] = False
                drop(v)
        for v in needs[mode]:
            if not wanted[v]:
                wanted[v] = True
                add(v)
        after.append(sorted(done, key=heights.__getitem__, reverse=True))
    first = [v for v, count in enumerate(reasons) if count == 0]
    return sorted(first, key=heights.__getitem__, reverse=True), after[::-1]


def _with_held(values: list[int], holds: list[list[int]]) -> list[int]:
    """Return values with all that they hold, directly or not, each once."""
    seen = dict.fromkeys(values)
    stack = list(seen)
    while stack:
        for held in holds[stack.pop()]:
            if held not in seen:
                seen[held] = None
                stack.append(held)
    return list(seen)


def _heights(holds: list[list[int]]) -> list[int]:
    """Return, for each value, how many layers of values it holds."""
    heights = [-1] * len(holds)
    for start in range(len(holds)):
        stack = [start]
        while stack:
            v = stack[-1]
            unknown = [held for held in holds[v] if heights[held] < 0]
            if unknown:
                stack += unknown
                continue
            heights[v] = 1 + max((heights[held] for held in holds[v]), default=-1)
            stack.pop()
    return heights
