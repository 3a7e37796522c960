"""What a notebook shows of a record and of steps."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import regard
from records import record_of
from regard.record import Record
from regard.views.page import notebook, record_in_notebook
from unpacked import unpacked


class Frames(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.tags: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "iframe":
            self.found.append(dict(attrs))


def test_a_record_is_a_frame_of_its_own_that_may_run_its_script_and_save_files() -> None:
    record = regard.capture('A <b>dog</b> said "it\'s me"')
    html = record._repr_html_()
    assert len(html) < 3_000_000
    frames = Frames(html)
    assert frames.tags == ["iframe"]
    (frame,) = frames.found
    assert frame["sandbox"] == "allow-scripts allow-downloads"
    assert frame["title"] == 'A <b>dog</b> said "it\'s me"'
    assert frame["width"] == "100%"
    page = frame["srcdoc"] or ""
    assert unpacked(page)["plan"]["budget"] == 2_000_000
    assert len(page.encode("utf-8")) <= 2_000_000


def test_steps_are_a_frame_too() -> None:
    steps = regard.steps([[1.0, 2]], [[1.0, 2]], [[1.0, 2]], words=["a"])
    (frame,) = Frames(steps._repr_html_()).found
    assert unpacked(frame["srcdoc"] or "")["books"][0]["kind"] == "steps"


def test_a_page_is_shown_unless_it_is_in_a_file(tmp_path: Path) -> None:
    record = record_of("a", "b")
    shown = record.page()._repr_html_()
    assert shown is not None
    assert shown.startswith("<iframe ")
    assert record.page(tmp_path / "page.html")._repr_html_() is None


def test_what_is_long_says_how_to_write_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of("a", "b")
    monkeypatch.setattr(notebook, "MOST_CELLS", 3)
    html = record_in_notebook(record)
    assert "iframe" not in html
    assert "record.page(&quot;record.html&quot;)" in html
    long = np.ones((700, 2))
    said = regard.steps(long, long, long)._repr_html_()
    assert "steps.page(&quot;steps.html&quot;)" in said


def test_no_record_is_too_odd() -> None:
    for record in (
        Record((), (), {}),
        record_of(),
        record_of("[CLS]"),
        record_of(*["<" * 1000] * 50),
        record_of(*(f"w{i}" * 50 for i in range(400)), layers=2, kind="decoder"),
    ):
        assert record._repr_html_()
