"""Small costs that are paid often: import, lowering, simulating, rebuilding.

Run ``python bench/micro.py``; see bench/README.md.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from instances import chain
from measure import (
    Facts,
    Measurement,
    Sample,
    arguments,
    as_record,
    console,
    in_child,
    peak_rss,
    run_process,
    samples_of,
    seconds,
    selected,
    spread,
    write_results,
)
from rich.table import Table

import ckschedule as ck
from ckschedule.costs.encoding import encode
from ckschedule.schedule import from_codes, to_codes
from ckschedule.simulation import measure
from ckschedule.solvers.chain_dp.rebuild import rebuild

IMPORT_LIMIT: Final = 0.15
"""Seconds that ``import ckschedule`` may take beyond ``import numpy``."""

HEAVY: Final = ("scipy", "ortools", "numba", "torch", "matplotlib", "pandas")
"""Packages that ``import ckschedule`` must not load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Micro:
    """One line of the table.

    Attributes
    ----------
    prepare
        Yields, anew for each sample, what is timed.
    unit
        What ``facts["units"]`` counts.
    """

    prepare: Callable[[], Callable[[], int]]
    unit: str


def main() -> None:
    parser = arguments("Small costs that are paid often.", repeat="20")
    options = parser.parse_args()
    names = selected(["import", *ROWS], options.rows)
    repeat = options.repeat or 20
    table = Table("row", "required", title="median wall time of one run")
    for heading in ("median", "least to most (n)", "CPU", "a unit"):
        table.add_column(heading, justify="right")
    table.add_column("")
    records: list[dict[str, object]] = []
    terminal = console()
    for name in names:
        with terminal.status(name):
            if name == "import":
                record, line = _import_outcome(repeat)
            else:
                record, line = _outcome(name, repeat)
        records.append(record)
        table.add_row(*line)
    terminal.print(table)
    terminal.print(f"written to {write_results('micro', records, options.out)}")


def _outcome(name: str, repeat: int) -> tuple[dict[str, object], list[str]]:
    row = ROWS[name]
    measured = in_child(measure_row, name, repeat)
    units = measured.worst("units")
    record: dict[str, object] = {
        "name": name,
        "unit": row.unit,
        "wall_per_unit": measured.wall / units,
        **as_record(measured),
    }
    return record, [
        name,
        "",
        seconds(measured.wall),
        spread(measured),
        seconds(measured.cpu),
        f"{seconds(measured.wall / units)} a {row.unit} ({units:.0f})",
        "",
    ]


def measure_row(name: str, repeat: int) -> Measurement:
    """Return the measurement of a row; runs in a process of its own."""
    row = ROWS[name]

    def run(given: Callable[[], int]) -> Facts:
        return {"units": given()}

    run(row.prepare())
    samples = samples_of(run, row.prepare, repeat=repeat)
    return Measurement(samples=samples, rss=peak_rss())


def _import_outcome(repeat: int) -> tuple[dict[str, object], list[str]]:
    """Measure imports in turn, so that the machine's load falls on both alike."""
    samples: dict[str, list[Sample]] = {"numpy": [], "numpy, ckschedule": []}
    rss = dict.fromkeys(samples, 0)
    for names in samples:
        _import(names)
    for _ in range(repeat):
        for names, taken in samples.items():
            ran = run_process([sys.executable, "-c", f"import {names}"], os.environ)
            taken.append(Sample(wall=ran.wall, cpu=ran.cpu))
            rss[names] = max(rss[names], ran.rss)
    bare, ours = (
        Measurement(samples=taken, rss=rss[names]) for names, taken in samples.items()
    )
    extra = ours.wall - bare.wall
    heavy = _import("numpy, ckschedule")
    passed = extra < IMPORT_LIMIT and not heavy
    record: dict[str, object] = {
        "name": "import",
        "required": IMPORT_LIMIT,
        "extra_wall": extra,
        "extra_cpu": ours.cpu - bare.cpu,
        "heavy": heavy,
        "passed": passed,
        "numpy": as_record(bare),
        "ckschedule": as_record(ours),
    }
    return record, [
        "import over numpy",
        f"< {seconds(IMPORT_LIMIT)}",
        seconds(max(extra, 0.0)),
        f"{seconds(ours.wall)} less {seconds(bare.wall)} ({repeat})",
        seconds(max(ours.cpu - bare.cpu, 0.0)),
        f"loads {', '.join(heavy)}" if heavy else "nothing heavy",
        "[green]pass" if passed else "[red]FAIL",
    ]


def _import(names: str) -> list[str]:
    """Return the heavy packages that an import loads."""
    code = (
        f"import json, sys, {names}; "
        f"print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy: list[str] = json.loads(done.stdout)
    return heavy


def _lowering(name: str) -> Callable[[], int]:
    model = chain(name)
    return lambda: len(encode(model.to_graph()).time)


def _building(name: str) -> Callable[[], int]:
    return lambda: len(chain(name).stages)


def _schedule(slots: int) -> tuple[ck.Chain, ck.Schedule]:
    model = ck.catalog.uniform(stages=1000, saved=1)
    schedule = ck.Revolve(slots=slots).search(model, model.base_time).schedule
    assert schedule is not None, "the budget is larger than any schedule's peak"
    encode(model.to_graph())
    return model, schedule


def _encoding(slots: int) -> Callable[[], int]:
    model, schedule = _schedule(slots)
    encoding = encode(model.to_graph())
    return lambda: len(to_codes(schedule, encoding))


def _decoding(slots: int) -> Callable[[], int]:
    model, schedule = _schedule(slots)
    encoding = encode(model.to_graph())
    codes = to_codes(schedule, encoding)
    return lambda: len(from_codes(codes, encoding))


def _replaying(slots: int) -> Callable[[], int]:
    model, schedule = _schedule(slots)
    encoding = encode(model.to_graph())
    codes = to_codes(schedule, encoding)

    def run() -> int:
        measure(encoding, codes)
        return len(codes)

    return run


def _simulating(slots: int) -> Callable[[], int]:
    model, schedule = _schedule(slots)
    return lambda: len(ck.simulate(model, schedule).live_after)


def _rebuilding(name: str) -> Callable[[], int]:
    tables = ck.ChainDP().tables(chain(name))
    memory = tables.root()[0].tolist()

    def run() -> int:
        for room in memory:
            rebuild(tables, room)
        return len(memory)

    return run


def _writing(name: str) -> Callable[[], int]:
    front = ck.pareto(chain(name))
    return lambda: len(ck.to_json(front))


def _reading(name: str) -> Callable[[], int]:
    text = ck.to_json(ck.pareto(chain(name)))

    def run() -> int:
        ck.from_json(text)
        return len(text)

    return run


ROWS: Final[dict[str, Micro]] = {
    "catalog resnet-1001": Micro(
        prepare=partial(_building, "resnet-1001"), unit="stage"
    ),
    "lower resnet-1001": Micro(prepare=partial(_lowering, "resnet-1001"), unit="mode"),
    "to_codes": Micro(prepare=partial(_encoding, 3), unit="operation"),
    "from_codes": Micro(prepare=partial(_decoding, 3), unit="operation"),
    "replay": Micro(prepare=partial(_replaying, 3), unit="operation"),
    "simulate": Micro(prepare=partial(_simulating, 3), unit="operation"),
    "rebuild resnet-152": Micro(
        prepare=partial(_rebuilding, "resnet-152"), unit="point"
    ),
    "to_json resnet-152": Micro(prepare=partial(_writing, "resnet-152"), unit="byte"),
    "from_json resnet-152": Micro(prepare=partial(_reading, "resnet-152"), unit="byte"),
}
"""By name. Operations are those of Revolve with three slots on 1,000 uniform stages."""


if __name__ == "__main__":
    main()
