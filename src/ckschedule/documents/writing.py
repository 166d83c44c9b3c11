"""Write documents."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ckschedule.arena import Arena
from ckschedule.costs import Chain, Graph
from ckschedule.documents.arenas import write_arena
from ckschedule.documents.costs import write_chain, write_graph, write_model
from ckschedule.documents.files import AnyPath, write_atomically
from ckschedule.documents.fitting import check_fits
from ckschedule.documents.fronts import write_front
from ckschedule.documents.header import dump
from ckschedule.documents.json_text import MAX_BYTES, encode
from ckschedule.documents.results import write_result
from ckschedule.documents.schedules import write_schedule
from ckschedule.errors import DocumentError
from ckschedule.front import ParetoFront
from ckschedule.result import Result
from ckschedule.schedule import Schedule
from ckschedule.simulation import simulate

if TYPE_CHECKING:
    from ckschedule.documents import wire
    from ckschedule.documents.reading import Documented
    from ckschedule.simulation import Model

_log = logging.getLogger(__name__)


def write_json(obj: Documented, path: AnyPath, *, model: Model | None = None) -> None:
    """Write a document; the file appears whole or not at all.

    Parameters
    ----------
    obj
        Chain, graph, schedule, result, front or arena.
    path
        File to write or replace, in a folder that exists.
    model
        For a schedule: the model it is for, to be recorded with it, so that reading can
        tell whether it fits another. All other kinds record their model anyway.

    Raises
    ------
    DocumentError
        If ``obj`` is of no documented kind or contradicts itself.
    InvalidScheduleError
        If a schedule is illegal for its ``model``.
    OSError
        If the folder is missing or the file cannot be written.
    """
    data = to_json(obj, model=model).encode()
    if len(data) > MAX_BYTES:
        _log.warning(
            "%s has %d bytes; to read it, pass read_json a max_bytes above its default "
            "of %d",
            path,
            len(data),
            MAX_BYTES,
        )
    write_atomically(path, data)


def to_json(obj: Documented, *, model: Model | None = None) -> str:
    """Return a document as text; see `write_json`.

    Examples
    --------
    >>> from ckschedule.operations import Free
    >>> print(to_json(Schedule([Free("x1")])), end="")
    ... # doctest: +NORMALIZE_WHITESPACE
    {"format":"ckschedule","version":1,"kind":"schedule","model":null,"operations":[{"op":"free","value":"x1"}],"sequence":[0]}
    """
    from pydantic import ValidationError

    try:
        body = _body(obj, model)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise DocumentError(
            f"cannot write this {type(obj).__name__}: {place} is "
            f"{ascii(first['input'])[:60]}: {first['msg']}"
        ) from None
    return encode(dump(body))


def _body(obj: Documented, model: Model | None) -> wire.Body:
    from ckschedule.documents import wire

    match obj:
        case Schedule():
            if model is not None:
                simulate(model, obj)
            operations, sequence = write_schedule(obj)
            return wire.ScheduleWire(
                kind="schedule",
                model=None if model is None else write_model(model),
                operations=operations,
                sequence=sequence,
            )
        case Chain():
            recorded: Model | None = obj
            body: wire.Body = write_chain(obj)
        case Graph():
            recorded, body = obj, write_graph(obj)
        case Result():
            recorded, body = obj.model, write_result(obj)
        case ParetoFront():
            recorded, body = obj.model, write_front(obj)
        case Arena():
            recorded, body = obj.model, write_arena(obj)
        case _:
            raise DocumentError(
                f"cannot write a {type(obj).__name__}; documents hold a Chain, Graph, "
                f"Schedule, Result, ParetoFront or Arena"
            )
    if model is not None and recorded is not None:
        check_fits(recorded, model)
    return body
