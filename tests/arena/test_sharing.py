"""Chen's allocation: own storages, storages in place, storages from a pool."""

import pytest
from arena.walks import storing, walks
from hypothesis import given, settings

import ckschedule as ck
from ckschedule.errors import InvalidSettingError


@settings(max_examples=150)
@given(walks())
def test_sharing_lies_between_the_live_bytes_and_no_sharing(
    walk: tuple[ck.Graph, ck.Schedule],
) -> None:
    """Whatever is allowed in place."""
    graph, schedule = walk
    everything = ck.share_storage(graph, schedule, sharing=False)
    assert everything.values == len(everything.sizes)
    for inplace in ((), [node.name for node in graph.nodes]):
        arena = ck.plan_arena(graph, schedule, inplace=inplace)
        own = ck.share_storage(graph, schedule, sharing=False, inplace=inplace)
        pool = ck.share_storage(graph, schedule, inplace=inplace)
        assert arena.live_peak <= pool.total <= own.total <= everything.total


def test_the_smallest_storage_that_is_large_enough_is_taken() -> None:
    """8 and 5 are free when 4 comes."""
    graph, schedule = storing([(0, 1, 8), (0, 1, 5), (1, 3, 4), (2, 3, 8)])
    assert ck.share_storage(graph, schedule).sizes == (8, 5)


def test_a_storage_that_is_too_small_grows() -> None:
    """Where none is large enough, the largest."""
    graph, schedule = storing([(0, 1, 4), (0, 1, 2), (1, 2, 6)])
    assert ck.share_storage(graph, schedule).sizes == (6, 2)


def test_a_storage_of_quite_another_size_is_left_alone() -> None:
    """Beyond the factor ``match``, in both directions."""
    graph, schedule = storing([(0, 1, 10), (1, 2, 2), (2, 3, 50)])
    assert ck.share_storage(graph, schedule).sizes == (50,)
    assert ck.share_storage(graph, schedule, match=4).sizes == (10, 2, 50)
    assert ck.share_storage(graph, schedule, match=5).sizes == (50,)


def test_free_storages_are_not_joined() -> None:
    """An arena has 8 bytes for 8 where two storages of 4 are free."""
    graph, schedule = storing([(0, 1, 4), (0, 1, 4), (1, 2, 8)])
    assert ck.share_storage(graph, schedule).total == 12
    assert ck.plan_arena(graph, schedule).size == 8


def test_a_factor_is_at_least_one() -> None:
    """Nothing would match."""
    graph, schedule = storing([(0, 1, 4)])
    with pytest.raises(InvalidSettingError, match="match is 0"):
        ck.share_storage(graph, schedule, match=0)
