"""Whatever a word is, it is text: shown, in its place, and nothing else."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page

from browser import hostile
from browser.opening import axe
from browser.pages import Shown
from regard.views.cells import clean

ROOM = 40
"""Characters of a word in a column."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("hostile")
    made = {"labels": hostile.labels(), "text": hostile.text()}
    for name, record in made.items():
        record.page(folder / f"{name}.html")
    (folder / "frame.html").write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>A notebook</title>"
        f"<body><main><h1>A notebook</h1>{made['labels']._repr_html_()}</main></html>",
        encoding="utf-8",
    )
    return {name: folder / f"{name}.html" for name in (*made, "frame")}


def whole(page: Page) -> None:
    """The page is as it should be, and nothing that a word says has been done."""
    assert page.evaluate("window.__broken") is None
    for frame in page.frames:
        assert frame.evaluate("window.__broken") is None
    assert page.evaluate("document.querySelectorAll('main').length") == 1
    assert page.evaluate("document.querySelectorAll('style').length") <= 1
    assert page.evaluate("document.querySelectorAll('script:not([type])').length") <= 1
    assert page.evaluate("document.querySelectorAll('main iframe:not([sandbox])').length") == 0
    assert page.evaluate("document.querySelectorAll('[onerror], [onload]').length") == 0
    assert not Shown(page).scrolls_sideways()


def opened(open_page: Callable[..., Page], file: Path, **settings: object) -> Shown:
    page = open_page(file, **settings)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.wait_for_selector("html[data-ready='1']")
    return Shown(page)


@pytest.mark.parametrize("name", ["labels", "text"])
@pytest.mark.parametrize("width", [1280, 360])
def test_inert(
    open_page: Callable[..., Page], files: dict[str, Path], name: str, width: int
) -> None:
    shown = opened(open_page, files[name], width=width, height=740)
    whole(shown.page)
    for unit in (0, 5, 7):
        shown.reveal(unit)
        shown.hold(unit)
        shown.page.wait_for_timeout(300)  # it is spoken a little later
        whole(shown.page)
    shown.switch("direction", "readBy")
    shown.page.locator("input[name=search]").fill("<img")
    for step in (1, 2, 3, 4):
        shown.open_step(step)
        whole(shown.page)


def test_readable_by_all(open_page: Callable[..., Page], files: dict[str, Path]) -> None:
    assert axe(opened(open_page, files["labels"]).page) == []


def test_shown_as_text_and_in_line(open_page: Callable[..., Page], files: dict[str, Path]) -> None:
    """Each word stands where it should, on both sides at one height, isolated from the others."""
    shown = opened(open_page, files["labels"])
    height = shown.view("sentence").get_by_role("option").first.bounding_box()["height"]
    for unit, word in enumerate(hostile.WORDS):
        shown.reveal(unit)
        left, right = (shown.word(unit, side) for side in ("readers", "keys"))
        says = left.locator("bdi").first.text_content() or ""
        expected = clean(word)
        if not expected.strip():
            assert says.strip()  # something stands for what cannot be seen
        elif says.endswith("…"):
            assert expected.startswith(says[:-1])
            assert len(says) > 10
        else:
            assert says == expected
        one, other = left.bounding_box(), right.bounding_box()
        assert one is not None
        assert other is not None
        assert (one["y"], one["height"]) == (other["y"], other["height"])
        assert one["height"] == pytest.approx(height, abs=0.5)
        assert (
            left.locator("bdi")
            .first.evaluate("word => getComputedStyle(word).unicodeBidi")
            .startswith("isolate")
        )


def test_without_scripts(open_page: Callable[..., Page], files: dict[str, Path]) -> None:
    for name in ("labels", "text"):
        page = open_page(files[name], javascript=False, width=360)
        assert page.locator("h1").is_visible()
        assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
        assert not Shown(page).scrolls_sideways()


def test_in_a_notebook(open_page: Callable[..., Page], files: dict[str, Path]) -> None:
    page = open_page(files["frame"])
    page.frames[1].wait_for_selector("html[data-ready='1']")
    assert len(page.frames) == 2
    whole(page)


@pytest.mark.parametrize("what", ["svg", "csv"])
def test_taken_along(open_page: Callable[..., Page], files: dict[str, Path], what: str) -> None:
    shown = opened(open_page, files["labels"])
    shown.let_go()
    with shown.page.expect_download() as waiting:
        shown.page.locator(f"button[data-export={what}]").click()
    data = Path(waiting.value.path()).read_bytes()
    assert "/" not in waiting.value.suggested_filename
    if what == "svg":
        tree = ElementTree.fromstring(data)
        tags = {one.tag.rpartition("}")[2] for one in tree.iter()}
        assert not tags & {"script", "img", "image", "iframe", "foreignObject", "style", "a"}
    else:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
        assert len({len(row) for row in rows}) == 1
        # What a spreadsheet would work out is made text.
        assert not any(cell.startswith("=") for row in rows for cell in row)
