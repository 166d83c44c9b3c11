"""Options that several commands share, each declared once."""

from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import typer

from ckschedule.catalog import OPTIMIZERS
from ckschedule.cli.solvers import SOLVERS
from ckschedule.costs.device import DEVICES

MEASURED: Final = "measured"
"""Value of ``--time`` that runs the model with a stopwatch."""

Json: TypeAlias = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document to stdout instead of tables."),
]
"""Machine-readable output."""

Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write the outcome as a ckschedule document (JSON) to this file.",
    ),
]
"""The document to write."""

Budget: TypeAlias = Annotated[
    str,
    typer.Option(
        "--budget",
        metavar="SIZE",
        help="Memory that the peak may not pass, static bytes included: '40GiB', "
        "'40GB', whole bytes, or '60%' of the peak of storing everything.",
    ),
]
"""A budget that must be given."""

SolverName: TypeAlias = Annotated[
    Literal[SOLVERS],  # type: ignore[valid-type]  # the names of the table
    typer.Option(
        "--solver",
        metavar="NAME",
        help=f"Who searches: {', '.join(SOLVERS)}. The last two take the square "
        "root of the number of stages.",
    ),
]
"""The solver, by name."""

Show: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--show/--no-show",
        show_default=False,
        help="Draw in the terminal, or do not.  \\[default: if stdout is a terminal]",
    ),
]
"""Whether to draw in the terminal."""

Target: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="MODULE:FACTORY",
        help="A function without arguments that returns (model, inputs) or "
        "(model, inputs, loss); its module is imported from here, as by 'python -m'.",
        show_default=False,
    ),
]
"""Where a torch model comes from."""

Stages: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--stages",
        metavar="PATTERN",
        show_default=False,
        help="Modules that are the stages, such as 'layers.*'. Repeatable.  "
        "\\[default: children of a Sequential, or a ModuleList's blocks]",
    ),
]
"""The stages of a torch model."""

Time: TypeAlias = Annotated[
    Literal[(MEASURED, *DEVICES)],  # type: ignore[valid-type]  # likewise
    typer.Option(
        "--time",
        metavar="DEVICE",
        help=f"Where times come from: '{MEASURED}' on this machine, or the roofline of "
        f"{', '.join(DEVICES)}.",
    ),
]
"""How a torch model's times are found."""

Variants: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--variants",
        metavar="NAME",
        show_default=False,
        help="Ways to record a stage beside saving all: 'matmul' saves the outputs of "
        "matrix products and recomputes the rest. Repeatable.",
    ),
]
"""More ways to record the stages of a torch model."""

StateOf: TypeAlias = Annotated[
    Literal[OPTIMIZERS],  # type: ignore[valid-type]  # likewise
    typer.Option(
        "--optimizer",
        metavar="NAME",
        help=f"Whose state to count as static bytes: {', '.join(OPTIMIZERS)}.",
    ),
]
"""The optimiser whose state lies there throughout."""

Accumulate: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--accumulate",
        help="Gradients are there before the step, and are added to.",
    ),
]
"""Whether gradients are static bytes."""
