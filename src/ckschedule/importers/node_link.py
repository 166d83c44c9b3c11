"""networkx node-link JSON, as Checkmate's and Moccasin's graphs are published.

Two dialects: Checkmate's nodes have ``cost_cpu``, ``cost_ram`` and ``backward``; those
of Moccasin's random layered graphs ``duration``, ``out_cost`` and ``param_cost``.
P. Jain et al., "Checkmate", MLSys 2020, arXiv 1910.02653; B. Bartan et al., "Moccasin",
ICML 2023, arXiv 2304.14463.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ckschedule.costs import (
    Chain,
    Graph,
    Mode,
    Node,
    Stage,
    StaticMemory,
    Value,
    Variant,
)
from ckschedule.costs.checks import as_count
from ckschedule.costs.lowering import PLAIN
from ckschedule.documents.files import AnyPath, read_bytes
from ckschedule.documents.json_text import MAX_BYTES, decode
from ckschedule.errors import DocumentError, InvalidModelError, UnsupportedModelError
from ckschedule.importers.coarsening import coarsen
from ckschedule.importers.forward_dag import ForwardDag, Layer, topological_order
from ckschedule.importers.text import stem
from ckschedule.units import TimeUnit

_BACKWARD: Final = "_backward"
_COSTS: Final = (("cost_cpu", "cost_ram"), ("duration", "out_cost"))
_ENDS: Final = (("source", "target"), ("0", "1"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A node of the file: ticks, bytes, and the names of the nodes that it reads."""

    name: str
    time: int
    size: int
    parameters: int
    backward: bool
    inputs: tuple[str, ...]


def import_node_link(
    path: AnyPath, *, recompute_backward: bool = False, time_unit: TimeUnit = "step"
) -> Graph:
    """Return the graph of a node-link file under weighted pebbling.

    Parameters
    ----------
    path
        The file.
    recompute_backward
        Whether backward nodes may run again, as the literature on these graphs assumes;
        real ones accumulate gradients and must not.
    time_unit
        What the file's costs are; it does not say.

    Returns
    -------
    Graph
        Each node of the file is a node and the value that it yields, of the same name:
        computing it needs the values of all its predecessors and adds its own bytes,
        any value may be freed at any time, and the sinks' values are to be produced.
        Nodes stand in the order of the file's attribute ``order`` if that is one, else
        each after its predecessors, else as in the file. Parameters are static.

    Raises
    ------
    DocumentError
        If the file is no directed node-link graph; the message names the node or link.
    InvalidModelError
        If the graph has a circle, or bytes or ticks that cannot be meant.
    OSError
        If the file cannot be read.
    """
    name, entries = _read(path)
    read = {source for entry in entries for source in entry.inputs}
    return Graph(
        name=name,
        time_unit=time_unit,
        values=tuple(Value(name=entry.name, size=entry.size) for entry in entries),
        nodes=tuple(
            Node(
                name=entry.name,
                modes=(
                    Mode(
                        name=PLAIN,
                        time=entry.time,
                        outputs=(entry.name,),
                        needs=entry.inputs,
                    ),
                ),
                recomputable=recompute_backward or not entry.backward,
            )
            for entry in entries
        ),
        targets=tuple(entry.name for entry in entries if entry.name not in read),
        static=StaticMemory(parameters=sum(entry.parameters for entry in entries)),
    )


def import_node_link_chain(path: AnyPath, *, time_unit: TimeUnit = "step") -> Chain:
    """Return the chain of the forward part of a Checkmate training graph.

    Parameters
    ----------
    path
        A file whose nodes have ``backward``.
    time_unit
        What the file's costs are; it does not say.

    Returns
    -------
    Chain
        Forward nodes, coarsened (`coarsen`); the time of ``name_backward`` is the
        backward time of ``name``, 0 where there is none. Backward nodes without partner
        (Checkmate's ``Loss``) together are the backward of the chain's loss. The files
        leave out the network's input: it has 0 bytes.

    Raises
    ------
    DocumentError, InvalidModelError, OSError
        As `import_node_link`.
    UnsupportedModelError
        If the file has no backward nodes, or a forward node reads one.
    """
    name, entries = _read(path)
    forward = {entry.name: entry for entry in entries if not entry.backward}
    backward = {entry.name: entry for entry in entries if entry.backward}
    if not backward or not forward:
        raise UnsupportedModelError(
            f"{path}: a chain needs forward and backward nodes, told apart by the "
            f"field 'backward'; import the file as a graph"
        )
    layers = []
    for entry in forward.values():
        partner = backward.pop(entry.name + _BACKWARD, None)
        for source in entry.inputs:
            if source not in forward:
                raise UnsupportedModelError(
                    f"{path}: the forward node {entry.name!r} reads the backward node "
                    f"{source!r}; a chain's forward pass stands alone: import the file "
                    f"as a graph"
                )
        layers.append(
            Layer(
                name=entry.name,
                forward=entry.time,
                backward=0 if partner is None else partner.time,
                output=entry.size,
                parameters=entry.parameters,
                inputs=entry.inputs,
            )
        )
    loss = Stage(
        name="+".join(backward) or "loss",
        output=0,
        forward=0,
        variants=(
            Variant(saved=0, backward=sum(entry.time for entry in backward.values())),
        ),
    )
    return coarsen(ForwardDag(name=name, layers=layers, time_unit=time_unit), loss=loss)


def _read(path: AnyPath) -> tuple[str, list[_Entry]]:
    """Return a graph's name, and its nodes in the order of `import_node_link`."""
    try:
        tree: Any = decode(read_bytes(path, max_bytes=MAX_BYTES), max_bytes=MAX_BYTES)
        if not isinstance(tree, dict) or not isinstance(tree.get("nodes"), list):
            raise DocumentError("no node-link graph: the field 'nodes' is missing")
        if tree.get("directed") is False:
            raise DocumentError("the graph is undirected; write it from a DiGraph")
        attributes = tree.get("graph")
        attributes = attributes if isinstance(attributes, dict) else {}
        names = _names(tree["nodes"])
        inputs = _inputs(tree, names)
        rows = {
            label: _entry(row, label, inputs[label])
            for row, label in zip(tree["nodes"], names.values(), strict=True)
        }
        order = _order(attributes.get("order"), names, inputs)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from error
    except InvalidModelError as error:
        raise InvalidModelError(f"{path}: {error}") from error
    name = attributes.get("name")
    label = name if isinstance(name, str) and name else stem(path)
    return label, [rows[key] for key in order]


def _names(nodes: Sequence[Any]) -> dict[object, str]:
    """Return the name of each node by the identifier that links use."""
    names: dict[object, str] = {}
    taken: set[str] = set()
    for i, row in enumerate(nodes):
        if not isinstance(row, dict):
            raise DocumentError(f"nodes[{i}] is no object")
        # Graphs that were written with name="id" have no other identifier.
        key = row.get("id", row.get("name"))
        if isinstance(key, bool) or not isinstance(key, int | str):
            raise DocumentError(f"nodes[{i}] has no 'id' that is a number or a string")
        label = str(row.get("name", key))
        if key in names:
            raise DocumentError(f"nodes[{i}] has the id {key!r} of an earlier node")
        if label in taken:
            raise DocumentError(
                f"nodes[{i}] has the name {label!r} of an earlier node; rename one, or "
                f"remove the names to use the ids"
            )
        taken.add(label)
        names[key] = label
    if not names:
        raise DocumentError("the graph has no nodes")
    return names


def _inputs(tree: dict[str, Any], names: dict[object, str]) -> dict[str, list[str]]:
    """Return the predecessors of each node; parallel links count once."""
    links = tree.get("links", tree.get("edges"))
    if not isinstance(links, list):
        raise DocumentError("no node-link graph: the field 'links' is missing")
    inputs: dict[str, dict[str, None]] = {label: {} for label in names.values()}
    for i, link in enumerate(links):
        source, target = (names[key] for key in _link_ends(link, names, f"links[{i}]"))
        inputs[target][source] = None
    return {label: list(reads) for label, reads in inputs.items()}


def _link_ends(
    link: object, names: dict[object, str], where: str
) -> tuple[int | str, int | str]:
    for ends in _ENDS:
        if isinstance(link, dict) and ends[0] in link and ends[1] in link:
            for end in ends:
                key = link[end]
                if isinstance(key, bool) or not isinstance(key, int | str):
                    raise DocumentError(f"{where}: {end} is no number or string")
                if key not in names:
                    raise DocumentError(
                        f"{where}: {end} is {key!r}, which is the id of no node"
                    )
            return link[ends[0]], link[ends[1]]
    raise DocumentError(f"{where} has no 'source' and 'target'")


def _entry(row: dict[str, Any], label: str, inputs: list[str]) -> _Entry:
    where = f"node {label!r}"
    keys = next((keys for keys in _COSTS if keys[0] in row or keys[1] in row), None)
    if keys is None:
        raise DocumentError(
            f"{where} has neither cost_cpu and cost_ram nor duration and out_cost"
        )
    backward = row.get("backward", False)
    if not isinstance(backward, bool):
        raise DocumentError(f"{where}: backward is {backward!r}; give true or false")
    time, size = (_number(row, key, where) for key in keys)
    parameters = _number(row, "param_cost", where) if "param_cost" in row else 0
    return _Entry(
        name=label,
        time=time,
        size=size,
        parameters=parameters,
        backward=backward,
        inputs=tuple(inputs),
    )


def _number(row: dict[str, Any], key: str, where: str) -> int:
    if key not in row:
        raise DocumentError(f"{where}: {key} is missing")
    value = row[key]
    # numpy wrote some whole numbers as 3.0.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return as_count(value, f"{where}: {key}")


def _order(
    given: object, names: dict[object, str], inputs: dict[str, list[str]]
) -> list[str]:
    order = topological_order(inputs)
    if not isinstance(given, list) or len(given) != len(names):
        return order
    labels = [names.get(key) for key in given if isinstance(key, int | str)]
    position = {label: i for i, label in enumerate(labels) if label is not None}
    if len(position) < len(names):
        return order
    ordered = all(
        position[read] < position[label] for label in inputs for read in inputs[label]
    )
    return sorted(position, key=position.__getitem__) if ordered else order
