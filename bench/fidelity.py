"""What is promised of a plan beside what a training step takes: bytes, time, gradients.

Run ``python bench/fidelity.py``; see bench/README.md.
"""

import argparse
import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain as chained
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any, Final, TypeAlias

import torch
from families import Case, call, families
from measure import (
    ProcessDiedError,
    arguments,
    console,
    in_child,
    keep_freed_memory,
    ratio,
    seconds,
    selected,
    taking_turns,
    write_results,
)
from rich.table import Table
from torch import Tensor, nn

import ckschedule as ck
from ckschedule.errors import CkscheduleError
from ckschedule.solving import budget_bytes

Record: TypeAlias = dict[str, Any]
Gradients: TypeAlias = Mapping[str, Tensor | None]

THREADS: Final = 2
"""Of torch on the CPU."""

SLOW: Final = 8.0
"""Predicted time over the plain step's, above which a point is left out where many
points are gone through, and in quick runs."""

BYTES: Final = 0.01
"""Largest difference of measured and predicted peak, relative to the latter."""

TIME: Final = 0.1
"""Largest difference of measured and predicted time ratio, relative to the latter."""

SPREAD: Final = 4
"""Times the difference of two plain steps that a gradient may differ by on a device
whose kernels do not repeat their bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured.

    Attributes
    ----------
    budgets
        From the least to storing everything, both among them.
    along
        Points of the front of which the bytes are measured.
    repeat
        Timed rounds of each budget.
    slow
        Whether budgets above `SLOW` are measured.
    """

    budgets: int
    along: int
    repeat: int
    slow: bool


FULL: Final = Effort(budgets=6, along=16, repeat=3, slow=True)
QUICK: Final = Effort(budgets=3, along=6, repeat=3, slow=False)


class Training:
    """Steps of a case: of its model, and of the same model without a plan.

    Parameters
    ----------
    case
        Its model is the one that plans are put on.

    Attributes
    ----------
    plain
        Other modules on the same parameters and buffers.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.model = case.model
        owned = chained(self.model.parameters(), self.model.buffers())
        self.plain = copy.deepcopy(self.model, {id(t): t for t in owned})
        self._cuda = next(self.model.parameters()).device.type == "cuda"

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What `ck.profile` takes after the model."""
        inputs = self.case.inputs
        return inputs if isinstance(inputs, tuple) else (inputs,)

    def reset(self) -> None:
        """Drop all gradients."""
        for parameter in self.model.parameters():
            parameter.grad = None

    def step(self, model: nn.Module) -> None:
        """Run forward and backward, with the output alive until after the latter."""
        output = call(model, self.case.inputs)
        torch.autograd.backward(self.case.loss(output))

    def timed(self, model: nn.Module) -> Callable[[], None]:
        """Return a step that ends when the device has ended."""

        def run() -> None:
            self.step(model)
            if self._cuda:
                torch.cuda.synchronize()

        return run

    def measure(self, model: nn.Module) -> ck.Measurement:
        """Return bytes and executions of one step."""
        self.reset()
        return ck.measure(lambda: self.step(model), model, inputs=self.case.inputs)

    def gradients(self, model: nn.Module) -> Gradients:
        """Return the gradients of one step from a seed, and drop them."""
        self.reset()
        torch.manual_seed(1)
        self.step(model)
        found = {name: p.grad for name, p in self.model.named_parameters()}
        self.reset()
        return found

    def times(
        self, models: Mapping[str, nn.Module], *, repeat: int
    ) -> dict[str, list[float]]:
        """Return wall seconds of steps of models that take turns."""
        return taking_turns(
            {name: self.timed(model) for name, model in models.items()},
            repeat=repeat,
            prepare=self.reset,
        )


def main() -> None:
    keep_freed_memory()
    options = parser("Promised beside measured.").parse_args()
    offered = [family.name for family in families(torch.device(options.device))]
    effort = QUICK if options.quick else FULL
    repeat = options.repeat or effort.repeat
    records: list[Record] = []
    terminal = console()
    for name in selected(offered, options.rows):
        with terminal.status(name):
            try:
                found = in_child(records_of, name, options.device, effort, repeat)
            except (CkscheduleError, ProcessDiedError) as error:
                found = [{"name": name, "passed": False, "error": str(error)}]
        records += found
        # A run takes long: what is measured is kept if it is interrupted.
        write_results("fidelity", records, options.out)
        terminal.print(_table(name, found))
    claims = list(_claims(records, options.device))
    for claim in claims:
        verdict = "[green]PASS[/]" if claim["passed"] else "[red]FAIL[/]"
        terminal.print(f"{verdict} {claim['claim']}: {claim['detail']}")
    path = write_results("fidelity", [*records, *claims], options.out)
    terminal.print(f"written to {path}")


def parser(description: str) -> argparse.ArgumentParser:
    """Return the options of the scripts that train networks."""
    options = arguments(description, repeat="by the script")
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options.add_argument("--quick", action="store_true", help="fewer points and rounds")
    return options


def training(name: str, device: str) -> Training:
    """Return a family's training, with torch set up for being measured."""
    torch.set_num_threads(THREADS)
    offered = {family.name: family for family in families(torch.device(device))}
    return Training(offered[name].build(torch.device(device)))


def records_of(name: str, device: str, effort: Effort, repeat: int) -> list[Record]:
    """Return the rows of one family; runs in a process of its own."""
    made = training(name, device)
    case = made.case
    start = perf_counter()
    chain = ck.profile(made.model, *made.arguments, loss=case.loss, stages=case.stages)
    profiled = perf_counter()
    front = ck.pareto(chain, ck.ChainDP())
    solved = perf_counter()
    made.step(made.plain)
    bare = made.measure(made.plain)
    plain = made.times({"plain": made.plain}, repeat=repeat)["plain"]
    expected, again = made.gradients(made.plain), made.gradients(made.plain)
    spread = max(_distances(expected, again), default=0.0)
    del again
    everything = budget_bytes(chain, "100%")
    records: list[Record] = [
        {
            "name": f"{name}/plain",
            "family": name,
            "stages": len(chain.stages),
            "points": len(front),
            "profile_seconds": profiled - start,
            "front_seconds": solved - profiled,
            "store_all_peak": everything,
            "measured_peak": bare.peak,
            "difference": bare.peak - everything,
            "predicted_seconds": chain.base_time / 1e9,
            "measured_seconds": median(plain),
            "samples": plain,
            "gradient_spread": spread,
        }
    ]
    least = front.minimum.peak
    for index in range(effort.budgets):
        budget = least + (everything - least) * index // (effort.budgets - 1)
        record: Record = {"name": f"{name}/{index}", "family": name, "budget": budget}
        result = ck.solve(chain, budget, ck.ChainDP())
        slowdown = _slowdown(chain, result)
        if effort.slow or slowdown <= SLOW:
            rounds = repeat if slowdown <= SLOW else 1
            record |= _at(made, chain, result, rounds, expected, spread)
        else:
            record["skipped"] = f"predicted to take {slowdown:.1f} times the plain step"
        records.append(record)
    records.append(
        {"name": f"{name}/front", "family": name, **_along(made, front, effort)}
    )
    return records


def _slowdown(chain: ck.Chain, result: ck.Result) -> float:
    assert result.makespan is not None, "no budget is below the front's least"
    return result.makespan / chain.base_time


def _at(
    made: Training,
    chain: ck.Chain,
    result: ck.Result,
    repeat: int,
    expected: Gradients,
    spread: float,
) -> Record:
    """Return what a plan promises and what its steps take, and their gradients."""
    model, trace = made.model, result.raise_for_status()
    ck.apply(model, result)
    try:
        # The first step after `apply` looks at the stages, and so has bytes of its own.
        first = made.measure(model).peak if _slowdown(chain, result) <= SLOW else None
        torch.manual_seed(1)
        measured = made.measure(model)
        gradients = {name: p.grad for name, p in model.named_parameters()}
        times = made.times({"plain": made.plain, "planned": model}, repeat=repeat)
    finally:
        ck.unapply(model)
    difference = measured.peak - trace.peak
    loss = f"F{len(chain.stages) + 1}"
    return {
        "predicted_peak": trace.peak,
        "measured_peak": measured.peak,
        "difference": difference,
        "difference_percent": 100 * difference / trace.peak,
        "within_budget": measured.peak <= result.budget,
        "first_step_peak": first,
        "first_step_within_budget": None if first is None else first <= result.budget,
        "predicted_time_ratio": _slowdown(chain, result),
        "measured_time_ratio": ratio(times["planned"], times["plain"]),
        "measured_seconds": median(times["planned"]),
        "plain_seconds": median(times["plain"]),
        "samples": times,
        # The loss is computed by the caller, who is not watched.
        "predicted_recomputations": sum(
            count
            for node, count in trace.recomputations.items()
            if node.startswith("F") and node != loss
        ),
        "measured_recomputations": sum(measured.executions.values())
        - len(measured.executions),
        **_compared(made, gradients, expected, spread),
    }


def _compared(
    made: Training, found: Gradients, expected: Gradients, spread: float
) -> Record:
    """Return whether a plan's gradients are those of the plain model."""
    same = all(
        (a is None and b is None)
        or (a is not None and b is not None and torch.equal(a, b))
        for a, b in zip(expected.values(), found.values(), strict=True)
    )
    apart = 0.0 if same else max(_distances(expected, found), default=0.0)
    cpu = next(made.model.parameters()).device.type == "cpu"
    return {
        "gradients_equal": same,
        "gradient_distance": apart,
        "gradients_agree": same or (not cpu and apart <= SPREAD * spread),
    }


def _distances(one: Gradients, other: Gradients) -> Iterator[float]:
    for a, b in zip(one.values(), other.values(), strict=True):
        if a is None or b is None:
            if a is not b:
                yield float("inf")
        elif a.numel():
            scale = a.abs().max().double().item() or 1.0
            yield (a.double() - b.double()).abs().max().item() / scale


def _along(made: Training, front: ck.ParetoFront, effort: Effort) -> Record:
    """Return predicted and measured peaks along a front, by rising prediction."""
    base = front.model.base_time
    candidates = [p for p in front if p.makespan <= SLOW * base]
    points = _evenly(candidates, effort.along)
    measured = []
    for point in points:
        ck.apply(made.model, point)
        try:
            made.reset()
            made.step(made.model)
            measured.append(made.measure(made.model).peak)
        finally:
            ck.unapply(made.model)
    return {
        "left_out": len(front) - len(candidates),
        "predicted_peaks": [point.peak for point in points],
        "measured_peaks": measured,
        "monotone": all(a <= b for a, b in pairwise(measured)),
        "largest_difference": max(
            (m - p.peak for m, p in zip(measured, points, strict=True)),
            default=0,
            key=abs,
        ),
        "within_prediction": all(
            m <= p.peak for m, p in zip(measured, points, strict=True)
        ),
    }


def _evenly(points: Sequence[ck.ParetoPoint], count: int) -> Sequence[ck.ParetoPoint]:
    """Return at most ``count`` of the points, both ends among them."""
    if len(points) <= count:
        return points
    return [points[i * (len(points) - 1) // (count - 1)] for i in range(count)]


def _table(name: str, records: Sequence[Record]) -> Table:
    table = Table("row", title=f"{name}: bytes, and times over the plain step's")
    for heading in (
        "budget",
        "predicted",
        "measured",
        "difference",
        "%",
        "kept",
        "first step kept",
        "time predicted",
        "measured",
        "recomputed",
        "gradients",
    ):
        table.add_column(heading, justify="right")
    for record in records:
        table.add_row(record["name"], *_cells(record))
    return table


def _cells(record: Record) -> Sequence[str]:
    if "error" in record:
        return [str(record["error"])]
    if "skipped" in record:
        return [f"{record['budget']:,}", record["skipped"]]
    if "predicted_peaks" in record:
        pairs = len(record["measured_peaks"])
        rising = "monotone" if record["monotone"] else "NOT monotone"
        return ["", f"{pairs} points", rising, f"{record['largest_difference']:+,}"]
    if "budget" not in record:
        return [
            "",
            f"{record['store_all_peak']:,}",
            f"{record['measured_peak']:,}",
            f"{record['difference']:+,}",
            f"{100 * record['difference'] / record['store_all_peak']:+.3f}",
            "",
            f"profiled in {seconds(record['profile_seconds'])}",
            seconds(record["predicted_seconds"]),
            seconds(record["measured_seconds"]),
        ]
    predicted, counted = (
        record["predicted_recomputations"],
        record["measured_recomputations"],
    )
    return [
        f"{record['budget']:,}",
        f"{record['predicted_peak']:,}",
        f"{record['measured_peak']:,}",
        f"{record['difference']:+,}",
        f"{record['difference_percent']:+.3f}",
        _word(record["within_budget"]),
        _word(record["first_step_within_budget"]),
        f"{record['predicted_time_ratio']:.3f}",
        f"{record['measured_time_ratio']:.3f}",
        f"{counted}" if counted == predicted else f"{counted}, not {predicted}",
        "equal" if record["gradients_equal"] else f"{record['gradient_distance']:.2g}",
    ]


def _word(held: bool | None) -> str:
    return {True: "yes", False: "NO", None: "-"}[held]


def _claims(records: Sequence[Record], device: str) -> Iterator[Record]:
    """Yield what is claimed, with the verdict on these rows and the worst of them."""
    rows = [r for r in records if "measured_time_ratio" in r]
    fronts = [r for r in records if "measured_peaks" in r]
    yield _claim("measured within the budget", rows, lambda r: r["within_budget"])
    yield _claim(
        "the first step, too",
        [r for r in rows if r["first_step_peak"] is not None],
        lambda r: r["first_step_within_budget"],
    )
    yield _claim(
        "measured within the prediction along the front",
        fronts,
        lambda r: r["within_prediction"],
    )
    if device == "cpu":
        yield _claim(
            "equal to the byte for the MLP",
            [r for r in rows if r["family"] == "mlp"],
            lambda r: r["difference"] == 0,
        )
    yield _claim(
        f"peaks within {BYTES:.0%}",
        rows,
        lambda r: abs(r["difference"]) <= BYTES * r["predicted_peak"],
    )
    yield _claim(
        f"time ratios within {TIME:.0%}",
        rows,
        lambda r: abs(r["measured_time_ratio"] / r["predicted_time_ratio"] - 1) <= TIME,
    )
    yield _claim("measured peaks are monotone", fronts, lambda r: r["monotone"])
    yield _claim(
        "recomputations as scheduled",
        rows,
        lambda r: r["measured_recomputations"] == r["predicted_recomputations"],
    )
    yield _claim("gradients of the plain step", rows, lambda r: r["gradients_agree"])


def _claim(
    text: str, records: Sequence[Record], holds: Callable[[Record], bool]
) -> Record:
    failed = [record["name"] for record in records if not holds(record)]
    detail = f"{len(records) - len(failed)} of {len(records)}"
    return {
        "name": f"claim/{text}",
        "claim": text,
        "passed": bool(records) and not failed,
        "detail": f"{detail}; not {', '.join(failed)}" if failed else detail,
        "failed": failed,
    }


if __name__ == "__main__":
    warnings.simplefilter("default")
    main()
