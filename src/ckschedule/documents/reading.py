"""Read documents: nothing is trusted that the simulator can check."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

from ckschedule.arena import Arena
from ckschedule.costs import Chain, Graph
from ckschedule.documents.arenas import read_arena
from ckschedule.documents.costs import read_chain, read_graph
from ckschedule.documents.costs import read_model as _read_model
from ckschedule.documents.files import AnyPath, read_bytes
from ckschedule.documents.fitting import check_fits
from ckschedule.documents.fronts import read_front
from ckschedule.documents.header import parse_body
from ckschedule.documents.json_text import MAX_BYTES, decode
from ckschedule.documents.results import read_result
from ckschedule.documents.schedules import read_schedule
from ckschedule.errors import DocumentError, InvalidScheduleError
from ckschedule.front import ParetoFront
from ckschedule.result import Result
from ckschedule.schedule import Schedule
from ckschedule.simulation import Model, simulate

if TYPE_CHECKING:
    from ckschedule.documents import wire

Documented: TypeAlias = Chain | Graph | Schedule | Result | ParetoFront | Arena
"""Everything that a document can hold."""

_MAX_FIELDS: Final = 32


def read_json(
    path: AnyPath, *, model: Model | None = None, max_bytes: int = MAX_BYTES
) -> Documented:
    """Return what a file holds.

    Parameters
    ----------
    path
        A file that `write_json` wrote.
    model
        The model at hand: the document must fit it (`check_fits`), and a schedule must
        be legal for it.
    max_bytes
        Larger files are refused.

    Returns
    -------
    Chain, Graph, Schedule, Result, ParetoFront or Arena
        Equal to what was written. Schedules of results, fronts and arenas have been
        simulated again.

    Raises
    ------
    DocumentError
        If the file is no valid document, contradicts itself or the simulator, or was
        made for another model.
    OSError
        If it cannot be opened or read.
    """
    try:
        return from_json(read_bytes(path, max_bytes=max_bytes), model=model)
    except DocumentError as error:
        raise DocumentError(f"{os.fspath(path)}: {error}") from error


def from_json(
    text: str | bytes, *, model: Model | None = None, max_bytes: int = MAX_BYTES
) -> Documented:
    """Return what a text holds; see `read_json`.

    Examples
    --------
    >>> from ckschedule.documents import to_json
    >>> from ckschedule.operations import Free
    >>> from_json(to_json(Schedule([Free("x1")])))
    Schedule(operations=(Free(value='x1'),))
    """
    body = _parse(text, max_bytes)
    document = _build(body)
    recorded = model_of(body, document)
    if model is not None:
        if recorded is not None:
            check_fits(recorded, model)
        if isinstance(document, Schedule):
            _check_legal(document, model)
    elif isinstance(document, Schedule) and recorded is not None:
        _check_legal(document, recorded)
    return document


def read_model(path: AnyPath, *, max_bytes: int = MAX_BYTES) -> Model:
    """Return the model that a document of any kind is about.

    Parameters
    ----------
    path
        A file that `write_json` wrote.
    max_bytes
        Larger files are refused.

    Returns
    -------
    Chain or Graph
        The document itself, or the model recorded in it.

    Raises
    ------
    DocumentError
        As `read_json`, and if the document records no model.
    OSError
        If the file cannot be opened or read.
    """
    try:
        body = _parse(read_bytes(path, max_bytes=max_bytes), max_bytes)
        model = model_of(body, _build(body))
        if model is None:
            raise DocumentError(
                f"this {body.kind} records no model; write it with model=..., or give "
                f"the model's own file"
            )
    except DocumentError as error:
        raise DocumentError(f"{os.fspath(path)}: {error}") from error
    return model


def model_of(body: wire.Body, document: Documented) -> Model | None:
    """Return the model that a document records, if it does."""
    match document:
        case Chain() | Graph():
            return document
        case Schedule():
            assert body.kind == "schedule", "one class, one kind"
            return None if body.model is None else _read_model(body.model)
        case Result(model=model) | ParetoFront(model=model) | Arena(model=model):
            return model
        case _:
            assert_never(document)


def _parse(text: str | bytes, max_bytes: int) -> wire.Body:
    return parse_body(decode(text, max_bytes=max_bytes, max_fields=_MAX_FIELDS))


def _build(body: wire.Body) -> Documented:
    match body.kind:
        case "chain":
            return read_chain(body)
        case "graph":
            return read_graph(body)
        case "schedule":
            return read_schedule(body.operations, body.sequence)
        case "result":
            return read_result(body)
        case "front":
            return read_front(body)
        case "arena":
            return read_arena(body)
        case _:
            assert_never(body.kind)


def _check_legal(schedule: Schedule, model: Model) -> None:
    try:
        simulate(model, schedule)
    except InvalidScheduleError as error:
        raise DocumentError(
            f"the schedule does not fit the model {model.name!r}: {error}"
        ) from error
