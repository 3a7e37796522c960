"""Where no script runs, in a mail's preview or an untrusted notebook: a picture and a table."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser.opening import axe
from browser.pages import PAGES, SENTENCE


@pytest.fixture
def still(open_page: Callable[..., Page], page_file: Callable[[str], Path]) -> Callable[..., Page]:
    return lambda name, **settings: open_page(page_file(name), javascript=False, **settings)


@pytest.mark.parametrize("name", PAGES)
def test_something_shows(still: Callable[..., Page], name: str) -> None:
    page = still(name, width=360, height=740)
    assert page.locator("h1").is_visible()
    table = page.locator("main table").first
    assert table.is_visible()
    assert re.search(r"\d", table.inner_text())
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(wide)


def test_the_same_record(still: Callable[..., Page]) -> None:
    page = still("sentence")
    assert SENTENCE in page.locator("h1").inner_text()
    links = page.locator("main table tbody tr").all_inner_texts()
    assert links
    record = PAGES["sentence"]()
    names = record.sides[0].names
    for line in links:
        reader, key = (names.index(name) for name in re.findall(r"([^\s\t]+)", line)[0:3:2])
        weight, label = re.search(r"(\.\d\d|1\.00)", line), re.search(r"L(\d)H(\d+)", line)
        assert weight
        assert label
        layer, head = int(label[1]), int(label[2])
        exact = record.weights(layer, reader).weights[head, key]
        assert weight[1] == f"{exact:.2f}".removeprefix("0")


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_readable_by_all(
    open_page: Callable[..., Page],
    page_file: Callable[[str], Path],
    tmp_path: Path,
    color_scheme: str,
) -> None:
    """Of the page with its script taken out, since axe-core needs scripts itself."""
    html = page_file("sentence").read_text(encoding="utf-8")
    (tmp_path / "still.html").write_text(
        re.sub(r"<script(?! type=)>.*?</script>", "", html, flags=re.DOTALL), encoding="utf-8"
    )
    page = open_page(tmp_path / "still.html", color_scheme=color_scheme)
    assert page.locator("main table").first.is_visible()
    assert axe(page) == []
