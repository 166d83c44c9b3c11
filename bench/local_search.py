"""Moves a second of the annealing kernel, on graphs of several sizes.

Run ``CKSCHEDULE_DATA=<folder> python bench/local_search.py``; rows of published graphs
are skipped without the folder. See bench/README.md.
"""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from measure import (
    Facts,
    Measurement,
    arguments,
    as_record,
    console,
    in_child,
    peak_rss,
    samples_of,
    selected,
    spread,
    write_results,
)
from rich.table import Table

from ckschedule import Graph, Mode, Node, Value
from ckschedule.importers.node_link import import_node_link
from ckschedule.simulation import measure
from ckschedule.solvers.completion import complete
from ckschedule.solvers.greedy.construction import evictions
from ckschedule.solvers.local_search import LocalSearch, kernel
from ckschedule.solvers.local_search.state import instance_of, row_of, sequence_of
from ckschedule.solvers.pebbling import as_pebbling

DATA: Final = "CKSCHEDULE_DATA"
"""Environment variable: folder of the published graphs."""

FILES: Final = {
    "ResNet50": "checkmate/resnet50_256_224_224_3.json",
    "layered-100": "random_layered/n100.json",
    "layered-1000": "random_layered/n1000.json",
}

MOVES: Final = 1_000_000
"""Moves of one sample."""

CHUNK: Final = 10_000
"""Moves after which nodes are spread anew, as the search does."""

TEMPERATURE: Final = 0.3
"""Between a round's first and last, where it takes about half of its moves."""

PERCENT: Final = 80
"""Budget in percent of the naive peak."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What a sample starts from."""

    graph: kernel.Instance
    row: kernel.Row
    budget: int
    staged: bool


def random_graph(nodes: int) -> Graph:
    """Return a graph whose nodes read up to three of the twenty before them."""
    random = Random(nodes)
    needs = [
        sorted({random.randrange(max(0, v - 20), v) for _ in range(3)}) if v else []
        for v in range(nodes)
    ]
    read = {u for row in needs for u in row}
    return Graph(
        name=f"random-{nodes}",
        values=tuple(
            Value(name=f"v{v}", size=random.randint(1, 1000)) for v in range(nodes)
        ),
        nodes=tuple(
            Node(
                name=f"n{v}",
                modes=(
                    Mode(
                        name="run",
                        time=random.randint(1, 1000),
                        outputs=(f"v{v}",),
                        needs=tuple(f"v{u}" for u in needs[v]),
                    ),
                ),
            )
            for v in range(nodes)
        ),
        targets=tuple(f"v{v}" for v in range(nodes) if v not in read),
    )


def state(name: str, data: str | None) -> State:
    """Return a row's state: what evictions make of the graph's own order."""
    order, _, which = name.partition("/")
    if which in FILES:
        assert data is not None, "checked before"
        path = Path(data) / FILES[which]
        graph = import_node_link(path, recompute_backward=True)
    else:
        graph = random_graph(int(which.removeprefix("random-")))
    pebbling = as_pebbling(graph, LocalSearch())
    codes = complete(pebbling.encoding, pebbling.mode)
    budget = measure(pebbling.encoding, codes)[0] * PERCENT // 100
    instance, unit = instance_of(pebbling)
    room = (budget - pebbling.base) // unit
    start = next(evictions(pebbling, budget, sequence_of(pebbling.mode))).sequence
    row = row_of(instance, start, room, seed=1)
    row.real[kernel.PRICE] = 1.0 / float(instance.size.mean())
    # No state is the best one: copying it is no part of a move.
    row.real[kernel.BEST] = 0.0
    return State(graph=instance, row=row, budget=room, staged=order == "given")


def moved(given: State) -> Facts:
    """Make the moves of one sample."""
    row, done = given.row, 0
    unit = float(row.real[kernel.PRICE])
    heat = TEMPERATURE, TEMPERATURE
    bounds = 1e-6 * unit, 1e6 * unit
    while done < MOVES:
        done += kernel.anneal(
            given.graph, row, given.staged, True, CHUNK, *heat, 1.02, *bounds
        )
        row = row_of(given.graph, sequence_of(row.at), given.budget, 1, row)
    return {
        "moves": done,
        "judged": int(row.number[kernel.MADE]),
        "taken": int(row.number[kernel.TAKEN]),
    }


def measured(name: str, data: str | None, repeat: int) -> Measurement:
    """Return the samples of a row; runs in a process of its own."""
    # Kernels are compiled, or read from numba's cache, before the clock starts.
    kernel.anneal(
        *(lambda s: (s.graph, s.row, s.staged))(state("free/random-20", None)),
        *(True, 10, TEMPERATURE, TEMPERATURE, 1.02, 0.0, 1.0),
    )
    samples = samples_of(moved, partial(state, name, data), repeat=repeat)
    return Measurement(samples=samples, rss=peak_rss())


def main() -> None:
    options = arguments("Moves of the local search.", repeat="3").parse_args()
    graphs = ("random-100", "random-1000", "random-5000", *FILES)
    names = [f"{order}/{graph}" for graph in graphs for order in ("free", "given")]
    data = os.environ.get(DATA)
    terminal = console()
    table = Table(
        *("row", "moves a second, median", "judged", "taken", "least to most"),
        title=f"{MOVES} moves at {PERCENT} % of the naive peak",
    )
    records: list[dict[str, object]] = []
    for name in selected(names, options.rows):
        if data is None and name.partition("/")[2] in FILES:
            terminal.print(f"{name}: skipped, {DATA} names no folder of graphs")
            continue
        with terminal.status(name):
            found = in_child(measured, name, data, options.repeat or 3)
        facts = found.samples[0].facts
        moves, judged = int(facts["moves"]), int(facts["judged"])
        records.append({"name": name, "rate": moves / found.wall, **as_record(found)})
        table.add_row(
            name,
            f"{moves / found.wall:,.0f}",
            f"{judged / moves:.0%}",
            f"{int(facts['taken']) / judged:.0%}",
            spread(found),
        )
    terminal.print(table)
    terminal.print(f"written to {write_results('local_search', records, options.out)}")


if __name__ == "__main__":
    main()
