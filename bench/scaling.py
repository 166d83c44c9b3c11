"""What the solvers must reach: time, memory and gap against the required figures.

Run ``python bench/scaling.py``; see bench/README.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from instances import SEEDS, chain
from measure import (
    Facts,
    Measurement,
    ProcessDiedError,
    arguments,
    as_record,
    console,
    in_child,
    mebibytes,
    peak_rss,
    samples_of,
    seconds,
    selected,
    spread,
    write_results,
)
from rich.table import Table

import ckschedule as ck
from ckschedule.errors import CkscheduleError
from ckschedule.solvers.revolve import advances, revolve_actions, revolve_arrays
from ckschedule.solving import budget_bytes

_BATCH: Final = 1000
"""Calls in one sample of what takes microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A required figure.

    Attributes
    ----------
    of
        ``wall`` (median seconds), ``rss`` (bytes), ``rate`` (operations a second, from
        the median), or a fact's name, whose worst sample counts.
    bound
        Not reached from above, or from below where ``at_least``.
    """

    of: str
    bound: float
    at_least: bool = False

    def value(self, measured: Measurement) -> float:
        """Return what the measurement has to set against the bound."""
        match self.of:
            case "wall":
                return measured.wall
            case "rss":
                return measured.rss
            case "rate":
                return measured.worst("operations") / measured.wall
            case fact:
                return measured.worst(fact)

    def met(self, measured: Measurement) -> bool:
        """Return whether the measurement reaches the figure."""
        value = self.value(measured)
        return value >= self.bound if self.at_least else value < self.bound

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<"
        match self.of:
            case "wall":
                return f"{sign} {seconds(self.bound)}"
            case "rss":
                return f"{sign} {mebibytes(self.bound)}"
            case "rate":
                return f"{sign} {self.bound:.3g}/s"
            case fact:
                return f"{fact} {sign} {self.bound:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    run
        What is timed, given what ``prepare`` yields anew for each sample.
    warm
        Run once, untimed, on something smaller or equal: kernels load then.
    limits
        Required figures; none where the row stands for comparison only.
    repeat
        Samples by default.
    calls
        Calls within one run; times are divided by it.
    """

    prepare: Callable[[], object]
    run: Callable[[object], Facts]
    warm: Callable[[], object]
    limits: Sequence[Limit] = ()
    repeat: int = 5
    calls: int = 1


def main() -> None:
    parser = arguments("Time, memory and gap of the solvers.", repeat="by row, 3 to 20")
    options = parser.parse_args()
    names = selected(list(ROWS), options.rows)
    table = _table()
    records = []
    terminal = console()
    for name in names:
        with terminal.status(name):
            record, line = _outcome(name, options.repeat or ROWS[name].repeat)
        records.append(record)
        table.add_row(*line)
        # A run takes long: what is measured is kept if it is interrupted.
        path = write_results("scaling", records, options.out)
    terminal.print(table)
    terminal.print(f"written to {path}")
    failed = [str(record["name"]) for record in records if record["passed"] is False]
    if failed:
        terminal.print(f"[red]missed:[/] {', '.join(failed)}")


def _table() -> Table:
    table = Table("row", "required", title="median wall time of one run")
    for heading in ("median", "least to most (n)", "CPU", "peak RSS"):
        table.add_column(heading, justify="right")
    table.add_column("outcome")
    table.add_column("")
    return table


def _outcome(name: str, repeat: int) -> tuple[dict[str, object], list[str]]:
    """Return a row's record and its line in the table."""
    row = ROWS[name]
    required = ", ".join(map(str, row.limits))
    record: dict[str, object] = {
        "name": name,
        "required": [str(limit) for limit in row.limits],
    }
    try:
        measured = in_child(measure_row, name, repeat)
    except (CkscheduleError, ProcessDiedError) as error:
        record |= {"passed": False if row.limits else None, "error": str(error)}
        return record, [name, required, "-", "-", "-", "-", str(error), "[red]FAIL"]
    passed = all(limit.met(measured) for limit in row.limits) if row.limits else None
    record |= {"passed": passed, "calls_per_sample": row.calls, **as_record(measured)}
    verdict = {True: "[green]pass", False: "[red]FAIL", None: ""}[passed]
    return record, [
        name,
        required,
        seconds(measured.wall),
        spread(measured),
        seconds(measured.cpu),
        mebibytes(measured.rss),
        _said(row, measured),
        verdict,
    ]


def _said(row: Row, measured: Measurement) -> str:
    facts = dict(measured.samples[-1].facts)
    if "gap" in facts:
        facts["gap"] = f"{100 * measured.worst('gap'):.3f} %"
    if "operations" in facts:
        facts["rate"] = f"{measured.worst('operations') / measured.wall:.3g}/s"
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def measure_row(name: str, repeat: int) -> Measurement:
    """Return the measurement of a row; runs in a process of its own."""
    row = ROWS[name]
    row.warm()
    samples = samples_of(row.run, row.prepare, repeat=repeat)
    if row.calls > 1:
        samples = [
            type(sample)(
                wall=sample.wall / row.calls,
                cpu=sample.cpu / row.calls,
                facts=sample.facts,
            )
            for sample in samples
        ]
    return Measurement(samples=samples, rss=peak_rss())


def exact_front(given: object) -> Facts:
    """Compute the fronts of all intervals; the root's is the whole trade-off."""
    assert isinstance(given, ck.Chain)
    tables = ck.ChainDP().tables(given)
    memory, _ = tables.root()
    return {"points": len(memory), "points in all": len(tables.memory)}


def simulated_front(given: object) -> Facts:
    """The same through `pareto`: every point rebuilt and simulated."""
    assert isinstance(given, ck.Chain)
    return {"points": len(ck.pareto(given, ck.ChainDP()))}


def one_budget(given: object) -> Facts:
    """Search the optimum of one budget and write its schedule."""
    model, budget = _problem(given)
    proposal = ck.ChainDP().search(model, budget)
    assert proposal.makespan is not None, "a quarter of store-all is enough for all"
    return {"overhead": f"{100 * (proposal.makespan / model.base_time - 1):.2f} %"}


def bracketed(solver: ck.SlotDP, given: object) -> Facts:
    """Bracket the optimum of one budget; the schedule is simulated for the gap."""
    model, budget = _problem(given)
    proposal = solver.search(model, budget)
    assert proposal.schedule is not None, "these budgets are enough"
    assert proposal.lower_bound is not None, "SlotDP always bounds"
    makespan = ck.simulate(model, proposal.schedule, budget=budget).makespan
    return {"gap": (makespan - proposal.lower_bound) / proposal.lower_bound}


def counted(slots: int, given: object) -> Facts:
    """Evaluate the closed form many times."""
    assert isinstance(given, int)
    for _ in range(_BATCH):
        count = advances(given, slots)
    return {"advances": count}


def as_arrays(slots: int, given: object) -> Facts:
    """Write a schedule as arrays."""
    assert isinstance(given, int)
    return {"operations": len(revolve_arrays(given, slots).kind)}


def as_objects(slots: int, given: object) -> Facts:
    """Iterate over a schedule as objects."""
    assert isinstance(given, int)
    return {"operations": sum(1 for _ in revolve_actions(given, slots))}


def simulated(given: object) -> Facts:
    """Simulate a schedule, the chain's graph included."""
    assert isinstance(given, tuple)
    model, schedule = given
    ck.simulate(model, schedule)
    return {"operations": len(schedule)}


def _problem(given: object) -> tuple[ck.Chain, int]:
    assert isinstance(given, tuple)
    model, budget = given
    return model, budget


def _with_budget(name: str, budget: str) -> tuple[ck.Chain, int]:
    # Its store-all simulation makes a chain remember its graph: take another one.
    return chain(name), budget_bytes(chain(name), budget)


def _revolved(slots: int) -> tuple[ck.Chain, ck.Schedule]:
    uniform = ck.catalog.uniform(stages=1000, saved=1)
    schedule = ck.Revolve(slots=slots).search(uniform, uniform.base_time).schedule
    assert schedule is not None, "the budget is larger than any schedule's peak"
    return ck.catalog.uniform(stages=1000, saved=1), schedule


def _segmented() -> tuple[ck.Chain, ck.Schedule]:
    schedule = ck.SqrtSegments().search(chain("random-1000-s1"), 0).schedule
    assert schedule is not None, "a construction always yields its schedule"
    return chain("random-1000-s1"), schedule


def _front_rows(
    name: str, limits: Sequence[Limit], *, warm: str, repeat: int
) -> dict[str, Row]:
    def row(
        prepare: Callable[[str], object],
        run: Callable[[object], Facts],
        limits: Sequence[Limit],
    ) -> Row:
        return Row(
            prepare=partial(prepare, name),
            run=run,
            warm=lambda: run(prepare(warm)),
            limits=limits,
            repeat=repeat,
        )

    quarter = partial(_with_budget, budget="25%")
    return {
        f"front/{name}": row(chain, exact_front, limits),
        f"pareto/{name}": row(chain, simulated_front, ()),
        f"budget/{name}": row(quarter, one_budget, ()),
    }


def _bracket_row(
    name: str, budget: str, *, gap: float, limit: float, more: Sequence[Limit] = ()
) -> dict[str, Row]:
    solver = ck.SlotDP(gap=gap, time_limit=limit)
    run = partial(bracketed, solver)
    return {
        f"slots/{name}@{budget}": Row(
            prepare=partial(_with_budget, name, budget),
            run=run,
            warm=lambda: run(_with_budget("random-20-s1", "50%")),
            limits=(Limit(of="wall", bound=limit), Limit(of="gap", bound=gap), *more),
            repeat=3,
        )
    }


def _revolve_row(
    n: int,
    run: Callable[[object], Facts],
    limit: Limit,
    *,
    repeat: int = 20,
    calls: int = 1,
) -> Row:
    return Row(
        prepare=lambda: n,
        run=run,
        warm=lambda: run(1000),
        limits=(limit,),
        repeat=repeat,
        calls=calls,
    )


def _simulation_row(
    prepare: Callable[[], object], limits: Sequence[Limit], *, repeat: int
) -> Row:
    return Row(
        prepare=prepare,
        run=simulated,
        warm=lambda: simulated(_segmented()),
        limits=limits,
        repeat=repeat,
    )


def _wall(bound: float) -> Limit:
    return Limit(of="wall", bound=bound)


_GIGABYTE: Final = 10**9

ROWS: Final[dict[str, Row]] = {
    **_front_rows("resnet-152", [_wall(0.03)], warm="resnet-152", repeat=20),
    **_front_rows(
        "resnet-1001",
        [_wall(5.0), Limit(of="rss", bound=_GIGABYTE)],
        warm="resnet-152",
        repeat=3,
    ),
    **_front_rows("gpt-96", [_wall(0.1)], warm="gpt-96", repeat=20),
    **_front_rows("gpt2-xl", [], warm="gpt2-xl", repeat=20),
    **_front_rows("lstm-64", [], warm="lstm-64", repeat=20),
    **{
        name: row
        for seed in SEEDS
        for stages, bound in ((100, 1.0), (150, 5.0))
        for name, row in _front_rows(
            f"random-{stages}-s{seed}", [_wall(bound)], warm="random-20-s1", repeat=5
        ).items()
    },
    **{
        name: row
        for seed in SEEDS
        for budget in ("25%", "50%")
        for name, row in _bracket_row(
            f"random-350-s{seed}", budget, gap=0.001, limit=10.0
        ).items()
    },
    **{
        name: row
        for seed in SEEDS[:2]
        for budget in ("25%", "50%")
        for name, row in _bracket_row(
            f"random-1000-s{seed}",
            budget,
            gap=0.01,
            limit=60.0,
            more=[Limit(of="rss", bound=3 * _GIGABYTE)],
        ).items()
    },
    **{
        f"revolve/counts-{slots}": _revolve_row(
            10**9, partial(counted, slots), _wall(1e-4), calls=_BATCH
        )
        for slots in (10, 100, 1000)
    },
    "revolve/arrays": _revolve_row(10**6, partial(as_arrays, 100), _wall(0.05)),
    "revolve/objects": _revolve_row(
        10**6,
        partial(as_objects, 100),
        Limit(of="rate", bound=1e6, at_least=True),
        repeat=5,
    ),
    "simulate/sqrt-1000": _simulation_row(_segmented, [_wall(1.0)], repeat=20),
    "simulate/revolve-1000-10": _simulation_row(
        partial(_revolved, 10), [_wall(1.0)], repeat=20
    ),
    # One slot: half a million forwards, the longest schedule of this length.
    "simulate/revolve-1000-1": _simulation_row(partial(_revolved, 1), [], repeat=5),
}
"""By name: what is measured / on which instance."""


if __name__ == "__main__":
    main()
