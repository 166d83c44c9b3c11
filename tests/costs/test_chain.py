"""What a chain accepts, what it refuses, and what it is as a graph."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from strategies import chains

from ckschedule import (
    Chain,
    Graph,
    Mode,
    Node,
    RecomputeAll,
    Stage,
    StaticMemory,
    StoreAll,
    Value,
    Variant,
    simulate,
)
from ckschedule.costs.lowering import lower
from ckschedule.errors import InvalidModelError
from ckschedule.units import INT64_MAX

RECORD = Variant(saved=3, backward=4)
STAGE = Stage(output=2, forward=1, variants=(RECORD,))

NO_COUNTS = [
    -1,
    1.0,
    0.5,
    float("nan"),
    float("inf"),
    True,
    "1",
    None,
    [1],
    Decimal(1),
    np.float64(1),
    np.True_,
    np.array([1, 2]),
    2**63,
]


def chain_of(*stages: Stage, size: int = 2) -> Chain:
    return Chain(input=size, stages=stages)


@pytest.mark.parametrize("bad", NO_COUNTS, ids=repr)
@pytest.mark.parametrize("field", ["output", "forward", "parameter_gradient"])
def test_a_stage_counts_in_whole_numbers(field: str, bad: Any) -> None:
    """The message names stage index, name, field and value."""
    stage = replace(STAGE, name="conv", **{field: bad})
    expected = re.escape(f"stage 2 ('conv'): {field} is {bad!r}")
    with pytest.raises(InvalidModelError, match=expected):
        chain_of(STAGE, stage)


@pytest.mark.parametrize("bad", [x for x in NO_COUNTS if x is not None], ids=repr)
@pytest.mark.parametrize("field", ["gradient", "transient"])
def test_what_a_stage_may_leave_out_is_counted_too(field: str, bad: Any) -> None:
    """None stands for the default, and for nothing else."""
    expected = re.escape(f"stage 1 ('stage 1'): {field} is {bad!r}")
    with pytest.raises(InvalidModelError, match=expected):
        chain_of(replace(STAGE, **{field: bad}))


@pytest.mark.parametrize("bad", NO_COUNTS, ids=repr)
@pytest.mark.parametrize("field", ["saved", "backward"])
def test_a_variant_counts_in_whole_numbers(field: str, bad: Any) -> None:
    """The message names the variant as well."""
    stage = replace(STAGE, variants=[replace(RECORD, name="v", **{field: bad})])
    expected = re.escape(f"stage 1 ('stage 1'), variant 'v': {field} is {bad!r}")
    with pytest.raises(InvalidModelError, match=expected):
        chain_of(stage)


@pytest.mark.parametrize("bad", [x for x in NO_COUNTS if x is not None], ids=repr)
@pytest.mark.parametrize(
    "field", ["forward", "forward_transient", "backward_transient"]
)
def test_what_a_variant_may_leave_out_is_counted_too(field: str, bad: Any) -> None:
    """None stands for the default, and for nothing else."""
    stage = replace(STAGE, variants=[replace(RECORD, **{field: bad})])
    with pytest.raises(InvalidModelError, match=re.escape(f"{field} is {bad!r}")):
        chain_of(stage)


@pytest.mark.parametrize("bad", NO_COUNTS, ids=repr)
def test_the_input_is_counted(bad: Any) -> None:
    """It is live throughout."""
    with pytest.raises(InvalidModelError, match=re.escape(f"chain: input is {bad!r}")):
        chain_of(STAGE, size=bad)


@pytest.mark.parametrize("bad", [0, 1, None, "yes", np.True_], ids=repr)
@pytest.mark.parametrize("field", ["needs_input", "needs_output"])
def test_flags_are_true_or_false(field: str, bad: Any) -> None:
    """A size in a flag's place would pass as true."""
    stage = replace(STAGE, variants=[replace(RECORD, **{field: bad})])
    with pytest.raises(InvalidModelError, match=f"{field} is .*give True or False"):
        chain_of(stage)


def test_the_input_gradient_is_a_flag() -> None:
    """Its size is the input's."""
    with pytest.raises(InvalidModelError, match="input_gradient is 4"):
        Chain(input=4, stages=[STAGE], input_gradient=4)  # type: ignore[arg-type]  # that is the test


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_numpy_integers_become_plain_ones(kind: type) -> None:
    """They would wrap at their own width, and JSON would not write them."""
    given = chain_of(
        Stage(
            output=kind(200),
            forward=kind(1),
            gradient=kind(200),
            parameter_gradient=kind(3),
            transient=kind(250),
            variants=[Variant(saved=kind(3), backward=kind(4), forward=kind(2))],
        ),
        size=kind(200),
    )
    plain = chain_of(
        Stage(
            output=200,
            forward=1,
            gradient=200,
            parameter_gradient=3,
            transient=250,
            variants=[Variant(saved=3, backward=4, forward=2)],
        ),
        size=200,
    )
    assert given == plain
    stage = given.stages[0]
    numbers = [given.input, stage.output, stage.forward, stage.gradient]
    numbers += [stage.parameter_gradient, stage.transient]
    numbers += [stage.variants[0].saved, stage.variants[0].forward]
    assert {type(number) for number in numbers} == {int}


def test_numbers_of_no_use_say_what_to_do() -> None:
    """Rounding is the caller's decision: up for bytes, at will for ticks."""
    with pytest.raises(
        InvalidModelError, match=r"1\.5, a float; .*round before you build the model"
    ):
        chain_of(replace(STAGE, output=1.5))  # type: ignore[arg-type]  # that is the test


def test_an_empty_chain_is_refused() -> None:
    """The loss alone is no model."""
    with pytest.raises(InvalidModelError, match="no stages; give at least one"):
        chain_of()


def test_names_are_unique() -> None:
    """Reports and documents refer to stages by name."""
    twice = replace(STAGE, name="conv")
    with pytest.raises(InvalidModelError, match="'conv' occurs twice"):
        chain_of(twice, STAGE, twice)


def test_a_given_name_may_not_be_that_of_an_unnamed_stage() -> None:
    """The second stage, unnamed, is called "stage 2"."""
    with pytest.raises(InvalidModelError, match="'stage 2' occurs twice"):
        chain_of(replace(STAGE, name="stage 2"), STAGE)


def test_no_stage_is_called_as_the_loss_is() -> None:
    """The default loss is called "loss"."""
    with pytest.raises(InvalidModelError, match="'loss' occurs twice"):
        chain_of(replace(STAGE, name="loss"))


def test_variant_names_are_unique_within_their_stage() -> None:
    """A schedule's operation says which variant."""
    with pytest.raises(InvalidModelError, match=r"stage 1.*variant 'all' occurs twice"):
        chain_of(replace(STAGE, variants=[RECORD, RECORD]))


def test_variants_of_two_stages_may_share_a_name() -> None:
    """Most are called "all"."""
    assert len(chain_of(STAGE, STAGE).stages) == 2


def test_no_variant_is_called_plain() -> None:
    """The plain forward is the other mode of the same node."""
    with pytest.raises(InvalidModelError, match="taken by the plain forward"):
        chain_of(replace(STAGE, variants=[replace(RECORD, name="plain")]))


@pytest.mark.parametrize("name", ["卷积", "ñ", "a b", "🙂", "stage\n1", "s1:all"])
def test_names_are_any_text(name: str) -> None:
    """Modules of real networks are named in every script."""
    named = replace(STAGE, name=name, variants=[replace(RECORD, name=name)])
    chain = replace(chain_of(named), name=name)
    assert chain.stages[0].name == name
    assert chain.to_graph().name == name


@pytest.mark.parametrize("bad", ["\ud800", 5, b"conv"], ids=repr)
def test_names_that_no_file_can_hold_are_refused(bad: Any) -> None:
    """A lone surrogate fails when it is written, too late."""
    with pytest.raises(InvalidModelError, match="name"):
        chain_of(replace(STAGE, name=bad))
    with pytest.raises(InvalidModelError, match="name"):
        chain_of(replace(STAGE, variants=[replace(RECORD, name=bad)]))
    with pytest.raises(InvalidModelError, match="chain name"):
        replace(chain_of(STAGE), name=bad)


def test_variants_and_chains_have_a_name() -> None:
    """An empty one cannot be pointed at; a stage's stands for "stage i"."""
    with pytest.raises(InvalidModelError, match="variant name is ''"):
        chain_of(replace(STAGE, variants=[replace(RECORD, name="")]))
    with pytest.raises(InvalidModelError, match="chain name is ''"):
        replace(chain_of(STAGE), name="")


@pytest.mark.parametrize("unit", ["s", "", "NS", None, 1], ids=repr)
def test_the_time_unit_is_one_of_three(unit: str) -> None:
    """The message lists them."""
    with pytest.raises(InvalidModelError, match="choose one of ns, flop, step"):
        Chain(input=1, stages=[STAGE], time_unit=unit)  # type: ignore[arg-type]  # that is the test


def test_a_plain_transient_covers_the_output() -> None:
    """The output exists while the forward ends."""
    with pytest.raises(
        InvalidModelError,
        match=r"stage 1 .*: transient is 1, below outputs.*at least 2",
    ):
        chain_of(replace(STAGE, transient=1))
    assert chain_of(replace(STAGE, transient=2)).stages[0].transient == 2


def test_a_recorded_transient_covers_output_and_saved_tensors() -> None:
    """2 + 3 bytes."""
    with pytest.raises(InvalidModelError, match=r"forward_transient is 4.*at least 5"):
        chain_of(replace(STAGE, variants=[replace(RECORD, forward_transient=4)]))
    least = replace(STAGE, variants=[replace(RECORD, forward_transient=5)])
    assert chain_of(least).stages[0].variants[0].forward_transient == 5


def test_a_backward_transient_covers_what_it_yields_beyond_what_it_consumes() -> None:
    """It yields a gradient of 10 and a parameter gradient of 4; 3 + 2 are consumed."""
    first = replace(STAGE, gradient=10)
    second = replace(STAGE, parameter_gradient=4)

    def with_transient(transient: int) -> Chain:
        variant = replace(RECORD, backward_transient=transient)
        return chain_of(first, replace(second, variants=[variant]))

    with pytest.raises(
        InvalidModelError, match=r"stage 2.*backward_transient is 8.*at least 9"
    ):
        with_transient(8)
    assert with_transient(9).stages[1].variants[0].backward_transient == 9


def test_a_backward_may_need_no_memory_of_its_own() -> None:
    """Saved tensors are released while it runs: 2 bytes come for 5 that go."""
    variant = replace(RECORD, backward_transient=0)
    chain = chain_of(STAGE, replace(STAGE, variants=[variant]))
    assert chain.stages[1].variants[0].backward_transient == 0


def test_stages_of_no_cost_are_legal() -> None:
    """Reshapes take neither time nor bytes."""
    nothing = Stage(output=0, forward=0, variants=[Variant(saved=0, backward=0)])
    chain = chain_of(nothing, nothing, size=0)
    assert (chain.base_time, sum(v.size for v in chain.to_graph().values)) == (0, 0)


def test_only_a_prefix_may_be_frozen() -> None:
    """A stage between trained ones passes a gradient on, so it has a backward."""
    frozen = Stage(output=2, forward=1, name="ice")
    with pytest.raises(
        InvalidModelError,
        match=r"stage 2 \('ice'\) has no variants but follows.*give it a variant",
    ):
        chain_of(STAGE, frozen, STAGE)
    assert chain_of(frozen, STAGE, STAGE).frozen_prefix == 1


def test_a_loss_has_a_backward() -> None:
    """Otherwise nothing is trained."""
    with pytest.raises(InvalidModelError, match="loss has no variants"):
        Chain(
            input=1,
            stages=[Stage(output=1, forward=1)],
            loss=Stage(output=0, forward=0),
        )


def test_a_loss_may_not_be_frozen_after_a_trained_stage() -> None:
    """The same rule as for every stage."""
    with pytest.raises(InvalidModelError, match=r"stage 2 \('loss'\) has no variants"):
        Chain(input=1, stages=[STAGE], loss=Stage(output=0, forward=0))


def test_a_frozen_stage_has_no_parameter_gradient() -> None:
    """Nothing would allocate it."""
    with pytest.raises(InvalidModelError, match="parameter_gradient is 7, but a stage"):
        chain_of(Stage(output=1, forward=1, parameter_gradient=7), STAGE)


def test_a_loss_has_no_output_gradient() -> None:
    """Nothing comes after it that could ask for one."""
    with pytest.raises(InvalidModelError, match=r"\('end'\) has gradient 3.*leave it"):
        Chain(input=1, stages=[STAGE], loss=replace(STAGE, gradient=3, name="end"))


def test_an_input_gradient_needs_a_trained_first_stage() -> None:
    """A frozen one would stop it."""
    with pytest.raises(InvalidModelError, match="the input needs a gradient"):
        Chain(input=1, stages=[Stage(output=1, forward=1), STAGE], input_gradient=True)


def test_the_default_loss_only_turns_around() -> None:
    """No time, no bytes; its backward's transient is the gradient that it yields."""
    chain = chain_of(replace(STAGE, gradient=9))
    assert chain.loss == Stage(
        name="loss",
        output=0,
        forward=0,
        gradient=0,
        transient=0,
        variants=(
            Variant(
                saved=0,
                backward=0,
                forward=0,
                forward_transient=0,
                backward_transient=9,
            ),
        ),
    )


def test_defaults_are_resolved() -> None:
    """Afterwards no field is None, so that no reader has to know the defaults."""
    chain = Chain(
        input=7,
        stages=[replace(STAGE, parameter_gradient=5), STAGE],
        input_gradient=True,
    )
    first, second = chain.stages
    assert (first.name, first.gradient, first.transient) == ("stage 1", 2, 2)
    assert first.variants[0] == Variant(
        saved=3, backward=4, forward=1, forward_transient=5, backward_transient=12
    )
    assert second.variants[0].backward_transient == 2
    assert chain.input_gradients == (7, 2, 2)


def test_the_loss_keeps_its_name_and_its_costs() -> None:
    """It is the last stage of the sequence."""
    loss = Stage(output=1, forward=5, variants=[RECORD], name="cross entropy")
    chain = Chain(input=2, stages=[STAGE], loss=loss)
    assert [stage.name for stage in chain.sequence] == ["stage 1", "cross entropy"]
    assert chain.base_time == 1 + 4 + 5 + 4


def test_bytes_are_added_up_before_the_kernels_do() -> None:
    """Each size fits into 64 bits, their sum does not."""
    half = replace(STAGE, output=2**62 - 100, gradient=0)
    with pytest.raises(InvalidModelError, match=r"sum of the chain's bytes is \d+"):
        chain_of(half, half)


def test_the_worst_makespan_is_added_up_before_the_kernels_do() -> None:
    """Of three stages and the loss, the first may run four times."""
    fits = INT64_MAX // 4 - 100
    assert chain_of(replace(STAGE, forward=fits), STAGE, STAGE).base_time > fits
    with pytest.raises(InvalidModelError, match="worst makespan"):
        chain_of(replace(STAGE, forward=fits + 200), STAGE, STAGE)


def test_a_chain_that_is_accepted_has_a_graph() -> None:
    """Sums near the limit: a graph's own checks may not be stricter than a chain's."""
    slow = replace(STAGE, forward=INT64_MAX // 12)
    sizes = replace(STAGE, output=INT64_MAX // 40)
    assert chain_of(slow, slow, slow).to_graph().base_time > 0
    assert len(chain_of(*[sizes] * 8).to_graph().nodes) == 18


@pytest.mark.parametrize("variants", [[RECORD], (RECORD,), iter([RECORD])])
def test_sequences_become_tuples(variants: object) -> None:
    """A list could change after it was checked."""
    stage = Stage(output=2, forward=1, variants=variants)  # type: ignore[arg-type]  # any iterable
    chain = Chain(input=2, stages=[stage])
    assert isinstance(chain.stages, tuple)
    assert isinstance(chain.stages[0].variants, tuple)


@given(chains())
def test_replacing_nothing_gives_an_equal_chain(chain: Chain) -> None:
    """Resolved defaults resolve to themselves."""
    again = replace(chain)
    assert again == chain
    assert hash(again) == hash(chain)


@given(chains())
def test_replacing_the_input_gives_another_chain(chain: Chain) -> None:
    """Equality is that of all fields."""
    frozen = replace(chain, static=StaticMemory(buffers=99))
    assert frozen != chain
    assert frozen.stages == chain.stages


@given(chains())
def test_a_chain_survives_copying_and_pickling(chain: Chain) -> None:
    """Sweeps send models to other processes, with or without what they cached."""
    chain.to_graph()
    assert pickle.loads(pickle.dumps(chain)) == chain
    assert copy.deepcopy(chain) == chain


def test_a_chain_cannot_be_changed() -> None:
    """It was validated once."""
    chain = chain_of(STAGE)
    with pytest.raises(FrozenInstanceError):
        chain.input = 5  # type: ignore[misc]  # that is the test
    with pytest.raises(FrozenInstanceError):
        chain.stages[0].output = 5  # type: ignore[misc]  # that is the test


def test_the_base_time_counts_everything_once() -> None:
    """Recorded in the first variants: 6 + 4 for the second stage, 1 for the first."""
    recorded = Stage(
        output=1,
        forward=5,
        variants=[
            Variant(saved=1, backward=4, forward=6),
            Variant(saved=0, backward=9, name="less"),
        ],
    )
    assert chain_of(Stage(output=1, forward=1), recorded).base_time == 11


def test_the_graph_is_the_documented_one() -> None:
    """Frozen stage, two variants with unlike flags, a parameter gradient, a loss."""
    chain = Chain(
        input=7,
        stages=[
            Stage(output=5, forward=1, transient=6),
            Stage(
                output=4,
                forward=2,
                gradient=3,
                parameter_gradient=8,
                variants=[
                    Variant(saved=9, backward=10, forward=11),
                    Variant(
                        saved=1,
                        backward=12,
                        needs_input=False,
                        name="less",
                        backward_transient=20,
                    ),
                ],
            ),
        ],
        loss=Stage(
            output=1,
            forward=13,
            variants=[Variant(saved=2, backward=14, needs_output=False)],
        ),
        static=StaticMemory(parameters=100),
        time_unit="step",
        name="small",
    )
    assert chain.to_graph() == Graph(
        name="small",
        values=(
            Value(name="x0", size=7),
            Value(name="x1", size=5),
            Value(name="x2", size=4),
            Value(name="p2", size=8),
            Value(name="s2", size=9, holds=("x1", "x2")),
            Value(name="s2:less", size=1, holds=("x2",)),
            Value(name="x3", size=1),
            Value(name="g2", size=3),
            Value(name="p3", size=0),
            Value(name="s3", size=2, holds=("x2",)),
        ),
        nodes=(
            Node(
                name="F1",
                modes=(
                    Mode(
                        name="plain",
                        time=1,
                        outputs=("x1",),
                        needs=("x0",),
                        transient=6,
                    ),
                ),
            ),
            Node(
                name="F2",
                modes=(
                    Mode(name="plain", time=2, outputs=("x2",), needs=("x1",)),
                    Mode(name="all", time=11, outputs=("x2", "s2"), needs=("x1",)),
                    Mode(name="less", time=2, outputs=("x2", "s2:less"), needs=("x1",)),
                ),
            ),
            Node(
                name="F3",
                modes=(
                    Mode(name="plain", time=13, outputs=("x3",), needs=("x2",)),
                    Mode(name="all", time=13, outputs=("x3", "s3"), needs=("x2",)),
                ),
            ),
            Node(
                name="B3",
                modes=(
                    Mode(
                        name="all",
                        time=14,
                        outputs=("g2", "p3"),
                        needs=("s3",),
                        consumes=("s3",),
                    ),
                ),
                recomputable=False,
            ),
            Node(
                name="B2",
                modes=(
                    Mode(
                        name="all",
                        time=10,
                        outputs=("p2",),
                        needs=("s2", "g2"),
                        consumes=("s2", "g2"),
                    ),
                    Mode(
                        name="less",
                        time=12,
                        outputs=("p2",),
                        needs=("s2:less", "g2"),
                        consumes=("s2:less", "g2"),
                        transient=20,
                    ),
                ),
                recomputable=False,
            ),
        ),
        inputs=("x0",),
        targets=("p2", "p3"),
        kept=("p2", "p3"),
        static=StaticMemory(parameters=100),
        reference_time=1 + (11 + 10) + (13 + 14),
        time_unit="step",
    )


@pytest.mark.parametrize("wanted", [True, False])
def test_the_input_gradient_exists_only_if_wanted(wanted: bool) -> None:
    """It has the input's size, and stays to the end."""
    graph = Chain(input=6, stages=[STAGE], input_gradient=wanted).to_graph()
    sizes = {value.name: value.size for value in graph.values}
    assert sizes.get("g0") == (6 if wanted else None)
    assert ("g0" in graph.kept) == ("g0" in graph.targets) == wanted


@given(chains())
def test_the_graph_is_lowered_once(chain: Chain) -> None:
    """Solvers, simulator and front ask for it again and again."""
    assert chain.to_graph() is chain.to_graph()
    assert chain.to_graph() == lower(chain)


@given(chains())
def test_a_chain_and_its_graph_have_one_base_time(chain: Chain) -> None:
    """Or the overhead of a schedule would depend on which of them was given."""
    assert chain.to_graph().base_time == chain.base_time


@given(chains())
def test_no_construction_exceeds_the_worst_of_a_chain(chain: Chain) -> None:
    """In bytes or in ticks; solvers rely on both."""
    for solver in (StoreAll(), RecomputeAll()):
        trace = simulate(chain, solver.schedule(chain))
        assert trace.peak <= chain.worst_peak
        assert trace.makespan <= chain.worst_makespan


@given(chains())
def test_chain_and_graph_agree_on_the_time_of_everything(chain: Chain) -> None:
    """Given one variant a stage whose forward costs what the plain one does."""
    stages = [
        replace(s, variants=[replace(v, forward=s.forward) for v in s.variants[:1]])
        for s in chain.sequence
    ]
    alike = replace(chain, stages=stages[:-1], loss=stages[-1])
    assert alike.base_time == alike.to_graph().base_time
