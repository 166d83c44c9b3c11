"""Fronts of intervals, compiled: the recurrence of `ckschedule.solvers.chain_dp`.

A front is a decreasing step function from memory to cost, kept as its breakpoints with
memory ascending. The *working* front of the interval being solved is kept with memory
descending: candidates come with rising least costs, so that each can only change the
low-memory end of it, which is then the end of an array.

Longer than 400 lines because numba's cache notices changes of the file that a compiled
function stands in, but not of files that it imports from.
"""

from typing import Final

import numba
import numpy as np

UNBOUNDED: Final = 2**62
"""More bytes and ticks than any model has; the memory of sentinels."""

# Unsigned positions: compiled code need not ask whether they count from the end.
ONE: Final = np.uint64(1)
TWO: Final = np.uint64(2)
THREE: Final = np.uint64(3)

STRIDE: Final = 8
"""Breakpoints that are skipped at a time."""

SPREAD: Final = 32
"""Distance of the cuts that are tried first."""

PAD: Final = 2 * STRIDE
"""Sentinels behind every stored front and before the working front."""


@numba.njit(cache=True, nogil=True)
def _advance(memory, position, end):  # type: ignore[no-untyped-def]  # compiled
    """Return the last position, from ``position`` on, whose memory is below ``end``."""
    while True:
        step = np.uint64(0)
        for k in range(1, STRIDE + 1):
            step += np.uint64(memory[position + np.uint64(k)] < end)
        position += step
        if step < STRIDE:
            return position


@numba.njit(cache=True, nogil=True)
def _step(memory, position, end):  # type: ignore[no-untyped-def]  # compiled
    """Return what `_advance` returns, for ends that are few breakpoints away."""
    while True:
        step = (
            np.uint64(memory[position + ONE] < end)
            + np.uint64(memory[position + TWO] < end)
            + np.uint64(memory[position + THREE] < end)
        )
        position += step
        if step < THREE:
            return position


@numba.njit(cache=True, nogil=True)
def _copy_below(memory, cost, first, top, at, spare_memory, spare_cost):  # type: ignore[no-untyped-def]  # compiled: numba infers the types
    """Copy the working points below ``at``, memory ascending; return their number."""
    if first < top and memory[first] == at:
        first += 1
    for k in range(top - first):
        spare_memory[k] = memory[top - 1 - k]
        spare_cost[k] = cost[top - 1 - k]
    return top - first


@numba.njit(cache=True, nogil=True)
def _merge(size, scratch, limit, floor, right, left, extra):  # type: ignore[no-untyped-def]  # compiled: numba infers the types
    """Lower the working front by one candidate and return its new size.

    ``scratch`` holds memory and cost of the working front, and spare room for both;
    ``right`` and ``left`` are (memory, cost, size, shift).

    The candidate at memory M costs ``extra + right(M - right_shift) + left(M -
    left_shift)`` from M >= ``floor`` on; breakpoints from ``limit`` on are dropped.
    The working front stands in ``memory[PAD : PAD + size]``, memory descending, and is
    written anew only from the first breakpoint on at which the candidate is cheaper.
    Stretches of STRIDE working points are skipped where the candidate's cost at the end
    of the stretch is no less than the working cost at its start.
    """
    memory, cost, spare_memory, spare_cost = scratch
    right_memory, right_cost, right_size, right_shift = right
    left_memory, left_cost, left_size, left_shift = left
    if right_size == 0 or left_size == 0:
        return size
    top = PAD + size
    least = extra + right_cost[right_size - 1] + left_cost[left_size - 1]
    # Working points that already cost no more than the candidate ever does stay.
    keep, high = PAD, top
    while keep < high:
        middle = (keep + high) >> 1
        if cost[middle] <= least:
            keep = middle + 1
        else:
            high = middle
    limit = min(limit, memory[keep - 1])
    at = max(floor, right_memory[0] + right_shift, left_memory[0] + left_shift)
    if at >= limit:
        return size
    i = np.uint64(
        np.searchsorted(right_memory[:right_size], at - right_shift, side="right") - 1
    )
    j = np.uint64(
        np.searchsorted(left_memory[:left_size], at - left_shift, side="right") - 1
    )
    # Below the working front nothing is feasible.
    memory[top] = -1
    cost[top] = UNBOUNDED
    # b is the next working point beyond ``at``, ``current`` the working cost at ``at``.
    low, high = keep, top
    while low < high:
        middle = (low + high) >> 1
        if memory[middle] <= at:
            high = middle
        else:
            low = middle + 1
    b = np.uint64(low - 1)
    current = cost[low]
    candidate = extra + right_cost[i] + left_cost[j]
    cheaper = candidate < current
    count = 0
    last = np.int64(UNBOUNDED)
    if cheaper:
        count = _copy_below(
            memory, cost, np.int64(b) + 1, top, at, spare_memory, spare_cost
        )
        spare_memory[count] = at
        spare_cost[count] = candidate
        count += 1
        last = candidate
    while True:
        # What is below ``end`` is next; i, j and b stand where the last step left them.
        end = min(memory[b - np.uint64(STRIDE)], limit)
        skip = False
        if candidate >= current:
            i_end = _advance(right_memory, i, end - right_shift)
            j_end = _advance(left_memory, j, end - left_shift)
            least = extra + right_cost[i_end] + left_cost[j_end]
            skip = least >= current
        if skip:
            b_end = max(np.int64(b) - STRIDE, keep - 1)
            if cheaper:
                for k in range(np.int64(b), b_end, -1):
                    spare_memory[count] = memory[k]
                    spare_cost[count] = cost[k]
                    count += 1
                last = cost[b_end + 1]
            i, j, b = np.uint64(i_end), np.uint64(j_end), np.uint64(b_end)
            candidate, current = least, cost[b + ONE]
        else:
            while True:
                if candidate >= cost[b + ONE]:
                    # Up to the next working point the candidate is lowest at the end.
                    step_end = min(memory[b], end)
                    i_end = _step(right_memory, i, step_end - right_shift)
                    j_end = _step(left_memory, j, step_end - left_shift)
                    lowest = extra + right_cost[i_end] + left_cost[j_end]
                    if lowest >= cost[b + ONE]:
                        i, j, candidate = i_end, j_end, lowest
                        if step_end >= end:
                            break
                        if cheaper:
                            spare_memory[count] = memory[b]
                            spare_cost[count] = cost[b]
                            count += 1
                            last = cost[b]
                        b -= ONE
                        continue
                    while candidate >= cost[b + ONE]:
                        right_next = right_memory[i + ONE] + right_shift
                        left_next = left_memory[j + ONE] + left_shift
                        at = min(right_next, left_next)
                        i += np.uint64(right_next == at)
                        j += np.uint64(left_next == at)
                        candidate = extra + right_cost[i] + left_cost[j]
                    if not cheaper:
                        cheaper = True
                        count = _copy_below(
                            memory,
                            cost,
                            np.int64(b + ONE),
                            top,
                            at,
                            spare_memory,
                            spare_cost,
                        )
                    elif spare_memory[count - 1] == at:
                        # The working point at the very same memory is replaced.
                        count -= 1
                    spare_memory[count] = at
                    spare_cost[count] = candidate
                    count += 1
                    last = candidate
                right_next = right_memory[i + ONE] + right_shift
                left_next = left_memory[j + ONE] + left_shift
                working_next = memory[b]
                at = min(min(right_next, left_next), working_next)
                if at >= end:
                    break
                i += np.uint64(right_next == at)
                j += np.uint64(left_next == at)
                b -= np.uint64(working_next == at)
                candidate = extra + right_cost[i] + left_cost[j]
                # Written always, counted if lower: cheaper than a branch.
                value = min(cost[b + ONE], candidate)
                spare_memory[np.uint64(count)] = at
                spare_cost[np.uint64(count)] = value
                count += value < last
                last = min(last, value)
            current = cost[b + ONE]
        if end >= limit:
            break
    if not cheaper:
        return size
    while cost[keep - 1] >= last:
        keep -= 1
    for k in range(count):
        memory[keep + k] = spare_memory[count - 1 - k]
        cost[keep + k] = spare_cost[count - 1 - k]
    return keep + count - PAD


@numba.njit(cache=True, nogil=True)
def _front(tables, table, interval, shift):  # type: ignore[no-untyped-def]  # compiled
    """Return a stored front as (memory, cost, size, shift), moved by ``shift``."""
    start, size, own_shift, pool_memory, pool_cost = tables
    at = start[table, interval]
    return (
        pool_memory[at:],
        pool_cost[at:],
        size[table, interval],
        own_shift[table, interval] + shift,
    )


@numba.njit(cache=True, nogil=True)
def _nothing():  # type: ignore[no-untyped-def]  # compiled
    """Return the front that costs nothing, as (memory, cost, size, shift).

    With it, a candidate of one part is one of two parts.
    """
    memory = np.full(1 + PAD, UNBOUNDED, np.int64)
    memory[0] = 0
    return memory, np.zeros(1 + PAD, np.int64), 1, np.int64(0)


@numba.njit(cache=True, nogil=True)
def _guard(memory, cost):  # type: ignore[no-untyped-def]  # compiled
    """Put sentinels that no candidate displaces before a working front."""
    memory[:PAD] = UNBOUNDED
    cost[:PAD] = -1


@numba.njit(cache=True, nogil=True)
def _emit(size, memory, cost, out_memory, out_cost, at):  # type: ignore[no-untyped-def]  # compiled
    """Store a working front from ``at`` on, and return where the next one starts."""
    for m in range(size):
        out_memory[at + m] = memory[PAD + size - 1 - m]
        out_cost[at + m] = cost[PAD + size - 1 - m]
    out_memory[at + size : at + size + PAD] = UNBOUNDED
    return at + size + PAD


@numba.njit(cache=True, nogil=True)
def join(one, other, cap):  # type: ignore[no-untyped-def]  # compiled
    """Return the fronts of intervals of which either share has tried some candidates.

    Parameters
    ----------
    one, other
        (starts, sizes, memory, cost) of the same intervals, as `solve_length` writes
        them: starts and sizes are (2, k).
    cap
        Bytes: no breakpoint lies beyond.

    Returns
    -------
    tuple of arrays
        The fronts in the same form. The minimum over all candidates is the minimum over
        the shares, so that it does not matter who tried which.
    """
    room = len(one[2]) + len(other[2])
    out_memory, out_cost = np.empty(room, np.int64), np.empty(room, np.int64)
    starts, sizes = np.zeros_like(one[0]), np.zeros_like(one[1])
    nothing = _nothing()
    scratch = (
        np.empty(room + 2 * PAD, np.int64),
        np.empty(room + 2 * PAD, np.int64),
        np.empty(room + 2 * PAD, np.int64),
        np.empty(room + 2 * PAD, np.int64),
    )
    _guard(scratch[0], scratch[1])
    written = 0
    for k in range(starts.shape[1]):
        for table in range(2):
            size = 0
            for share in (one, other):
                start = share[0][table, k]
                front = (
                    share[2][start:],
                    share[3][start:],
                    share[1][table, k],
                    np.int64(0),
                )
                size = _merge(
                    size, scratch, cap + 1, np.int64(0), front, nothing, np.int64(0)
                )
            if size > 0:
                starts[table, k] = written
                sizes[table, k] = size
                written = _emit(
                    size, scratch[0], scratch[1], out_memory, out_cost, written
                )
    return starts, sizes, out_memory[:written].copy(), out_cost[:written].copy()


@numba.njit(cache=True, nogil=True)
def solve_length(
    length,
    offset,
    stride,
    begin,
    part,
    parts,
    cap,
    classes,
    first,
    starts,
    table_start,
    table_size,
    table_shift,
    pool_memory,
    pool_cost,
    frozen,
    x,
    g,
    parameters,
    plain_transient,
    forward_cost,
    first_variant,
    saved,
    record_cost,
    record_transient,
    backward_transient,
    needs_input,
    needs_output,
    split,
    plain_cost,
    out_memory,
    out_cost,
    out_start,
    out_size,
    working_memory,
    working_cost,
    spare_memory,
    spare_cost,
):  # type: ignore[no-untyped-def]  # compiled: numba infers the types
    """Solve every ``stride``-th interval class of one length.

    Parameters
    ----------
    length
        Stages in the intervals, at least 1.
    offset, stride, begin
        Classes ``starts[length] + offset + k * stride`` are solved for k >= ``begin``.
    part, parts
        Only every ``parts``-th cut is tried, from the ``part``-th on; see `join`.
    cap
        Bytes: breakpoints beyond are dropped.
    classes, first, starts
        `IntervalClasses`.
    table_start, table_size, table_shift
        (2, n_classes): where the front of each class and table stands in the pool, and
        the bytes to add to its memory. Table 0 is A (input held outside), 1 is R.
    pool_memory, pool_cost
        Fronts of all shorter intervals.
    frozen ... plain_cost
        `ChainArrays`.
    out_memory, out_cost, out_start, out_size
        Overwritten with the fronts, each followed by PAD sentinels, where in these
        arrays each starts, and its size without sentinels; the last two by table and k.
    working_memory, working_cost, spare_memory, spare_cost
        Scratch.

    Returns
    -------
    tuple of int
        (next k to solve, points written); k is short of the end when scratch or output
        ran out of room.
    """
    nothing = _nothing()
    scratch = (working_memory, working_cost, spare_memory, spare_cost)
    _guard(working_memory, working_cost)
    tables = (table_start, table_size, table_shift, pool_memory, pool_cost)
    floors = np.empty(len(x) + 1, np.int64)
    written = 0
    k = begin
    total = starts[length + 1] - starts[length]
    while offset + k * stride < total:
        s = first[starts[length] + offset + k * stride]
        t = s + length - 1
        before = written
        for table in range(1 + split[s]):
            held = x[s - 1] if table == 1 else np.int64(0)
            size = 0
            if t <= frozen:
                working_memory[PAD] = 0
                working_cost[PAD] = 0
                size = 1
            elif s <= frozen:
                right = _front(tables, 1, classes[s + 1, t], np.int64(0))
                floor = g[t] + held + plain_transient[s]
                if right[2] + 2 * PAD > len(spare_memory):
                    return k, before
                size = _merge(
                    size, scratch, cap + 1, floor, right, nothing, plain_cost[s]
                )
            for v in range(first_variant[s], first_variant[s + 1]):
                kept = saved[v] + (held if needs_input[v] else 0)
                output = x[s] if needs_output[v] else np.int64(0)
                inner = 0 if needs_output[v] else 1
                right = _front(tables, inner, classes[s + 1, t], kept + output)
                later = parameters[t] - parameters[s]
                floor = max(
                    g[t] + held + record_transient[v],
                    g[s] + kept + output + later + backward_transient[v],
                )
                if size + right[2] + 2 * PAD > len(spare_memory):
                    return k, before
                size = _merge(
                    size, scratch, cap + 1, floor, right, nothing, record_cost[v]
                )
            last = t if t > frozen else s
            floor = g[t] + held + plain_transient[s]
            for q in range(s + 1, last + 1):
                if q - 1 > s:
                    floor = max(floor, g[t] + held + x[q - 2] + plain_transient[q - 1])
                floors[q] = floor
            # Far cuts first, then those between: good cuts found early cut short the
            # rest.
            tried = 0
            step = SPREAD
            while step > 0:
                every = step if step == SPREAD else 2 * step
                for q in range(s + step, last + 1, every):
                    if floors[q] > cap:
                        break
                    tried += 1
                    if tried % parts != part:
                        continue
                    later = parameters[t] - parameters[q - 1]
                    right = _front(tables, 1, classes[q, t], held)
                    left = _front(tables, table, classes[s, q - 1], later)
                    if size + right[2] + left[2] + 2 * PAD > len(spare_memory):
                        return k, before
                    sweep = forward_cost[q - 1] - forward_cost[s - 1]
                    size = _merge(size, scratch, cap + 1, floors[q], right, left, sweep)
                step //= 2
            if written + size + PAD > len(out_memory):
                return k, before
            out_start[table, k] = written
            out_size[table, k] = size
            written = _emit(
                size, working_memory, working_cost, out_memory, out_cost, written
            )
        k += 1
    return k, written
