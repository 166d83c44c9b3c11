"""Arenas as wire models, and back: schedule and blocks are worked out again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ckschedule.arena import Arena, Block, blocks_at, fault_of, lifetimes_of
from ckschedule.documents.costs import read_model, write_model
from ckschedule.documents.results import compare, whole
from ckschedule.documents.schedules import read_schedule, write_schedule
from ckschedule.errors import DocumentError, InvalidScheduleError, InvalidSettingError
from ckschedule.simulation import Trace, simulate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckschedule.documents import wire


def write_arena(arena: Arena) -> wire.ArenaWire:
    """Return the wire model of an arena.

    Raises
    ------
    DocumentError
        If the arena contradicts itself or its schedule.
    """
    from ckschedule.documents import wire

    _check(arena)
    operations, sequence = write_schedule(arena.trace.schedule)
    return wire.ArenaWire(
        kind="arena",
        size=whole(arena.size, "size"),
        lower_bound=whole(arena.lower_bound, "lower_bound"),
        live_peak=arena.live_peak,
        peak=whole(arena.trace.peak, "peak"),
        static=arena.model.static.total,
        alignment=whole(arena.alignment, "alignment"),
        inplace=list(arena.inplace),
        method=arena.method,
        stop=arena.stop,
        model=write_model(arena.model),
        operations=operations,
        sequence=sequence,
        blocks=[
            wire.BlockWire(
                name=block.name,
                first=block.first,
                last=block.last,
                size=block.size,
                offset=whole(block.offset, f"blocks[{k}].offset"),
            )
            for k, block in enumerate(arena.blocks)
        ],
    )


def read_arena(body: wire.ArenaWire) -> Arena:
    """Return the arena of a wire model, its schedule simulated again.

    Raises
    ------
    DocumentError
        If the blocks are not those of the schedule, two that live together overlap, or
        a recorded number is another.
    """
    model = read_model(body.model)
    schedule = read_schedule(body.operations, body.sequence)
    try:
        trace = simulate(model, schedule)
    except InvalidScheduleError as error:
        raise DocumentError(f"sequence: the simulator refuses it: {error}") from error
    compare("peak", body.peak, trace.peak)
    compare("static", body.static, model.static.total)
    arena = Arena(
        model=model,
        trace=trace,
        blocks=_read_blocks(body.blocks, trace, body.inplace),
        size=body.size,
        lower_bound=body.lower_bound,
        alignment=body.alignment,
        inplace=tuple(body.inplace),
        method=body.method,
        stop=body.stop,
    )
    _check(arena)
    compare("live_peak", body.live_peak, arena.live_peak)
    return arena


def _read_blocks(
    rows: Sequence[wire.BlockWire], trace: Trace, inplace: Sequence[str]
) -> tuple[Block, ...]:
    """Return the recorded blocks; who shares storage follows from the schedule."""
    try:
        lifetimes = lifetimes_of(trace, inplace)
    except InvalidSettingError as error:
        raise DocumentError(str(error)) from error
    known = blocks_at(trace, lifetimes, np.zeros(len(lifetimes), np.int64))
    if len(rows) != len(known):
        raise DocumentError(
            f"blocks: there are {len(rows)}, but the schedule has {len(known)}"
        )
    return tuple(
        replace(
            block,
            name=row.name,
            first=row.first,
            last=row.last,
            size=row.size,
            offset=row.offset,
        )
        for block, row in zip(known, rows, strict=True)
    )


def _check(arena: Arena) -> None:
    """Refuse an arena that contradicts itself or its schedule."""
    fault = fault_of(arena)
    if fault is not None:
        raise DocumentError(f"the arena is wrong: {fault}")
