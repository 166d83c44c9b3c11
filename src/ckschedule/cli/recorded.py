"""Files with a bare schedule: the model that they may record beside it."""

from pathlib import Path

from ckschedule.errors import DocumentError
from ckschedule.simulation import Model


def recorded_model(plan: Path, remedy: str) -> Model:
    """Return the model that a file with a bare schedule records.

    Raises
    ------
    DocumentError
        If it records none; ``remedy`` says what to do then.
    """
    from ckschedule.documents import read_model

    try:
        return read_model(plan)
    except DocumentError as error:
        raise DocumentError(
            f"{plan}: this schedule records no model; {remedy}"
        ) from error
