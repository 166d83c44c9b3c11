"""Published and recomputed values for rotor's model of a chain.

There a stage's tape includes its output, gradients and overheads are zero, and memory
counts the chain's input.
"""

import pytest

import ckschedule as ck
from ckschedule import Chain, ChainDP, Exhaustive, Stage, Variant
from ckschedule.solvers.revolve import mixed_forwards


def rotor_chain(
    outputs: list[int], tapes: list[int], forwards: list[int], *, loss: bool
) -> Chain:
    """``outputs[0]`` is the input; ``loss``: the last stage is the loss."""
    stages = [
        Stage(
            output=output,
            gradient=0,
            forward=forward,
            variants=(Variant(saved=tape - output, backward=0),),
        )
        for output, tape, forward in zip(outputs[1:], tapes, forwards, strict=True)
    ]
    if loss:
        return Chain(
            input=outputs[0], stages=stages[:-1], loss=stages[-1], time_unit="step"
        )
    return Chain(input=outputs[0], stages=stages, time_unit="step")


def uniform(n: int, tape: int) -> Chain:
    return rotor_chain([1] * (n + 1), [tape] * n, [1] * n, loss=False)


@pytest.mark.parametrize(
    ("n", "times"),
    [
        (10, {5: 55, 6: 30, 8: 22, 10: 19, 15: 16, 20: 14, 30: 11, 31: 10}),
        (20, {5: 210, 6: 85, 8: 56, 10: 47, 15: 37, 20: 35, 30: 31, 61: 20}),
        (50, {5: 1275, 6: 335, 8: 190, 10: 153, 15: 119, 20: 98, 30: 92, 151: 50}),
    ],
)
def test_uniform_chains_with_tapes_of_three_units(
    n: int, times: dict[int, int]
) -> None:
    """Values of rotor's recurrence (arXiv 1911.13214) for w_a = 1, w_abar = 3."""
    front = ck.pareto(uniform(n, 3), ChainDP())
    assert {budget: front.at(budget).makespan for budget in times} == times


@pytest.mark.parametrize(
    ("n", "times"), [(10, {3: 54, 4: 26, 5: 19, 6: 17, 8: 14, 10: 12, 11: 10})]
)
def test_uniform_chains_with_tapes_of_one_unit(n: int, times: dict[int, int]) -> None:
    """The same for w_abar = 1."""
    front = ck.pareto(uniform(n, 1), ChainDP())
    assert {budget: front.at(budget).makespan for budget in times} == times


@pytest.mark.parametrize("n", range(2, 36))
def test_unit_tapes_are_mixed_checkpointing(n: int) -> None:
    """Rotor with w_a = w_abar = 1 in M units is Maddison's count for M - 2 slots."""
    front = ck.pareto(uniform(n, 1), ChainDP())
    assert front.minimum.peak == 3
    for budget in range(3, n + 2):
        assert front.at(budget).makespan == mixed_forwards(n, budget - 2)


FOUR = rotor_chain([1, 1, 2, 1, 1], [3, 2, 2, 2], [2, 0, 1, 0], loss=True)
SIX = rotor_chain(
    [1, 1, 3, 2, 3, 3, 2], [1, 5, 4, 3, 3, 3], [5, 0, 0, 0, 0, 5], loss=True
)


@pytest.mark.parametrize(
    ("chain", "budget", "persistent", "unrestricted"),
    [(FOUR, 5, 10, 8), (SIX, 8, 30, 15)],
    ids=["four stages", "six stages"],
)
def test_persistence_can_cost_time(
    chain: Chain, budget: int, persistent: int, unrestricted: int
) -> None:
    """An output kept, used to rebuild a later one, and dropped before its own backward.

    The proof of `ChainDP` ranges over persistent schedules, and says so.
    """
    exact = ck.solve(chain, budget, ChainDP())
    oracle = ck.solve(chain, budget, Exhaustive())
    assert (exact.makespan, oracle.makespan) == (persistent, unrestricted)
    assert exact.scope is not oracle.scope
