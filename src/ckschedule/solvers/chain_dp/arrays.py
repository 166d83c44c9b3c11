"""A chain as integer columns, with times and executions joined in one number."""

from dataclasses import dataclass
from math import gcd
from typing import Final

import numpy as np

from ckschedule.costs.chain import Chain
from ckschedule.costs.encoding import Encoding, Ints, encode
from ckschedule.costs.lowering import PLAIN
from ckschedule.errors import ResourceLimitError
from ckschedule.units import INT64_MAX

LARGEST: Final = INT64_MAX // 2
"""Largest memory, in bytes, and largest cost that the kernels take: two of either still
add up in 64 bits."""


@dataclass(frozen=True, kw_only=True)
class ChainArrays:
    """Columns of a chain of n stages, the loss included; stage i stands at index i.

    A *cost* is ``ticks // tick * weight + executions``, so that comparing costs
    compares time first and the number of forward executions second. No
    persistent schedule runs ``weight`` forwards or more. Where time and executions do
    not fit into one number, executions are not counted and ``weight`` is 1.

    Attributes
    ----------
    n, frozen
        Number of stages, and how many leading ones have no backward.
    tick, weight
        See above; ``tick`` is the greatest common divisor of all times.
    worst
        Multiples of ``tick`` that no persistent schedule exceeds.
    x, g
        (n + 1,), bytes: outputs and their gradients; index 0 is the input. ``g`` is
        zero where no backward yields that gradient.
    parameters
        (n + 1,), bytes: prefix sums of the parameter gradients.
    plain_cost, plain_transient
        (n + 1,): plain forwards; index 0 unused.
    forward_cost
        (n + 1,): prefix sums of ``plain_cost``.
    first_variant
        (n + 2,): the variants of stage i are ``first_variant[i]`` up to, and without,
        ``first_variant[i + 1]``.
    saved, cost, record_transient, backward_transient, needs_input, needs_output
        By variant; ``cost`` joins the recorded forward and the backward.
    split
        (n + 1,): 1 where the two tables of an interval starting at i differ by more
        than a shift: some variant does not need its input, or the stage is frozen.
    plain_code, free_code, record_code, backward_code
        Schedule codes: (n + 1,) by stage for the first two, by variant for the others.
    """

    n: int
    frozen: int
    tick: int
    weight: int
    worst: int
    x: Ints
    g: Ints
    parameters: Ints
    plain_cost: Ints
    plain_transient: Ints
    forward_cost: Ints
    first_variant: Ints
    saved: Ints
    cost: Ints
    record_transient: Ints
    backward_transient: Ints
    needs_input: Ints
    needs_output: Ints
    split: Ints
    plain_code: Ints
    free_code: Ints
    record_code: Ints
    backward_code: Ints

    def ticks(self, cost: int) -> int:
        """Return the makespan of a cost."""
        return cost // self.weight * self.tick


def chain_arrays(chain: Chain) -> ChainArrays:
    """Return the columns of a chain.

    Raises
    ------
    ResourceLimitError
        If the chain's ticks or bytes are so many that two sums of them do not fit into
        one 64-bit number.
    """
    stages = chain.sequence
    n = len(stages)
    variants = [(i, v) for i, s in enumerate(stages, start=1) for v in s.variants]
    tick = gcd(
        *(s.forward for s in stages),
        *(v.forward or 0 for _, v in variants),
        *(v.backward for _, v in variants),
    )
    tick = max(tick, 1)
    _check_ranges(chain, tick)
    weight, execution = _weigh(chain, tick)

    def column(*numbers: int) -> Ints:
        return np.array(numbers, np.int64)

    plain_cost = column(0, *(s.forward // tick * weight + execution for s in stages))
    first_variant = np.zeros(n + 2, np.int64)
    first_variant[2:] = np.cumsum([len(s.variants) for s in stages])
    split = column(
        0,
        *(s.frozen or not all(v.needs_input for v in s.variants) for s in stages),
    )
    encoding = encode(chain.to_graph())
    return ChainArrays(
        n=n,
        frozen=chain.frozen_prefix,
        tick=tick,
        weight=weight,
        worst=chain.worst_makespan // tick,
        x=column(chain.input, *(s.output for s in stages)),
        g=column(*chain.input_gradients, 0),
        parameters=np.cumsum(column(0, *(s.parameter_gradient for s in stages))),
        plain_cost=plain_cost,
        plain_transient=column(0, *(s.transient or 0 for s in stages)),
        forward_cost=np.cumsum(plain_cost),
        first_variant=first_variant,
        saved=column(*(v.saved for _, v in variants)),
        cost=column(
            *(
                ((v.forward or 0) + v.backward) // tick * weight + execution
                for _, v in variants
            )
        ),
        record_transient=column(*(v.forward_transient or 0 for _, v in variants)),
        backward_transient=column(*(v.backward_transient or 0 for _, v in variants)),
        needs_input=column(*(v.needs_input for _, v in variants)),
        needs_output=column(*(v.needs_output for _, v in variants)),
        split=split,
        **_codes(chain, encoding),
    )


def _weigh(chain: Chain, tick: int) -> tuple[int, int]:
    """Return the weights of a tick and of an execution in costs.

    Of very long chains with very fine times not both fit into a cost; then time alone
    decides.
    """
    n = len(chain.sequence)
    weight = n * (n + 1) // 2 + 1
    if (chain.worst_makespan // tick + n) * weight > LARGEST:
        return 1, 0
    return weight, 1


def _check_ranges(chain: Chain, tick: int) -> None:
    size = chain.worst_peak - chain.static.total
    if size > LARGEST:
        raise ResourceLimitError(
            f"chain {chain.name!r}: its values and its largest transient are {size} "
            f"bytes together, which passes 2**62; give sizes in a coarser unit, such "
            f"as KiB"
        )
    worst = chain.worst_makespan
    if worst // tick > LARGEST:
        raise ResourceLimitError(
            f"chain {chain.name!r}: its worst makespan is {worst} ticks, which passes "
            f"2**62; give times in a coarser unit"
        )


def _codes(chain: Chain, encoding: Encoding) -> dict[str, Ints]:
    modes, values = encoding.mode_index, encoding.graph.value_index
    n = len(chain.sequence)
    plain = [0, *(modes[f"F{i}", PLAIN] for i in range(1, n + 1))]
    free = [-1 - values[f"x{i}"] for i in range(n + 1)]
    named = [
        (i, variant.name)
        for i, stage in enumerate(chain.sequence, start=1)
        for variant in stage.variants
    ]
    return {
        "plain_code": np.array(plain, np.int64),
        "free_code": np.array(free, np.int64),
        "record_code": np.array([modes[f"F{i}", name] for i, name in named], np.int64),
        "backward_code": np.array(
            [modes[f"B{i}", name] for i, name in named], np.int64
        ),
    }
