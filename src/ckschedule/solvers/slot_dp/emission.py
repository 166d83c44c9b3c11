"""Schedule codes from the choices of the recurrence, in the order in which they run."""

from typing import Final

import numpy as np
import numpy.typing as npt

from ckschedule.solvers.chain_dp.arrays import ChainArrays

_CODE: Final = -1
"""Marks a stack entry that is one code rather than an interval."""


def emit(arrays: ChainArrays, choices: list[int]) -> npt.NDArray[np.int64]:
    """Return the codes of a schedule.

    Parameters
    ----------
    arrays
        The chain.
    choices
        One for every interval that has to be run, in the order in which they are
        entered: q > 0 to cut there, 0 to run a frozen stage, -1 - v to record with
        variant v.

    Returns
    -------
    (n_operations,) array of int64
        See `ckschedule.schedule.to_codes`. Linear in its length.
    """
    plain, free = arrays.plain_code.tolist(), arrays.free_code.tolist()
    record, backward = arrays.record_code.tolist(), arrays.backward_code.tolist()
    codes: list[int] = []
    given = iter(choices)
    # Intervals to run as (table, first stage, last stage), or single codes.
    stack = [(0, 1, arrays.n)]
    while stack:
        table, s, t = stack.pop()
        if table == _CODE:
            codes.append(s)
        elif s > t or t <= arrays.frozen:
            # Nothing is left to compute; a counted input is released.
            if table == 1:
                codes.append(free[s - 1])
        elif (choice := next(given)) > 0:
            for j in range(s, choice):
                codes.append(plain[j])
                if j > s:
                    codes.append(free[j - 1])
            stack += [(table, s, choice - 1), (1, choice, t)]
        elif choice == 0:
            codes.append(plain[s])
            if table == 1:
                codes.append(free[s - 1])
            stack.append((1, s + 1, t))
        else:
            v = -1 - choice
            needs_output = bool(arrays.needs_output[v])
            codes.append(record[v])
            # Last in, first out: what comes after the rest is pushed before it.
            if table == 1:
                if arrays.needs_input[v]:
                    stack.append((_CODE, free[s - 1], 0))
                else:
                    codes.append(free[s - 1])
            if needs_output:
                stack.append((_CODE, free[s], 0))
            stack += [(_CODE, backward[v], 0), (0 if needs_output else 1, s + 1, t)]
    return np.array(codes, np.int64)
