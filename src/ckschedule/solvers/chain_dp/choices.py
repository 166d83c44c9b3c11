"""The choices behind one breakpoint, found again and written as codes; compiled."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def _value(memory, table, interval, start, size, shift, pool_memory, pool_cost):
    """Return the cost of an interval class within ``memory``; negative if none fits."""
    begin = start[table, interval]
    end = begin + size[table, interval]
    wanted = memory - shift[table, interval]
    position = np.searchsorted(pool_memory[begin:end], wanted, side="right")
    if position == 0:
        return np.int64(-1)
    return pool_cost[begin + position - 1]


@numba.njit(cache=True, nogil=True)
def write_codes(
    memory,
    n,
    classes,
    start,
    size,
    shift,
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
    plain_code,
    free_code,
    record_code,
    backward_code,
    codes,
):
    """Write the codes of one schedule and return how many there are.

    A stack holds what is still to be written: intervals to solve (first stage, last
    stage, table, memory), and single codes (0, 0, 2, code).
    """
    tables = (start, size, shift, pool_memory, pool_cost)
    stack = np.empty((4 * n + 16, 4), np.int64)
    stack[0] = np.array([1, n, 0, memory])
    depth = 1
    written = 0
    while depth > 0:
        depth -= 1
        s, t, table, memory = stack[depth]
        if table == 2:
            codes[written] = memory
            written += 1
            continue
        if s > t or t <= frozen:
            # Nothing is left to compute; a counted input is released.
            if table == 1:
                codes[written] = free_code[s - 1]
                written += 1
            continue
        held = x[s - 1] if table == 1 else np.int64(0)
        goal = _value(memory, table, classes[s, t], *tables)
        if s <= frozen:
            fits = g[t] + held + plain_transient[s] <= memory
            rest = _value(memory, 1, classes[s + 1, t], *tables)
            plain = forward_cost[s] - forward_cost[s - 1]
            if fits and rest >= 0 and plain + rest == goal:
                codes[written] = plain_code[s]
                written += 1
                if table == 1:
                    codes[written] = free_code[s - 1]
                    written += 1
                stack[depth] = np.array([s + 1, t, 1, memory])
                depth += 1
                continue
        chosen = np.int64(-1)
        for v in range(first_variant[s], first_variant[s + 1]):
            kept = saved[v] + (held if needs_input[v] else 0)
            output = x[s] if needs_output[v] else np.int64(0)
            later = parameters[t] - parameters[s]
            if g[t] + held + record_transient[v] > memory:
                continue
            if g[s] + kept + output + later + backward_transient[v] > memory:
                continue
            inner = 0 if needs_output[v] else 1
            rest = _value(memory - kept - output, inner, classes[s + 1, t], *tables)
            if rest >= 0 and record_cost[v] + rest == goal:
                chosen = v
                break
        if chosen >= 0:
            codes[written] = record_code[chosen]
            written += 1
            if table == 1 and not needs_input[chosen]:
                codes[written] = free_code[s - 1]
                written += 1
            # Last in, first out: what comes after the child is pushed before it.
            if table == 1 and needs_input[chosen]:
                stack[depth] = np.array([0, 0, 2, free_code[s - 1]])
                depth += 1
            if needs_output[chosen]:
                stack[depth] = np.array([0, 0, 2, free_code[s]])
                depth += 1
            stack[depth] = np.array([0, 0, 2, backward_code[chosen]])
            depth += 1
            kept = saved[chosen] + (held if needs_input[chosen] else 0)
            if needs_output[chosen]:
                stack[depth] = np.array([s + 1, t, 0, memory - kept - x[s]])
            else:
                stack[depth] = np.array([s + 1, t, 1, memory - kept])
            depth += 1
            continue
        cut = np.int64(-1)
        floor = g[t] + held + plain_transient[s]
        for q in range(s + 1, t + 1):
            if q - 1 > s:
                floor = max(floor, g[t] + held + x[q - 2] + plain_transient[q - 1])
            if floor > memory:
                break
            later = parameters[t] - parameters[q - 1]
            right = _value(memory - held, 1, classes[q, t], *tables)
            left = _value(memory - later, table, classes[s, q - 1], *tables)
            sweep = forward_cost[q - 1] - forward_cost[s - 1]
            if right >= 0 and left >= 0 and sweep + right + left == goal:
                cut = q
                break
        if cut < 0:
            return np.int64(-1)
        for j in range(s, cut):
            codes[written] = plain_code[j]
            written += 1
            if j > s:
                codes[written] = free_code[j - 1]
                written += 1
        later = parameters[t] - parameters[cut - 1]
        stack[depth] = np.array([s, cut - 1, table, memory - later])
        depth += 1
        stack[depth] = np.array([cut, t, 1, memory - held])
        depth += 1
    return written
