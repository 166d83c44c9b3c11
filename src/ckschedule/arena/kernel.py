"""Lifetimes read off a schedule, and blocks put at addresses, compiled."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def record(
    codes,
    size,
    live,
    held_start,
    held,
    transient,
    node,
    needs_start,
    needs,
    outputs_start,
    outputs,
    consumes_start,
    consumes,
    owner,
    first,
    last,
    used,
    extent,
):
    """Write one row for each stored copy of a value and each scratch; return how many.

    Parameters
    ----------
    codes
        (n_operations,): those of a legal schedule.
    size ... consumes
        Of the graph's `Encoding`.
    owner, first, last, used, extent
        One entry a row, overwritten: the value, or -1 - k for scratch of node k; the
        operations within which its bytes are taken; the last one that reads them; and
        the bytes.
    """
    end = len(codes)
    current = np.full(len(size), -1, np.int64)
    seen = np.full(len(size), -1, np.int64)
    stack = np.empty(len(size), np.int64)
    n = 0
    for v in range(len(size)):
        if live[v]:
            owner[n], first[n], last[n], used[n], extent[n] = v, 0, end, -1, size[v]
            current[v] = n
            n += 1
    for i in range(end):
        code = codes[i]
        if code < 0:
            v = -1 - code
            last[current[v]] = i
            current[v] = -1
            continue
        # Who reads a value reads what it holds: saved tensors are views of others.
        height = 0
        for j in range(needs_start[code], needs_start[code + 1]):
            v = needs[j]
            if seen[v] != i:
                seen[v] = i
                stack[height] = v
                height += 1
        while height > 0:
            height -= 1
            v = stack[height]
            used[current[v]] = i
            for h in range(held_start[v], held_start[v + 1]):
                if seen[held[h]] != i:
                    seen[held[h]] = i
                    stack[height] = held[h]
                    height += 1
        spare = transient[code]
        for j in range(outputs_start[code], outputs_start[code + 1]):
            v = outputs[j]
            if current[v] >= 0:
                continue
            born = i
            if size[v] <= spare:
                spare -= size[v]
            else:
                # It is written over what is consumed, which lives while i runs.
                born = i + 1
            owner[n], first[n], last[n], used[n], extent[n] = v, born, end, -1, size[v]
            current[v] = n
            n += 1
        if spare > 0:
            owner[n], first[n], last[n], used[n] = -1 - node[code], i, i, i
            extent[n] = spare
            n += 1
        for j in range(consumes_start[code], consumes_start[code + 1]):
            v = consumes[j]
            last[current[v]] = i
            current[v] = -1
    return n


@numba.njit(cache=True, nogil=True)
def overwrite(
    codes,
    allowed,
    live,
    node,
    needs_start,
    needs,
    outputs_start,
    outputs,
    n_rows,
    owner,
    first,
    last,
    used,
    extent,
    storage,
    cut,
):
    """Put outputs into the storage of inputs that nothing reads any more.

    Parameters
    ----------
    codes, live ... outputs
        As for `record`, which wrote the rows; ``allowed`` has a flag per node.
    storage
        (n_rows,): overwritten with the row whose storage a row lies in, its own at
        first.
    cut
        (n_rows,): overwritten with ``last``, or the operation that overwrites a row.
    """
    end = len(codes)
    current = np.full(len(live), -1, np.int64)
    n = 0
    for b in range(n_rows):
        storage[b] = b
        cut[b] = last[b]
    for v in range(len(live)):
        if live[v]:
            current[v] = n
            n += 1
    for i in range(end):
        code = codes[i]
        if code < 0:
            continue
        begin = n
        for j in range(outputs_start[code], outputs_start[code + 1]):
            v = outputs[j]
            # Rows come in the order in which `record` wrote them.
            if current[v] < 0 or last[current[v]] < i:
                current[v] = n
                n += 1
        late = False
        for b in range(begin, n):
            late = late or first[b] > i
        if allowed[node[code]] and not late:
            for b in range(begin, n):
                chosen = np.int64(-1)
                for j in range(needs_start[code], needs_start[code + 1]):
                    a = current[needs[j]]
                    fits = extent[a] >= extent[b] and extent[b] > 0
                    dies = used[a] == i and last[a] < end and cut[a] == last[a]
                    # Nobody has taken it yet: its own storage ends with it.
                    free = not _taken(storage, storage[a], begin, b)
                    less = chosen < 0 or extent[a] < extent[chosen]
                    if fits and dies and free and less:
                        chosen = a
                if chosen >= 0:
                    storage[b] = storage[chosen]
                    cut[chosen] = i
        if n < n_rows and owner[n] < 0 and first[n] == i:
            n += 1


@numba.njit(cache=True, nogil=True)
def _taken(storage, wanted, begin, end):
    found = False
    for b in range(begin, end):
        found = found or storage[b] == wanted
    return found


@numba.njit(cache=True, nogil=True)
def place(order, first, last, size, lowest, width, offset):
    """Give each block of ``order`` an offset, one after the other; return the height.

    Parameters
    ----------
    order
        Blocks by index.
    first, last, size
        (n,): inclusive lifetimes, and units of memory.
    lowest
        Take the lowest gap that fits; otherwise the smallest one.
    width
        Instants of one bucket: blocks are looked for in the buckets of a lifetime.
    offset
        (n,): overwritten.
    """
    n = len(first)
    entries = np.int64(0)
    buckets = np.int64(0)
    for k in range(n):
        entries += last[k] // width - first[k] // width + 1
        buckets = max(buckets, last[k] // width + 1)
    head = np.full(buckets, -1, np.int64)
    following = np.empty(entries, np.int64)
    item = np.empty(entries, np.int64)
    n_entries = 0
    seen = np.full(n, -1, np.int64)
    near = np.empty(n, np.int64)
    height = np.int64(0)
    for k in order:
        if size[k] == 0:
            offset[k] = 0
            continue
        m = 0
        for bucket in range(first[k] // width, last[k] // width + 1):
            e = head[bucket]
            while e >= 0:
                b = item[e]
                if seen[b] != k and first[b] <= last[k] and last[b] >= first[k]:
                    seen[b] = k
                    near[m] = b
                    m += 1
                e = following[e]
        # By rising offset: between neighbours in the way there may be a gap.
        end = np.int64(0)
        best = np.int64(-1)
        best_gap = np.int64(-1)
        for j in np.argsort(offset[near[:m]]):
            b = near[j]
            gap = offset[b] - end
            if gap >= size[k] and (best < 0 or gap < best_gap):
                best, best_gap = end, gap
                if lowest:
                    break
            end = max(end, offset[b] + size[b])
        if best < 0:
            best = end
        offset[k] = best
        height = max(height, best + size[k])
        for bucket in range(first[k] // width, last[k] // width + 1):
            item[n_entries] = k
            following[n_entries] = head[bucket]
            head[bucket] = n_entries
            n_entries += 1
    return height
