"""Chains: a model as a sequence of stages, each with its backward.

Symbols of the literature (rotor, arXiv 1911.13214): stage i has output ``x_i``, output
gradient ``g_i``, saved tensors ``s_i``, parameter gradient ``p_i``, times ``f_i`` and
``b_i``, and transients ``tF_i``, ``tR_i``, ``tB_i`` of plain forward, recorded forward
and backward. Rotor's tape "abar_i" is our ``x_i + s_i``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ckschedule.costs.checks import (
    as_count,
    as_flag,
    as_name,
    check_time_unit,
    check_total,
    check_unique,
)
from ckschedule.costs.graph import Graph
from ckschedule.costs.lowering import PLAIN, lower
from ckschedule.costs.static import StaticMemory
from ckschedule.errors import InvalidModelError
from ckschedule.units import TimeUnit, format_bytes, format_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to record a stage for its backward.

    Attributes
    ----------
    saved
        ``s_i``: bytes saved beyond the stage's input and output.
    backward
        ``b_i``: ticks of the backward that uses them.
    forward
        Ticks of the recorded forward; None means the stage's plain forward.
    needs_input, needs_output
        Whether the saved tensors hold the stage's input, and its output.
    forward_transient
        ``tR_i``: bytes; None means output + saved.
    backward_transient
        ``tB_i``: bytes; None means what the backward yields, the gradients of the
        stage's input and parameters.
    name
        Unique within the stage.
    """

    saved: int
    backward: int
    forward: int | None = None
    needs_input: bool = True
    needs_output: bool = True
    forward_transient: int | None = None
    backward_transient: int | None = None
    name: str = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One forward step with its backward.

    Attributes
    ----------
    output
        ``x_i``: bytes.
    forward
        ``f_i``: ticks.
    variants
        Ways to record it; the first saves everything. Empty for a stage without
        backward: part of a frozen prefix.
    gradient
        ``g_i``: bytes of the output's gradient; None means ``output``.
    parameter_gradient
        ``p_i``: bytes that the backward allocates and that stay to the end; 0 where the
        gradients exist before.
    transient
        ``tF_i``: bytes of the plain forward; None means ``output``.
    name
        Unique within the chain; empty means "stage i".
    """

    output: int
    forward: int
    variants: Sequence[Variant] = ()
    gradient: int | None = None
    parameter_gradient: int = 0
    transient: int | None = None
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "variants", tuple(self.variants))

    @property
    def frozen(self) -> bool:
        """Whether the stage has no backward."""
        return not self.variants


@dataclass(frozen=True, kw_only=True)
class Chain:
    """An input and a sequence of stages, the last of which is the loss.

    All defaults are resolved on construction: afterwards no field is None.

    Attributes
    ----------
    input
        ``x_0``: bytes of the chain's input; given, counted, never freed.
    stages
        Stages 1..n-1, the loss excluded; at least one.
    loss
        Stage n, whose output needs no gradient. None appends a loss of no time and no
        bytes, whose backward yields ``g_{n-1}``.
    static
        Bytes that lie there throughout.
    input_gradient
        Whether the first backward yields the input's gradient (``x_0`` bytes).
    time_unit
        What one tick is.
    name
        For reports.

    Raises
    ------
    InvalidModelError
        For an empty chain, duplicate names, numbers that are negative or no integers, a
        transient below outputs minus consumed bytes, a frozen stage after a trained
        one, or sums and worst makespan beyond ``2**63 - 1``.

    Examples
    --------
    >>> stage = Stage(output=4, forward=1, variants=[Variant(saved=8, backward=2)])
    >>> chain = Chain(input=4, stages=[stage] * 3)
    >>> [s.name for s in chain.sequence]
    ['stage 1', 'stage 2', 'stage 3', 'loss']
    """

    input: int
    stages: Sequence[Stage]
    loss: Stage | None = None
    static: StaticMemory = field(default_factory=StaticMemory)
    input_gradient: bool = False
    time_unit: TimeUnit = "ns"
    name: str = "chain"

    def __post_init__(self) -> None:
        as_name(self.name, "chain name")
        check_time_unit(self.time_unit, "chain: time_unit")
        as_flag(self.input_gradient, "chain: input_gradient")
        object.__setattr__(self, "input", as_count(self.input, "chain: input"))
        _check_class(self.static, StaticMemory, "chain: static")
        for i, stage in enumerate(self.stages, start=1):
            _check_class(stage, Stage, f"stage {i}")
        if not self.stages:
            raise InvalidModelError("the chain has no stages; give at least one")
        loss = self.loss or Stage(
            output=0, forward=0, variants=(Variant(saved=0, backward=0),), name="loss"
        )
        if loss.gradient:
            raise InvalidModelError(
                f"the loss ({loss.name!r}) has gradient {loss.gradient}; nothing comes "
                f"after it: leave it out"
            )
        given = [*self.stages, replace(loss, gradient=0, name=loss.name or "loss")]
        sequence: list[Stage] = []
        upstream = self.input if self.input_gradient else 0
        for i, stage in enumerate(given, start=1):
            stage = replace(stage, name=stage.name or f"stage {i}")
            sequence.append(_resolve(stage, upstream, f"stage {i} ({stage.name!r})"))
            upstream = 0 if stage.frozen else (sequence[-1].gradient or 0)
        self._check_prefix(sequence)
        check_unique((stage.name for stage in sequence), "stage name")
        object.__setattr__(self, "stages", tuple(sequence[:-1]))
        object.__setattr__(self, "loss", sequence[-1])
        check_total(self.worst_peak, "the sum of the chain's bytes")
        check_total(self.worst_makespan, "the worst makespan of the chain")

    def __str__(self) -> str:
        """Return sizes and time in words."""
        saved = sum(
            stage.output + max((v.saved for v in stage.variants), default=0)
            for stage in self.sequence
        )
        return (
            f"chain {self.name!r}: {len(self.sequence)} stages, the loss included; "
            f"{format_bytes(saved)} of outputs and saved tensors, "
            f"{format_bytes(self.static.total)} static; "
            f"{format_time(self.base_time, self.time_unit)}"
        )

    @cached_property
    def sequence(self) -> tuple[Stage, ...]:
        """Stages 1..n, the loss included; stage i stands at index i - 1."""
        assert self.loss is not None, "resolved on construction"
        return (*self.stages, self.loss)

    @cached_property
    def frozen_prefix(self) -> int:
        """Number of leading stages without backward."""
        return sum(stage.frozen for stage in self.sequence)

    @cached_property
    def input_gradients(self) -> tuple[int, ...]:
        """Bytes of the gradient that the backward of stage i yields for its input.

        Index i - 1 belongs to stage i. Zero for the first trained stage, unless the
        chain's input needs a gradient.
        """
        sizes = [0] * self.frozen_prefix
        upstream = self.input if self.input_gradient else 0
        for stage in self.sequence[self.frozen_prefix :]:
            sizes.append(upstream)
            upstream = stage.gradient or 0
        return tuple(sizes)

    @cached_property
    def base_time(self) -> int:
        """Ticks of storing everything: each stage once, in its first variant.

        Overheads are measured against it. One is negative where a variant that saves
        less is also faster.
        """
        return sum(
            stage.variants[0].backward + (stage.variants[0].forward or 0)
            if stage.variants
            else stage.forward
            for stage in self.sequence
        )

    @cached_property
    def worst_makespan(self) -> int:
        """Ticks that no persistent schedule exceeds.

        Each backward runs once, and forward i of n at most n - i + 1 times.
        """
        n = len(self.sequence)
        ticks = 0
        for i, stage in enumerate(self.sequence):
            forward = max([stage.forward, *(v.forward or 0 for v in stage.variants)])
            ticks += forward * (n - i)
            ticks += max((v.backward for v in stage.variants), default=0)
        return ticks

    @cached_property
    def worst_peak(self) -> int:
        """Bytes that no schedule exceeds: all values and the largest transient."""
        size = self.input * 2 + self.static.total
        for stage in self.sequence:
            size += stage.output + (stage.gradient or 0) + stage.parameter_gradient
            size += sum(v.saved for v in stage.variants)
        return size + max(
            max(
                [
                    s.transient or 0,
                    *(v.forward_transient or 0 for v in s.variants),
                    *(v.backward_transient or 0 for v in s.variants),
                ]
            )
            for s in self.sequence
        )

    def to_graph(self) -> Graph:
        """Return the chain as a graph, the same object on every call.

        Returns
        -------
        Graph
            Values ``x0..xn``, ``s1..``, ``g..``, ``p..`` and nodes ``F1..Fn``,
            ``B1..Bn``; see `ckschedule.costs.lowering`.
        """
        return self._graph

    @cached_property
    def _graph(self) -> Graph:
        return lower(self)

    def _check_prefix(self, sequence: Sequence[Stage]) -> None:
        trained = False
        for i, stage in enumerate(sequence, start=1):
            if stage.frozen and trained:
                raise InvalidModelError(
                    f"stage {i} ({stage.name!r}) has no variants but follows a stage "
                    f"that has a backward; only a prefix may be frozen: give it a "
                    f"variant with parameter_gradient 0"
                )
            trained = trained or not stage.frozen
        if not trained:
            raise InvalidModelError("the loss has no variants; it needs a backward")
        if self.input_gradient and sequence[0].frozen:
            raise InvalidModelError(
                "the input needs a gradient, but the first stage has no backward; give "
                "it a variant"
            )


def _check_class(item: object, kind: type, what: str) -> None:
    if not isinstance(item, kind):
        raise InvalidModelError(
            f"{what} is {item!r}, a {type(item).__name__}; give a {kind.__name__}(...)"
        )


def _resolve(stage: Stage, upstream: int, where: str) -> Stage:
    """Return ``stage`` with every default filled in and every number checked.

    ``upstream`` is the size of the gradient that its backward yields for its input.
    """
    as_name(stage.name, f"{where}: name")
    output = as_count(stage.output, f"{where}: output")
    forward = as_count(stage.forward, f"{where}: forward")
    own = stage.gradient
    gradient = output if own is None else as_count(own, f"{where}: gradient")
    parameters = as_count(stage.parameter_gradient, f"{where}: parameter_gradient")
    transient = _transient(stage.transient, output, output, f"{where}: transient")
    if stage.frozen and parameters:
        raise InvalidModelError(
            f"{where}: parameter_gradient is {parameters}, but a stage without "
            f"variants has no backward; give it a variant or set 0"
        )
    for variant in stage.variants:
        _check_class(variant, Variant, f"{where}: variant")
    check_unique((v.name for v in stage.variants), f"{where}: variant")
    variants = []
    for variant in stage.variants:
        of = f"{where}, variant {variant.name!r}"
        as_name(variant.name, f"{where}: variant name")
        if variant.name == PLAIN:
            raise InvalidModelError(f"{of}: this name is taken by the plain forward")
        saved = as_count(variant.saved, f"{of}: saved")
        own = variant.forward
        yielded = upstream + parameters
        variants.append(
            Variant(
                name=variant.name,
                saved=saved,
                backward=as_count(variant.backward, f"{of}: backward"),
                forward=forward if own is None else as_count(own, f"{of}: forward"),
                needs_input=as_flag(variant.needs_input, f"{of}: needs_input"),
                needs_output=as_flag(variant.needs_output, f"{of}: needs_output"),
                forward_transient=_transient(
                    variant.forward_transient,
                    output + saved,
                    output + saved,
                    f"{of}: forward_transient",
                ),
                backward_transient=_transient(
                    variant.backward_transient,
                    yielded,
                    yielded - saved - gradient,
                    f"{of}: backward_transient",
                ),
            )
        )
    return Stage(
        name=stage.name,
        output=output,
        forward=forward,
        gradient=gradient,
        parameter_gradient=parameters,
        transient=transient,
        variants=tuple(variants),
    )


def _transient(given: int | None, default: int, least: int, where: str) -> int:
    if given is None:
        return default
    transient = as_count(given, where)
    if transient < least:
        raise InvalidModelError(
            f"{where} is {transient}, below outputs minus consumed bytes; raise it to "
            f"at least {least}"
        )
    return transient
