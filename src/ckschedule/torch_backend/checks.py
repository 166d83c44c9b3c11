"""One thing that was compared between a plan's step and the plain model's."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was compared.

    Attributes
    ----------
    name
        What.
    ok
        Whether it held.
    detail
        The figures, in words.
    """

    name: str
    ok: bool
    detail: str
