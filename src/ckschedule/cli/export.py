"""``ckschedule export``: a schedule as Python source for torch or JAX."""

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from ckschedule.arena import Arena
from ckschedule.cli.output import check_writable, report_written
from ckschedule.cli.recorded import recorded_model
from ckschedule.costs.chain import Chain
from ckschedule.errors import DocumentError
from ckschedule.exporting import Target, export
from ckschedule.front import ParetoFront
from ckschedule.result import Result
from ckschedule.schedule import Schedule


def run_export(
    *,
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN",
            help="A result of 'solve' or 'run', or a schedule with its chain (JSON).",
            show_default=False,
        ),
    ],
    to: Annotated[
        Literal[get_args(Target)],  # type: ignore[valid-type]  # the names of the type
        typer.Option(
            "--to",
            metavar="FRAMEWORK",
            help=f"Whose checkpoints are called: {' or '.join(get_args(Target))}.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the source to this file.  \\[default: stdout]",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a schedule as Python source that runs without ckschedule.

    Its run(stages, x) calls your stages in nested checkpoints of the framework.
    They run as often as the schedule says; the peak is not promised.

    [bold]Examples[/bold]

      ckschedule export plan.json --to torch -o plan.py
      ckschedule export plan.json --to jax
    """
    check_writable(out, "--out")
    schedule, chain = _read(plan)
    source = export(schedule, to=to, chain=chain)
    if out is None:
        typer.echo(source, nl=False)
        return
    from ckschedule.documents.files import write_atomically

    write_atomically(out, source.encode())
    report_written(out)


def _read(path: Path) -> tuple[Result | Schedule, Chain | None]:
    from ckschedule.documents import read_json

    document = read_json(path)
    match document:
        case Result():
            return document, None
        case Schedule():
            model = recorded_model(path, "export a result of 'ckschedule solve'")
            if not isinstance(model, Chain):
                raise DocumentError(
                    f"{path}: the schedule is for the graph {model.name!r}; only "
                    f"schedules of chains can be exported"
                )
            return document, model
        case ParetoFront():
            remedy = "choose a point of this front"
        case Arena():
            raise DocumentError(
                f"{path}: this is a map of addresses; export the result that it was "
                f"made for"
            )
        case _:
            remedy = "this is a model; make a plan"
    raise DocumentError(
        f"{path}: {remedy} with 'ckschedule solve {path} --budget ... -o plan.json'"
    )
