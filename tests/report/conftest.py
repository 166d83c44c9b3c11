"""A headless browser that the page is opened in, where there is one."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Shown:
    """A page that is open, and what went wrong in it."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self._note(message))
        page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def open(self, path: Path) -> None:
        """Open a file and wait until all is drawn."""
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-shown]", state="attached")

    def wait(self, point: int) -> None:
        """Wait until a point is drawn."""
        self.page.wait_for_selector(f'html[data-shown="{point}"]', state="attached")

    def complains_about_nothing(self) -> None:
        """Check that no script failed and nothing was asked from anywhere."""
        assert self.errors == []
        local = ("file:", "blob:", "data:")
        assert [url for url in self.requests if not url.startswith(local)] == []

    def text(self, selector: str) -> str:
        """Return what a reader sees of an element."""
        return self.page.inner_text(selector)


Windows: TypeAlias = Callable[[str, Callable[[], str]], Shown]
"""Opens the page of a text under a name, or returns the one that is open."""


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Start Chromium, or skip with the reason."""
    pytest.importorskip("plotly", reason="needs ckschedule[report]")
    driver = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    program = next((path for p in PROGRAMS if (path := shutil.which(p))), None)
    if program is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with driver.sync_playwright() as playwright:
        # Tests run as root in containers, where Chromium's sandbox does not start.
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def windows(
    browser: "Browser", tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Windows]:
    """Open each page once for all tests of a module: plotly takes its time to start."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    open_: dict[str, Shown] = {}

    def window(name: str, text: Callable[[], str]) -> Shown:
        if name not in open_:
            path = tmp_path_factory.mktemp("pages") / f"{name}.html"
            path.write_text(text(), "utf-8")
            open_[name] = Shown(context.new_page())
            open_[name].open(path)
        # Chromium draws what is in front.
        open_[name].page.bring_to_front()
        return open_[name]

    yield window
    for shown in open_.values():
        shown.complains_about_nothing()
    context.close()
