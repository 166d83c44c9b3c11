"""``ckschedule catalog``: the networks that are known by name."""

from typing import TYPE_CHECKING, Any

from ckschedule.catalog import CATALOG
from ckschedule.cli.models import (
    NO_DEVICE,
    ModelArgument,
    catalog_options,
    options_of,
    takes_model,
)
from ckschedule.cli.options import Json, Out
from ckschedule.cli.output import (
    check_writable,
    console,
    emit_json,
    write_document,
)
from ckschedule.cli.summary import model_facts, stage_facts
from ckschedule.costs.chain import Chain
from ckschedule.costs.device import DEVICES, DTYPES, Device
from ckschedule.simulation import Model

if TYPE_CHECKING:
    from rich.table import Table


def _catalog(
    *, model: ModelArgument | None, out: Out = None, json: Json = False
) -> None:
    """List the models and devices known by name, or show one model.

    With a MODEL: its options, its stages with bytes and time, its static bytes.
    A JSON file can be shown as well.

    [bold]Examples[/bold]

      ckschedule catalog
      ckschedule catalog resnet
      ckschedule catalog gpt2 --batch 4 --seq 512 -o gpt2.json
    """
    import typer

    check_writable(out, "--out")
    if model is None:
        if out is not None:
            raise typer.BadParameter("--out: name the model to write")
        _list(json=json)
        return
    loaded = model.load()
    write_document(loaded, out)
    if json:
        emit_json(
            {
                "command": "catalog",
                "model": model_facts(loaded),
                "options": _options(model.name) if model.in_catalog else None,
                "stages": stage_facts(loaded) if isinstance(loaded, Chain) else None,
            }
        )
    else:
        _show(model, loaded)


def _list(*, json: bool) -> None:
    if json:
        emit_json(
            {
                "command": "catalog",
                "models": {name: e.description for name, e in CATALOG.items()},
                "devices": {name: _device_facts(d) for name, d in DEVICES.items()},
            }
        )
        return
    from ckschedule.cli.tables import ruled_table
    from ckschedule.units import format_bytes

    out = console()
    models = ruled_table(("model", "what it is"), left=(0, 1))
    for name, entry in CATALOG.items():
        models.add_row(name, entry.description)
    out.print(models)
    devices = ruled_table(
        ("device", "memory", "fp32\nTflop/s", "fp16, bf16\nTflop/s", "bandwidth\nGB/s")
    )
    for name, device in DEVICES.items():
        devices.add_row(
            name,
            "-" if device.memory is None else format_bytes(device.memory),
            f"{device.peak('fp32') / 1e12:.1f}",
            f"{device.peak('bf16') / 1e12:.1f}",
            f"{device.bandwidth / 1e9:,.0f}",
        )
    out.print(devices)
    out.print("'ckschedule catalog MODEL' shows a model's options and stages.")


def _device_facts(device: Device) -> dict[str, Any]:
    return {
        "memory": device.memory,
        "bandwidth": device.bandwidth,
        "flops": {dtype: device.peak(dtype) for dtype in DTYPES},  # type: ignore[arg-type]  # the names are the type's own
    }


def _options(name: str) -> list[dict[str, Any]]:
    options, defaults = catalog_options(), options_of(name)
    return [
        {
            "flag": option.flag,
            "default": defaults[key],
            "choices": list(option.choices) or None,
            "help": option.help,
        }
        for key, option in options.items()
        if key in defaults
    ]


def _show(argument: ModelArgument, model: Model) -> None:
    from ckschedule.cli.tables import describe_model, facts_table, ruled_table

    out = console()
    facts = describe_model(model)
    if argument.in_catalog:
        facts = {"about": CATALOG[argument.name].description} | facts
    out.print(facts_table(facts))
    if argument.in_catalog:
        options = ruled_table(("option", "default", "meaning"), left=(0, 1, 2))
        for option in _options(argument.name):
            choices = option["choices"]
            listed = f" One of {', '.join(choices)}." if choices else ""
            default = _as_typed(option["flag"], option["default"])
            options.add_row(option["flag"], default, option["help"] + listed)
        out.print(options)
    if isinstance(model, Chain):
        out.print(_stage_table(model))


def _as_typed(flag: str, default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    if default is None:
        return NO_DEVICE if flag == "--device" else "derived"
    return str(default)


def _stage_table(chain: Chain) -> "Table":
    from ckschedule.cli.stage_tables import equal_runs
    from ckschedule.cli.tables import ruled_table
    from ckschedule.plotting.scales import byte_scale, time_scale

    groups = list(equal_runs(chain))
    stages = [stages[0] for _, stages in groups]
    size = byte_scale(
        n
        for s in stages
        for n in (s.output, s.parameter_gradient, *(v.saved for v in s.variants))
    )
    clock = time_scale(
        (n for s in stages for n in (s.forward, *(v.backward for v in s.variants))),
        chain.time_unit,
    )
    table = ruled_table(
        (
            "stages",
            "count",
            f"output\n{size.unit}",
            f"saved\n{size.unit}",
            f"weight\ngradient\n{size.unit}",
            f"forward\n{clock.unit}",
            f"backward\n{clock.unit}",
        )
    )
    for name, equal in groups:
        stage = equal[0]
        first = stage.variants[0] if stage.variants else None
        table.add_row(
            name,
            str(len(equal)),
            size.text(stage.output),
            "-" if first is None else size.text(first.saved),
            size.text(stage.parameter_gradient),
            clock.text(stage.forward),
            "-" if first is None else clock.text(first.backward),
        )
        for variant in stage.variants[1:]:
            table.add_row(
                f"  or saving '{variant.name}' only",
                "",
                "",
                size.text(variant.saved),
                "",
                clock.text(variant.forward or 0),
                clock.text(variant.backward),
                style="dim",
            )
    return table


run_catalog = takes_model(_catalog, optional=True)
