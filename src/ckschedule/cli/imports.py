"""``ckschedule import``: models from files of other programs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ckschedule.cli.options import Json, Out
from ckschedule.cli.output import (
    check_writable,
    console,
    emit_json,
    write_document,
)
from ckschedule.cli.summary import exactly, model_facts
from ckschedule.costs.chain import Chain
from ckschedule.importers import FORMATS, import_model
from ckschedule.simulation import Model


def run_import(
    *,
    format: Annotated[
        Literal[tuple(FORMATS)],  # type: ignore[valid-type]  # the names of the table
        typer.Argument(
            help=f"Format of the file: {', '.join(FORMATS)}.",
            metavar="FORMAT",
            show_default=False,
        ),
    ],
    file: Annotated[
        Path,
        typer.Argument(help="The file to import.", metavar="FILE", show_default=False),
    ],
    out: Out = None,
    json: Json = False,
) -> None:
    """Turn a file of another program into a model.

    [bold]A CSV table[/bold] has a header and one stage a row. Bytes: output, saved;
    optional gradient, parameter_gradient and transients. Ticks of 1 ns: forward,
    backward. First the bytes of the input; a last row may be named loss:

      name,output,forward,saved,backward
      input,602112,,,
      conv,3211264,1200,0,2400
      relu,3211264,300,0,600

    [bold]Examples[/bold]

      ckschedule import pipedream resnet101.txt -o resnet101.json
      ckschedule import csv stages.csv -o model.json
      ckschedule pareto model.json
    """
    check_writable(out, "--out")
    model = import_model(file, format=format)
    write_document(model, out)
    if json:
        emit_json(
            {
                "command": "import",
                "format": format,
                "model": model_facts(model),
                "sums": sums(model),
            }
        )
    else:
        _print(model)
    if format == "node-link":
        typer.echo(
            "As a graph its skips are kept, and its order may change; as "
            "node-link-chain the same file gives a chain, whose whole front is exact.",
            err=True,
        )


def sums(model: Model) -> dict[str, int]:
    """Return totals by which an import can be checked against its file."""
    if isinstance(model, Chain):
        trained = [stage for stage in model.sequence if stage.variants]
        return {
            "outputs": sum(stage.output for stage in model.sequence),
            "saved": sum(stage.variants[0].saved for stage in trained),
            "parameter_gradients": sum(s.parameter_gradient for s in model.sequence),
            "forward_time": sum(stage.forward for stage in model.sequence),
            "backward_time": sum(stage.variants[0].backward for stage in trained),
        }
    return {
        "values": sum(value.size for value in model.values),
        "time": model.base_time,
    }


def _print(model: Model) -> None:
    from ckschedule.cli.tables import describe_model, facts_table
    from ckschedule.units import format_time

    facts = describe_model(model)
    for name, total in sums(model).items():
        text = (
            format_time(total, model.time_unit)
            if name.endswith("time")
            else exactly(total)
        )
        facts[f"sum of {name.replace('_', ' ')}"] = text
    console().print(facts_table(facts))
