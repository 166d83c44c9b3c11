"""The catalogue: every entry builds a chain that can be trained."""

from inspect import signature

import pytest

from ckschedule.catalog import CATALOG, entry
from ckschedule.costs.chain import Chain
from ckschedule.errors import InvalidModelError
from ckschedule.operations import Compute
from ckschedule.schedule import Schedule
from ckschedule.simulation import simulate


def small(name: str) -> Chain:
    """Return an entry's chain at the smallest batch."""
    build = CATALOG[name].build
    sizes = {"batch": 1, "sequence": 64, "steps": 4, "stages": 4}
    known = signature(build).parameters
    return build(**{key: size for key, size in sizes.items() if key in known})


@pytest.mark.parametrize("name", CATALOG)
def test_every_entry_can_be_trained_by_storing_everything(name: str) -> None:
    """Its graph is legal, and costs at least what lives when the backward starts."""
    chain = small(name)
    n = len(chain.sequence)
    trace = simulate(
        chain,
        Schedule(
            [
                *(Compute(f"F{i}", "all") for i in range(1, n + 1)),
                *(Compute(f"B{i}", "all") for i in range(n, 0, -1)),
            ]
        ),
    )
    kept = sum(s.output + s.variants[0].saved for s in chain.sequence)
    assert trace.peak >= chain.static.total + chain.input + kept
    assert trace.makespan == chain.base_time


@pytest.mark.parametrize("name", CATALOG)
def test_every_argument_of_an_entry_has_a_default(name: str) -> None:
    """A command line can build any entry by its name alone."""
    for parameter in signature(CATALOG[name].build).parameters.values():
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert parameter.default is not parameter.empty


@pytest.mark.parametrize("name", [n for n in CATALOG if n != "uniform"])
def test_without_a_device_times_are_flops(name: str) -> None:
    """Counts that hold for any machine."""
    build = CATALOG[name].build
    assert build(device=None).time_unit == "flop"
    assert build().time_unit == "ns"


def test_faster_devices_take_less_time() -> None:
    """The device prices the work."""
    build = CATALOG["gpt2"].build
    times = [build(device=name).base_time for name in ("h200", "a100", "l4", "cpu")]
    assert times == sorted(times)


def test_unknown_name_lists_the_known_ones() -> None:
    """The way out is in the message."""
    with pytest.raises(InvalidModelError, match=r"'gpt5'.*gpt2-xl.*llama-70b"):
        entry("gpt5")
