"""The recurrence over grids of memory, compiled; see `ckschedule.solvers.slot_dp`.

Index k of the row of interval [s, t] stands for ``unit * k + theta[s] +
parameters[t]`` bytes in table A (table 0) and for ``x[s - 1]`` bytes more in table R
(table 1). A row is kept from the index ``low`` up, below which nothing fits or is worth
a look, to ``high``, above which the cost no longer falls or no schedule can come.
Arguments called ``chain`` are `Columns`, those called ``rows`` are `Rows`.

Longer than 400 lines: numba's cache of compiled code does not notice a change of a
called function in another module, so those that call each other stand together.
"""

from typing import Final

import numba
import numpy as np

CEILING: Final = 2**29
"""Costs are cut off here, so that three of them add up within 32 bits."""

PACKED: Final = 2**16 - 1
"""The largest entry of a row as it is stored."""

UNBOUNDED: Final = 2**62
"""More bytes than any model has."""

_INT32: Final = np.int32


@numba.njit(cache=True, nogil=True)
def _ceil(numerator, denominator):
    return -((-numerator) // denominator)


@numba.njit(cache=True, nogil=True)
def least_memory(chain, least, least_by_end):
    """Fill the least memory of every interval, exactly.

    Parameters
    ----------
    chain
        `Columns`.
    least
        (2, n + 2, n + 1), bytes: overwritten, by table, s and t.
    least_by_end
        (n + 1, n + 2), bytes: overwritten with table R by t and s, for reading along s.
    """
    n = len(chain.x) - 1
    highest = np.zeros(n + 2, np.int64)
    for t in range(n + 1):
        least[0, t + 1, t] = chain.g[t]
        least[1, t + 1, t] = chain.g[t]
        least_by_end[t, t + 1] = chain.g[t]
    for s in range(n, 0, -1):
        # highest[q]: the most that the plain forwards before a cut at q need.
        level = chain.plain_transient[s]
        highest[s + 1] = level
        for q in range(s + 2, n + 1):
            level = max(level, chain.x[q - 2] + chain.plain_transient[q - 1])
            highest[q] = level
        for table in range(2):
            held = chain.x[s - 1] if table == 1 else np.int64(0)
            mine = least[table, s]
            for t in range(s, n + 1):
                if t <= chain.frozen:
                    mine[t] = 0
                    continue
                best = np.int64(UNBOUNDED)
                if s <= chain.frozen:
                    floor = chain.g[t] + held + chain.plain_transient[s]
                    best = max(floor, least[1, s + 1, t])
                for v in range(chain.first_variant[s], chain.first_variant[s + 1]):
                    output = chain.x[s] if chain.needs_output[v] else np.int64(0)
                    kept = chain.saved[v] + (held if chain.needs_input[v] else 0)
                    which = 0 if chain.needs_output[v] else 1
                    need = kept + output + least[which, s + 1, t]
                    best = min(best, max(need, _record_floor(chain, s, t, v, held)))
                best = min(
                    best,
                    _least_cut(
                        best,
                        chain.g[t] + held,
                        held,
                        chain.parameters[t],
                        highest[s + 1 : t + 1],
                        least_by_end[t, s + 1 : t + 1],
                        chain.parameters[s:t],
                        mine[s:t],
                    ),
                )
                mine[t] = best
        least_by_end[s:, s] = least[1, s, s:]


@numba.njit(cache=True, nogil=True)
def _least_cut(best, floor, held, parameters, highest, right, before, left):
    """Return the least memory over all cuts, given by arrays over q."""
    for i in range(len(right)):
        need = max(floor + highest[i], held + right[i])
        need = max(need, parameters - before[i] + left[i])
        best = min(best, need)
    return best


@numba.njit(cache=True, nogil=True)
def _record_floor(chain, s, t, v, held):
    """Return what recording and the backward themselves need."""
    output = chain.x[s] if chain.needs_output[v] else np.int64(0)
    kept = chain.saved[v] + (held if chain.needs_input[v] else 0)
    later = chain.parameters[t] - chain.parameters[s]
    return max(
        chain.g[t] + held + chain.record_transient[v],
        chain.g[s] + kept + output + later + chain.backward_transient[v],
    )


@numba.njit(cache=True, nogil=True)
def fastest_memory(chain, fastest, enough):
    """Fill a memory at which an interval costs as little as it ever can.

    It is the need of recording every stage once, with the variant ``fastest[s]``;
    ``enough`` is (2, n + 2, n + 1), bytes, overwritten.
    """
    n = len(chain.x) - 1
    for t in range(n + 1):
        enough[0, t + 1, t] = chain.g[t]
        enough[1, t + 1, t] = chain.g[t]
    for s in range(n, 0, -1):
        for table in range(2):
            held = chain.x[s - 1] if table == 1 else np.int64(0)
            for t in range(s, n + 1):
                if t <= chain.frozen:
                    enough[table, s, t] = 0
                elif s <= chain.frozen:
                    floor = chain.g[t] + held + chain.plain_transient[s]
                    enough[table, s, t] = max(floor, enough[1, s + 1, t])
                else:
                    v = fastest[s]
                    output = chain.x[s] if chain.needs_output[v] else np.int64(0)
                    kept = chain.saved[v] + (held if chain.needs_input[v] else 0)
                    which = 0 if chain.needs_output[v] else 1
                    need = kept + output + enough[which, s + 1, t]
                    floor = _record_floor(chain, s, t, v, held)
                    enough[table, s, t] = max(need, floor)


@numba.njit(cache=True, nogil=True)
def lay_out(chain, unit, theta, least, enough, low, high, base):
    """Fill ``low``, ``high`` and ``base`` of all rows and return the pool's length."""
    n = len(chain.x) - 1
    used = np.int64(0)
    for s in range(1, n + 1):
        # Whatever the schedule, x_{s-1} and later parameter gradients lie outside.
        top = np.int64(0)
        if s > 1:
            top = _ceil(theta[1] - theta[s] - chain.x[s - 1], unit)
        for t in range(s, n + 1):
            for table in range(2):
                if table == 1 and not chain.split[s]:
                    low[1, s, t] = low[0, s, t]
                    high[1, s, t] = high[0, s, t]
                    base[1, s, t] = base[0, s, t]
                    continue
                origin = theta[s] + chain.parameters[t]
                if table == 1:
                    origin += chain.x[s - 1]
                first = _ceil(least[table, s, t] - origin, unit)
                last = min(top, _ceil(enough[table, s, t] - origin, unit))
                low[table, s, t] = first
                high[table, s, t] = last
                base[table, s, t] = used - first
                used += max(last - first + 1, 0)
    return used


@numba.njit(cache=True, nogil=True)
def fill_block(
    chain, rows, fastest, cheapest, cost, s_begin, s_end, t_begin, t_end, tile
):
    """Fill the rows of s in [s_begin, s_end) and t in [t_begin, t_end).

    All rows of intervals inside of these that are not among them must be there. Rows
    are lowered ``tile`` values of t and of q at a time, for all s, so that what is read
    again is still in cache: like a product of blocked matrices. They are worked on in
    32 bits and packed when finished.

    Parameters
    ----------
    chain, rows
        `Columns` and `Rows`.
    fastest, cheapest
        As in `Frame`.
    cost
        Ticks: entries that make the whole chain cost as much need not be told apart.
    """
    n = len(chain.x) - 1
    height = s_end - s_begin
    highest = np.zeros((height, n + 2), np.int64)
    for s in range(s_begin, s_end):
        level = chain.plain_transient[s]
        highest[s - s_begin, s + 1] = level
        for q in range(s + 2, t_end):
            level = max(level, chain.x[q - 2] + chain.plain_transient[q - 1])
            highest[s - s_begin, q] = level
    width = np.int64(1)
    for s in range(s_begin, s_end):
        for t in range(max(s, t_begin), t_end):
            for table in range(2):
                width = max(width, rows.high[table, s, t] - rows.low[table, s, t] + 1)
    work = np.empty((2, height, tile, width), np.int32)
    pointer = np.zeros((2, height, tile), np.int64)
    for first in range(t_begin, t_end, tile):
        end = min(first + tile, t_end)
        for s in range(s_begin, s_end):
            i = s - s_begin
            for table in range(1 + chain.split[s]):
                for t in range(max(first, s), end):
                    pointer[table, i, t - first] = rows.high[table, s, t]
                    out = work[table, i, t - first]
                    _start_row(chain, rows, out, fastest, table, s, s_end, t)
        # Cuts between the block of s and the tile of t read finished rows only.
        for q_begin in range(s_end, first + 1, tile):
            q_end = min(q_begin + tile, first + 1)
            for s in range(s_end - 1, s_begin - 1, -1):
                i = s - s_begin
                for table in range(1 + chain.split[s]):
                    _cut_rows(
                        chain,
                        rows,
                        work[table, i],
                        table,
                        s,
                        q_begin,
                        q_end,
                        first,
                        first,
                        end,
                        highest[i],
                        pointer[table, i],
                    )
        for s in range(min(s_end, end) - 1, s_begin - 1, -1):
            i = s - s_begin
            for t in range(max(first, s), end):
                for table in range(1 + chain.split[s]):
                    out = work[table, i]
                    _first_step(chain, rows, out[t - first], table, s, t)
                    _cut_rows(
                        chain,
                        rows,
                        out,
                        table,
                        s,
                        s + 1,
                        min(s_end, t + 1),
                        first,
                        t,
                        t + 1,
                        highest[i],
                        pointer[table, i],
                    )
                    _cut_rows(
                        chain,
                        rows,
                        out,
                        table,
                        s,
                        max(s_end, first + 1),
                        t + 1,
                        first,
                        t,
                        t + 1,
                        highest[i],
                        pointer[table, i],
                    )
                    outside = cheapest[n] - cheapest[t] + cheapest[s - 1]
                    limit = _ceil(cost - outside, rows.scale)
                    _pack(chain, rows, out[t - first], table, s, t, limit)


@numba.njit(cache=True, nogil=True)
def _start_row(chain, rows, out, fastest, table, s, s_end, t):
    """Fill a row with what recording up to a finished row gives: a start, no more.

    The better a row is early on, the fewer cuts need a look.
    """
    first, last = rows.low[table, s, t], rows.high[table, s, t]
    if last < first:
        return
    out[: last - first + 1] = 0 if t <= chain.frozen else CEILING
    if s <= chain.frozen or table == 1 or s_end > t:
        return
    begin, shift, extra = first, np.int64(0), np.int64(0)
    for i in range(s, s_end):
        v = fastest[i]
        if not chain.needs_output[v]:
            return
        origin = rows.theta[i] + chain.parameters[t]
        floor = _record_floor(chain, i, t, v, np.int64(0))
        begin = max(begin, _ceil(floor - origin, rows.unit) - shift)
        kept = chain.saved[v] + chain.x[i]
        shift += _ceil(rows.theta[i] - kept - rows.theta[i + 1], rows.unit)
        extra += chain.cost[v] // rows.scale
    _lower_by_one(rows, out, first, begin, last, 0, s_end, t, shift, extra)


@numba.njit(cache=True, nogil=True)
def _first_step(chain, rows, out, table, s, t):
    """Lower a row by what starts with recording stage s, or running it frozen."""
    first, last = rows.low[table, s, t], rows.high[table, s, t]
    if last < first or t <= chain.frozen:
        return
    held = chain.x[s - 1] if table == 1 else np.int64(0)
    origin = rows.theta[s] + held + chain.parameters[t]
    # The child's x_s, inside in table R or kept by the record, is in each shift.
    passed = rows.theta[s] + held - rows.theta[s + 1] - chain.x[s]
    if s <= chain.frozen:
        floor = chain.g[t] + held + chain.plain_transient[s]
        begin = max(first, _ceil(floor - origin, rows.unit))
        shift = _ceil(passed, rows.unit)
        extra = chain.plain[s] // rows.scale
        _lower_by_one(rows, out, first, begin, last, 1, s + 1, t, shift, extra)
    for v in range(chain.first_variant[s], chain.first_variant[s + 1]):
        output = chain.x[s] if chain.needs_output[v] else np.int64(0)
        kept = chain.saved[v] + (held if chain.needs_input[v] else 0)
        floor = _record_floor(chain, s, t, v, held)
        extra = chain.cost[v] // rows.scale
        if s == t:
            floor = max(floor, kept + output + chain.g[t])
            begin = max(first, _ceil(floor - origin, rows.unit))
            if begin <= last:
                value = _INT32(min(extra, CEILING))
                _lower_constant(out[begin - first : last - first + 1], value)
            continue
        begin = max(first, _ceil(floor - origin, rows.unit))
        shift = _ceil(passed - kept, rows.unit)
        which = 0 if chain.needs_output[v] else 1
        _lower_by_one(rows, out, first, begin, last, which, s + 1, t, shift, extra)


@numba.njit(cache=True, nogil=True)
def _lower_by_one(rows, out, first, begin, last, table, s, t, shift, extra):
    """Lower a row from index ``begin`` on by ``extra`` plus another row."""
    low, high = rows.low[table, s, t], rows.high[table, s, t]
    begin = max(begin, low - shift)
    if high < low or begin > last:
        return
    at = rows.base[table, s, t] + shift
    constant = _INT32(min(extra, CEILING) + rows.origin[table, s, t])
    stop = min(last, high - shift)
    if begin <= stop:
        _lower_shifted(
            out[begin - first : stop - first + 1],
            rows.pool[at + begin : at + stop + 1],
            rows.step[table, s, t],
            constant,
        )
        begin = stop + 1
    if begin <= last:
        _lower_constant(out[begin - first : last - first + 1], constant)


@numba.njit(cache=True, nogil=True)
def _lower_constant(out, value):
    for k in range(len(out)):
        out[k] = min(out[k], value)


@numba.njit(cache=True, nogil=True)
def _lower_shifted(out, row, step, constant):
    for k in range(len(out)):
        out[k] = min(out[k], _INT32(_INT32(row[k] * step) + constant))


@numba.njit(cache=True, nogil=True)
def _lower_both(out, right, right_step, left, left_step, constant):
    for k in range(len(out)):
        one = _INT32(right[k] * right_step)
        two = _INT32(left[k] * left_step)
        out[k] = min(out[k], _INT32(_INT32(one + two) + constant))


@numba.njit(cache=True, nogil=True)
def _cut_rows(
    chain, rows, work, table, s, q_begin, q_end, first, begin_t, end, highest, pointer
):
    """Lower the rows of t in [begin_t, end) by the cuts at q in [q_begin, q_end).

    ``work`` and ``pointer`` are indexed by t - ``first``. Costs fall along a row, so a
    cut can help only up to some index; ``pointer`` holds that of the previous cut, from
    which the next one is near.
    """
    low, high, base, unit = rows.low, rows.high, rows.base, rows.unit
    for q in range(q_begin, q_end):
        left_low, left_high = low[table, s, q - 1], high[table, s, q - 1]
        if left_high < left_low:
            continue
        shift = _ceil(rows.theta[s] - rows.theta[q] - chain.x[q - 1], unit)
        left_at = base[table, s, q - 1]
        left_step = rows.step[table, s, q - 1]
        extra = min(
            (chain.forward[q - 1] - chain.forward[s - 1]) // rows.scale, CEILING
        )
        extra += rows.origin[table, s, q - 1]
        for t in range(max(begin_t, q), end):
            if t <= chain.frozen:
                continue
            start = low[table, s, t]
            begin = max(start, left_low, low[1, q, t] - shift)
            top = high[table, s, t]
            if begin > top or high[1, q, t] < low[1, q, t]:
                continue
            out = work[t - first]
            lowest = _INT32(extra + rows.origin[1, q, t])
            if out[begin - start] <= lowest:
                continue
            last = max(pointer[t - first], begin)
            if out[last - start] > lowest:
                while last < top and out[last + 1 - start] > lowest:
                    last += 1
            else:
                while out[last - start] <= lowest:
                    last -= 1
            pointer[t - first] = last
            short = chain.g[t] + highest[q] - rows.theta[s] - chain.parameters[t]
            if short > unit * begin:
                begin = _ceil(short, unit)
                if begin > last:
                    continue
            right_at = base[1, q, t] + shift
            right_high = high[1, q, t] - shift
            right_step = rows.step[1, q, t]
            both = min(last, left_high, right_high)
            if begin <= both:
                _lower_both(
                    out[begin - start : both - start + 1],
                    rows.pool[right_at + begin : right_at + both + 1],
                    right_step,
                    rows.pool[left_at + begin : left_at + both + 1],
                    left_step,
                    lowest,
                )
                begin = both + 1
            at, step, one = right_at, right_step, min(last, right_high)
            if right_high < left_high:
                at, step, one = left_at, left_step, min(last, left_high)
            if begin <= one:
                _lower_shifted(
                    out[begin - start : one - start + 1],
                    rows.pool[at + begin : at + one + 1],
                    step,
                    lowest,
                )
                begin = one + 1
            if begin <= last:
                _lower_constant(out[begin - start : last - start + 1], lowest)


@numba.njit(cache=True, nogil=True)
def _pack(chain, rows, out, table, s, t, limit):
    """Store a finished row in 16 bits, rounded down to a multiple of a power of two.

    Entries of ``limit`` or more become one that is no less than ``limit``.
    """
    first, last = rows.low[table, s, t], rows.high[table, s, t]
    if first <= last:
        count = last - first + 1
        origin = np.int64(out[count - 1])
        most = max(min(limit, np.int64(out[0])) - origin, 0)
        bits = 0
        while _ceil(most, 1 << bits) > PACKED:
            bits += 1
        most = _ceil(most, 1 << bits)
        rows.origin[table, s, t] = origin
        rows.step[table, s, t] = 1 << bits
        packed = rows.pool[rows.base[table, s, t] + first :][:count]
        for k in range(count):
            packed[k] = min((out[k] - origin) >> bits, most)
    if table == 0 and not chain.split[s]:
        rows.origin[1, s, t] = rows.origin[0, s, t]
        rows.step[1, s, t] = rows.step[0, s, t]


@numba.njit(cache=True, nogil=True)
def entry(rows, table, s, t, k):
    """Return the entry at index k of a row, as it was before packing or less."""
    packed = np.int64(rows.pool[rows.base[table, s, t] + k])
    return np.int64(rows.origin[table, s, t]) + packed * rows.step[table, s, t]


@numba.njit(cache=True, nogil=True)
def _estimate(chain, rows, lag, table, s, t, memory):
    """Return an estimate of an interval's cost: its row, read somewhat lower.

    Rows are optimistic by up to a unit for every checkpoint that lives at once, and
    these are about as many as the root of the number of stages.
    """
    if s > t:
        return 0.0
    origin = rows.theta[s] + chain.parameters[t]
    if table == 1:
        origin += chain.x[s - 1]
    at = (memory - origin) / rows.unit
    first, last = rows.low[table, s, t], rows.high[table, s, t]
    if last < first or at <= first - 1:
        # Cut off: no schedule better than the best known is here.
        return 4.0 * CEILING
    at -= lag * np.sqrt(t - s + 1.0)
    if at >= last:
        return float(rows.origin[table, s, t])
    if at <= first:
        return float(entry(rows, table, s, t, first))
    k = np.int64(np.floor(at))
    part = at - k
    value = entry(rows, table, s, t, k)
    return value + part * (entry(rows, table, s, t, k + 1) - value)


@numba.njit(cache=True, nogil=True)
def descend(chain, rows, least, lag, memory, choices):
    """Choose a schedule from the whole chain down, in exact bytes.

    At every interval the choice with the least estimated cost is taken among those that
    leave both parts at least their least memory: so the schedule fits.

    Parameters
    ----------
    memory
        Bytes for the whole chain, at least its least memory.
    lag
        Units by which rows are read too low, times the root of the number of stages.
    choices
        (2 * n,): overwritten, in the order in which they run: q > 0 to cut there, 0 to
        run a frozen stage, -1 - v to record variant v.

    Returns
    -------
    tuple of int
        (choices written, cost).
    """
    n = len(chain.x) - 1
    stack = np.zeros((2 * n + 4, 4), np.int64)
    stack[0] = (0, 1, n, memory)
    size = 1
    written = 0
    cost = np.int64(0)
    while size > 0:
        size -= 1
        table, s, t, room = stack[size]
        if s > t or t <= chain.frozen:
            continue
        choice = _choose(
            chain,
            rows,
            least,
            lag,
            table,
            s,
            t,
            room,
        )
        choices[written] = choice
        written += 1
        held = chain.x[s - 1] if table == 1 else np.int64(0)
        if choice > 0:
            cost += chain.forward[choice - 1] - chain.forward[s - 1]
            later = chain.parameters[t] - chain.parameters[choice - 1]
            stack[size] = (table, s, choice - 1, room - later)
            stack[size + 1] = (1, choice, t, room - held)
            size += 2
        elif choice == 0:
            cost += chain.plain[s]
            stack[size] = (1, s + 1, t, room)
            size += 1
        else:
            v = -1 - choice
            cost += chain.cost[v]
            kept = chain.saved[v] + (held if chain.needs_input[v] else 0)
            if chain.needs_output[v]:
                stack[size] = (0, s + 1, t, room - kept - chain.x[s])
            else:
                stack[size] = (1, s + 1, t, room - kept)
            size += 1
    return written, cost


@numba.njit(cache=True, nogil=True)
def _choose(chain, rows, least, lag, table, s, t, room):
    held = chain.x[s - 1] if table == 1 else np.int64(0)
    best, choice = np.inf, np.int64(0)
    if s <= chain.frozen:
        floor = chain.g[t] + held + chain.plain_transient[s]
        if max(floor, least[1, s + 1, t]) <= room:
            best = chain.plain[s] / rows.scale + _estimate(
                chain, rows, lag, 1, s + 1, t, room
            )
    for v in range(chain.first_variant[s], chain.first_variant[s + 1]):
        output = chain.x[s] if chain.needs_output[v] else np.int64(0)
        kept = chain.saved[v] + (held if chain.needs_input[v] else 0)
        which = 0 if chain.needs_output[v] else 1
        left_over = room - kept - output
        floor = _record_floor(chain, s, t, v, held)
        if floor > room or least[which, s + 1, t] > left_over:
            continue
        value = chain.cost[v] / rows.scale + _estimate(
            chain, rows, lag, which, s + 1, t, left_over
        )
        if value < best:
            best, choice = value, -1 - v
    level = chain.plain_transient[s]
    for q in range(s + 1, t + 1):
        if q - 1 > s:
            level = max(level, chain.x[q - 2] + chain.plain_transient[q - 1])
        extra = (chain.forward[q - 1] - chain.forward[s - 1]) / rows.scale
        later = chain.parameters[t] - chain.parameters[q - 1]
        if chain.g[t] + held + level > room or extra >= best:
            break
        if held + least[1, q, t] > room or later + least[table, s, q - 1] > room:
            continue
        value = (
            extra
            + _estimate(chain, rows, lag, 1, q, t, room - held)
            + _estimate(
                chain,
                rows,
                lag,
                table,
                s,
                q - 1,
                room - later,
            )
        )
        if value < best:
            best, choice = value, q
    return choice


@numba.njit(cache=True, nogil=True)
def raise_useful(chain, rows, cheapest, cost, useful):
    """Raise ``useful`` past memory at which [s, t] makes the whole cost ``cost``."""
    n = len(chain.x) - 1
    for s in range(1, n + 1):
        for t in range(s, n + 1):
            outside = cheapest[n] - cheapest[t] + cheapest[s - 1]
            for table in range(1 + chain.split[s]):
                first, last = rows.low[table, s, t], rows.high[table, s, t]
                if t <= chain.frozen:
                    continue
                k, end = first, last + 1
                while k < end:
                    middle = (k + end) >> 1
                    if entry(rows, table, s, t, middle) * rows.scale + outside >= cost:
                        k = middle + 1
                    else:
                        end = middle
                origin = rows.theta[s] + chain.parameters[t]
                if table == 1:
                    origin += chain.x[s - 1]
                if k > first:
                    # Index k - 1 is too dear, and so is all memory up to it.
                    need = rows.unit * (k - 1) + origin + 1
                    useful[table, s, t] = max(useful[table, s, t], need)
