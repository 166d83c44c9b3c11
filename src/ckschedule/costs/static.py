"""Static memory: bytes that lie there through the whole iteration."""

from dataclasses import dataclass, fields

from ckschedule.costs.checks import as_count, check_total


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticMemory:
    """Bytes that no schedule can free, by what they are for.

    Budgets include them; tables show them apart.

    Attributes
    ----------
    parameters, gradients, optimizer, buffers
        Bytes, zero or more. ``gradients`` are those that exist before the backward
        pass starts; gradients allocated by the backward pass belong to the stages.
    """

    parameters: int = 0
    gradients: int = 0
    optimizer: int = 0
    buffers: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = as_count(getattr(self, field.name), f"static {field.name}")
            object.__setattr__(self, field.name, value)
        check_total(self.total, "the sum of the static bytes")

    @property
    def total(self) -> int:
        """All static bytes together."""
        return self.parameters + self.gradients + self.optimizer + self.buffers
