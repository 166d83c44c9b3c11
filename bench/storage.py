"""Chen et al. 2016, the other half: what storage a network's training step takes.

Run ``python bench/storage.py``; see bench/README.md. Bytes do not vary: each row is
worked out once, whatever ``--repeat`` says. For pre-activation ResNets of
rising depth, as the paper trained them (batch 32, 224 x 224, fp32), each row has the
bytes of feature maps and their gradients under the paper's allocations, section 3 of
arXiv 1604.06174, and in one arena:

- storing everything: a storage for each node ("none"); "in place"; in place and from a
  pool ("sharing", all of the paper's system optimisations); one arena;
- "drop bn-relu": norms and ReLUs run again;
- "sublinear": the paper's plan, segments by its Algorithm 3; "sqrt": segments of about
  the square root of the blocks; and beside each the least memory in its time. These
  are made for the catalogue's chain of blocks and run operator by operator.

What is least for the chain need not be so operator by operator, where runs of no use
are left out and a block's values come and go.

The graph has one node an operator: convolution, batch norm, ReLU, addition, pooling.
Each backward node needs what autograd saves, and no more: a convolution and a batch
norm their input, a ReLU its output, an addition nothing. ReLUs, additions, and all
backward nodes of ReLUs and batch norms may write over an input. Weights, their
gradients and convolutions' workspaces are not counted, as in the paper.

The paper's claims (its figures are log-log plots): in-place and sharing together save a
factor of 2 to 3 but memory stays linear in depth; with its plan 1,000 layers take less
than 7 GB, instead of 48 GB.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

from measure import arguments, console, selected, write_results
from rich.table import Table

import ckschedule as ck
from ckschedule.catalog.depths import blocks_of
from ckschedule.catalog.images import Shape, convolved
from ckschedule.costs.encoding import encode
from ckschedule.schedule import from_codes
from ckschedule.solvers.completion import complete

DEPTHS: Final = (50, 101, 152, 200, 302, 500, 1001)
"""Published ones, and even splits of others."""

EXACT: Final = 20.0
"""Seconds of the exact packing where best fit leaves a gap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator of the forward pass; its output has its name.

    Attributes
    ----------
    stage
        Of the catalogue's chain, from 1.
    kind
        ``conv``, ``norm``, ``relu``, ``add``, ``pool``, ``mean``, ``linear``, ``loss``.
    """

    name: str
    stage: int
    kind: str
    inputs: tuple[str, ...]
    size: int


SAVES_INPUT: Final = {"conv", "norm", "pool", "linear"}
SAVES_OUTPUT: Final = {"relu", "loss"}
IN_PLACE: Final = {"relu", "add"}
IN_PLACE_BACKWARD: Final = {"relu", "norm", "sum"}


def operators(depth: int) -> list[Operator]:
    """Return a pre-activation ResNet of bottleneck blocks, operator by operator."""
    _, counts = blocks_of(depth, "imagenet")
    found: list[Operator] = []

    def put(name: str, kind: str, stage: int, size: int, *inputs: str) -> str:
        found.append(
            Operator(name=name, stage=stage, kind=kind, inputs=inputs, size=size)
        )
        return name

    image = Shape(batch=32, channels=3, side=224, element=4)
    shape = convolved(image, 64, kernel=7, stride=2)
    x = put("conv", "conv", 1, shape.bytes, "x0")
    x = put("norm", "norm", 1, shape.bytes, x)
    x = put("relu", "relu", 1, shape.bytes, x)
    shape = convolved(shape, 64, kernel=3, stride=2)
    x = put("pool", "pool", 1, shape.bytes, x)
    stage = 1
    for group, count in enumerate(counts):
        for i in range(count):
            stage += 1
            width = 64 * 2**group
            stride = 2 if group and i == 0 else 1
            after = convolved(shape, 4 * width, kernel=1, stride=stride)
            source = shortcut = x
            inner = shape
            for k, (channels, step) in enumerate(
                ((width, 1), (width, stride), (4 * width, 1)), start=1
            ):
                at = f"{stage}."
                source = put(f"{at}norm{k}", "norm", stage, inner.bytes, source)
                source = put(f"{at}relu{k}", "relu", stage, inner.bytes, source)
                if k == 1 and shape != after:
                    shortcut = put(f"{at}project", "conv", stage, after.bytes, source)
                inner = convolved(inner, channels, kernel=1, stride=step)
                source = put(f"{at}conv{k}", "conv", stage, inner.bytes, source)
            x = put(f"{stage}.add", "add", stage, after.bytes, source, shortcut)
            shape = after
    stage += 1
    x = put("head.norm", "norm", stage, shape.bytes, x)
    x = put("head.relu", "relu", stage, shape.bytes, x)
    x = put("head.mean", "mean", stage, 4 * 32 * shape.channels, x)
    x = put("head.linear", "linear", stage, 4 * 32 * 1000, x)
    put("loss", "loss", stage + 1, 4 * 32 * 1000, x)
    return found


@dataclass(kw_only=True)
class Training:
    """The graph of a training step under construction, and its nodes by stage."""

    values: list[ck.Value] = field(default_factory=list)
    nodes: list[ck.Node] = field(default_factory=list)
    forward: dict[int, list[str]] = field(default_factory=dict)
    backward: dict[int, list[str]] = field(default_factory=dict)
    inplace: list[str] = field(default_factory=list)

    def node(self, name: str, size: int, needs: Sequence[str], *, again: bool) -> None:
        """Add a node that yields the value of its name."""
        self.values.append(ck.Value(name=name, size=size))
        mode = ck.Mode(name="run", time=1, outputs=(name,), needs=tuple(needs))
        self.nodes.append(ck.Node(name=name, modes=(mode,), recomputable=again))


def training(depth: int) -> tuple[ck.Graph, Training]:
    """Return the graph of a training step: forwards, and backwards in reverse order."""
    made = Training()
    ops = operators(depth)
    sizes = {op.name: op.size for op in ops}
    readers: dict[str, list[Operator]] = {}
    for op in ops:
        made.node(op.name, op.size, op.inputs, again=True)
        made.forward.setdefault(op.stage, []).append(op.name)
        if op.kind in IN_PLACE:
            made.inplace.append(op.name)
        for name in op.inputs:
            readers.setdefault(name, []).append(op)
    gradient: dict[str, str] = {}
    parts: dict[str, list[str]] = {}

    def put(name: str, size: int, stage: int, needs: Sequence[str], kind: str) -> None:
        made.node(name, size, needs, again=False)
        made.backward.setdefault(stage, []).append(name)
        if kind in IN_PLACE_BACKWARD:
            made.inplace.append(name)

    for op in reversed(ops):
        own = () if op.kind == "loss" else (gradient[op.name],)
        for name in op.inputs:
            if name == "x0":
                continue
            if op.kind == "add":
                parts.setdefault(name, []).append(gradient[op.name])
            else:
                saved = (name,) * (op.kind in SAVES_INPUT) + (op.name,) * (
                    op.kind in SAVES_OUTPUT
                )
                back = f"d{op.name}"
                put(back, sizes[name], op.stage, (*own, *saved), op.kind)
                parts.setdefault(name, []).append(back)
            if len(parts[name]) == len(readers[name]):
                total = parts[name][0]
                for k, part in enumerate(parts[name][1:]):
                    both = f"sum{k}.{name}"
                    put(both, sizes[name], op.stage, (part, total), "sum")
                    total = both
                gradient[name] = total
        if op.inputs == ("x0",):
            # The first convolution's weight gradient reads the last gradient.
            put(f"d{op.name}", 0, op.stage, (*own, "x0"), op.kind)
    last = made.nodes[-1].name
    image = ck.Value(name="x0", size=4 * 3 * 224 * 224 * 32)
    graph = ck.Graph(
        name=f"resnet-{depth}-pre, operators",
        values=(image, *made.values),
        nodes=tuple(made.nodes),
        inputs=("x0",),
        targets=(last,),
        time_unit="step",
    )
    return graph, made


def by_stage(made: Training, trace: ck.Trace) -> list[str]:
    """Return the operators of a chain's schedule in running order."""
    return [
        name
        for operation in trace.schedule
        if isinstance(operation, ck.Compute)
        for name in (made.forward if operation.node[0] == "F" else made.backward)[
            int(operation.node[1:])
        ]
    ]


def without_norms(depth: int, made: Training) -> list[str]:
    """Return all operators, norms and ReLUs once more before their backwards."""
    again: dict[int, list[str]] = {}
    for op in operators(depth):
        if op.kind in ("norm", "relu"):
            again.setdefault(op.stage, []).append(op.name)
    order = [name for stage in sorted(made.forward) for name in made.forward[stage]]
    for stage in sorted(made.backward, reverse=True):
        order += again.get(stage, []) + made.backward[stage]
    return order


def scheduled(graph: ck.Graph, order: Sequence[str]) -> ck.Schedule:
    """Return the schedule of operators in this order, without runs of no use."""
    kept = [name for name, wanted in _wanted(graph, order) if wanted][::-1]
    encoding = encode(graph)
    codes = complete(encoding, [encoding.mode_index[name, "run"] for name in kept])
    return from_codes(codes, encoding)


def _wanted(graph: ck.Graph, order: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield the runs, last first, with whether anything reads what they yield."""
    needs = {node.name: node.modes[0].needs for node in graph.nodes}
    read = set(graph.targets)
    for name in reversed(order):
        wanted = name in read
        if wanted:
            read.discard(name)
            read.update(needs[name])
        yield name, wanted


def arena_row(graph: ck.Graph, made: Training, schedule: ck.Schedule) -> dict[str, Any]:
    """Return the figures of a schedule in one arena, and in pooled storages."""
    begin = perf_counter()
    arena = ck.plan_arena(graph, schedule, inplace=made.inplace)
    seconds = perf_counter() - begin
    row = {
        "bytes": arena.size,
        "live_peak": arena.live_peak,
        "fragmentation": arena.fragmentation,
        "blocks": len(arena.blocks),
        "method": arena.method,
        "seconds": seconds,
        "pool": ck.share_storage(graph, schedule, inplace=made.inplace).total,
    }
    if not arena.optimal:
        proved = ck.plan_arena(
            graph, schedule, inplace=made.inplace, exact=True, time_limit=EXACT
        )
        row |= {
            "exact_bytes": proved.size,
            "exact_bound": proved.lower_bound,
            "exact_stop": str(proved.stop),
        }
    return row


def study(depth: int) -> dict[str, Any]:
    """Return all figures of one depth, bytes."""
    chain = ck.catalog.resnet(
        depth=depth, preactivation=True, device="titan-x", optimizer="none"
    )
    graph, made = training(depth)
    assert len(made.forward) == len(chain.sequence), "one stage list for both"
    stored = ck.solve(chain, 2**62, ck.StoreAll()).raise_for_status()
    sublinear = ck.solve(chain, 2**62, ck.ChenBudget()).raise_for_status()
    sqrt = ck.solve(chain, 2**62, ck.SqrtSegments()).raise_for_status()
    front = ck.pareto(chain)

    def least(trace: ck.Trace) -> ck.Trace:
        point = front.within_time(trace.makespan)
        assert point is not None, "the trace is of such a schedule"
        return point.trace

    def row(trace: ck.Trace) -> dict[str, Any]:
        return arena_row(graph, made, scheduled(graph, by_stage(made, trace))) | {
            "chain_peak": trace.activation_peak,
            "overhead": (trace.makespan - chain.base_time) / chain.base_time,
        }

    plain = scheduled(graph, by_stage(made, stored))
    dropped = scheduled(graph, without_norms(depth, made))
    return {
        "name": f"resnet-{depth}",
        "depth": depth,
        "nodes": len(graph.nodes),
        "none": ck.share_storage(graph, plain, sharing=False).total,
        "in place": ck.share_storage(
            graph, plain, sharing=False, inplace=made.inplace
        ).total,
        "arena": row(stored),
        "drop bn-relu": arena_row(graph, made, dropped),
        "sublinear": row(sublinear),
        "least, sublinear": row(least(sublinear)),
        "sqrt": row(sqrt),
        "least, sqrt": row(least(sqrt)),
    }


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the figures for people, in GB as the paper has them."""
    grid = Table(title="feature maps and gradients, GB (10^9 bytes)")
    plans = (
        *("arena", "drop bn-relu", "sublinear", "least, sublinear"),
        *("sqrt", "least, sqrt"),
    )
    for heading in ("network", "none", "in place", "sharing", *plans):
        grid.add_column(heading, justify="right")
    for row in rows:
        figures = [row["none"], row["in place"], row["arena"]["pool"]]
        figures += [row[plan]["bytes"] for plan in plans]
        grid.add_row(row["name"], *(f"{figure / 1e9:.2f}" for figure in figures))
        grid.add_row(
            "time, fragmentation",
            *[""] * 3,
            *(
                (f"{row[plan]['overhead']:+.0%}, " if "overhead" in row[plan] else "")
                + f"{row[plan]['fragmentation']:.2%}"
                for plan in plans
            ),
        )
    return grid


def main() -> None:
    """Study every depth and write the figures."""
    parser = arguments(__doc__.splitlines()[0], repeat="1")
    given = parser.parse_args()
    names = selected([f"resnet-{depth}" for depth in DEPTHS], given.rows)
    rows = []
    for name in names:
        rows.append(study(int(name.partition("-")[2])))
        console().print(table(rows[-1:]))
    console().print(table(rows))
    write_results("storage", rows, given.out)


if __name__ == "__main__":
    main()
