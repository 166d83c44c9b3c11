"""Results as Markdown: tables, extremes, verdicts, and where figures come from."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from measure import seconds

Row: TypeAlias = Mapping[str, Any]
"""A row of results, or another JSON object."""


def origin(document: Row) -> str:
    """Return where figures come from, as a list."""
    machine = document["machine"]
    versions = [f"{n} {v}" for n, v in document["packages"].items() if v is not None]
    load = ", ".join(f"{value:.1f}" for value in machine["load_average"])
    return "\n".join(
        (
            f"- command: {code(_command(document['command']))}",
            f"- machine: {machine['cores']} cores of {machine['processor']}, "
            f"{machine['memory'] / 2**30:.0f} GiB, {machine['system']}, "
            f"Python {machine['python']}; load when written {load}",
            f"- commit: {code(document['commit'])}, {document['date']}",
            f"- versions: {', '.join(versions)}",
        )
    )


def _command(words: Sequence[str]) -> str:
    """Return a command without the file that it wrote."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word in ("-o", "--out", "--output"):
            skip = not skip
            continue
        kept.append(f"'{word}'" if any(c in word for c in "*?[ ") else word)
    return " ".join(kept)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """Return a Markdown table, unless it has no rows."""
    lines = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in r) + " |" for r in rows
    ]
    if lines:
        head = f"| {' | '.join(headings)} |"
        yield "\n".join((head, f"|{'---|' * len(headings)}", *lines))


def errors(rows: Sequence[Row]) -> Iterable[str]:
    """Return the rows that could not be measured, as a list."""
    failed = [
        f"- {code(r['name'])}: not measured, {r['error']}" for r in rows if "error" in r
    ]
    if failed:
        yield "\n".join(failed)


def spread(row: Row) -> str:
    """Return the extremes of wall time and the number of samples."""
    least, most = seconds(row["wall_least"]), seconds(row["wall_most"])
    return f"{least} to {most} ({len(row['samples'])})"


def extremes(samples: Sequence[float]) -> str:
    """Return the same for bare seconds."""
    return f"{seconds(min(samples))} to {seconds(max(samples))} ({len(samples)})"


def facts(samples: Sequence[Row]) -> str:
    """Return what samples said about their outcome: of a gap, the largest."""
    words: list[str] = []
    for name, value in samples[0]["facts"].items():
        if isinstance(value, float):
            worst = max(sample["facts"][name] for sample in samples)
            words.append(f"{name} {worst:.3g}")
        else:
            words.append(
                f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
            )
    return ", ".join(words)


def number(value: float | None) -> str:
    """Return three decimals, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def verdict(passed: bool | None) -> str:
    """Return whether a requirement was met; nothing where there is none."""
    return {True: "yes", False: "**missed**", None: ""}[passed]


def code(text: str) -> str:
    """Return text as code."""
    return f"`{text}`"
