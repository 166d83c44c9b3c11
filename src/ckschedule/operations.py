"""The instructions that schedules are made of."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Compute:
    """Run a node in one of its modes."""

    node: str
    mode: str

    def __str__(self) -> str:
        return f"Compute({self.node!r}, {self.mode!r})"


@dataclass(frozen=True, slots=True)
class Free:
    """Release a value."""

    value: str

    def __str__(self) -> str:
        return f"Free({self.value!r})"


Operation: TypeAlias = Compute | Free
"""Any instruction of a schedule."""
