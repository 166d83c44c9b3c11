"""Small models and schedules that the documents are about."""

from collections.abc import Callable

import pytest

from ckschedule.costs import Chain, Stage, Variant
from ckschedule.costs.encoding import encode
from ckschedule.front import ParetoFront, ParetoPoint
from ckschedule.operations import Compute, Free, Operation
from ckschedule.result import Scope
from ckschedule.schedule import Schedule, to_codes
from ckschedule.simulation import measure


def restart(chain: Chain, plain: int) -> Schedule:
    """Compute the first stages twice: once plain, once recorded before their backward.

    With ``plain`` 0 this stores everything. For chains without frozen stages.
    """
    n = len(chain.sequence)
    modes = [
        "plain" if i <= plain else stage.variants[0].name
        for i, stage in enumerate(chain.sequence, start=1)
    ]
    operations: list[Operation] = [
        Compute(f"F{i}", mode) for i, mode in enumerate(modes, start=1)
    ]
    for i in range(n, 0, -1):
        name = chain.sequence[i - 1].variants[0].name
        if i <= plain:
            operations += [Free(f"x{i}"), Compute(f"F{i}", name)]
        operations += [Compute(f"B{i}", name), Free(f"x{i}")]
    return Schedule(operations)


def front_of(chain: Chain) -> ParetoFront:
    """The non-dominated ones among all `restart` schedules, as if they were optimal."""
    encoding = encode(chain.to_graph())
    points: list[ParetoPoint] = []
    for plain in range(len(chain.sequence) + 1):
        codes = to_codes(restart(chain, plain), encoding)
        peak, makespan, executions = measure(encoding, codes)
        if not points or (peak < points[0].peak and makespan > points[0].makespan):
            point = ParetoPoint(
                model=chain,
                codes=codes,
                peak=peak,
                makespan=makespan,
                executions=executions,
                lower_bound=makespan,
            )
            points.insert(0, point)
    return ParetoFront(
        model=chain,
        points=points,
        scope=Scope.PERSISTENT,
        exact=True,
        solver="by hand",
    )


@pytest.fixture(scope="session")
def restart_schedule() -> Callable[[Chain, int], Schedule]:
    return restart


@pytest.fixture(scope="session")
def make_front() -> Callable[[Chain], ParetoFront]:
    return front_of


@pytest.fixture
def chain() -> Chain:
    stages = [
        Stage(
            name=name, output=4, forward=f, variants=(Variant(saved=9, backward=2 * f),)
        )
        for name, f in (("naïve λ", 1), ("conv", 3), ("relu", 2))
    ]
    return Chain(input=4, stages=stages, name="small")


@pytest.fixture
def front(chain: Chain) -> ParetoFront:
    front = front_of(chain)
    assert len(front) > 1, "the tests about order need two points"
    return front
