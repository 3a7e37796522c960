"""Several pages in one notebook: each in a frame of its own, and none in another's way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Frame, Page

from browser.opening import axe
from browser.pages import PAGES

READY = "html[data-ready='1']"


def notebook(folder: Path, *names: str) -> Path:
    """What a notebook makes of cells that end in these."""
    cells = "".join(f"<div>{PAGES[name]()._repr_html_()}</div>" for name in names)
    file = folder / "notebook.html"
    file.write_text(
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>A notebook</title></head>"
        f"<body><main><h1>A notebook</h1>{cells}</main></body></html>",
        encoding="utf-8",
    )
    return file


def frames(page: Page) -> list[Frame]:
    found = page.frames[1:]
    for frame in found:
        frame.wait_for_selector(READY)
    return found


def test_two_of_one_record_and_steps(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(notebook(tmp_path, "sentence", "sentence", "pencil"))
    first, second, steps = frames(page)
    lines = "section[data-view=sentence] svg [data-from='2']"
    first.locator("[role=option][data-side=readers][data-unit='2']").click()
    first.wait_for_selector(lines, state="attached")
    assert second.locator(lines).count() == 0
    assert "good" in steps.locator("section[data-view=steps]").inner_text()
    # Each frame is a document, whose landmarks need differ from its own alone.
    assert [line for line in axe(page) if not line.startswith("landmark-unique")] == []


def test_small_enough_to_be_saved_with_the_notebook(tmp_path: Path) -> None:
    for name in ("sentence", "largest", "pencil"):
        assert len(PAGES[name]()._repr_html_().encode()) < 2_500_000


def test_a_frame_reaches_nothing_of_the_notebook(
    tmp_path: Path, open_page: Callable[..., Page]
) -> None:
    page = open_page(notebook(tmp_path, "pencil"))
    (frame,) = frames(page)
    reached = frame.evaluate("() => { try { return !!parent.document } catch { return false } }")
    assert reached is False
