"""Schedules as a table of distinct operations and positions in it, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ckschedule.errors import DocumentError
from ckschedule.operations import Compute, Free, Operation
from ckschedule.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckschedule.documents import wire


def write_table(operations: Iterable[Operation]) -> list[wire.OperationWire]:
    """Return the wire models of distinct operations, in order."""
    from ckschedule.documents import wire

    table: list[wire.OperationWire] = []
    for operation in operations:
        match operation:
            case Compute(node, mode):
                table.append(wire.ComputeWire(op="compute", node=node, mode=mode))
            case Free(value):
                table.append(wire.FreeWire(op="free", value=value))
            case _:
                assert_never(operation)
    return table


def read_table(table: Iterable[wire.OperationWire]) -> list[Operation]:
    """Return the operations of a table, in order."""
    return [
        Compute(entry.node, entry.mode) if entry.op == "compute" else Free(entry.value)
        for entry in table
    ]


def write_schedule(schedule: Schedule) -> tuple[list[wire.OperationWire], list[int]]:
    """Return a schedule as a table of its distinct operations and positions in it."""
    positions: dict[Operation, int] = {}
    sequence = [positions.setdefault(op, len(positions)) for op in schedule]
    return write_table(positions), sequence


def read_schedule(
    table: Sequence[wire.OperationWire],
    sequence: Sequence[int],
    where: str = "sequence",
) -> Schedule:
    """Return the schedule that `write_schedule` gave these for.

    Raises
    ------
    DocumentError
        If a position lies outside the table.
    """
    operations = read_table(table)
    check_positions(sequence, len(operations), where)
    return Schedule([operations[position] for position in sequence])


def check_positions(sequence: Sequence[int], length: int, where: str) -> None:
    """Refuse positions outside a table; they are known not to be negative."""
    if sequence and max(sequence) >= length:
        at = next(i for i, position in enumerate(sequence) if position >= length)
        raise DocumentError(
            f"{where}[{at}] is {sequence[at]}, but the table has {length} operations"
        )
