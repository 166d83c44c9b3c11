"""What people read when they print a model, a result or a front."""

import pytest

import ckschedule as ck
from ckschedule import Chain, Stage, Variant
from ckschedule.errors import InvalidModelError, InvalidSettingError


def test_a_printed_result_has_status_scope_and_figures() -> None:
    """One line, however long the schedule."""
    result = ck.solve(ck.catalog.uniform(stages=8, saved=2), "60%")
    assert str(result) == (
        "optimal within 16 B among persistent schedules: peak 16 B, 20 step, +25.00% "
        "over computing everything once"
    )
    assert result.relative_overhead == 0.25


def test_a_printed_result_without_schedule_says_what_would_fit() -> None:
    """The least budget is the answer people need next."""
    result = ck.solve(ck.catalog.uniform(stages=8, saved=2), 3)
    assert "the smallest budget that works is 7 bytes" in str(result)
    assert result.relative_overhead is None


def test_a_printed_front_has_its_ends_and_its_knee() -> None:
    """Four lines, however many points."""
    front = ck.pareto(ck.catalog.uniform(stages=8, saved=2))
    assert len(str(front).splitlines()) == 4
    assert str(front.minimum) in str(front)


@pytest.mark.parametrize("model", [ck.catalog.uniform(stages=50)])
def test_a_printed_model_is_one_line(model: Chain) -> None:
    """Its repr has every number."""
    assert len(str(model).splitlines()) == 1
    assert "51 stages" in str(model)
    assert "102 nodes" in str(model.to_graph())


def test_what_is_no_model_is_named() -> None:
    """Not an attribute that it lacks."""
    with pytest.raises(InvalidModelError, match="'resnet', a str; give a Chain"):
        ck.pareto("resnet")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(InvalidModelError, match="'x', a str; give a Chain"):
        ck.solve("x", "50%")  # type: ignore[arg-type]  # likewise


def test_what_is_no_solver_is_named() -> None:
    """The command line takes names, Python takes settings."""
    chain = ck.catalog.uniform(stages=3)
    with pytest.raises(InvalidSettingError, match="'chain-dp'; give a solver"):
        ck.solve(chain, 10, "chain-dp")  # type: ignore[arg-type]  # the mistake


def test_what_is_no_stage_is_named() -> None:
    """By its place."""
    with pytest.raises(InvalidModelError, match=r"stage 1 is \{\}, a dict"):
        Chain(input=1, stages=[{}])  # type: ignore[list-item]  # the mistake under test
    with pytest.raises(InvalidModelError, match=r"variant is 3, a int; give a Variant"):
        Chain(
            input=1,
            stages=[Stage(output=1, forward=1, variants=[3])],  # type: ignore[list-item]  # likewise
        )
    with pytest.raises(InvalidModelError, match="static is 3, a int"):
        Chain(
            input=1,
            stages=[
                Stage(output=1, forward=1, variants=(Variant(saved=1, backward=1),))
            ],
            static=3,  # type: ignore[arg-type]  # likewise
        )


def test_networks_go_by_name() -> None:
    """As on the command line; an option that the network lacks is named."""
    chain = ck.catalog.build("gpt2", layers=2, batch=1)
    assert chain.name == "gpt-2x768"
    with pytest.raises(InvalidModelError, match="no option 'bath'; it has layers"):
        ck.catalog.build("gpt2", bath=1)
