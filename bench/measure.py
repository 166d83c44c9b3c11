"""Repeated measurement, the machine it was made on, and the file it goes to."""

import argparse
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Final, ParamSpec, TypeAlias, TypeVar

from rich.console import Console

P = ParamSpec("P")
T = TypeVar("T")

Facts: TypeAlias = Mapping[str, int | float | str]
"""What a run says about its outcome, by name."""

RESULTS: Final = Path(__file__).parent / "results"
"""Where results are committed."""

PACKAGES: Final = (
    "ckschedule",
    "numpy",
    "numba",
    "llvmlite",
    "scipy",
    "ortools",
    "pydantic",
    "typer",
    "rich",
    "torch",
    "transformers",
    "checkpoint_schedules",
    "pyrevolve",
)
"""Packages whose versions a result records."""

LONG: Final = 60.0
"""Seconds of one measurement after which no further sample is begun."""

ARENAS: Final = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**36),
    "MALLOC_TOP_PAD_": str(2**28),
}
"""Settings of glibc under which freed memory stays with the process. By default each
large tensor is mapped anew, and a step on the CPU spends its time in page faults."""

_FORMAT: Final = 1
_WIDE: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run.

    Attributes
    ----------
    wall, cpu
        Seconds; ``cpu`` is of all threads of the process together. Floats: clocks are
        read here, nothing is scheduled by them.
    facts
        What the run said about its outcome.
    """

    wall: float
    cpu: float
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """All samples of one row of a table.

    Attributes
    ----------
    samples
        In order; at least one.
    rss
        Bytes: the most that the process ever held, its imports and warm-up included.
    """

    samples: Sequence[Sample]
    rss: int

    @property
    def wall(self) -> float:
        """Median wall seconds."""
        return median(sample.wall for sample in self.samples)

    @property
    def cpu(self) -> float:
        """Median CPU seconds."""
        return median(sample.cpu for sample in self.samples)

    @property
    def spread(self) -> tuple[float, float]:
        """Least and most wall seconds."""
        walls = [sample.wall for sample in self.samples]
        return min(walls), max(walls)

    def worst(self, fact: str) -> float:
        """Return the largest value of a fact among the samples."""
        return max(float(sample.facts[fact]) for sample in self.samples)


def sample_once(run: Callable[[T], Facts], prepare: Callable[[], T]) -> Sample:
    """Return one run on what ``prepare`` yields, which is not timed.

    Preparing anew for every run keeps what objects remember from one to the next, such
    as a chain its graph, out of the result.
    """
    given = prepare()
    gc.collect()
    wall, cpu = perf_counter(), process_time()
    facts = run(given)
    return Sample(wall=perf_counter() - wall, cpu=process_time() - cpu, facts=facts)


def samples_of(
    run: Callable[[T], Facts],
    prepare: Callable[[], T],
    *,
    repeat: int,
    long: float = LONG,
) -> list[Sample]:
    """Return up to ``repeat`` runs; none is begun once they took ``long`` seconds."""
    samples: list[Sample] = []
    begin = perf_counter()
    while len(samples) < repeat and (not samples or perf_counter() - begin < long):
        samples.append(sample_once(run, prepare))
    return samples


def taking_turns(
    runs: Mapping[str, Callable[[], object]],
    *,
    repeat: int,
    prepare: Callable[[], object] = lambda: None,
    collect: bool = True,
    long: float = LONG,
) -> dict[str, list[float]]:
    """Return wall seconds of each run, round by round.

    Parameters
    ----------
    runs
        By name. Each round calls all, beginning with another one each time.
    repeat
        Rounds; none is begun once they took ``long`` seconds.
    prepare
        Called before each run, untimed.
    collect
        Whether garbage is collected before each run.
    """
    names = list(runs)
    taken: dict[str, list[float]] = {name: [] for name in names}
    begin = perf_counter()
    for turn in range(repeat):
        if turn and perf_counter() - begin > long:
            break
        first = turn % len(names)
        for name in (*names[first:], *names[:first]):
            prepare()
            if collect:
                gc.collect()
            start = perf_counter()
            runs[name]()
            taken[name].append(perf_counter() - start)
    return taken


def ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the median over the rounds of one time over the other."""
    return median(a / b for a, b in zip(one, other, strict=True))


def keep_freed_memory() -> None:
    """Start this script anew under `ARENAS`, unless it runs so already.

    glibc reads these settings when a process starts.
    """
    if platform.libc_ver()[0] == "glibc" and not ARENAS.keys() <= os.environ.keys():
        os.execve(
            sys.executable,
            [sys.executable, *sys.orig_argv[1:]],
            {**os.environ, **ARENAS},
        )


def peak_rss() -> int:
    """Return the most bytes that this process ever held."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def in_child(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a function returns in a fresh process of its own.

    So that peak memory and warm caches belong to one row. Linux counts a parent's
    memory towards its child's peak, hence no script measures in its own process and in
    children.

    Raises
    ------
    ProcessDiedError
        If the process was killed.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(function, *args, **kwargs).result()
        except BrokenProcessPool as error:
            raise ProcessDiedError("the process was killed, of memory?") from error


class ProcessDiedError(RuntimeError):
    """A measurement whose process ended before it reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A process that ran to its end.

    Attributes
    ----------
    wall, cpu
        Seconds from start to end, and CPU seconds of all its threads.
    rss
        Bytes: the most that it held.
    """

    wall: float
    cpu: float
    rss: int


def run_process(command: Sequence[str], env: Mapping[str, str]) -> Finished:
    """Return what a process took; its output is discarded.

    Raises
    ------
    ProcessDiedError
        If it does not end with exit code 0; the message holds its error output.
    """
    with tempfile.TemporaryFile() as errors:
        begin = perf_counter()
        process = subprocess.Popen(
            command, env=dict(env), stdout=subprocess.DEVNULL, stderr=errors
        )
        # wait4 alone reports the usage of this one child.
        _, status, usage = os.wait4(process.pid, 0)
        wall = perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip()
            raise ProcessDiedError(
                f"{' '.join(command)} ended with {process.returncode}: {said}"
            )
    unit = 1 if sys.platform == "darwin" else 1024
    return Finished(
        wall=wall, cpu=usage.ru_utime + usage.ru_stime, rss=usage.ru_maxrss * unit
    )


def arguments(description: str, *, repeat: str) -> argparse.ArgumentParser:
    """Return the options that all scripts share.

    Parameters
    ----------
    description
        First line of the help.
    repeat
        What ``--repeat`` is by default, in words.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "rows",
        nargs="*",
        metavar="PATTERN",
        help="rows to run, as file name patterns such as 'front/*'; all by default",
    )
    parser.add_argument(
        "--repeat",
        type=_positive,
        metavar="N",
        help=f"samples of each row ({repeat} by default)",
    )
    parser.add_argument(
        "-o",
        "--out",
        "--output",
        type=Path,
        metavar="FILE",
        help="where the JSON goes; bench/results/<script>.json by default",
    )
    return parser


def selected(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match any pattern, all if there is no pattern.

    Raises
    ------
    SystemExit
        If a pattern matches none.
    """
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in names):
            raise SystemExit(
                f"no row matches {pattern!r}; there are {', '.join(names)}"
            )
    if not patterns:
        return list(names)
    return [name for name in names if any(fnmatch(name, p) for p in patterns)]


def as_record(measured: Measurement) -> dict[str, object]:
    """Return a measurement as JSON takes it: summary, and each sample."""
    low, high = measured.spread
    return {
        "wall_median": measured.wall,
        "wall_least": low,
        "wall_most": high,
        "cpu_median": measured.cpu,
        "peak_rss": measured.rss,
        "samples": [asdict(sample) for sample in measured.samples],
    }


def write_results(
    script: str, rows: Sequence[Mapping[str, object]], out: Path | None
) -> Path:
    """Write rows with commit, machine, date and versions; return the path.

    The file appears whole or not at all.
    """
    path = RESULTS / f"{script}.json" if out is None else out
    document = {
        "format": _FORMAT,
        "script": script,
        "command": ["python", f"bench/{script}.py", *sys.argv[1:]],
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "packages": {name: _version(name) for name in PACKAGES},
        "rows": rows,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=path.name, delete=False, encoding="utf-8"
    ) as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    # Temporary files are private; results are not.
    Path(file.name).chmod(0o644)
    Path(file.name).replace(path)
    return path


def machine() -> dict[str, object]:
    """Return what the numbers depend on: processor, memory, system, load."""
    cores = (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count()
    )
    return {
        "processor": _processor(),
        "cores": cores,
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_average": os.getloadavg(),
    }


def commit() -> str:
    """Return the commit of the tree, marked where files differ from it."""
    described = subprocess.run(
        [
            *("git", "--no-optional-locks", "describe"),
            *("--always", "--abbrev=12", "--dirty", "--exclude=*"),
        ],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip() or "unknown"


def console() -> Console:
    """Return where tables go; wide enough for them where the output is a file."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=_WIDE)


def seconds(value: float) -> str:
    """Return a duration for people, in three digits."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value / 1e-9:.3g} ns"


def mebibytes(value: float) -> str:
    """Return bytes for people."""
    return f"{value / 2**20:,.0f} MiB"


def spread(measured: Measurement) -> str:
    """Return least and most wall time and the number of samples, for people."""
    low, high = measured.spread
    return f"{seconds(low)} to {seconds(high)} ({len(measured.samples)})"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    if package == "ckschedule":
        # Runs from the source tree, too, where nothing is installed.
        import ckschedule

        return ckschedule.__version__
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1")
    return value
