"""The page is one text that holds all it needs and nothing it was not given."""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from report.models import HOSTILE, hostile, real, small

import ckschedule as ck
from ckschedule.errors import (
    InvalidBudgetError,
    InvalidScheduleError,
    MissingDependencyError,
)
from ckschedule.report import Subject, page, render, render_all, result_at
from ckschedule.report.subject import packed, points_shown

pytest.importorskip("plotly", reason="needs ckschedule[report]")


class Tags(HTMLParser):
    """All tags of a page with their attributes, and the texts of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and self.cdata_elem:
            self.scripts[-1] += data


def facts(text: str) -> list[dict[str, object]]:
    match = re.search(r'id="facts">(.*?)</script>', text, re.DOTALL)
    assert match is not None
    found: list[dict[str, object]] = json.loads(match[1])
    return found


def test_nothing_is_loaded_from_anywhere() -> None:
    """No address, and a policy that forbids every request."""
    text = render(small())
    for tag, attributes in Tags(text).tags:
        assert "src" not in attributes, tag
        assert attributes.get("href", "#")[0] == "#", tag  # type: ignore[index]
    assert "default-src &#x27;none&#x27;" in text


def test_equal_fronts_give_equal_pages() -> None:
    """No dates and no chance: pages can be compared and versioned."""
    assert render(small(), budgets=["60%"]) == render(small(), budgets=["60%"])


def test_the_page_has_every_point_in_exact_numbers() -> None:
    """As texts: a browser rounds numbers beyond 2**53."""
    front = real()
    (found,) = facts(render(front))
    points = found["points"]
    assert isinstance(points, dict)
    assert points["peak"] == [str(point.peak) for point in front]
    assert points["makespan"] == [str(point.makespan) for point in front]
    assert points["bound"] == [str(point.lower_bound) for point in front]
    assert found["scope"] == front.scope.sentence


def test_every_schedule_is_in_the_page() -> None:
    """Two bytes an operation, before they are packed."""
    front = real()
    data = zlib.decompress(base64.b64decode(packed(Subject(front=front), range(3))))
    length = int.from_bytes(data[:4], "little")
    tables = json.loads(data[4 : 4 + length])
    codes = np.array(tables["table"])[np.frombuffer(data[4 + length :], "<u2")]
    expected = np.concatenate([point.codes for point in front.points[:3]])
    assert codes.tolist() == expected.tolist()


def test_names_from_the_model_are_no_html() -> None:
    """A model may come from anybody: it adds no tag and no script to the page."""
    front = hostile()
    plain, named = Tags(render(small())), Tags(render(front, budgets=["60%"]))
    assert [tag for tag, _ in named.tags] == [tag for tag, _ in plain.tags]
    assert facts(render(front))[0]["name"] == HOSTILE[0]


def test_a_title_is_no_html_either() -> None:
    """Nor are labels of budgets and names of baselines."""
    front = small()
    trace = front.fastest.trace
    text = render(front, baselines={HOSTILE[1]: trace}, title=HOSTILE[0])
    tags = [tag for tag, _ in Tags(text).tags]
    assert tags == [tag for tag, _ in Tags(render(front)).tags]


def test_scripts_run_only_if_they_are_ours() -> None:
    """The policy names the hash of the page's script as it stands there."""
    text = render(small())
    (script,) = [s for s in Tags(text).scripts if s.startswith('"use strict"')]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"sha256-{digest}" in text
    assert "unsafe-eval" not in text
    assert "script-src &#x27;unsafe-inline" not in text


def test_controls_have_names() -> None:
    """For those who hear the page: every field has its label."""
    tags = Tags(render(small())).tags
    labels = {a.get("for") for tag, a in tags if tag == "label"}
    for tag, attributes in tags:
        if tag == "select" or (tag == "input" and attributes["type"] == "range"):
            assert attributes["id"] in labels
        if tag in ("figure", "canvas") and "id" in attributes:
            assert attributes["aria-label"]


def test_a_point_is_the_result_of_its_own_budget() -> None:
    """It equals what solving for that budget returns, but for who answered."""
    front = small()
    for point in front:
        result = result_at(front, point)
        solved = ck.solve(front.model, point.peak)
        assert result.status == solved.status
        assert result.makespan == solved.makespan
        assert ck.from_json(ck.to_json(result)) == result


def test_a_front_too_long_for_a_page_is_thinned_and_keeps_named_points() -> None:
    """The curve has all points in any case."""
    front = real()
    subject = Subject(front=front, budgets=["95%"])
    some = points_shown(subject, most=1_000)
    assert len(some) < len(front)
    names = (front.minimum, front.knee, front.fastest, front.at("95%"))
    for point in names:
        assert any(front.points[k] is point for k in some)
    assert points_shown(subject) == list(range(len(front)))
    assert points_shown(subject, most=1) == sorted(
        {k for k, p in enumerate(front.points) if any(p is q for q in names)}
    )


def test_several_fronts_share_a_page() -> None:
    """And the library, which has most of the bytes."""
    one = render(small())
    both = render_all([Subject(front=small()), Subject(front=real())])
    assert [f["name"] for f in facts(both)] == ["uniform-8", "gpt-6x768"]
    assert len(both) < 1.1 * len(one)


def test_no_front_is_refused() -> None:
    """An empty page would look like a result."""
    with pytest.raises(ValueError, match="no front"):
        render_all([])


def test_a_baseline_of_another_model_is_refused() -> None:
    """Its numbers would mean nothing here."""
    with pytest.raises(InvalidScheduleError, match=r"'theirs'.*'gpt-6x768'"):
        render(small(), baselines={"theirs": real().fastest.trace})


def test_a_budget_that_cannot_be_read_is_refused() -> None:
    """As everywhere."""
    with pytest.raises(InvalidBudgetError):
        render(small(), budgets=["much"])


def test_a_missing_plotly_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page is optional."""
    monkeypatch.setattr(page, "find_spec", lambda name: None)
    with pytest.raises(
        MissingDependencyError, match=r"pip install 'ckschedule\[report\]'"
    ):
        render(small())
