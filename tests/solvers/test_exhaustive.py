"""The oracle against published values, closed forms, and a search without any idea."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chains

import ckschedule as ck
from ckschedule import (
    Chain,
    Compute,
    Exhaustive,
    Graph,
    Mode,
    Node,
    Scope,
    StaticMemory,
    Status,
    Value,
)
from ckschedule.errors import NoScheduleError, ResourceLimitError
from ckschedule.solvers.revolve import advances

Numbers = Sequence[int]


def pebbling(needs: Sequence[Sequence[int]], bytes_: Numbers, times: Numbers) -> Graph:
    """Weighted pebbling: compute the last node once, with all its inputs live.

    While node v runs the live bytes and its own are within the budget, which is the
    default transient. Freeing is free.
    """
    last = len(needs) - 1
    return Graph(
        values=tuple(Value(name=f"v{i}", size=m) for i, m in enumerate(bytes_)),
        nodes=tuple(
            Node(
                name=f"n{i}",
                modes=(
                    Mode(
                        name="run",
                        time=times[i],
                        outputs=(f"v{i}",),
                        needs=tuple(f"v{j}" for j in before),
                    ),
                ),
            )
            for i, before in enumerate(needs)
        ),
        targets=(f"v{last}",),
        time_unit="step",
        name="pebbling",
    )


def pebbling_chain(forward: Numbers, backward: Numbers, sizes: Numbers) -> Graph:
    """f_0..f_{L-1}, then b_{L-1}..b_0; b_i needs b_{i+1} and f_{i-1}.

    b_{L-1} needs f_{L-1} and f_{L-2}.
    """
    n = len(forward)
    needs: list[list[int]] = [[i - 1] if i else [] for i in range(n)]
    for k in range(n):  # the node of b_{n-1-k} is n + k
        i = n - 1 - k
        needs.append([n + k - 1, *([i - 1] if i else [])])
    return pebbling(needs, [*sizes, *sizes[::-1]], [*forward, *backward[::-1]])


def unit_chain(n: int) -> Graph:
    return pebbling_chain([1] * n, [1] * n, [1] * n)


def checkmate_chain(k: int) -> Graph:
    """Checkmate's unit chain (arXiv 1910.02653): n = 2 k + 1 nodes.

    Forwards f_0..f_k and backwards; a backward needs the gradient before it and its
    own forward's output. The first of them, at f_k, is part of the turn.
    """
    needs: list[list[int]] = [[i - 1] if i else [] for i in range(k + 1)]
    # Node k + 1 + j is the backward of forward k - 1 - j.
    needs.extend([k + j, k - 1 - j] for j in range(k))
    return pebbling(needs, [1] * (2 * k + 1), [1] * (2 * k + 1))


def table(graph: Graph) -> dict[int, int]:
    """Peak and makespan of every point of the front."""
    return {point.peak: point.makespan for point in ck.pareto(graph, Exhaustive())}


def optimum(graph: Graph, budget: int) -> int | None:
    return ck.solve(graph, budget, Exhaustive()).makespan


@pytest.mark.parametrize(
    ("n", "times"),
    [
        (4, {3: 11, 4: 9, 5: 8}),
        (6, {3: 22, 4: 15, 5: 14, 6: 13, 7: 12}),
        (8, {3: 37, 4: 23, 5: 20, 6: 19, 7: 18, 8: 17, 9: 16}),
    ],
)
def test_minimum_budgets_and_optima_of_unit_chains(
    n: int, times: dict[int, int]
) -> None:
    """Below three bytes nothing fits, and the message says three."""
    graph = unit_chain(n)
    assert table(graph) == times
    for budget in (0, 1, 2):
        result = ck.solve(graph, budget, Exhaustive())
        assert result.status is Status.INFEASIBLE
        assert result.minimum_budget == 3


def test_optima_of_a_heterogeneous_chain() -> None:
    """Times 2, 1, 4, 1, 3 and twice that backward; sizes 4, 6, 2, 5, 1."""
    forward = [2, 1, 4, 1, 3]
    graph = pebbling_chain(forward, [2 * f for f in forward], [4, 6, 2, 5, 1])
    assert table(graph) == {14: 36, 15: 35, 17: 34, 19: 33}
    assert optimum(graph, 16) == 35
    assert optimum(graph, 18) == 34
    below = ck.solve(graph, 13, Exhaustive())
    assert (below.status, below.minimum_budget) == (Status.INFEASIBLE, 14)


def free_stages() -> Graph:
    return pebbling_chain([0, 3, 0, 3, 0], [0, 6, 0, 6, 0], [4, 4, 0, 4, 1])


def test_stages_of_no_time_are_recomputed_where_that_saves_memory() -> None:
    """Nothing fits in 8 bytes; from 10 on only stages without time run again."""
    assert table(free_stages()) == {9: 21, 10: 18}
    assert ck.solve(free_stages(), 8, Exhaustive()).minimum_budget == 9


@pytest.mark.parametrize("budget", [26, 27, 100])
def test_stages_of_no_time_are_not_recomputed_for_nothing(budget: int) -> None:
    """Among equally fast schedules the one of fewest computations wins."""
    result = ck.solve(free_stages(), budget, Exhaustive())
    assert result.makespan == 18
    assert result.raise_for_status().recomputations == {}


def test_the_unit_chain_of_seventeen_nodes() -> None:
    """Checkmate reports hours for what is here a moment; B = 4 gives 26."""
    graph = checkmate_chain(8)
    expected = {3: 45, 4: 26, 5: 22, 6: 21, 7: 20, 8: 19, 9: 18, 10: 17}
    assert table(graph) == expected
    below = ck.solve(graph, 2, Exhaustive())
    assert (below.status, below.minimum_budget) == (Status.INFEASIBLE, 3)


@pytest.mark.parametrize("k", range(1, 7))
def test_unit_chains_have_a_closed_form(k: int) -> None:
    """k + 1 + p(k + 1, B - 2), with p Revolve's number of advances."""
    found = table(checkmate_chain(k))
    assert min(found) == 3
    for budget in range(3, k + 3):
        best = min(time for peak, time in found.items() if peak <= budget)
        assert best == k + 1 + advances(k + 1, budget - 2)


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "time"), [(3, 66), (4, 35), (5, 29), (12, 21)])
def test_the_unit_chain_of_twenty_one_nodes(budget: int, time: int) -> None:
    """The same closed form at its ends, as numbers."""
    assert optimum(checkmate_chain(10), budget) == time
    assert time == 11 + advances(11, budget - 2)


def test_the_proof_ranges_over_all_schedules() -> None:
    """And the solver's name says which."""
    result = ck.solve(unit_chain(3), 100, Exhaustive())
    assert (result.scope, result.status) == (Scope.UNRESTRICTED, Status.OPTIMAL)
    assert result.solver == repr(Exhaustive())


def test_static_bytes_shift_every_budget() -> None:
    """They lie there throughout."""
    shifted = replace(unit_chain(4), static=StaticMemory(parameters=50))
    assert table(shifted) == {53: 11, 54: 9, 55: 8}
    below = ck.solve(shifted, 52, Exhaustive())
    assert (below.status, below.minimum_budget) == (Status.INFEASIBLE, 53)


@pytest.mark.parametrize("budget", [0, 49])
def test_a_budget_below_the_static_bytes_is_infeasible(budget: int) -> None:
    """Negative room for activations is no error."""
    shifted = replace(unit_chain(4), static=StaticMemory(parameters=50))
    assert ck.solve(shifted, budget, Exhaustive()).minimum_budget == 53


def test_too_many_states_are_an_error_with_the_way_out() -> None:
    """Exponential in the number of values."""
    with pytest.raises(ResourceLimitError, match=r"passed 5 states.*max_states"):
        ck.solve(unit_chain(8), 4, Exhaustive(max_states=5))


CIRCLE = pebbling([[1], [0]], [1, 1], [1, 1])
"""Two nodes that need each other."""


def test_a_circle_is_infeasible_at_every_budget() -> None:
    """So that no budget can be named that would work."""
    result = ck.solve(CIRCLE, 10**9, Exhaustive())
    assert (result.status, result.minimum_budget) == (Status.INFEASIBLE, None)
    assert ck.solve(CIRCLE, 0, Exhaustive()).minimum_budget is None


def test_a_circle_has_no_front() -> None:
    """A front has at least one point."""
    with pytest.raises(NoScheduleError, match="no schedule, whatever the budget"):
        ck.pareto(CIRCLE, Exhaustive())


def test_nothing_to_do_takes_no_time() -> None:
    """One point, at the level of the inputs."""
    graph = Graph(values=(Value(name="x", size=4),), nodes=(), inputs=("x",))
    assert table(graph) == {4: 0}
    assert ck.solve(graph, 3, Exhaustive()).minimum_budget == 4


def test_nodes_that_need_not_run_do_not() -> None:
    """Nothing is recomputed, though there are more nodes than computations."""
    graph = replace(unit_chain(3), targets=("v1",))
    (point,) = ck.pareto(graph, Exhaustive())
    assert (point.makespan, point.executions, point.recomputations) == (2, 2, 0)


# --- A search that frees whatever may be freed, at any time --------------------------


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Up to five nodes with modes, holds, consumption, kept and unpinned values."""
    small = st.integers(0, 3)
    n = draw(st.integers(1, 4))
    names = ["in", *(f"v{i}" for i in range(n))]
    values = [Value(name="in", size=draw(small))]
    nodes: list[Node] = []
    for i in range(n):
        before = names[: i + 1]
        holds = draw(st.lists(st.sampled_from(before), max_size=1))
        values.append(Value(name=f"v{i}", size=draw(small), holds=tuple(holds)))
        modes = []
        for k in range(draw(st.integers(1, 2))):
            drawn = draw(st.lists(st.sampled_from(before), max_size=2, unique=True))
            # What a value holds lives when it is born.
            needs = list(dict.fromkeys([*holds, *drawn]))
            consumes = [v for v in drawn if v not in holds and draw(st.booleans())]
            # Now and then an earlier value comes along, as the output of a recording.
            others = [
                v.name
                for v in values[1:-1]
                if v.name not in needs and {*v.holds} <= {*needs} - {*consumes}
            ]
            extra = (
                draw(st.lists(st.sampled_from(others), max_size=1)) if others else []
            )
            modes.append(
                Mode(
                    name=f"m{k}",
                    time=draw(small),
                    outputs=(f"v{i}", *extra),
                    needs=tuple(needs),
                    consumes=tuple(consumes),
                    transient=None if draw(st.booleans()) else 20,
                )
            )
        nodes.append(
            Node(
                name=f"n{i}",
                modes=tuple(modes),
                recomputable=draw(st.integers(0, 3)) > 0,
            )
        )
    targets = draw(
        st.lists(st.sampled_from(names[1:]), min_size=1, max_size=2, unique=True)
    )
    graph = Graph(
        values=tuple(values),
        nodes=tuple(nodes),
        inputs=("in",),
        unpinned=("in",) if draw(st.booleans()) else (),
        targets=tuple(targets),
        kept=tuple(v for v in targets if draw(st.booleans())),
        static=StaticMemory(buffers=draw(small)),
    )
    # Transients from the least legal one on, rather than those of the draft.
    size = {value.name: value.size for value in values}

    def transient(mode: Mode) -> int | None:
        if mode.transient != 20:
            return None
        least = sum(size[v] for v in mode.outputs) - sum(size[v] for v in mode.consumes)
        return max(0, least) + draw(small)

    return replace(
        graph,
        nodes=tuple(
            replace(
                node,
                modes=tuple(replace(m, transient=transient(m)) for m in node.modes),
            )
            for node in nodes
        ),
    )


State = tuple[frozenset[str], frozenset[str], frozenset[str]]
"""Live values, targets that were produced, nodes that ran and may not again."""


def brute_force(graph: Graph) -> list[tuple[int, int, int]]:
    """All non-dominated (peak, ticks, computations) by ticks, breadth first.

    Every operation is tried in every state, one at a time; a state keeps all labels
    that no other one dominates. Among points of one peak and time, fewest computations.
    """
    size = {value.name: value.size for value in graph.values}
    holds = {value.name: frozenset(value.holds) for value in graph.values}
    pinned = (set(graph.inputs) - set(graph.unpinned)) | set(graph.kept)
    targets = frozenset(graph.targets)

    def level(live: frozenset[str]) -> int:
        return sum(size[v] for v in live) + graph.static.total

    def steps(state: State) -> list[tuple[State, int, int, int]]:
        live, done, ran = state
        after: list[tuple[State, int, int, int]] = [
            ((live - {v}, done, ran), 0, 0, 0)
            for v in live - pinned
            if not any(v in holds[u] for u in live)
        ]
        for node in graph.nodes:
            for mode in node.modes:
                gone = frozenset(mode.consumes)
                if (
                    node.name in ran
                    or not live.issuperset(mode.needs)
                    or live.issuperset(mode.outputs)
                    or gone & pinned
                    or any(gone & holds[u] for u in live - gone)
                ):
                    continue
                then = (
                    (live - gone) | frozenset(mode.outputs),
                    done | targets & frozenset(mode.outputs),
                    ran if node.recomputable else ran | {node.name},
                )
                during = level(live) + (mode.transient or 0)
                after.append((then, during, mode.time, 1))
        return after

    begin = frozenset(graph.inputs)
    start: State = (begin, begin & targets, frozenset())
    labels: dict[State, set[tuple[int, int, int]]] = {start: {(level(begin), 0, 0)}}
    fresh = [(start, (level(begin), 0, 0))]
    while fresh:
        wave = fresh
        fresh = []
        for state, label in wave:
            if label not in labels[state]:
                continue
            for then, during, ticks, ran in steps(state):
                new = (
                    max(label[0], during, level(then[0])),
                    label[1] + ticks,
                    label[2] + ran,
                )
                known = labels.setdefault(then, set())
                if any(all(a <= b for a, b in zip(k, new, strict=True)) for k in known):
                    continue
                known -= {
                    k for k in known if all(b <= a for a, b in zip(k, new, strict=True))
                }
                known.add(new)
                fresh.append((then, new))
    ends = sorted(
        label
        for (_, done, _), found in labels.items()
        if done >= targets
        for label in found
    )
    front: list[tuple[int, int, int]] = []
    for peak, ticks, computations in ends:
        if not front or ticks < front[-1][1]:
            front.append((peak, ticks, computations))
    return front


@settings(max_examples=250)
@given(graphs())
def test_the_front_is_that_of_the_brute_force(graph: Graph) -> None:
    """Peaks, times, and the fewest computations of each."""
    expected = brute_force(graph)
    if not expected:
        with pytest.raises(NoScheduleError):
            ck.pareto(graph, Exhaustive())
        return
    found = [
        (point.peak, point.makespan, point.executions)
        for point in ck.pareto(graph, Exhaustive())
    ]
    assert found == expected


@settings(max_examples=60)
@given(chains(max_stages=2, largest=3))
def test_the_front_of_a_chain_is_that_of_the_brute_force(chain: Chain) -> None:
    """With all features of chains, on which other solvers are compared with it."""
    found = [
        (point.peak, point.makespan, point.executions)
        for point in ck.pareto(chain, Exhaustive())
    ]
    assert found == brute_force(chain.to_graph())


@settings(max_examples=200)
@given(graphs())
def test_the_least_budget_is_the_first_point_of_the_front(graph: Graph) -> None:
    """By bisection from below, by breakpoints from above."""
    result = ck.solve(graph, 0, Exhaustive())
    if result.status is Status.INFEASIBLE and result.minimum_budget is not None:
        assert result.minimum_budget == ck.pareto(graph, Exhaustive()).minimum.peak


def test_a_mode_is_chosen_by_what_it_costs() -> None:
    """The fast mode needs 9 bytes while it runs, the slow one 1."""
    graph = Graph(
        values=(Value(name="v", size=1),),
        nodes=(
            Node(
                name="n",
                modes=(
                    Mode(name="fast", time=1, outputs=("v",), transient=9),
                    Mode(name="slow", time=5, outputs=("v",)),
                ),
            ),
        ),
        targets=("v",),
    )
    assert table(graph) == {1: 5, 9: 1}
    (operation,) = ck.solve(graph, 8, Exhaustive()).raise_for_status().schedule
    assert operation == Compute("n", "slow")


def test_sets_to_free_count_towards_the_limit() -> None:
    """One state of a wide graph can have more of them than all states together."""
    inputs = tuple(f"i{k}" for k in range(24))
    graph = Graph(
        values=(*(Value(name=n, size=1) for n in inputs), Value(name="o", size=12)),
        nodes=(Node(name="N", modes=(Mode(name="m", time=1, outputs=("o",)),)),),
        inputs=inputs,
        unpinned=inputs,
        targets=("o",),
    )
    with pytest.raises(ResourceLimitError, match="passed 1000 states"):
        ck.solve(graph, 24, Exhaustive(max_states=1000))
