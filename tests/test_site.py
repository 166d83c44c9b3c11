"""The documentation site: built strictly, whole in itself, with links that lead."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow

ASSETS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
}
LINKED_ASSETS = {"stylesheet", "preload", "prefetch", "preconnect", "icon", "manifest"}


class Page(HTMLParser):
    """What a page loads, where it links to, and where links can arrive."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.assets: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and LINKED_ASSETS & set(found.get("rel", "").split()):
            self.assets.append(found.get("href", ""))
        if ASSETS.get(tag, "") in found:
            self.assets.append(found[ASSETS[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built where no network can be reached."""
    for package in ("mkdocs", "material", "mkdocstrings_handlers.python"):
        pytest.importorskip(package, reason="install ckschedule[docs]")
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    built = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **nowhere},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_no_page_loads_anything_from_elsewhere(pages: dict[Path, Page]) -> None:
    """Documentation is read on machines without a network, and tells nobody of it."""
    for path, page in pages.items():
        foreign = [asset for asset in page.assets if urlsplit(asset).netloc]
        assert not foreign, f"{path.name} loads {foreign}"


def test_no_style_loads_anything_from_elsewhere(site: Path) -> None:
    """Fonts and pictures hide in style sheets."""
    for path in site.rglob("*.css"):
        loaded = re.findall(
            r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")]+)",
            path.read_text(encoding="utf-8"),
        )
        assert not loaded, f"{path.name} loads {loaded}"


def test_every_link_within_the_site_leads_somewhere(
    site: Path, pages: dict[Path, Page]
) -> None:
    """To a file that is there, and to a place in it that is there."""
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links begin at the root of a server
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve()
            if not parts.path or parts.path == ".":
                target = path if not parts.path else site / "index.html"
            if target.is_dir():
                target /= "index.html"
            place = unquote(parts.fragment)
            if not target.exists() or (
                place and target in pages and place not in pages[target].anchors
            ):
                broken.append(f"{path.relative_to(site)} -> {link}")
    assert not broken


def test_the_site_has_the_schema_of_the_package(site: Path) -> None:
    """The file that tools are pointed to is the one that a test compares."""
    package = ROOT / "src" / "ckschedule" / "documents" / "schema.json"
    assert (site / "reference" / "schema.json").read_bytes() == package.read_bytes()


def test_every_command_is_on_the_page_of_the_command_line(site: Path) -> None:
    """It is made from the program when the site is built."""
    import typer

    from ckschedule.cli.app import app

    text = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    names = group.list_commands(typer.Context(group))  # type: ignore[attr-defined]  # it is a group
    assert names
    assert [name for name in names if f'id="ckschedule-{name}"' not in text] == []


def test_every_kind_of_document_is_described(site: Path) -> None:
    """Likewise, from the schema."""
    from ckschedule.documents import json_schema

    text = (site / "reference" / "json-documents.html").read_text(encoding="utf-8")
    for kind in json_schema()["discriminator"]["mapping"]:
        assert f'id="{kind}"' in text
