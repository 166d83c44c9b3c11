"""What the executor costs: per recomputed block, and beside torch's own two ways.

Run ``python bench/executors.py``; see bench/README.md.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Final

import torch
from families import families, torch_models
from fidelity import Record, Training, parser, training
from measure import (
    ProcessDiedError,
    console,
    in_child,
    keep_freed_memory,
    ratio,
    selected,
    taking_turns,
    write_results,
)
from rich.table import Table
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import ckschedule as ck
from ckschedule.errors import CkscheduleError

Way = Callable[[nn.Module, Tensor], Tensor]

BLOCKS: Final = 48
"""Of the networks whose computations take next to no time."""

WIDTH: Final = 8

OF_TORCH: Final = 0.6
"""Largest extra time of a recomputed block, over that of torch's non-reentrant way."""

FRAMEWORK: Final = 100e-6
"""Seconds that a recomputed block may take beyond its forward."""

_ENOUGH: Final = 2**62
"""Bytes."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured.

    Attributes
    ----------
    blocks
        Rounds of the tiny networks.
    probe, final
        Rounds of a point of a front that is tried, and of one that is reported.
    """

    blocks: int
    probe: int
    final: int


FULL: Final = Effort(blocks=400, probe=3, final=9)
QUICK: Final = Effort(blocks=30, probe=1, final=3)


def main() -> None:
    keep_freed_memory()
    options = parser("What the executor costs.").parse_args()
    effort = QUICK if options.quick else FULL
    rows: dict[str, Callable[[], list[Record]]] = {
        f"overhead/{name}": partial(
            overhead, name, options.device, options.repeat or effort.blocks
        )
        for name in TINY
    }
    for family in families(torch.device(options.device)):
        rows[family.name] = partial(
            against_torch,
            family.name,
            options.device,
            effort.probe,
            options.repeat or effort.final,
        )
    records: list[Record] = []
    terminal = console()
    for name in selected(list(rows), options.rows):
        with terminal.status(name):
            try:
                records += in_child(rows[name])
            except (CkscheduleError, ProcessDiedError) as error:
                records.append({"name": name, "passed": False, "error": str(error)})
        # A run takes long: what is measured is kept if it is interrupted.
        path = write_results("executors", records, options.out)
    for table in (_overheads(records), _ratios(records)):
        if table.rows:
            terminal.print(table)
    for record in records:
        if "error" in record:
            terminal.print(f"[red]FAIL[/] {record['name']}: {record['error']}")
        for text, held in record.get("claims", {}).items():
            verdict = "[green]PASS[/]" if held else "[red]FAIL[/]"
            terminal.print(f"{verdict} {record['name']}: {text}")
    terminal.print(f"written to {path}")


# Overhead of a recomputed block.


class Blocks(nn.Module):
    """Blocks in a row, each called in some way."""

    def __init__(self, blocks: Sequence[nn.Module], way: Way) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self._way = way

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = self._way(block, x)
        return x


class Bare(torch.autograd.Function):
    """The least that recomputes a block: no random streams, modes, checks or hooks."""

    @staticmethod
    def forward(ctx: Any, block: nn.Module, x: Tensor, *parameters: Tensor) -> Any:
        ctx.block, ctx.parameters = block, parameters
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.block(x)
        gradients = torch.autograd.grad(y, [x, *ctx.parameters], gradient)
        return (None, *gradients)


def _plain(block: nn.Module, x: Tensor) -> Tensor:
    return block(x)


def _non_reentrant(block: nn.Module, x: Tensor) -> Tensor:
    return checkpoint(block, x, use_reentrant=False)


def _reentrant(block: nn.Module, x: Tensor) -> Tensor:
    return checkpoint(block, x, use_reentrant=True)


def _bare(block: nn.Module, x: Tensor) -> Tensor:
    return Bare.apply(block, x, *block.parameters())


WAYS: Final[Mapping[str, Way]] = {
    "torch": _non_reentrant,
    "torch re-entrant": _reentrant,
    "bare function": _bare,
}
"""By the name in the table: how each block is called."""


class _OneLayer(nn.Module):
    """A linear layer and its activation in one module, as users write blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.linear(x))


def _transformer(dropout: float) -> nn.Module:
    return torch_models.TransformerBlock(WIDTH, 2, dropout, causal=False)


TINY: Final[Mapping[str, tuple[Callable[[], nn.Module], tuple[int, ...]]]] = {
    "linear": (_OneLayer, (4, WIDTH)),
    "transformer": (partial(_transformer, 0.0), (2, 4, WIDTH)),
    "transformer, dropout": (partial(_transformer, 0.1), (2, 4, WIDTH)),
}
"""Kinds of blocks, and the shape of what they take."""


def overhead(name: str, device: str, repeat: int) -> list[Record]:
    """Return extra time of a recomputed block; runs in a process of its own."""
    # One: where nothing is computed, waking a second thread is all that is seen.
    torch.set_num_threads(1)
    build, shape = TINY[name]
    torch.manual_seed(0)
    blocks = [build().to(device) for _ in range(BLOCKS)]
    # Else the re-entrant way gives no gradients.
    x = torch.randn(shape, device=device, requires_grad=True)
    plain = Blocks(blocks, _plain)
    models = {way: Blocks(copy.deepcopy(blocks), how) for way, how in WAYS.items()}
    ours = Blocks(copy.deepcopy(blocks), _plain)
    # Profiled without: its gradient is no part of what is compared.
    chain = ck.profile(ours, x.detach(), loss=torch.sum, stages=["blocks.*"])
    plan = ck.solve(chain, _ENOUGH, ck.EveryNth(1))
    ck.apply(ours, plan)

    def step(model: nn.Module) -> None:
        model(x).sum().backward()
        if device == "cuda":
            torch.cuda.synchronize()

    def forward() -> None:
        with torch.no_grad():
            plain(x)
        if device == "cuda":
            torch.cuda.synchronize()

    everything = {"plain": plain, "ours": ours, **models}
    runs: dict[str, Callable[[], None]] = {
        way: partial(step, model) for way, model in everything.items()
    }
    runs["forward"] = forward

    def reset() -> None:
        x.grad = None
        for model in everything.values():
            for parameter in model.parameters():
                parameter.grad = None

    taking_turns(runs, repeat=3, prepare=reset, collect=False)
    reset()
    executions = ck.measure(lambda: step(ours), ours, inputs=x).executions
    again = sum(executions.values()) - len(executions)
    times = taking_turns(runs, repeat=repeat, prepare=reset, collect=False)
    recomputed = {way: again if way == "ours" else BLOCKS for way in everything}
    forwards = [seconds / BLOCKS for seconds in times["forward"]]
    extra = {
        way: [
            (own - base) / recomputed[way]
            for own, base in zip(times[way], times["plain"], strict=True)
        ]
        for way in everything
        if way != "plain"
    }
    framework = {
        way: median(a - b for a, b in zip(values, forwards, strict=True))
        for way, values in extra.items()
    }
    of_torch = {way: ratio(values, extra["torch"]) for way, values in extra.items()}
    claims = {
        f"a recomputed block takes at most {OF_TORCH} of torch's time "
        f"({of_torch['ours']:.2f})": of_torch["ours"] <= OF_TORCH,
        f"of it {FRAMEWORK * 1e6:.0f} us at most are the framework's "
        f"({framework['ours'] * 1e6:.0f})": framework["ours"] <= FRAMEWORK,
    }
    return [
        {
            "name": f"overhead/{name}",
            "blocks": BLOCKS,
            "rounds": len(times["plain"]),
            "recomputed": recomputed,
            "plain_step": median(times["plain"]),
            "block_forward": median(forwards),
            "extra": {way: median(values) for way, values in extra.items()},
            "framework": framework,
            "of_torch": of_torch,
            "claims": claims,
            "passed": all(claims.values()),
            "samples": times,
        }
    ]


def _overheads(records: Sequence[Record]) -> Table:
    table = Table(title="extra time of a recomputed block in us (beyond its forward)")
    table.add_column("blocks")
    for heading in ("forward", "ours", *WAYS, "ours / torch"):
        table.add_column(heading, justify="right")
    for record in records:
        if "framework" in record:
            extra, beyond = record["extra"], record["framework"]
            table.add_row(
                record["name"],
                f"{record['block_forward'] * 1e6:.0f}",
                *(
                    f"{extra[way] * 1e6:.0f} ({beyond[way] * 1e6:.0f})"
                    for way in ("ours", *WAYS)
                ),
                f"{record['of_torch']['ours']:.2f}",
            )
    return table


# Networks, against torch's ways.


def against_torch(name: str, device: str, probe: int, final: int) -> list[Record]:
    """Return each of torch's ways beside ours; runs in a process of its own."""
    made = training(name, device)
    case = made.case
    ways = {
        "every block": case.every_block(made.plain),
        "sequential sqrt": case.sequential_sqrt(made.plain),
    }
    chain = ck.profile(made.model, *made.arguments, loss=case.loss, stages=case.stages)
    front = ck.pareto(chain, ck.ChainDP())
    made.step(made.plain)
    plain = made.measure(made.plain).peak
    records = []
    for way, model in ways.items():
        made.reset()
        made.step(model)
        peak = made.measure(model).peak
        times = made.times({"plain": made.plain, way: model}, repeat=final)
        slowdown = ratio(times[way], times["plain"])
        records.append(
            {
                "name": f"{name}/{way}",
                "plain_peak": plain,
                "peak": peak,
                "time_ratio": slowdown,
                "samples": times,
                "same_memory": _same_memory(made, front, model, peak, final),
                "same_time": _same_time(made, front, model, slowdown, probe, final),
                "passed": None,
            }
        )
        for kind in ("same_memory", "same_time"):
            found = records[-1][kind]
            if found is not None:
                found["memory_ratio"] = found["measured_peak"] / peak
    return records


def _same_memory(
    made: Training, front: ck.ParetoFront, model: nn.Module, peak: int, repeat: int
) -> Record | None:
    """Return our fastest plan within the bytes of torch's way; None if none fits."""
    if peak < front.minimum.peak:
        return None
    return _beside(made, front.at(peak), model, repeat=repeat)


def _same_time(
    made: Training,
    front: ck.ParetoFront,
    model: nn.Module,
    slowdown: float,
    probe: int,
    repeat: int,
) -> Record | None:
    """Return our plan of least memory that takes no longer than torch's way.

    None if none is as fast. The place on the front is found by bisection on measured
    times, within those predicted to be at most half as slow again; as times are noisy,
    the point that is reported is confirmed, and the next are tried if it is not.
    """
    base = front.model.base_time
    points = [p for p in front if p.makespan <= 1.5 * slowdown * base]
    low, high = 0, len(points) - 1
    while low < high:
        middle = (low + high) // 2
        found = _beside(made, points[middle], model, repeat=probe, peak=False)
        if found["time_of_torch"] <= 1:
            high = middle
        else:
            low = middle + 1
    step = max(1, len(points) // 40)
    for index in [*range(low, len(points) - 1, step), len(points) - 1]:
        found = _beside(made, points[index], model, repeat=repeat)
        if found["time_of_torch"] <= 1:
            return found
    return None


def _beside(
    made: Training,
    point: ck.ParetoPoint,
    model: nn.Module,
    *,
    repeat: int,
    peak: bool = True,
) -> Record:
    """Return the peak of a plan, and its times beside those of torch's way."""
    ck.apply(made.model, point)
    try:
        made.reset()
        made.step(made.model)
        measured = made.measure(made.model).peak if peak else None
        times = made.times(
            {"plain": made.plain, "torch": model, "ours": made.model}, repeat=repeat
        )
    finally:
        ck.unapply(made.model)
    return {
        "predicted_peak": point.peak,
        "measured_peak": measured,
        "predicted_time_ratio": 1 + point.relative_overhead,
        "time_ratio": ratio(times["ours"], times["plain"]),
        "time_of_torch": ratio(times["ours"], times["torch"]),
        "samples": times,
    }


def _ratios(records: Sequence[Record]) -> Table:
    table = Table(
        title="torch's ways over the plain step, and our plans over torch's ways"
    )
    table.add_column("network / way")
    for heading in (
        "memory",
        "time",
        "ours, same memory: time",
        "memory",
        "ours, same time: memory",
        "time",
    ):
        table.add_column(heading, justify="right")
    for record in records:
        if "same_memory" in record:
            memory, time = record["same_memory"], record["same_time"]
            table.add_row(
                record["name"],
                f"{record['peak'] / record['plain_peak']:.3f}",
                f"{record['time_ratio']:.3f}",
                *_pair(memory, "time_of_torch", "memory_ratio"),
                *_pair(time, "memory_ratio", "time_of_torch"),
            )
    return table


def _pair(found: Record | None, first: str, second: str) -> tuple[str, str]:
    if found is None:
        return "none", ""
    return f"{found[first]:.3f}", f"{found[second]:.3f}"


if __name__ == "__main__":
    main()
