"""Whether a document is about the model at hand; if not, where they first differ."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from ckschedule.costs import Chain, Graph
from ckschedule.errors import DocumentError
from ckschedule.simulation import Model, as_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIMES: Final = frozenset(
    {"time", "forward", "backward", "time_unit", "reference_time"}
)
_PLURALS: Final = {
    "stages": "stage",
    "variants": "variant",
    "values": "value",
    "nodes": "node",
    "modes": "mode",
}


def check_fits(recorded: Model, model: Model, *, times: bool = True) -> None:
    """Refuse a document that was made for another model.

    Parameters
    ----------
    recorded
        The model in the document.
    model
        The model at hand.
    times
        False compares names and bytes only, as for a model that was profiled again:
        the schedule is then legal at the recorded peak, but perhaps no longer optimal.

    Raises
    ------
    DocumentError
        If they differ; the message names the first difference with both values. The
        models' own names may differ.

    Examples
    --------
    >>> from ckschedule.costs import Stage, Variant
    >>> stage = Stage(output=4, forward=1, variants=[Variant(saved=8, backward=2)])
    >>> chain = Chain(input=4, stages=[stage] * 3)
    >>> check_fits(chain, Chain(input=4, stages=[stage] * 3, name="again"))
    """
    if not (isinstance(recorded, Chain) and isinstance(model, Chain)):
        recorded, model = as_graph(recorded), as_graph(model)
    difference = next(_differences("", recorded, model, times), None)
    if difference is not None:
        raise DocumentError(
            f"the document does not fit the model {model.name!r}: {difference}; solve "
            f"this model again"
        )


def _differences(where: str, mine: Any, theirs: Any, times: bool) -> Iterator[str]:
    names = [field.name for field in fields(mine)]
    # The model's own name is for reports; a part's name tells most about it.
    names.sort(key=lambda name: (name != "name", name == "loss"))
    if isinstance(mine, (Chain, Graph)):
        names.remove("name")
    for name in names:
        one, other = getattr(mine, name), getattr(theirs, name)
        if name in _PLURALS:
            yield from _parts(where, name, one, other, times)
        elif is_dataclass(one) and is_dataclass(other):
            yield from _differences(f"{where}{name} ", one, other, times)
        elif one != other and (times or name not in _TIMES):
            yield f"{where}{name} is {one!r} in the document, {other!r} in the model"


def _parts(
    where: str, plural: str, mine: Any, theirs: Any, times: bool
) -> Iterator[str]:
    singular = _PLURALS[plural]
    if len(mine) != len(theirs):
        parting = next(
            (
                f"; {singular} {i} is {one.name!r} in the document, {other.name!r} in "
                f"the model"
                for i, (one, other) in enumerate(zip(mine, theirs, strict=False), 1)
                if one.name != other.name
            ),
            "",
        )
        yield (
            f"{where}{len(mine)} {plural} in the document, {len(theirs)} in the model"
            f"{parting}"
        )
    for i, (one, other) in enumerate(zip(mine, theirs, strict=False), start=1):
        label = f"{where}{singular} {i} ({one.name!r}): "
        yield from _differences(label, one, other, times)
