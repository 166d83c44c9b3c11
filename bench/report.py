"""The report page: its size, when it shows what, and how fast another budget is drawn.

Run ``python bench/report.py``; see bench/README.md. Needs Chromium.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Final

from measure import arguments, console, seconds, selected, write_results
from rich.table import Table

import ckschedule as ck
from ckschedule.front import ParetoFront
from ckschedule.report import render

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FRONTS: Final[Mapping[str, Callable[[], ParetoFront]]] = {
    "gpt2-xl": lambda: ck.pareto(ck.catalog.build("gpt2-xl", batch=8)),
    "lstm-1000": lambda: ck.pareto(ck.catalog.lstm(steps=1000)),
}
"""By name of the row; the second has 1,001 stages."""

LIMIT: Final = 2.0
"""Required seconds until all is drawn."""

PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")

# The slider goes through every tenth of the points; each is timed until it is drawn.
_SLIDE: Final = """async () => {
  const slider = document.getElementById("budget"), taken = [];
  for (let k = 0; k <= 10; k++) {
    slider.value = Math.round(k / 10 * slider.max);
    delete document.documentElement.dataset.shown;
    const start = performance.now();
    slider.dispatchEvent(new Event("input"));
    while (!document.documentElement.dataset.shown) {
      await new Promise((next) => setTimeout(next));
    }
    taken.push((performance.now() - start) / 1000);
  }
  return taken;
}"""
_MARKS: Final = """() => Object.fromEntries(
  performance.getEntriesByType("mark").map((m) => [m.name, m.startTime / 1000]))"""


def main() -> None:
    parser = arguments("Size and speed of the report page.", repeat="5")
    options = parser.parse_args()
    program = next((path for p in PROGRAMS if (path := shutil.which(p))), None)
    if program is None:
        raise SystemExit("no Chromium on this machine: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    table = Table("front", title="the report page, opened in headless Chromium")
    for heading in (
        *("stages", "points", "operations", "render", "size"),
        *("schedule shown", "all shown", "another budget", "slowest budget"),
    ):
        table.add_column(heading, justify="right")
    table.add_column("")
    records = []
    terminal = console()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"]
        )
        for name in selected(list(FRONTS), options.rows):
            with terminal.status(name):
                row = measure_page(name, browser, options.repeat or 5)
            records.append(row)
            table.add_row(
                name,
                f"{row['stages']:,}",
                f"{row['points']:,}",
                f"{row['operations']:,}",
                seconds(float(str(row["render_seconds"]))),
                f"{int(str(row['bytes'])) / 1e6:.2f} MB",
                seconds(float(str(row["schedule_shown"]))),
                seconds(float(str(row["all_shown"]))),
                seconds(float(str(row["budget_median"]))),
                seconds(float(str(row["budget_most"]))),
                "[green]pass" if row["passed"] else "[red]FAIL",
            )
        browser.close()
    terminal.print(table)
    terminal.print(f"written to {write_results('report', records, options.out)}")


def measure_page(name: str, browser: "Browser", repeat: int) -> dict[str, object]:
    """Return size and times of a front's page: medians over fresh windows."""
    front = FRONTS[name]()
    start = perf_counter()
    text = render(front, budgets=["60%", "90%"])
    render_seconds = perf_counter() - start
    samples, slides = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        path.write_text(text, "utf-8")
        for _ in range(repeat):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            page = context.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-shown]", state="attached")
            samples.append(page.evaluate(_MARKS))
            slides += page.evaluate(_SLIDE)
            context.close()
    shown = [sample["ckschedule: plots shown"] for sample in samples]
    model = front.model
    assert isinstance(model, ck.Chain)
    return {
        "name": name,
        "stages": len(model.sequence),
        "points": len(front),
        "operations": sum(len(point.codes) for point in front),
        "render_seconds": render_seconds,
        "bytes": len(text.encode()),
        "schedule_shown": median(s["ckschedule: schedule shown"] for s in samples),
        "all_shown": median(shown),
        "required": LIMIT,
        "passed": median(shown) < LIMIT,
        "budget_median": median(slides),
        "budget_most": max(slides),
        "samples": samples,
        "slides": slides,
        "browser": browser.version,
        "plotly": version("plotly"),
    }


if __name__ == "__main__":
    main()
