"""From computations to schedules: legal, and never lower by other frees."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solvers.graph_bounds.drawn import any_graphs, pebbled
from strategies import chains

from ckschedule import Chain
from ckschedule.costs import Graph, Mode, Node, Value
from ckschedule.costs.encoding import Encoding, encode
from ckschedule.simulation import measure
from ckschedule.solvers.completion import complete


class Replay:
    """One state at a time, by the words of the simulator's rules."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.size = {value.name: value.size for value in graph.values}
        self.holds = {value.name: set(value.holds) for value in graph.values}
        self.pinned = (set(graph.inputs) - set(graph.unpinned)) | set(graph.kept)
        self.modes = [(node, mode) for node in graph.nodes for mode in node.modes]

    def level(self, live: frozenset[str]) -> int:
        return sum(self.size[v] for v in live) + self.graph.static.total

    def held(self, v: str, live: frozenset[str]) -> bool:
        return any(v in self.holds[u] for u in live)

    def after(self, live: frozenset[str], mode: Mode) -> frozenset[str] | None:
        """The live set after a mode; None if it cannot run."""
        rest = live - frozenset(mode.consumes)
        if (
            not live >= set(mode.needs)
            or (mode.outputs and live >= set(mode.outputs))
            or set(mode.consumes) & self.pinned
            or any(self.held(v, rest) for v in mode.consumes)
        ):
            return None
        return rest | frozenset(mode.outputs)

    def frees(self, live: frozenset[str]) -> list[frozenset[str]]:
        return [
            live - {v}
            for v in sorted(live)
            if v not in self.pinned and not self.held(v, live)
        ]


def least_peak(graph: Graph, modes: Sequence[int]) -> int | None:
    """The lowest peak of a schedule with these computations, by trying all frees."""
    replay = Replay(graph)
    start = frozenset(graph.inputs)
    peaks = {start: replay.level(start)}
    for index in modes:
        _, mode = replay.modes[index]
        peaks = closed(replay, peaks)
        then: dict[frozenset[str], int] = {}
        for live, peak in peaks.items():
            after = replay.after(live, mode)
            if after is not None:
                during = replay.level(live) + (mode.transient or 0)
                high = max(peak, during, replay.level(after))
                then[after] = min(then.get(after, high), high)
        peaks = then
    return min(peaks.values(), default=None)


def closed(
    replay: Replay, peaks: dict[frozenset[str], int]
) -> dict[frozenset[str], int]:
    """The same states, and all that freeing makes of them."""
    found = dict(peaks)
    fresh = list(peaks)
    while fresh:
        live = fresh.pop()
        for after in replay.frees(live):
            if found.get(after, found[live] + 1) > found[live]:
                found[after] = found[live]
                fresh.append(after)
    return found


def legal_run(graph: Graph, seed: int, length: int) -> list[int]:
    """Modes of a random legal schedule that frees and computes as it likes."""
    choose = random.Random(seed)
    replay = Replay(graph)
    live = frozenset(graph.inputs)
    ran: set[str] = set()
    modes: list[int] = []
    while len(modes) < length:
        moves: list[tuple[int, frozenset[str]]] = [
            (-1, after) for after in replay.frees(live)
        ]
        for index, (node, mode) in enumerate(replay.modes):
            after = replay.after(live, mode)
            if after is not None and (node.recomputable or node.name not in ran):
                moves += [(index, after)] * 3
        if not moves:
            break
        index, live = choose.choice(moves)
        if index >= 0:
            modes.append(index)
            ran.add(replay.modes[index][0].name)
    return modes


def without_targets(graph: Graph) -> Encoding:
    """Encoded anew, so that a schedule may stop anywhere."""
    return encode(
        Graph(
            values=graph.values,
            nodes=graph.nodes,
            inputs=graph.inputs,
            unpinned=graph.unpinned,
            kept=graph.kept,
            static=graph.static,
        )
    )


def check(graph: Graph, seed: int, length: int) -> None:
    modes = legal_run(graph, seed, length)
    lowest = least_peak(graph, modes)
    assert lowest is not None, "the run itself is one"
    encoding = without_targets(graph)
    # Raises if the schedule is illegal.
    peak, makespan, executions = measure(encoding, complete(encoding, modes))
    assert executions == len(modes)
    assert makespan == sum(int(encoding.time[mode]) for mode in modes)
    assert peak == lowest


@settings(max_examples=200)
@given(any_graphs(), st.integers(0, 10**6), st.integers(0, 7))
def test_no_other_frees_lower_the_peak(graph: Graph, seed: int, length: int) -> None:
    """With modes, holders, consumption, kept values and inputs that may be freed."""
    check(graph, seed, length)


@settings(max_examples=150)
@given(pebbled(largest_n=5), st.integers(0, 10**6), st.integers(0, 9))
def test_no_other_frees_lower_the_peak_of_a_pebbling(
    graph: Graph, seed: int, length: int
) -> None:
    """Longer runs, in which values come and go."""
    check(graph, seed, length)


@settings(max_examples=100)
@given(chains(max_stages=3, largest=3), st.integers(0, 10**6), st.integers(0, 9))
def test_no_other_frees_lower_the_peak_of_a_chain(
    chain: Chain, seed: int, length: int
) -> None:
    """Saved tensors hold outputs; backwards consume them."""
    check(chain.to_graph(), seed, length)


LINE = Graph(
    values=tuple(Value(name=f"v{i}", size=1) for i in range(3)),
    nodes=tuple(
        Node(
            name=f"n{i}",
            modes=(
                Mode(
                    name="run",
                    time=1,
                    outputs=(f"v{i}",),
                    needs=(f"v{i - 1}",) if i else (),
                ),
            ),
        )
        for i in range(3)
    ),
    targets=("v2",),
)


def steps(graph: Graph, modes: Sequence[int]) -> list[tuple[int, set[str]]]:
    """Each computation, and what is freed after it; -1 for the start."""
    found: list[tuple[int, set[str]]] = [(-1, set())]
    for code in complete(encode(graph), modes).tolist():
        if code >= 0:
            found.append((code, set()))
        else:
            found[-1][1].add(graph.values[-1 - code].name)
    return found


@pytest.mark.parametrize(
    ("modes", "frees"),
    [
        ([0, 1, 2], [set(), {"v0"}, {"v1", "v2"}]),
        # v0 is needed twice: it stays, v1 goes and comes again.
        ([0, 1, 1, 2], [set(), {"v1"}, {"v0"}, {"v1", "v2"}]),
        # v0 is computed anew before it is needed again: it goes in between.
        ([0, 1, 0, 1, 2], [set(), {"v0", "v1"}, set(), {"v0"}, {"v1", "v2"}]),
    ],
)
def test_values_go_at_their_last_use(modes: list[int], frees: list[set[str]]) -> None:
    """Also between two computations of one value."""
    expected = zip([-1, *modes], [set[str](), *frees], strict=True)
    assert steps(LINE, modes) == list(expected)


def test_a_computation_of_what_stays_is_left_out() -> None:
    """The second one of a kept value would yield nothing new."""
    graph = replace(LINE, kept=("v0",))
    expected = [(-1, set()), (0, set()), (1, set()), (2, {"v1", "v2"})]
    assert steps(graph, [0, 0, 1, 2]) == expected


def test_what_an_input_that_stays_holds_stays_with_it() -> None:
    """It may be freed as far as the graph goes, but not while a lives."""
    graph = Graph(
        values=(
            Value(name="a", size=1, holds=("b",)),
            Value(name="b", size=1),
            Value(name="c", size=1),
        ),
        nodes=(Node(name="n", modes=(Mode(name="run", time=1, outputs=("c",)),)),),
        inputs=("a", "b"),
        unpinned=("b",),
        targets=("c",),
    )
    assert steps(graph, [0]) == [(-1, set()), (0, {"c"})]


def test_what_a_kept_value_holds_stays_from_its_first_computation_on() -> None:
    """Before that it may go and come again."""
    graph = Graph(
        values=(
            Value(name="v0", size=1),
            Value(name="v1", size=1),
            Value(name="v2", size=1, holds=("v0",)),
        ),
        nodes=(
            *LINE.nodes[:2],
            Node(
                name="n2",
                modes=(Mode(name="run", time=1, outputs=("v2",), needs=("v0", "v1")),),
            ),
        ),
        targets=("v2",),
        kept=("v2",),
    )
    expected = [(-1, set()), (0, set()), (1, {"v0"}), (0, set()), (2, {"v1"})]
    assert steps(graph, [0, 1, 0, 2]) == expected


def test_no_computations_make_a_schedule_of_frees() -> None:
    """Inputs that nothing needs go at once."""
    graph = Graph(
        values=(Value(name="x", size=4),), nodes=(), inputs=("x",), unpinned=("x",)
    )
    assert complete(encode(graph), []).tolist() == [-1]
