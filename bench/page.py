"""The page of benchmarks, from the committed results.

Run ``python bench/page.py``: it writes docs/benchmarks.md. A file of results that is
not there is named as not measured; a test compares the committed page with this.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from measure import RESULTS, mebibytes, seconds
from wording import (
    Row,
    code,
    errors,
    extremes,
    facts,
    number,
    origin,
    spread,
    table,
    verdict,
)

PAGE: Final = Path(__file__).parents[1] / "docs" / "benchmarks.md"
"""Where the page is committed."""

INTRODUCTION: Final = """\
# Benchmarks

<!-- Written by `python bench/page.py` from bench/results/*.json: do not edit. -->

Every table names the command that made it, the machine, the commit and the date; `-dirty` marks a commit whose files were edited when the measurement ran.
Times are medians; *spread* is the least and the most, and the number of samples.
Seconds of two tables must not be divided by each other: ratios are taken within one run, contenders taking turns.
A required figure that was not reached is **missed**, in the same table as those that were.
`bench/README.md` has the protocol and says what is in each row; [Reproduce a benchmark](how-to/reproduce-a-benchmark.md) says how to run one.
"""  # noqa: E501 - documentation has one sentence a line


def scaling(rows: Sequence[Row]) -> Iterable[str]:
    """Time and memory of the solvers on growing instances."""
    yield "Exact fronts, one budget, brackets for long chains, Revolve, the simulator."
    yield from table(
        ("row", "wall", "spread", "CPU", "memory", "outcome", "required", "reached"),
        (
            (
                code(row["name"]),
                seconds(row["wall_median"]),
                spread(row),
                seconds(row["cpu_median"]),
                mebibytes(row["peak_rss"]),
                facts(row["samples"]),
                ", ".join(row["required"]),
                verdict(row["passed"]),
            )
            for row in rows
        ),
    )


def quality(rows: Sequence[Row]) -> Iterable[str]:
    """Schedules of published graphs beside published results."""
    yield (
        "Extra time over computing every node once, in percent, within a budget in "
        "percent of the naive peak (bytes for unit chains). *Bound* is what we prove "
        "that no schedule of the same scope can beat; *required* is the figure to "
        "reach. *Published* are the papers' own figures on their machines."
    )
    known = [row for row in rows if "error" not in row]
    yield from table(
        (
            *("row", "nodes", "overhead %", "bound %", "gap %", "status", "wall"),
            *("required %", "limit", "reached", "published"),
        ),
        (
            (
                code(row["name"]),
                f"{row['nodes']:,}",
                number(row["overhead"]),
                number(row["bound"]),
                number(row["gap"]),
                row["status"],
                seconds(row["wall"]),
                number(row["row"]["overhead"]),
                seconds(row["row"]["limit"]),
                verdict(row["passed"]),
                row["row"]["published"],
            )
            for row in known
        ),
    )
    yield (
        "Each row was run once: a search with a time limit has no median. The graphs "
        "are not in the repository: the environment variable `CKSCHEDULE_DATA` names "
        "their folder."
    )
    yield from errors(rows)


def peers(rows: Sequence[Row]) -> Iterable[str]:
    """The same work by other packages, in the same run."""
    yield (
        "A schedule for uniform steps is built and gone through; *to the first* is "
        "the time over that of the first contender of the same work."
    )
    yield from table(
        ("work", "by", "wall", "spread", "to the first", "forwards", "optimal"),
        (
            (
                code(row["name"]),
                row["by"],
                seconds(row["wall_median"]),
                spread(row),
                f"{row['wall_to_first']:.3g}",
                f"{row['forwards']:,}",
                "yes" if row["forwards_optimal"] else "NO",
            )
            if row["installed"]
            else (code(row["name"]), row["by"], "not installed", *4 * ("",))
            for row in rows
        ),
    )


def baselines(rows: Sequence[Row]) -> Iterable[str]:
    """Known ways of checkpointing beside the optimum."""
    yield (
        "Extra time over computing everything once, in percent, by budget; "
        "constructions with a parameter have its best value at each budget."
    )
    budgets = list(rows[0]["overhead"])
    yield from table(
        ("model", "method", *budgets),
        (
            (
                code(row["name"]),
                row["by"],
                *(
                    "-" if value is None else f"{100 * value:.2f}"
                    for value in row["overhead"].values()
                ),
            )
            for row in rows
        ),
    )


def chen2016(rows: Sequence[Row]) -> Iterable[str]:
    """Chen et al. 2016 (arXiv 1604.06174) beside the optimum."""
    yield (
        "Bytes and modelled time, not measurements: they are the same on every "
        "machine, and the file records none. Overheads are over storing everything."
    )
    yield from table(
        ("model", "schedule", "memory", "overhead %", "optimum in that memory %"),
        (
            (code(model["model"]), name, mebibytes(size), f"{overhead:.2f}", optimum)
            for model in rows
            for name, size, overhead, optimum in _schedules(model)
        ),
    )


def _schedules(model: Row) -> Iterable[tuple[str, int, float, str]]:
    yield "store all", model["store all bytes"], 0.0, ""
    for name in ("+5 %", "+10 %", "+30 %", "at a quarter", "knee", "minimum"):
        point = model[name]
        yield f"optimum, {name}", point["bytes"], 100 * point["overhead"], ""
    for name, point in model["baselines"].items():
        there = f"{100 * point['optimum there']['overhead']:.2f}"
        yield name, point["bytes"], 100 * point["overhead"], there


def fidelity(rows: Sequence[Row]) -> Iterable[str]:
    """Real training steps beside what was promised."""
    yield (
        "Networks are profiled, solved and trained at six budgets; *difference* is "
        "measured minus predicted peak; times are over the plain step."
    )
    yield from table(
        ("claim", "holds", "held"),
        (
            (row["claim"], row["detail"], verdict(row["passed"]))
            for row in rows
            if "claim" in row
        ),
    )
    yield from table(
        (
            *("row", "predicted peak", "measured peak", "difference %"),
            *("predicted time", "measured time", "its steps", "recomputations"),
            "gradients",
        ),
        (
            (
                code(row["name"]),
                mebibytes(row["predicted_peak"]),
                mebibytes(row["measured_peak"]),
                f"{row['difference_percent']:+.3f}",
                f"{row['predicted_time_ratio']:.3f}",
                f"{row['measured_time_ratio']:.3f}",
                extremes(row["samples"]["planned"]),
                f"{row['measured_recomputations']:,}",
                "equal"
                if row["gradients_equal"]
                else f"{row['gradient_distance']:.2g}",
            )
            for row in rows
            if "predicted_time_ratio" in row and row.get("measured_time_ratio")
        ),
    )
    yield from errors(rows)


def executors(rows: Sequence[Row]) -> Iterable[str]:
    """What the executor costs beside torch's own checkpointing."""
    claims = [
        (code(row["name"]), text, verdict(held))
        for row in rows
        for text, held in row.get("claims", {}).items()
    ]
    yield "A step of many tiny blocks, each recomputed once, less a plain step:"
    yield from table(("row", "claim", "held"), claims)
    yield from table(
        ("row", "by", "extra a block", "beyond its forward", "of torch's", "rounds"),
        (
            (
                code(row["name"]),
                by,
                seconds(row["extra"][by]),
                seconds(row["framework"][by]),
                f"{row['of_torch'][by]:.2f}",
                f"{row['rounds']:,}",
            )
            for row in rows
            if "extra" in row
            for by in row["extra"]
        ),
    )
    yield (
        "Against `torch.utils.checkpoint`: our fastest plan in its memory, and our "
        "smallest plan in its time. Below 1 is in our favour; *quick* rows had few "
        "rounds."
    )
    yield from table(
        (
            *("torch's", "its peak", "its time", "its steps", "our time in its memory"),
            *("our memory in its time", "rounds"),
        ),
        (
            (
                code(row["name"]),
                mebibytes(row["peak"]),
                f"{row['time_ratio']:.2f}",
                extremes(row["samples"][row["name"].partition("/")[2]]),
                _part(row["same_memory"], "time_of_torch"),
                _part(row["same_time"], "memory_ratio"),
                "quick" if row.get("quick") else "full",
            )
            for row in rows
            if "same_memory" in row
        ),
    )
    yield from errors(rows)


def _part(found: Row | None, key: str) -> str:
    return "-" if not found or found.get(key) is None else f"{found[key]:.2f}"


def storage(rows: Sequence[Row]) -> Iterable[str]:
    """Chen et al.'s storage allocations beside one arena."""
    yield (
        "Bytes of a pre-activation ResNet's training step, operator by operator. "
        "*Pool* is what reusing equal or larger blocks takes, *arena* one block with "
        "offsets, whose least possible size is the *live peak*."
    )
    yield from table(
        (
            *("network", "plan", "live peak", "arena", "lost %", "pool"),
            *("method", "planned in"),
        ),
        (
            (
                code(row["name"]),
                plan,
                mebibytes(found["live_peak"]),
                mebibytes(found["bytes"]),
                f"{100 * found['fragmentation']:.2f}",
                mebibytes(found["pool"]),
                found["method"],
                seconds(found["seconds"]),
            )
            for row in rows
            for plan, found in row.items()
            if isinstance(found, dict) and "live_peak" in found
        ),
    )
    yield "Planning was timed once each; the bytes are the same on every machine."


def command_line(rows: Sequence[Row]) -> Iterable[str]:
    """How long a user waits: whole processes, with and without compiled kernels."""
    yield from table(
        ("command", "kernels", "wall", "spread", "memory", "required", "reached"),
        (
            (
                code(" ".join(row["words"])),
                row["kernels"],
                seconds(row["wall_median"]),
                spread(row),
                mebibytes(row["peak_rss"]),
                "" if row["required"] is None else seconds(row["required"]),
                verdict(row["passed"]),
            )
            for row in rows
        ),
    )


def micro(rows: Sequence[Row]) -> Iterable[str]:
    """Small operations, one call each."""
    yield "`import` is what `import ckschedule` takes beyond `import numpy`."
    yield from table(
        ("row", "wall", "spread", "each", "required", "reached"),
        (
            (
                code(row["name"]),
                seconds(row["wall_median"]),
                spread(row),
                f"{seconds(row['wall_per_unit'])} per {row['unit']}",
                "",
                "",
            )
            if "wall_median" in row
            else (
                code(row["name"]),
                seconds(row["extra_wall"]) if row["extra_wall"] > 0 else "none",
                f"numpy alone {spread(row['numpy'])}",
                "",
                seconds(row["required"]),
                verdict(row["passed"]),
            )
            for row in rows
        ),
    )


def local_search(rows: Sequence[Row]) -> Iterable[str]:
    """Moves of local search in one thread."""
    yield from table(
        ("row", "wall", "spread", "outcome"),
        (
            (
                code(row["name"]),
                seconds(row["wall_median"]),
                spread(row),
                facts(row["samples"]),
            )
            for row in rows
            if "wall_median" in row
        ),
    )
    yield from errors(rows)


def report(rows: Sequence[Row]) -> Iterable[str]:
    """The report page in a browser."""
    yield from table(
        ("row", "stages", "size", "schedule shown", "all shown", "required", "reached"),
        (
            (
                code(row["name"]),
                f"{row['stages']:,}",
                mebibytes(row["bytes"]),
                seconds(row["schedule_shown"]),
                f"{seconds(row['all_shown'])} ({len(row['samples'])})",
                seconds(row["required"]),
                verdict(row["passed"]),
            )
            for row in rows
        ),
    )


SECTIONS: Final[Sequence[Callable[[Sequence[Row]], Iterable[str]]]] = (
    scaling,
    quality,
    peers,
    baselines,
    chen2016,
    fidelity,
    executors,
    storage,
    command_line,
    micro,
    local_search,
    report,
)
"""Each is named as its script and its file; its docstring is the heading."""


def page(results: Path) -> str:
    """Return the page of a folder of results."""
    parts, absent = [INTRODUCTION], []
    for section in SECTIONS:
        name = section.__name__
        path = results / f"{name}.json"
        if not path.is_file():
            absent.append(f"`python bench/{name}.py`")
            continue
        document = json.loads(path.read_text(encoding="utf-8"))
        bare = isinstance(document, list)
        rows = document if bare else document["rows"]
        heading = (section.__doc__ or name).strip().rstrip(".")
        blocks = [f"## {heading}", *section(rows)]
        blocks.append(code(f"python bench/{name}.py") if bare else origin(document))
        parts.extend(f"{block}\n" for block in blocks)
    notes = results / "README.md"
    if notes.is_file():
        # After its heading and the paragraph that says where the protocol is.
        text = notes.read_text(encoding="utf-8").split("\n\n", 2)[2].strip()
        parts.append(f"## Circumstances\n\n{text}\n")
    if absent:
        parts.append(f"## Not measured yet\n\n{', '.join(absent)}.\n")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the page of benchmarks.")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER")
    parser.add_argument("-o", "--out", type=Path, default=PAGE, metavar="FILE")
    options = parser.parse_args()
    options.out.write_text(page(options.results), encoding="utf-8")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
