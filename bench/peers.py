"""Uniform chains: our schedules beside those of other packages, on the same work.

Run ``python bench/peers.py``; see bench/README.md. Peers that are not installed are
reported as such: ``pip install checkpoint_schedules pyrevolve``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Any, Final

import numpy as np
from measure import (
    LONG,
    Measurement,
    Sample,
    arguments,
    as_record,
    console,
    in_child,
    peak_rss,
    sample_once,
    seconds,
    selected,
    spread,
    write_results,
)
from rich.table import Table

from ckschedule.solvers.revolve import (
    ADVANCE,
    REVERSE,
    advances,
    mixed_forwards,
    revolve_actions,
    revolve_arrays,
)

_TURN: Final = 1
"""Forwards that one reversal records: its own step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One implementation of one piece of work.

    Attributes
    ----------
    module
        What it needs; empty for ours.
    run
        Given n and s: build the schedule, go through all of it, and return the forwards
        it runs and its actions (0 where there is no schedule).
    sizes
        Rows it takes part in; None: all.
    """

    run: Callable[[int, int], tuple[int, int]]
    module: str = ""
    sizes: frozenset[tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Something to be done by all contenders, the first of which is the yardstick.

    Attributes
    ----------
    forwards
        How many forwards an optimal schedule runs, recorded ones included.
    """

    forwards: Callable[[int, int], int]
    contenders: Mapping[str, Contender]


def main() -> None:
    parser = arguments("Our schedules beside those of other packages.", repeat="5")
    options = parser.parse_args()
    names = selected(
        [f"{work}/{n}-{s}" for work in WORKS for n, s in SIZES], options.rows
    )
    table = Table("work", "by", title="schedule built and gone through, medians")
    for heading in (
        "median",
        "least to most (n)",
        "CPU",
        "ratio",
        "of CPU",
        "an action",
    ):
        table.add_column(heading, justify="right")
    table.add_column("forwards")
    records: list[dict[str, object]] = []
    terminal = console()
    for name in names:
        work, _, size = name.partition("/")
        n, s = map(int, size.split("-"))
        with terminal.status(name):
            # One process for all: ratios are taken within one run.
            measured = in_child(measure_work, work, n, s, options.repeat or 5)
        rows = _rows(name, work, n, s, measured)
        records += [record for record, _ in rows]
        for _, line in rows:
            table.add_row(*line)
        table.add_section()
    terminal.print(table)
    terminal.print(f"written to {write_results('peers', records, options.out)}")


def measure_work(
    work: str, n: int, s: int, repeat: int
) -> dict[str, Measurement | None]:
    """Return what each contender took, None where it is not installed.

    Samples are taken in turn, so that the machine's load falls on all alike; who has
    taken `LONG` seconds is left out of further turns.
    """
    taken: dict[str, list[Sample]] = {}
    spent: dict[str, float] = {}
    measured: dict[str, Measurement | None] = {}
    for name, contender in WORKS[work].contenders.items():
        if contender.sizes is not None and (n, s) not in contender.sizes:
            continue
        measured[name] = None
        if _installed(contender.module):
            taken[name], spent[name] = [], 0.0
            # Compiles what is compiled, and loads the rest.
            contender.run(20, 3)
    for _ in range(repeat):
        for name, samples in taken.items():
            if spent[name] < LONG:
                begin = perf_counter()
                samples.append(_sample(WORKS[work].contenders[name], n, s))
                spent[name] += perf_counter() - begin
    rss = peak_rss()
    return measured | {
        name: Measurement(samples=samples, rss=rss) for name, samples in taken.items()
    }


def _sample(contender: Contender, n: int, s: int) -> Sample:
    def run(size: tuple[int, int]) -> dict[str, int]:
        forwards, actions = contender.run(*size)
        return {"forwards": int(forwards), "actions": int(actions)}

    return sample_once(run, lambda: (n, s))


def _installed(module: str) -> bool:
    if not module:
        return True
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def _rows(
    name: str, work: str, n: int, s: int, measured: Mapping[str, Measurement | None]
) -> list[tuple[dict[str, object], list[str]]]:
    optimal = WORKS[work].forwards(n, s)
    yardstick = next(iter(measured.values()))
    assert yardstick is not None, "the first contender is ours"
    rows: list[tuple[dict[str, object], list[str]]] = []
    for by, own in measured.items():
        if own is None:
            record: dict[str, object] = {"name": name, "by": by, "installed": False}
            rows.append((record, [name, by, "not installed", *[""] * 6]))
            continue
        forwards, actions = int(own.worst("forwards")), int(own.worst("actions"))
        equal = all(sample.facts["forwards"] == optimal for sample in own.samples)
        ratio, cpu_ratio = own.wall / yardstick.wall, own.cpu / yardstick.cpu
        record = {
            "name": name,
            "by": by,
            "installed": True,
            "forwards": forwards,
            "forwards_optimal": equal,
            "actions": actions,
            "wall_to_first": ratio,
            "cpu_to_first": cpu_ratio,
            **as_record(own),
        }
        line = [
            name,
            by,
            seconds(own.wall),
            spread(own),
            seconds(own.cpu),
            f"{ratio:,.3g}" if ratio < 1000 else f"{ratio:,.0f}",
            f"{cpu_ratio:,.3g}" if cpu_ratio < 1000 else f"{cpu_ratio:,.0f}",
            f"{seconds(own.wall / actions)}" if actions else "no schedule",
            f"{forwards:,}" if equal else f"[red]{forwards:,}, not {optimal:,}",
        ]
        rows.append((record, line))
    return rows


def our_actions(n: int, s: int) -> tuple[int, int]:
    """Go through our schedule as objects."""
    forwards = actions = 0
    for kind, start, stop in revolve_actions(n, s):
        actions += 1
        if kind == ADVANCE:
            forwards += stop - start
        elif kind == REVERSE:
            forwards += _TURN
    return forwards, actions


def our_rows(n: int, s: int) -> tuple[int, int]:
    """Write our schedule as arrays and go through their rows one by one."""
    arrays = revolve_arrays(n, s)
    forwards = actions = 0
    rows = zip(
        arrays.kind.tolist(), arrays.start.tolist(), arrays.stop.tolist(), strict=True
    )
    for kind, start, stop in rows:
        actions += 1
        if kind == ADVANCE:
            forwards += stop - start
        elif kind == REVERSE:
            forwards += _TURN
    return forwards, actions


def our_arrays(n: int, s: int) -> tuple[int, int]:
    """Write our schedule as arrays and count by numpy."""
    arrays = revolve_arrays(n, s)
    plain = arrays.kind == ADVANCE
    turns = np.count_nonzero(arrays.kind == REVERSE)
    forwards = int((arrays.stop - arrays.start)[plain].sum()) + int(turns)
    return forwards, len(arrays.kind)


def our_mixed(n: int, s: int) -> tuple[int, int]:
    """Count the forwards of a mixed schedule; we write none."""
    return mixed_forwards(n, s), 0


def multistage(n: int, s: int) -> tuple[int, int]:
    """Go through `checkpoint_schedules.MultistageCheckpointSchedule`, all in RAM."""
    module = import_module("checkpoint_schedules")
    return _through(module, module.MultistageCheckpointSchedule(n, s, 0))


def peer_revolve(n: int, s: int) -> tuple[int, int]:
    """Go through `checkpoint_schedules.Revolve`."""
    module = import_module("checkpoint_schedules")
    return _through(module, module.Revolve(n, s))


def peer_mixed(n: int, s: int) -> tuple[int, int]:
    """Go through `checkpoint_schedules.MixedCheckpointSchedule`."""
    module = import_module("checkpoint_schedules")
    return _through(module, module.MixedCheckpointSchedule(n, s))


def peer_mixed_table(n: int, s: int) -> tuple[int, int]:
    """Count the forwards of a mixed schedule, as that schedule does first."""
    module = import_module("checkpoint_schedules.mixed")
    return int(module.mixed_steps_tabulation(n, s)[n, s, 2]), 0


def _through(module: Any, schedule: Any) -> tuple[int, int]:
    forward, end = module.Forward, module.EndReverse
    forwards = actions = 0
    for action in schedule:
        actions += 1
        if isinstance(action, forward):
            forwards += action.n1 - action.n0
        elif isinstance(action, end):
            break
    return forwards, actions


def pyrevolve_raw(n: int, s: int) -> tuple[int, int]:
    """Go through pyrevolve's binding of the C++ code, without its Python layers."""
    module = import_module("pyrevolve.crevolve")
    kinds = module.Action
    advance, terminate = kinds.advance, kinds.terminate
    turns = (kinds.firstrun, kinds.youturn)
    revolve = module.CRevolve(s, n, None)
    forwards = actions = 0
    while True:
        kind = revolve.revolve()
        actions += 1
        if kind == advance:
            forwards += revolve.capo - revolve.oldcapo
        elif kind in turns:
            forwards += _TURN
        elif kind == terminate:
            return forwards, actions


def pyrevolve_scheduler(n: int, s: int) -> tuple[int, int]:
    """Go through pyrevolve's scheduler, which makes an object of each action."""
    module = import_module("pyrevolve.schedulers")
    kinds = module.Action
    scheduler = module.CRevolve(s, n)
    forwards = actions = 0
    while True:
        action = scheduler.next()
        actions += 1
        if action.type == kinds.ADVANCE:
            forwards += action.capo - action.old_capo
        elif action.type in (kinds.LASTFW, kinds.REVERSE):
            forwards += _TURN
        elif action.type == kinds.TERMINATE:
            return forwards, actions


def pyrevolve_run(n: int, s: int) -> tuple[int, int]:
    """Run pyrevolve's driver on operators that only count, and one number a state."""
    module = import_module("pyrevolve")

    class Counting(module.Operator):  # type: ignore[misc, name-defined]  # untyped peer
        steps = 0

        def apply(self, t_start: int, t_end: int) -> None:
            self.steps += t_end - t_start

    class State(module.Checkpoint):  # type: ignore[misc, name-defined]  # untyped peer
        dtype, size = np.float32, 1
        data = np.zeros(1, np.float32)

        def get_data(self, timestep: int) -> list[np.ndarray[Any, Any]]:
            return [self.data]

        def get_data_location(self, timestep: int) -> list[np.ndarray[Any, Any]]:
            return [self.data]

    forward, reverse = Counting(), Counting()
    revolver = module.SingleLevelRevolver(State(), forward, reverse, s, n)
    revolver.apply_forward()
    revolver.apply_reverse()
    return forward.steps, len(revolver.scheduler.oplist)


def _forwards(n: int, s: int) -> int:
    return n + advances(n, s)


SIZES: Final = ((1000, 10), (10000, 100))
"""Steps and slots."""

_SMALL: Final = frozenset(SIZES[:1])
"""For what takes minutes or more on the larger size."""

WORKS: Final = {
    "revolve": Work(
        forwards=_forwards,
        contenders={
            "ckschedule, objects": Contender(run=our_actions),
            "ckschedule, rows of arrays": Contender(run=our_rows),
            "ckschedule, arrays": Contender(run=our_arrays),
            "checkpoint_schedules Multistage": Contender(
                run=multistage, module="checkpoint_schedules"
            ),
            "checkpoint_schedules Revolve": Contender(
                run=peer_revolve, module="checkpoint_schedules", sizes=_SMALL
            ),
            "pyrevolve, raw binding": Contender(
                run=pyrevolve_raw, module="pyrevolve.crevolve"
            ),
            "pyrevolve, scheduler": Contender(
                run=pyrevolve_scheduler, module="pyrevolve"
            ),
            "pyrevolve, driver": Contender(run=pyrevolve_run, module="pyrevolve"),
        },
    ),
    "mixed": Work(
        forwards=mixed_forwards,
        contenders={
            "ckschedule, count only": Contender(run=our_mixed),
            "checkpoint_schedules table only": Contender(
                run=peer_mixed_table, module="checkpoint_schedules"
            ),
            "checkpoint_schedules Mixed": Contender(
                run=peer_mixed, module="checkpoint_schedules"
            ),
        },
    ),
}
"""By name of the work."""


if __name__ == "__main__":
    main()
