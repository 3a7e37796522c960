"""The matrix of a head: what a cell says is the record's number, near and from afar."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator

from browser.pages import PAGES, Shown, hundredths
from regard.record import Record

HEADS = 12
LAYER, HEAD = 3, 1


@pytest.fixture(scope="module")
def record() -> Record:
    return PAGES["sentence"]()


def canvas(shown: Shown) -> Locator:
    return shown.view("matrix").locator("canvas").first


def readout(shown: Shown) -> str:
    return shown.view("matrix").locator("[data-readout]").inner_text()


def wrapper(shown: Shown) -> Locator:
    return shown.view("matrix").locator("[role=application]")


def walk(shown: Shown, row: int, column: int) -> None:
    """Go to a cell with the arrow keys, from the first."""
    for _ in range(12):
        shown.page.keyboard.press("ArrowUp")
        shown.page.keyboard.press("ArrowLeft")
    for _ in range(row):
        shown.page.keyboard.press("ArrowDown")
    for _ in range(column):
        shown.page.keyboard.press("ArrowRight")
    shown.settle()


def test_cells_say_their_numbers(show: Callable[..., Shown], record: Record) -> None:
    shown = show("sentence")
    shown.choose_head(LAYER * HEADS + HEAD)
    wrapper(shown).focus()
    names = record.sides[0].names
    for row, column in ((7, 2), (0, 0), (10, 9)):
        walk(shown, row, column)
        said = readout(shown)
        weight = record.weights(LAYER, row).weights[HEAD, column]
        assert names[row] in said
        assert names[column] in said
        assert hundredths(weight) in said


def test_pointing_and_choosing(show: Callable[..., Shown], record: Record) -> None:
    """The cell under the pointer is told; a click holds its reader and draws its lines."""
    shown = show("sentence")
    shown.let_go()
    shown.choose_head(LAYER * HEADS + HEAD)
    box = canvas(shown).bounding_box()
    assert box is not None
    place = {"x": 0.9 * box["width"], "y": 0.9 * box["height"]}
    canvas(shown).hover(position=place)
    shown.settle()
    said = readout(shown)
    assert record.sides[0].names[10] in said or record.sides[0].names[9] in said
    canvas(shown).click(position=place)
    shown.settle()
    held = shown.view("sentence").locator("[role=option][aria-selected=true]")
    assert held.count() == 1
    assert record.sides[0].names[int(held.get_attribute("data-unit") or -1)] in said


def test_another_head_is_painted(show: Callable[..., Shown]) -> None:
    shown = show("sentence")
    seen = set()
    for head in (0, 37, 50):
        shown.choose_head(head)
        shown.page.wait_for_timeout(50)
        seen.add(canvas(shown).evaluate("canvas => canvas.toDataURL()"))
    shown.switch("log")
    shown.page.wait_for_timeout(50)
    seen.add(canvas(shown).evaluate("canvas => canvas.toDataURL()"))
    assert len(seen) == 4


def test_zoom(show: Callable[..., Shown]) -> None:
    """From all of a long text to single cells and back."""
    shown = show("long")
    before = canvas(shown).evaluate("canvas => canvas.toDataURL()")
    larger = shown.view("matrix").get_by_role("button", name="larger cells")
    for _ in range(5):
        larger.click()
    shown.page.wait_for_timeout(100)
    near = canvas(shown).evaluate("canvas => canvas.toDataURL()")
    assert near != before
    shown.view("matrix").get_by_role("button", name="whole matrix").click()
    shown.page.wait_for_timeout(100)
    assert canvas(shown).evaluate("canvas => canvas.toDataURL()") == before


def test_unseen_is_not_zero(show: Callable[..., Shown]) -> None:
    shown = show("pieces")
    wrapper(shown).focus()
    walk(shown, 0, 2)
    assert "may not see" in readout(shown)
    assert "may not be seen" in shown.view("matrix").inner_text()
