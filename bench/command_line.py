"""Wall time of whole commands: kernels compiled anew, then from their cache.

Run ``python bench/command_line.py``; see bench/README.md.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from measure import (
    Measurement,
    ProcessDiedError,
    Sample,
    arguments,
    as_record,
    console,
    mebibytes,
    run_process,
    seconds,
    selected,
    spread,
    write_results,
)
from rich.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command and the seconds it may take.

    Attributes
    ----------
    words
        After ``python -m ckschedule``.
    cold, warm
        Required wall seconds with an empty kernel cache and with a full one; None: no
        requirement.
    """

    words: Sequence[str]
    cold: float | None = None
    warm: float | None = None


COMMANDS: Final[dict[str, Command]] = {
    "version": Command(words=("--version",)),
    "solve-gpt2-xl": Command(
        words=(
            "solve",
            "gpt2-xl",
            "--batch",
            "8",
            "--seq",
            "1024",
            "--budget",
            "40GiB",
        ),
        cold=15.0,
        warm=2.0,
    ),
    "pareto-resnet-152": Command(
        words=("pareto", "resnet", "--depth", "152", "--batch", "32"),
    ),
    "pareto-resnet-1001": Command(
        words=(
            *("pareto", "resnet", "--depth", "1001"),
            *("--batch", "32", "--image", "224"),
        ),
        warm=7.0,
    ),
}
"""By name of the row."""


def main() -> None:
    parser = arguments(
        "Wall time of whole commands, cold and warm.", repeat="1 cold and 3 warm"
    )
    options = parser.parse_args()
    table = Table("command", "kernels", "required", title="wall time of the process")
    for heading in ("median", "least to most (n)", "CPU", "peak RSS"):
        table.add_column(heading, justify="right")
    table.add_column("")
    records = []
    terminal = console()
    for name in selected(list(COMMANDS), options.rows):
        command = COMMANDS[name]
        with terminal.status(name):
            try:
                cold, warm = measure_command(command, options.repeat)
            except ProcessDiedError as error:
                table.add_row(name, "", "", "-", "-", "-", "-", f"[red]FAIL[/] {error}")
                records.append({"name": name, "passed": False, "error": str(error)})
                continue
        runs = [("cold", cold, command.cold), ("warm", warm, command.warm)]
        for kernels, measured, limit in runs:
            passed = None if limit is None else measured.wall < limit
            records.append(
                {
                    "name": name,
                    "words": ["ckschedule", *command.words],
                    "kernels": kernels,
                    "required": limit,
                    "passed": passed,
                    **as_record(measured),
                }
            )
            table.add_row(
                name,
                kernels,
                "" if limit is None else f"< {seconds(limit)}",
                seconds(measured.wall),
                spread(measured),
                seconds(measured.cpu),
                mebibytes(measured.rss),
                {True: "[green]pass", False: "[red]FAIL", None: ""}[passed],
            )
    terminal.print(table)
    terminal.print(f"written to {write_results('command_line', records, options.out)}")


def measure_command(
    command: Command, repeat: int | None
) -> tuple[Measurement, Measurement]:
    """Return cold and warm runs of a command.

    Each cold run gets an empty directory for the compiled kernels; the warm ones reuse
    the last of these. Python's own byte code is cached throughout.

    Raises
    ------
    ProcessDiedError
        If the command fails.
    """
    words = [sys.executable, "-m", "ckschedule", *command.words]
    # Compiles byte code and fills the disk cache.
    run_process([sys.executable, "-m", "ckschedule", "--version"], os.environ)
    cold: list[Sample] = []
    warm: list[Sample] = []
    rss = {"cold": 0, "warm": 0}

    def run(kernels: str, cache: str, samples: list[Sample]) -> None:
        ran = run_process(words, {**os.environ, "NUMBA_CACHE_DIR": cache})
        samples.append(Sample(wall=ran.wall, cpu=ran.cpu))
        rss[kernels] = max(rss[kernels], ran.rss)

    for _ in range(repeat or 1):
        with tempfile.TemporaryDirectory() as cache:
            run("cold", cache, cold)
            if len(cold) == (repeat or 1):
                for _ in range(repeat or 3):
                    run("warm", cache, warm)
    return (
        Measurement(samples=cold, rss=rss["cold"]),
        Measurement(samples=warm, rss=rss["warm"]),
    )


if __name__ == "__main__":
    main()
