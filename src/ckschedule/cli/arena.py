"""``ckschedule arena``: where in memory the values of a schedule lie."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ckschedule.arena import Arena, plan_arena
from ckschedule.cli.options import Json, Out
from ckschedule.cli.output import (
    check_writable,
    console,
    emit_json,
    report_written,
    write_document,
)
from ckschedule.cli.recorded import recorded_model
from ckschedule.cli.summary import counted, model_facts
from ckschedule.errors import DocumentError
from ckschedule.front import ParetoFront
from ckschedule.result import Result, Stop
from ckschedule.schedule import Schedule
from ckschedule.simulation import Model
from ckschedule.units import format_bytes


def run_arena(
    *,
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT",
            help="A result of 'solve' or 'run', a schedule with its model, or a map "
            "that this command wrote (JSON).",
            show_default=False,
        ),
    ],
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="Search for the smallest arena and a proof, by CP-SAT."
        ),
    ] = False,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            help="How long the exact search may take.",
        ),
    ] = 10.0,
    alignment: Annotated[
        int,
        typer.Option(
            "--alignment",
            metavar="BYTES",
            help="Every address is a multiple of it; 512 is CUDA's.",
        ),
    ] = 1,
    plot: Annotated[
        list[Path] | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw the map into a .png, .svg or .pdf file (needs matplotlib). "
            "Repeatable.",
        ),
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Pack all that a schedule stores into one range of addresses.

    Freed memory is of use only where it lies in one piece: the arena says how
    much a schedule takes with every address fixed beforehand. Static memory is
    not in it.

    [bold]Examples[/bold]

      ckschedule arena plan.json --plot map.png
      ckschedule arena plan.json --exact --alignment 512 -o map.json
    """
    check_writable(out, "--out")
    for picture in plot or ():
        # Before the long work: the format and matplotlib are there.
        from ckschedule.plotting import check_format

        check_writable(picture, "--plot")
        check_format(picture)
    found = _read(plan)
    if isinstance(found, Arena):
        if exact or alignment != 1:
            raise typer.BadParameter(
                f"{plan} holds an arena, which is shown as it is; give the plan that "
                f"it was made from, or leave out --exact and --alignment"
            )
        arena, budget = found, None
    else:
        model, schedule, budget = found
        arena = plan_arena(
            model, schedule, exact=exact, alignment=alignment, time_limit=time_limit
        )
    write_document(arena, out)
    if plot:
        from ckschedule.plotting import plot_arena, save_plot

        ax = plot_arena(arena, budget=budget)
        for picture in plot:
            save_plot(ax, picture)
            report_written(picture)
    if json:
        emit_json(_document(arena))
    else:
        _print(arena, budget)


def _read(path: Path) -> Arena | tuple[Model, Schedule, int | None]:
    """Return an arena, or model and schedule with the budget that it was made for."""
    from ckschedule.documents import read_json

    document = read_json(path)
    match document:
        case Arena():
            return document
        case Result():
            trace = document.raise_for_status()
            return document.model, trace.schedule, document.budget
        case Schedule():
            remedy = "give a result of 'ckschedule solve'"
            return recorded_model(path, remedy), document, None
        case ParetoFront():
            what = "choose a point of this front"
        case _:
            what = "this holds no schedule; make one"
    raise DocumentError(
        f"{path}: {what} with 'ckschedule solve {path} --budget ... -o plan.json'"
    )


def _document(arena: Arena) -> dict[str, Any]:
    return {
        "command": "arena",
        "model": model_facts(arena.model),
        "size": arena.size,
        "live_peak": arena.live_peak,
        "lower_bound": arena.lower_bound,
        "optimal": arena.optimal,
        "fragmentation": arena.fragmentation,
        "alignment": arena.alignment,
        "method": arena.method,
        "stop": str(arena.stop),
        "static": arena.model.static.total,
        "peak": arena.trace.peak,
        "blocks": [
            {
                "name": block.name,
                "first": block.first,
                "last": block.last,
                "size": block.size,
                "offset": block.offset,
            }
            for block in arena.blocks
        ],
    }


def _print(arena: Arena, budget: int | None) -> None:
    from ckschedule.cli.tables import describe_model, facts_table

    facts = describe_model(arena.model)
    facts["schedule"] = (
        f"{counted(len(arena.trace.schedule), 'operation')}, "
        f"{counted(len(arena.blocks), 'block')} of memory"
    )
    facts["live bytes"] = f"at most {_both(arena.live_peak)}"
    facts["arena"] = f"{_both(arena.size)}, {_proof(arena)}"
    facts["fragmentation"] = f"{arena.fragmentation:.2%}"
    facts["packed by"] = arena.method
    if budget is not None:
        whole = arena.size + arena.model.static.total
        kept = "within" if whole <= budget else "over"
        facts["with static"] = f"{_both(whole)}, {kept} the budget of {_both(budget)}"
    console().print(facts_table(facts))


def _both(size: int) -> str:
    return f"{format_bytes(size)} ({counted(size, 'byte')})"


def _proof(arena: Arena) -> str:
    if arena.optimal:
        return "the smallest that there is"
    above = f"no arena is smaller than {format_bytes(arena.lower_bound)}"
    if arena.stop is Stop.FINISHED:
        return f"{above}; --exact searches between"
    return f"{above}; stopped: {arena.stop}"
