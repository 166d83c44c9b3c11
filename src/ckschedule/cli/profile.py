"""``ckschedule profile``: a torch model as a chain of stages."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ckschedule.cli.factories import TorchModel, build
from ckschedule.cli.guests import guest_code
from ckschedule.cli.imports import sums
from ckschedule.cli.options import (
    MEASURED,
    Accumulate,
    Json,
    Out,
    Stages,
    StateOf,
    Target,
    Time,
    Variants,
)
from ckschedule.cli.output import (
    check_writable,
    console,
    emit_json,
    write_document,
)
from ckschedule.cli.summary import model_facts, stage_facts
from ckschedule.costs.device import DEVICES

if TYPE_CHECKING:
    from ckschedule.costs.chain import Chain


def run_profile(
    *,
    target: Target,
    stages: Stages = None,
    time: Time = MEASURED,
    variants: Variants = None,
    optimizer: StateOf = "none",
    accumulate: Accumulate = False,
    meta: Annotated[
        bool,
        typer.Option(
            "--meta",
            help="Build the model under torch.device('meta'), without its memory; "
            "nothing can run then, so --time must name a device.",
        ),
    ] = False,
    out: Out = None,
    json: Json = False,
) -> None:
    """Measure what each stage of a torch model costs in bytes and time.

    Bytes are exact: what is allocated while the stages run, one by one.
    The chain that is written is a MODEL for the other commands.

    [bold]Example[/bold]: net.py has

      def build():
          model = torch.nn.Sequential(...)
          x, y = torch.randn(32, 784), torch.randint(10, (32,))
          return model, x, lambda out: cross_entropy(out, y)

      ckschedule profile net:build -o chain.json
      ckschedule profile net:build --meta --time a100 --optimizer adamw
      ckschedule pareto chain.json
    """
    check_writable(out, "--out")
    if meta and time == MEASURED:
        raise typer.BadParameter(
            f"--meta: a model without data cannot run, so its time cannot be measured; "
            f"name a device, such as --time a100 (one of {', '.join(DEVICES)})"
        )
    chain = profiled(
        build(target, meta=meta),
        stages=stages,
        time=time,
        variants=variants,
        optimizer=optimizer,
        accumulate=accumulate,
    )
    write_document(chain, out)
    if json:
        emit_json(
            {
                "command": "profile",
                "target": target,
                "time": time,
                "model": model_facts(chain),
                "input": chain.input,
                "stages": stage_facts(chain),
                "sums": sums(chain),
            }
        )
    else:
        _print(chain)


def profiled(
    found: TorchModel,
    *,
    stages: Sequence[str] | None,
    time: str,
    variants: Sequence[str] | None,
    optimizer: str,
    accumulate: bool,
) -> "Chain":
    """Return the chain of a torch model.

    Raises
    ------
    typer.TyperException
        If the model raises, or has no data and is to be measured.
    """
    from ckschedule.torch_backend import profile
    from ckschedule.torch_backend.calling import as_inputs

    if time == MEASURED and found.on_meta:
        raise typer.BadParameter(
            f"{found.target} has tensors on the meta device, without data: its time "
            f"cannot be measured; name a device, such as --time a100"
        )
    with guest_code(f"profiling {found.target}"):
        return profile(
            found.model,
            *as_inputs(found.inputs),
            loss=found.loss,
            stages=stages or None,
            time=time,
            # The first variant is always the one that saves everything.
            variants=tuple(dict.fromkeys(["all", *(variants or ())])),
            optimizer=None if optimizer == "none" else optimizer,
            accumulate=accumulate,
        )


def _print(chain: "Chain") -> None:
    from ckschedule.cli.stage_tables import kept_table, running_table
    from ckschedule.cli.tables import describe_model, facts_table

    out = console()
    out.print(facts_table(describe_model(chain)))
    out.print(kept_table(chain))
    out.print(running_table(chain))
