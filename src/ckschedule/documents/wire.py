"""The format as pydantic models: what a ckschedule document may look like, exactly.

Nothing is optional and nothing extra is allowed. This module alone imports pydantic;
import it inside functions, so that ``import ckschedule`` does not.
"""

from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field

from ckschedule.documents.header import FORMAT_NAME, VERSION
from ckschedule.result import Scope, Status, Stop
from ckschedule.units import INT64_MAX, TimeUnit

Count: TypeAlias = Annotated[int, Field(ge=0, le=INT64_MAX)]
"""Bytes, ticks, counts and positions."""

Name: TypeAlias = Annotated[str, Field(min_length=1)]

_Item = TypeVar("_Item")
# One wrong item is enough: a hostile list could hold millions of them.
Items: TypeAlias = Annotated[list[_Item], FailFast()]


class Wire(BaseModel):
    """Settings of all models: strict types, no unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class StaticWire(Wire):
    """`StaticMemory`; bytes."""

    parameters: Count
    gradients: Count
    optimizer: Count
    buffers: Count


class VariantWire(Wire):
    """`Variant` with every default resolved."""

    name: Name
    saved: Count
    backward: Count
    forward: Count
    needs_input: bool
    needs_output: bool
    forward_transient: Count
    backward_transient: Count


class StageWire(Wire):
    """`Stage` with every default resolved."""

    name: Name
    output: Count
    forward: Count
    gradient: Count
    parameter_gradient: Count
    transient: Count
    variants: Items[VariantWire]


class ChainWire(Wire):
    """`Chain`; the loss stands apart from the other stages."""

    kind: Literal["chain"]
    name: Name
    time_unit: TimeUnit
    input: Count
    input_gradient: bool
    static: StaticWire
    stages: Items[StageWire]
    loss: StageWire


class ValueWire(Wire):
    """`Value`."""

    name: Name
    size: Count
    holds: Items[Name]


class ModeWire(Wire):
    """`Mode` with its default resolved."""

    name: Name
    time: Count
    outputs: Items[Name]
    needs: Items[Name]
    consumes: Items[Name]
    transient: Count


class NodeWire(Wire):
    """`Node`."""

    name: Name
    recomputable: bool
    modes: Items[ModeWire]


class GraphWire(Wire):
    """`Graph`; ``base_time`` is its reference time, resolved."""

    kind: Literal["graph"]
    name: Name
    time_unit: TimeUnit
    base_time: Count
    static: StaticWire
    values: Items[ValueWire]
    nodes: Items[NodeWire]
    inputs: Items[Name]
    unpinned: Items[Name]
    targets: Items[Name]
    kept: Items[Name]


ModelWire: TypeAlias = Annotated[ChainWire | GraphWire, Field(discriminator="kind")]


class ComputeWire(Wire):
    """`Compute`."""

    op: Literal["compute"]
    node: str
    mode: str


class FreeWire(Wire):
    """`Free`."""

    op: Literal["free"]
    value: str


OperationWire: TypeAlias = Annotated[ComputeWire | FreeWire, Field(discriminator="op")]


class ScheduleWire(Wire):
    """A schedule: distinct operations, and positions among them in running order."""

    kind: Literal["schedule"]
    model: ModelWire | None
    operations: Items[OperationWire]
    sequence: Items[Count]


class TraceWire(Wire):
    """A simulated schedule; ``executions`` counts all computations."""

    peak: Count
    makespan: Count
    executions: Count
    operations: Items[OperationWire]
    sequence: Items[Count]


class ResultWire(Wire):
    """`Result`; ``trace`` is null where there is no schedule.

    ``static`` and ``base_time`` follow from the model; they stand here for readers.
    """

    kind: Literal["result"]
    status: Annotated[Status, Field(strict=False)]
    scope: Annotated[Scope, Field(strict=False)]
    budget: Count
    static: Count
    solver: str
    lower_bound: Count | None
    base_time: Count
    minimum_budget: Count | None
    model: ModelWire
    trace: TraceWire | None
    stop: Annotated[Stop, Field(strict=False)]
    bound_source: str


class PointWire(Wire):
    """`ParetoPoint`; its sequence refers to the front's table of operations."""

    peak: Count
    makespan: Count
    executions: Count
    lower_bound: Count
    sequence: Items[Count]


class AnswerWire(Wire):
    """`Answer`; ``lower_bound`` is null where nothing is proved."""

    budget: Count
    status: Annotated[Status, Field(strict=False)]
    lower_bound: Count | None


class FrontWire(Wire):
    """`ParetoFront`; all points share one table of operations."""

    kind: Literal["front"]
    scope: Annotated[Scope, Field(strict=False)]
    exact: bool
    base_time: Count
    solver: str
    infeasible: Count | None
    stop: Annotated[Stop, Field(strict=False)]
    answers: Items[AnswerWire]
    model: ModelWire
    operations: Items[OperationWire]
    points: Annotated[list[PointWire], Field(min_length=1), FailFast()]


class BlockWire(Wire):
    """`Block`; which blocks share storage follows from the schedule and ``inplace``."""

    name: Name
    first: Count
    last: Count
    size: Count
    offset: Count


class ArenaWire(Wire):
    """`Arena`: a map of addresses, and the schedule that it is for.

    ``live_peak``, ``peak`` and ``static`` follow from the schedule; they stand here for
    readers. ``inplace`` has the nodes that write over one of their inputs.
    """

    kind: Literal["arena"]
    size: Count
    lower_bound: Count
    live_peak: Count
    peak: Count
    static: Count
    alignment: Annotated[int, Field(ge=1, le=INT64_MAX)]
    inplace: Items[Name]
    method: str
    stop: Annotated[Stop, Field(strict=False)]
    model: ModelWire
    operations: Items[OperationWire]
    sequence: Items[Count]
    blocks: Items[BlockWire]


class _Header(Wire):
    format: Literal["ckschedule"]
    version: Literal[1]


assert FORMAT_NAME == "ckschedule", "Literal takes no constants"
assert VERSION == 1, "Literal takes no constants"


class ChainDocument(ChainWire, _Header):
    """A chain at top level."""


class GraphDocument(GraphWire, _Header):
    """A graph at top level."""


class ScheduleDocument(ScheduleWire, _Header):
    """A schedule at top level."""


class ResultDocument(ResultWire, _Header):
    """A result at top level."""


class FrontDocument(FrontWire, _Header):
    """A front at top level."""


class ArenaDocument(ArenaWire, _Header):
    """An arena at top level."""


Body: TypeAlias = (
    ChainWire | GraphWire | ScheduleWire | ResultWire | FrontWire | ArenaWire
)
"""Anything that a document can hold."""

Document: TypeAlias = Annotated[
    ChainDocument
    | GraphDocument
    | ScheduleDocument
    | ResultDocument
    | FrontDocument
    | ArenaDocument,
    Field(discriminator="kind"),
]
"""A whole file; the published JSON Schema is generated from it."""

DOCUMENTS: dict[str, type[Body]] = {
    "chain": ChainDocument,
    "graph": GraphDocument,
    "schedule": ScheduleDocument,
    "result": ResultDocument,
    "front": FrontDocument,
    "arena": ArenaDocument,
}
"""The model of each kind of document."""
