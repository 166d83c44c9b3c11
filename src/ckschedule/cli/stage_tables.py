"""Tables of a chain's stages: what they keep, and what it takes to run them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from ckschedule.cli.summary import stage_range
from ckschedule.cli.tables import ruled_table
from ckschedule.costs.chain import Chain, Stage, Variant
from ckschedule.plotting.scales import Scale, byte_scale, time_scale

if TYPE_CHECKING:
    from rich.table import Table

_LONG: Final = 1000
"""A number of so many units is read without digits after the point."""


def kept_table(chain: Chain) -> "Table":
    """Return the bytes that stay after each forward or backward, and their sums."""
    sizes = [
        size
        for s in chain.sequence
        for size in (
            s.output,
            s.gradient or 0,
            s.parameter_gradient,
            *(v.saved for v in s.variants),
        )
    ]
    scale = _short(byte_scale(sizes), sizes)
    table = ruled_table(
        (
            "what stays",
            f"output\n{scale.unit}",
            f"saved\n{scale.unit}",
            f"gradient\n{scale.unit}",
            f"weight\ngradient\n{scale.unit}",
            "saved\nholds",
        ),
        left=(0, 5),
    )
    for name, (stage, *_) in equal_runs(chain):
        first = stage.variants[0] if stage.variants else None
        table.add_row(
            name,
            scale.text(stage.output),
            "-" if first is None else scale.text(first.saved),
            scale.text(stage.gradient or 0),
            scale.text(stage.parameter_gradient),
            "-" if first is None else _holds(first),
        )
        for variant in stage.variants[1:]:
            table.add_row(
                _or_saving(variant),
                "",
                scale.text(variant.saved),
                "",
                "",
                _holds(variant),
                style="dim",
            )
    firsts = [s.variants[0] for s in chain.sequence if s.variants]
    table.add_section()
    table.add_row(
        "sum",
        scale.text(sum(s.output for s in chain.sequence)),
        scale.text(sum(v.saved for v in firsts)),
        scale.text(sum(s.gradient or 0 for s in chain.sequence)),
        scale.text(sum(s.parameter_gradient for s in chain.sequence)),
        "",
    )
    return table


def running_table(chain: Chain) -> "Table":
    """Return transient bytes and time of each run of a stage; maxima and sums."""
    variants = [v for s in chain.sequence for v in s.variants]
    sizes = [
        *(s.transient or 0 for s in chain.sequence),
        *(v.forward_transient or 0 for v in variants),
        *(v.backward_transient or 0 for v in variants),
    ]
    times = [
        *(s.forward for s in chain.sequence),
        *(v.forward or 0 for v in variants),
        *(v.backward for v in variants),
    ]
    size = _short(byte_scale(sizes), sizes)
    clock = _short(time_scale(times, chain.time_unit), times)
    table = ruled_table(
        (
            "while running",
            f"forward\n{size.unit}",
            f"recorded\n{size.unit}",
            f"backward\n{size.unit}",
            f"forward\n{clock.unit}",
            f"recorded\n{clock.unit}",
            f"backward\n{clock.unit}",
        )
    )
    for name, (stage, *_) in equal_runs(chain):
        first = stage.variants[0] if stage.variants else None
        table.add_row(
            name,
            size.text(stage.transient or 0),
            "-" if first is None else size.text(first.forward_transient or 0),
            "-" if first is None else size.text(first.backward_transient or 0),
            clock.text(stage.forward),
            "-" if first is None else clock.text(first.forward or 0),
            "-" if first is None else clock.text(first.backward),
        )
        for variant in stage.variants[1:]:
            table.add_row(
                _or_saving(variant),
                "",
                size.text(variant.forward_transient or 0),
                size.text(variant.backward_transient or 0),
                "",
                clock.text(variant.forward or 0),
                clock.text(variant.backward),
                style="dim",
            )
    firsts = [s.variants[0] for s in chain.sequence if s.variants]
    table.add_section()
    table.add_row(
        "largest, sum",
        size.text(max(s.transient or 0 for s in chain.sequence)),
        size.text(max(v.forward_transient or 0 for v in firsts)),
        size.text(max(v.backward_transient or 0 for v in firsts)),
        clock.text(sum(s.forward for s in chain.sequence)),
        clock.text(sum(v.forward or 0 for v in firsts)),
        clock.text(sum(v.backward for v in firsts)),
    )
    return table


def equal_runs(chain: Chain) -> Iterator[tuple[str, list[Stage]]]:
    """Give runs of stages that differ by their names only, each with its name."""
    start = 0
    for _, run in groupby(chain.sequence, key=lambda stage: replace(stage, name="")):
        stages = list(run)
        name = stage_range(chain, range(start, start + len(stages)))
        start += len(stages)
        yield name, stages


def _short(scale: Scale, numbers: Iterable[int]) -> Scale:
    """Return a scale without digits that would make the columns too wide."""
    if max(numbers, default=0) < _LONG * scale.divisor:
        return scale
    return replace(scale, decimals=0)


def _holds(variant: Variant) -> str:
    held = [
        name
        for name, holds in (
            ("input", variant.needs_input),
            ("output", variant.needs_output),
        )
        if holds
    ]
    return ", ".join(held) or "-"


def _or_saving(variant: Variant) -> str:
    return f"  or {variant.name}"
