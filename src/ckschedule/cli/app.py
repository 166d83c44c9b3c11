"""The application: its commands, and what becomes of errors."""

import logging
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ckschedule.cli.arena import run_arena
from ckschedule.cli.catalog import run_catalog
from ckschedule.cli.compare import run_compare
from ckschedule.cli.doctor import run_doctor
from ckschedule.cli.exits import FAULT, INTERRUPTED, NO_SCHEDULE, WRONG_USE
from ckschedule.cli.export import run_export
from ckschedule.cli.imports import run_import
from ckschedule.cli.output import fail
from ckschedule.cli.pareto import run_pareto
from ckschedule.cli.profile import run_profile
from ckschedule.cli.refusals import describe
from ckschedule.cli.report import run_report
from ckschedule.cli.run import run_run
from ckschedule.cli.simulate import run_simulate
from ckschedule.cli.solve import run_solve
from ckschedule.errors import CkscheduleError, NoScheduleError, SolverFaultError


class CommandLine(TyperGroup):
    """All commands; every error becomes one message on stderr and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line; with ``standalone_mode`` the process ends."""
        try:
            code = super().main(
                args, prog_name, complete_var, False, windows_expand_args, **extra
            )
        except typer.TyperException as error:
            code = _refuse(error)
        except typer.Abort:
            code = INTERRUPTED
        except NoScheduleError as error:
            code = fail(str(error), NO_SCHEDULE)
        except SolverFaultError as error:
            code = fail(f"{error}; this is a fault of ckschedule: report it", FAULT)
        except CkscheduleError as error:
            code = fail(str(error), WRONG_USE)
        except MemoryError:
            code = fail(
                "this machine has not the memory for that; ask for fewer stages",
                WRONG_USE,
            )
        except OSError as error:
            where = f"{error.filename}: " if error.filename is not None else ""
            code = fail(f"{where}{error.strerror or error}", WRONG_USE)
        if code == INTERRUPTED:
            fail("interrupted", INTERRUPTED)
        if standalone_mode:
            sys.exit(code or 0)
        return code


app = typer.Typer(
    name="ckschedule",
    cls=CommandLine,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _refuse(error: typer.TyperException) -> int:
    """Print why a command line cannot be meant; without a command, only the help."""
    message = describe(error)
    if not message:
        return WRONG_USE
    context = getattr(error, "ctx", None)
    hint = f"Try '{context.command_path} --help'." if context else None
    return fail(message, WRONG_USE, hint=hint)


def _show_version(wanted: bool) -> None:
    if wanted:
        from ckschedule import __version__

        typer.echo(f"ckschedule {__version__}")
        raise typer.Exit


@app.callback()
def configure(
    *,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log what is done to stderr.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and exit.",
            callback=_show_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Train in less memory: the optimal trade of peak memory against recomputation.

    ckschedule knows what each layer of a network costs in bytes and time, and
    finds which activations to keep and which to compute again. MODEL is a name
    of the catalogue, such as resnet or gpt2-xl, or a JSON file.

    [bold]First steps[/bold]

      ckschedule catalog
      ckschedule pareto resnet --depth 101 --batch 64
      ckschedule solve gpt2-xl --budget 40GiB -o plan.json
      ckschedule simulate plan.json

    [bold]With a torch model of your own[/bold]

      ckschedule profile net:build -o chain.json
      ckschedule run net:build --budget 60% -o plan.json
      ckschedule export plan.json --to torch -o plan.py

    Exit codes: 0 solved, 1 no schedule keeps the budget or a plan did not hold,
    2 wrong use, 3 a fault of ckschedule, 130 interrupted.
    """
    logger = logging.getLogger("ckschedule")
    if verbose and not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(
            logging.Formatter("%(relativeCreated)6d ms  %(name)s: %(message)s")
        )
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)


for _name, _command in (
    ("pareto", run_pareto),
    ("solve", run_solve),
    ("compare", run_compare),
    ("report", run_report),
    ("simulate", run_simulate),
    ("arena", run_arena),
    ("catalog", run_catalog),
    ("import", run_import),
    ("profile", run_profile),
    ("run", run_run),
    ("export", run_export),
    ("doctor", run_doctor),
):
    app.command(_name)(_command)
