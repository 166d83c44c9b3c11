"""A chain as a table: CSV with one stage a row."""

import csv
import re
from dataclasses import dataclass
from io import StringIO
from typing import Final

from ckschedule.costs import Chain, Stage, StaticMemory, Variant
from ckschedule.documents.files import AnyPath
from ckschedule.errors import DocumentError, InvalidModelError
from ckschedule.importers.text import read_text, stem
from ckschedule.units import TimeUnit

REQUIRED: Final = ("name", "output", "forward", "saved", "backward")
"""Columns that every table has."""

OPTIONAL: Final = (
    "gradient",
    "parameter_gradient",
    "transient",
    "recorded_forward",
    "forward_transient",
    "backward_transient",
    "needs_input",
    "needs_output",
)
"""Columns that a table may have; an empty cell means the default of `Stage`."""

_INPUT: Final = "input"
_LOSS: Final = "loss"
_WHOLE: Final = re.compile(r"[0-9]{1,19}")
_TICKS: Final = ("forward", "recorded_forward", "backward")
_FLAGS: Final = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class _Row:
    """Cells by column; empty ones are left out."""

    cells: dict[str, str]
    where: str

    def number(self, column: str) -> int | None:
        text = self.cells.get(column)
        if text is None:
            return None
        if not _WHOLE.fullmatch(text):
            what = "ticks" if column in _TICKS else "bytes"
            raise DocumentError(
                f"{self.where}, column {column!r}: {text[:40]!r} {_fault(text, what)}"
            )
        return int(text)

    def required(self, column: str) -> int:
        number = self.number(column)
        if number is None:
            raise DocumentError(
                f"{self.where}, column {column!r}: the cell is empty; write a number"
            )
        return number

    def flag(self, column: str) -> bool:
        text = self.cells.get(column, "true")
        if text.lower() not in _FLAGS:
            raise DocumentError(
                f"{self.where}, column {column!r}: {text[:40]!r} is no flag; write "
                f"true or false"
            )
        return _FLAGS[text.lower()]


def _fault(text: str, what: str) -> str:
    """Return why a cell is no whole number of ``what``, and what to write instead."""
    if re.fullmatch(r"-[0-9.]+", text, re.ASCII):
        return f"is negative; write 0 {what} or more"
    if re.fullmatch(r"[0-9]*\.[0-9]+|[0-9]+\.", text, re.ASCII):
        return f"is a fraction; round it to whole {what}"
    if re.fullmatch(r"[0-9.]+ *[A-Za-z]+", text, re.ASCII):
        return f"has a unit; write the number of {what} alone, such as 1500000"
    if re.fullmatch(r"[0-9]+", text, re.ASCII):
        return f"has more than 19 digits; write at most 2**63 - 1 {what}"
    return f"is no whole number of {what}; write digits only, such as 1500000"


def import_stage_table(
    path: AnyPath,
    *,
    input: int | None = None,
    static: StaticMemory | None = None,
    time_unit: TimeUnit = "ns",
) -> Chain:
    """Return the chain of a CSV table.

    Parameters
    ----------
    path
        A CSV file with a header, in UTF-8. Columns `REQUIRED` and, in any order, some
        of `OPTIONAL`; ``recorded_forward`` is `Variant.forward`. Bytes and ticks are
        whole numbers. The first row may be named "input": it has only an output, the
        bytes of the chain's input; its other cells are empty or 0. A last row named
        "loss" is the chain's loss. A row without ``saved`` and ``backward`` is a frozen
        stage.
    input
        Bytes of the chain's input, where the table has no row for it.
    static
        Bytes that lie there throughout; None for none.
    time_unit
        What one tick of the table is.

    Returns
    -------
    Chain
        Each stage has at most one variant; a chain with more needs JSON.

    Raises
    ------
    DocumentError
        If a cell cannot be read; the message names row, column and value.
    InvalidModelError
        If the numbers make no chain.
    OSError
        If the file cannot be read.
    """
    rows = _read_rows(path)
    if rows and rows[0].cells["name"] == _INPUT:
        row = rows.pop(0)
        extra = [
            column
            for column, text in row.cells.items()
            if column not in ("name", "output") and text != "0"
        ]
        if extra:
            raise DocumentError(
                f"{row.where}, column {extra[0]!r}: the input has only an output; "
                f"leave the cell empty or 0"
            )
        if input is not None:
            raise DocumentError(
                f"{row.where}: the table has its own input; leave out input={input!r}"
            )
        input = row.required("output")
    if input is None:
        raise DocumentError(
            f"{path}: no bytes for the chain's input; add a first row named 'input' "
            f"with these bytes in the column 'output'"
        )
    loss = _stage(rows.pop()) if rows and rows[-1].cells["name"] == _LOSS else None
    if not rows:
        raise DocumentError(f"{path}: the table has no stages; write one a row")
    try:
        return Chain(
            name=stem(path),
            input=input,
            stages=[_stage(row) for row in rows],
            loss=loss,
            static=static or StaticMemory(),
            time_unit=time_unit,
        )
    except InvalidModelError as error:
        raise InvalidModelError(f"{path}: {error}") from error


def _read_rows(path: AnyPath) -> list[_Row]:
    rows: list[_Row] = []
    reader = csv.reader(StringIO(read_text(path), newline=""), strict=True)
    try:
        header = [column.strip() for column in next(reader, [])]
        _check_header(header, path)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"{path}, line {reader.line_num}"
            if len(cells) != len(header):
                raise DocumentError(
                    f"{where}: {len(cells)} cells under {len(header)} columns; quote "
                    f"names that hold commas"
                )
            row = {
                column: cell.strip()
                for column, cell in zip(header, cells, strict=True)
                if cell.strip()
            }
            if "name" not in row:
                raise DocumentError(f"{where}, column 'name': the cell is empty")
            rows.append(_Row(row, f"{where} ({row['name'][:40]!r})"))
    except csv.Error as error:
        raise DocumentError(f"{path}, line {reader.line_num}: {error}") from None
    return rows


def _check_header(header: list[str], path: AnyPath) -> None:
    known = (*REQUIRED, *OPTIONAL)
    for i, column in enumerate(header):
        if column not in known:
            raise DocumentError(
                f"{path}, line 1: unknown column {column[:40]!r}; known are "
                f"{', '.join(known)}, separated by commas"
            )
        if column in header[:i]:
            raise DocumentError(f"{path}, line 1: column {column!r} occurs twice")
    missing = [column for column in REQUIRED if column not in header]
    if missing:
        raise DocumentError(
            f"{path}, line 1: column {missing[0]!r} is missing; every table has "
            f"{', '.join(REQUIRED)}"
        )


def _stage(row: _Row) -> Stage:
    variants: tuple[Variant, ...] = ()
    if "saved" in row.cells or "backward" in row.cells:
        variants = (
            Variant(
                saved=row.required("saved"),
                backward=row.required("backward"),
                forward=row.number("recorded_forward"),
                needs_input=row.flag("needs_input"),
                needs_output=row.flag("needs_output"),
                forward_transient=row.number("forward_transient"),
                backward_transient=row.number("backward_transient"),
            ),
        )
    return Stage(
        name=row.cells["name"],
        output=row.required("output"),
        forward=row.required("forward"),
        gradient=row.number("gradient"),
        parameter_gradient=row.number("parameter_gradient") or 0,
        transient=row.number("transient"),
        variants=variants,
    )
