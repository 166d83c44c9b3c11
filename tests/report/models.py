"""Fronts that the page is tested on, some of them made to break it."""

import ckschedule as ck
from ckschedule.front import ParetoFront
from ckschedule.result import Scope

HOSTILE = (
    "</script><script>window.broken = 1</script>",
    "<img src=x onerror='window.broken = 2'>",
    "<!--<script>",
    '"@budget" "@model" {{ script }} $& $1 \\u003c \u2028',
    "<b>bold</b> &lt;i&gt; $\\frac{1}{2}$",
)
"""Names that end a script, load an image, or are filled in a second time."""


def small() -> ParetoFront:
    """Return an exact front with a dozen points."""
    return ck.pareto(ck.catalog.uniform(stages=8, saved=2))


def real() -> ParetoFront:
    """Return an exact front with static bytes and nanoseconds."""
    return ck.pareto(ck.catalog.gpt(layers=6, batch=4, sequence=256))


def hostile() -> ParetoFront:
    """Return a front whose names are `HOSTILE`."""
    stages = [
        ck.Stage(
            output=4,
            forward=1,
            variants=[ck.Variant(saved=8, backward=2)],
            name=name,
        )
        for name in HOSTILE
    ]
    return ck.pareto(ck.Chain(input=4, stages=stages, name=HOSTILE[0]))


def huge() -> ParetoFront:
    """Return a front whose ticks no 64-bit float holds."""
    stage = ck.Stage(
        output=3,
        forward=2**55 + 1,
        variants=[ck.Variant(saved=5, backward=2**56 + 3)],
    )
    return ck.pareto(ck.Chain(input=3, stages=[stage] * 4, time_unit="flop"))


def bracketed() -> ParetoFront:
    """Return points of a graph, with bounds that are not reached."""

    def node(name: str, *needs: str) -> ck.Node:
        mode = ck.Mode(name="run", time=2, outputs=(f"v{name}",), needs=needs)
        return ck.Node(name=name, modes=(mode,))

    # The first value is large, and needed again by the last node: 24 bytes, or 17 if it
    # is computed a second time.
    graph = ck.Graph(
        values=tuple(
            ck.Value(name=f"v{k}", size=size)
            for k, size in zip("abcd", (8, 8, 8, 1), strict=True)
        ),
        nodes=(
            node("a"),
            node("b", "va"),
            node("c", "vb"),
            node("d", "vc", "va"),
        ),
        targets=("vd",),
    )
    exact = ck.pareto(graph)
    points = [
        ck.ParetoPoint(
            model=graph,
            codes=point.codes,
            peak=point.peak,
            makespan=point.makespan,
            executions=point.executions,
            lower_bound=point.makespan * 2 // 3,
        )
        for point in exact
    ]
    return ParetoFront(
        model=graph,
        points=points,
        scope=Scope.GIVEN_ORDER,
        exact=False,
        solver="by hand",
    )
