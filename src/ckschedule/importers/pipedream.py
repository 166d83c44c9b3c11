"""PipeDream's profiles: ``graph.txt`` files of measured layers.

One node or edge a line::

    node2 -- Conv2d(3, 64, ...) -- forward_compute_time=22.316, backward_compute_time=\
6.405, activation_size=198246400.000, parameter_size=93184.000
    <tab>node1 -- node2

Times are milliseconds, sizes bytes, both for a whole minibatch. Format: D. Narayanan et
al., "PipeDream", SOSP 2019, doi:10.1145/3341301.3359646, and the code's
``graph/graph.py``.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Final

from ckschedule.costs import Chain
from ckschedule.documents.files import AnyPath
from ckschedule.errors import DocumentError
from ckschedule.importers.coarsening import coarsen
from ckschedule.importers.forward_dag import ForwardDag, Layer
from ckschedule.importers.text import read_text, stem

_TICKS_PER_MS: Final = 10**6
_MAX_EXPONENT: Final = 20
_FIELDS: Final = {
    "forward_compute_time": "forward",
    "backward_compute_time": "backward",
    "activation_size": "output",
    "parameter_size": "parameters",
}
_FIELD: Final = re.compile(r"(\w+)=(\[[^\]]*\]|[^,]*)(?:,\s*|$)")
_IN_PLACE: Final = re.compile(r"\binplace\b(?!=False)")
_NUMBERED: Final = re.compile(r"node([0-9]{1,9})")


def import_pipedream(path: AnyPath) -> Chain:
    """Return the chain of a PipeDream profile; see `read_pipedream` and `coarsen`.

    Raises
    ------
    DocumentError, InvalidModelError, OSError
        As `read_pipedream`.
    """
    return coarsen(read_pipedream(path))


def read_pipedream(path: AnyPath) -> ForwardDag:
    """Return the layers of a PipeDream profile.

    Parameters
    ----------
    path
        A ``graph.txt``; its file name becomes the DAG's name.

    Returns
    -------
    ForwardDag
        Every row of the file is a layer of the same name. Rows named "Input" are data
        sources: their time is loading, which no schedule repeats. The output of an
        in-place row ("ReLU(inplace)") lies in the storage of a row with as many bytes
        that nothing else reads; that of a view ("View(9216)") in that of any row that
        it reads, with as many bytes. Times are in ns, rounded; the
        sizes of a row with several outputs ("[1.0; 2.0]") are added. Where all rows are
        numbered ("node17"), the numbers give the order of execution.

    Raises
    ------
    DocumentError
        If a line cannot be read; the message has its number.
    InvalidModelError
        If the layers form a circle, or a sum exceeds ``2**63 - 1``.
    OSError
        If the file cannot be read.
    """
    layers: dict[str, Layer] = {}
    described: dict[str, str] = {}
    inputs: dict[str, list[str]] = {}
    edges: list[tuple[int, str, str]] = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        parts = [part.strip() for part in line.split(" -- ")]
        if line[0].isspace():
            if len(parts) != 2:
                raise DocumentError(
                    f"{where}: an edge is '<tab>node -- node', not {line.strip()!r}"
                )
            edges.append((number, parts[0], parts[1]))
            continue
        layer, description = _parse_row(parts, where)
        if layer.name in layers:
            raise DocumentError(f"{where}: {layer.name!r} occurs twice; rename one")
        layers[layer.name], described[layer.name] = layer, description
        inputs[layer.name] = []
    if not layers:
        raise DocumentError(f"{path}: no node; a profile has one a line")
    for number, reads, reader in edges:
        for name in (reads, reader):
            if name not in layers:
                raise DocumentError(
                    f"{path}, line {number}: the edge names {name!r}, which has no line"
                )
        inputs[reader].append(reads)
    readers = Counter(read for reads in inputs.values() for read in set(reads))
    connected: list[Layer] = []
    for name in sorted(layers, key=_execution_key(layers)):
        shareable = _shareable(described[name], readers)
        sources = [layers[read] for read in inputs[name]]
        connected.append(_connect(layers[name], sources, shareable))
    return ForwardDag(name=stem(path), layers=connected)


def _parse_row(parts: list[str], where: str) -> tuple[Layer, str]:
    # A partitioned profile has " -- stage_id=k" behind the numbers.
    at = next((i for i, part in enumerate(parts) if "forward_compute_time=" in part), 0)
    if at < 2:
        raise DocumentError(
            f"{where}: a node is 'name -- description -- forward_compute_time=..., "
            f"...', not {' -- '.join(parts)[:60]!r}"
        )
    numbers: dict[str, int] = {}
    for key, text in _FIELD.findall(parts[at]):
        if key in _FIELDS:
            numbers[_FIELDS[key]] = _parse_number(key, text, f"{where} ({parts[0]!r})")
    for key, field in _FIELDS.items():
        if field not in numbers:
            raise DocumentError(f"{where} ({parts[0]!r}): {key} is missing")
    description = " -- ".join(parts[1:at])
    layer = Layer(
        name=parts[0],
        forward=numbers["forward"],
        backward=numbers["backward"],
        output=numbers["output"],
        parameters=numbers["parameters"],
        source=description.startswith("Input"),
    )
    return layer, description


def _parse_number(key: str, text: str, where: str) -> int:
    scale = _TICKS_PER_MS if key.endswith("time") else 1
    entries = [e for e in text.strip("[]").split(";") if e.strip()]
    if not entries:
        raise DocumentError(f"{where}: {key} is {text!r}; give a number")
    total = Decimal(0)
    for entry in entries:
        try:
            number = Decimal(entry.strip())
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite() or number < 0 or number.adjusted() > _MAX_EXPONENT:
            raise DocumentError(
                f"{where}: {key} is {text[:40]!r}; give a number from 0 to 1e20"
            )
        total += number
    return round(total * scale)


def _shareable(description: str, readers: Counter[str]) -> Callable[[Layer], bool]:
    """Return whether a row with this description can share the storage of an input."""
    if description.startswith("View"):
        return lambda read: True
    if _IN_PLACE.search(description):
        # The shortcut of a residual "Add(inplace)" has other readers: what they saved
        # must not be overwritten, so it is the other input that is.
        return lambda read: readers[read.name] == 1
    return lambda read: False


def _connect(
    layer: Layer, inputs: list[Layer], shareable: Callable[[Layer], bool]
) -> Layer:
    shares = next(
        (
            read.name
            for read in inputs
            if shareable(read) and read.output == layer.output and not read.source
        ),
        None,
    )
    return replace(layer, inputs=tuple(read.name for read in inputs), shares=shares)


def _execution_key(names: dict[str, Layer]) -> Callable[[str], int]:
    if all(_NUMBERED.fullmatch(name) for name in names):
        return lambda name: int(name.removeprefix("node"))
    positions = {name: i for i, name in enumerate(names)}
    return positions.__getitem__
