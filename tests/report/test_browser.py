"""What a reader sees and does in the page, in a real browser."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from report.conftest import Shown, Windows
from report.models import HOSTILE, bracketed, hostile, huge, real, small

import ckschedule as ck
from ckschedule.front import ParetoFront
from ckschedule.plotting.timeline import timeline_of
from ckschedule.report import Subject, render, render_all, result_at
from ckschedule.units import format_bytes, format_time

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FRONTS = {make.__name__: make() for make in (small, real, hostile, huge, bracketed)}


def again(front: ParetoFront) -> ck.Trace:
    return ck.solve(front.model, 2**50, ck.RecomputeAll()).raise_for_status()


def text_of(name: str) -> str:
    """Return the page of a front, with what its tests need."""
    front = FRONTS[name]
    if name == "hostile":
        trace = front.fastest.trace
        return render(front, baselines={HOSTILE[1]: trace}, title=HOSTILE[0])
    if name == "real":
        budgets: list[str | int] = ["95%", front.minimum.peak - 1]
        return render(front, baselines={"all again": again(front)}, budgets=budgets)
    return render(front)


@pytest.fixture
def shown(windows: Windows, request: pytest.FixtureRequest) -> Shown:
    """Return the page of the front that a test names, of the small one otherwise."""
    name = getattr(request, "param", "small")
    return windows(name, lambda: text_of(name))


@pytest.fixture
def front(request: pytest.FixtureRequest) -> ParetoFront:
    """Return the front of the page."""
    return FRONTS[request.node.callspec.params["shown"]]


each = pytest.mark.parametrize("shown", FRONTS, indirect=True)


def downloaded(shown: Shown) -> str:
    with shown.page.expect_download() as wait:
        shown.page.click("#download")
    return Path(wait.value.path()).read_text("utf-8")


def agrees(shown: Shown, front: ParetoFront, index: int) -> None:
    """Compare what the page says of a point with the point."""
    shown.wait(index)
    point = front.points[index]
    words = " ".join(shown.text("#figures").split())
    assert f"peak memory {format_bytes(point.peak)} {point.peak:,} bytes" in words
    assert f"recomputed {point.recomputations:,} {len(point.codes):,} oper" in words
    assert f"{100 * point.relative_overhead:+.2f} %" in words
    # The same sentence that a solve for that budget ends with.
    verdict = result_at(front, point).explanation
    assert shown.text("#verdict").lower() == f"{verdict}.".lower()
    assert shown.page.is_hidden("#trouble")


@each
def test_the_browsers_replay_is_the_simulators(
    shown: Shown, front: ParetoFront
) -> None:
    """Levels, peak, counts and kinds of every point, operation by operation."""
    fixed = front.model.static.total
    replayed = shown.page.evaluate(
        """async (fixed) => {
          const packed = document.getElementById("packed-0").textContent;
          const tables = readTables(await unpack(packed));
          return tables.sequences.map((sequence) => {
            const run = replay(tables, sequence, fixed);
            const all = Array.from(sequence, (_, i) => i);
            return {
              level: [...run.level], counts: [...run.counts], peak: run.peak,
              peakAt: run.peakAt,
              kinds: levelsAt(tables, sequence, all).map((level) => [...level]),
              live: liveAt(tables, sequence, run.peakAt).live.size,
            };
          });
        }""",
        fixed,
    )
    assert len(replayed) == len(front)
    for run, point in zip(replayed, front, strict=True):
        trace = point.trace
        assert run["level"] == trace.live_during.tolist()
        assert run["counts"] == list(trace.computations.values())
        assert (run["peak"], run["peakAt"]) == (trace.peak, trace.peak_index)
        line = timeline_of(trace, front.model)
        kinds = [*line.levels.tolist(), line.transient.tolist()]
        assert run["kinds"] == [list(column) for column in zip(*kinds, strict=True)]
        live = [name for name in trace.live_at_peak if not name.startswith("transient")]
        assert run["live"] == len(live)


@each
def test_a_points_document_is_the_librarys(shown: Shown, front: ParetoFront) -> None:
    """Byte by byte, whatever the names and however large the numbers."""
    for index in (0, len(front) - 1):
        shown.page.locator("#budget").press("Home" if index == 0 else "End")
        shown.wait(index)
        text = downloaded(shown)
        expected = result_at(front, front.points[index])
        assert text == ck.to_json(expected)
        assert ck.from_json(text) == expected


@each
def test_the_slider_chooses_points(shown: Shown, front: ParetoFront) -> None:
    """From one end to the other with the keys that sliders have."""
    slider = shown.page.locator("#budget")
    slider.press("Home")
    agrees(shown, front, 0)
    slider.press("ArrowRight")
    agrees(shown, front, 1)
    slider.press("End")
    agrees(shown, front, len(front) - 1)
    slider.fill(str(len(front) // 2))
    agrees(shown, front, len(front) // 2)
    assert format_bytes(front.points[len(front) // 2].peak) in shown.text("#answer")


def test_arrow_keys_move_without_the_slider(shown: Shown) -> None:
    """Whoever has just opened the page need not look for it."""
    front = FRONTS["small"]
    for key, index in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2)):
        shown.page.keyboard.press(key)
        agrees(shown, front, index)
    for key, index in (("ArrowLeft", 1), ("End", len(front) - 1)):
        shown.page.keyboard.press(key)
        agrees(shown, front, index)


def test_a_click_on_the_curve_chooses_its_point(shown: Shown) -> None:
    """Where the point is drawn."""
    front = FRONTS["small"]
    shown.page.keyboard.press("End")
    agrees(shown, front, len(front) - 1)
    shown.page.locator("#name").scroll_into_view_if_needed()
    at = shown.page.evaluate(
        """() => {
          const plot = document.getElementById("front"), layout = plot._fullLayout;
          const box = plot.querySelector(".nsewdrag").getBoundingClientRect();
          const [x, y] = [plot.data[0].x[3], plot.data[0].y[3]];
          return [box.left + layout.xaxis.d2p(x), box.top + layout.yaxis.d2p(y)];
        }"""
    )
    shown.page.mouse.move(*at)
    shown.page.mouse.click(*at)
    agrees(shown, front, 3)


def test_named_budgets_have_buttons(windows: Windows) -> None:
    """The first one is shown first; what nothing fits cannot be pressed."""
    front = FRONTS["real"]
    shown = windows("fresh", lambda: text_of("real"))
    place = {id(point): k for k, point in enumerate(front.points)}
    agrees(shown, front, place[id(front.at("95%"))])
    shown.page.get_by_role("button", name="knee").click()
    agrees(shown, front, place[id(front.knee)])
    button = shown.page.get_by_role("button", name="nothing fits")
    assert button.is_disabled()
    within = shown.page.get_by_role("button", name="within 95%")
    assert within.get_attribute("aria-pressed") == "false"
    within.click()
    agrees(shown, front, place[id(front.at("95%"))])
    assert within.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("shown", ["real"], indirect=True)
def test_baselines_stand_beside_the_optimum(shown: Shown, front: ParetoFront) -> None:
    """With what the optimum costs at their own peak."""
    trace = again(front)
    cells = shown.page.locator("#baselines tbody tr:last-child > *").all_inner_texts()
    there = front.at(trace.peak)
    assert cells[0] == "all again"
    assert cells[1] == format_bytes(trace.peak)
    base = front.model.base_time
    assert cells[3] == f"{100 * (trace.makespan - base) / base:+.2f} %"
    assert cells[4] == f"{100 * there.relative_overhead:+.2f} %"
    assert cells[5] == str(sum(trace.recomputations.values()))


def test_what_lives_at_the_peak_adds_up(shown: Shown) -> None:
    """To the peak."""
    front = FRONTS["small"]
    shown.page.locator("#budget").press("Home")
    shown.wait(0)
    rows = shown.page.locator("#live tbody tr").all()
    sizes = [
        int(row.locator("td").first.inner_text().removesuffix(" B")) for row in rows
    ]
    assert sizes[-1] == sum(sizes[:-1]) == front.minimum.peak
    again = shown.text("#again-sum")
    assert again.startswith(f"{front.minimum.recomputations} recomputations")


def test_the_axis_can_be_operations(shown: Shown) -> None:
    """Where frees have their place, too."""
    title = "document.getElementById('memory').layout.xaxis.title.text"
    assert shown.page.evaluate(title) == "time (step)"
    shown.page.get_by_role("radio", name="operations").check()
    shown.page.wait_for_timeout(200)
    assert shown.page.evaluate(title) == "operation"
    shown.page.get_by_role("radio", name="time").check()


def test_a_part_of_the_schedule_can_be_looked_at(shown: Shown) -> None:
    """Drag across the memory; double-click to see all again."""
    ends = "document.getElementById('memory').layout.xaxis.range"
    whole = shown.page.evaluate(ends)
    plot = shown.page.locator("#memory .nsewdrag")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    shown.page.mouse.move(box["x"] + box["width"] / 4, y)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + box["width"] / 2, y, steps=5)
    shown.page.mouse.up()
    shown.page.wait_for_timeout(300)
    part = shown.page.evaluate(ends)
    assert part[1] - part[0] == pytest.approx((whole[1] - whole[0]) / 4, rel=0.05)
    shown.page.wait_for_timeout(500)
    plot.dblclick()
    shown.page.wait_for_timeout(300)
    assert shown.page.evaluate(ends) == whole


def test_the_schedule_is_told_under_the_pointer(shown: Shown) -> None:
    """Operation, stage and bytes."""
    canvas = shown.page.locator("#schedule")
    canvas.hover(position={"x": 80, "y": 20})
    words = shown.text("#pointed")
    assert re.match(r"Operation \d+ at .*: the forward of stage 1; \d+ B live\.", words)


@pytest.mark.parametrize("shown", ["hostile"], indirect=True)
def test_names_from_the_model_run_no_script(shown: Shown) -> None:
    """They are shown as they were written."""
    assert shown.text("#name") == HOSTILE[0]
    assert shown.page.title().startswith(HOSTILE[0])
    assert shown.page.locator("img").count() == 0
    assert shown.page.evaluate("typeof window.broken") == "undefined"
    assert HOSTILE[1] in shown.text("#baselines")


def test_models_share_a_page(windows: Windows) -> None:
    """And are chosen by name."""
    fronts = [FRONTS["small"], FRONTS["real"]]
    shown = windows("both", lambda: render_all([Subject(front=f) for f in fronts]))
    assert shown.text("#name") == fronts[0].model.name
    shown.page.select_option("#model", label=fronts[1].model.name)
    shown.page.locator("h1", has_text=fronts[1].model.name).wait_for()
    shown.page.locator("#budget").press("End")
    agrees(shown, fronts[1], len(fronts[1]) - 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_without_scrolling_sideways(
    browser: "Browser", tmp_path: Path, scheme: Any
) -> None:
    """390 pixels, light and dark."""
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, color_scheme=scheme, has_touch=True
    )
    window = Shown(context.new_page())
    path = tmp_path / "report.html"
    path.write_text(text_of("real"), "utf-8")
    window.open(path)
    width = window.page.evaluate("document.documentElement.scrollWidth")
    colour = window.page.evaluate("getComputedStyle(document.body).backgroundColor")
    context.close()
    assert width == 390
    assert (colour == "rgb(255, 255, 255)") == (scheme == "light")
    window.complains_about_nothing()


def test_numbers_are_worded_as_everywhere(shown: Shown) -> None:
    """The page has functions of its own for that: they agree with ours."""
    numbers = [0, 1, 999, 1023, 1024, 1536, 10**6, 2**20 - 1, 2**30, 7 * 10**9, 2**52]
    sizes = shown.page.evaluate(
        "(ns) => ns.map((n) => formatBytes(String(n)))", numbers
    )
    assert sizes == [format_bytes(number) for number in numbers]
    for unit in ("ns", "flop"):
        times = shown.page.evaluate(
            "([ns, unit]) => ns.map((n) => formatTime(String(n), unit))",
            [numbers, unit],
        )
        assert times == [format_time(number, unit) for number in numbers]
