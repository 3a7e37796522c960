"""Pointing at words and holding them: the lines are the record's weights, and no others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from browser.pages import PAGES, Shown, hundredths
from regard.record import Record

LEAST = 0.005
"""Below it a line's number would be .00, and none is drawn."""
NEAR = 1 / 65534
"""A page may keep a weight in 16 bits."""
HEADS = 12


def rows_of(record: Record, layer: int, head: int) -> np.ndarray:
    """Whom each word reads, (words, words)."""
    words = len(record.sides[0].words)
    return np.stack([record.weights(layer, word).weights[head] for word in range(words)])


def seen(rows: np.ndarray, *readers: int) -> dict[tuple[int, int], float]:
    """The lines that these readers should have."""
    return {
        (reader, key): pytest.approx(rows[reader, key], abs=NEAR)
        for reader in readers
        for key in np.flatnonzero(rows[reader] >= LEAST)
    }


@pytest.fixture(scope="module")
def record() -> Record:
    return PAGES["sentence"]()


@pytest.mark.parametrize(("layer", "head"), [(3, 1), (0, 0), (5, 11)])
def test_pointing_at_a_reader(
    show: Callable[..., Shown], record: Record, layer: int, head: int
) -> None:
    shown = show("sentence")
    shown.let_go()
    shown.choose_head(layer * HEADS + head)
    rows = rows_of(record, layer, head)
    for reader in (7, 1, 10):
        shown.point(reader)
        assert shown.lines() == seen(rows, reader)
        for key, weight in enumerate(rows[reader]):
            assert shown.beside(key) == (hundredths(weight) if weight >= LEAST else "")


def test_pointing_at_a_key(show: Callable[..., Shown], record: Record) -> None:
    shown = show("sentence")
    shown.let_go()
    shown.choose_head(3 * HEADS + 1)
    rows = rows_of(record, 3, 1)
    for key in (2, 0):
        shown.point(key, "keys")
        readers = np.flatnonzero(rows[:, key] >= LEAST)
        assert shown.lines() == {
            (reader, key): pytest.approx(rows[reader, key], abs=NEAR) for reader in readers
        }


def test_a_click_holds_and_shift_adds(show: Callable[..., Shown], record: Record) -> None:
    shown = show("sentence")
    shown.let_go()
    assert shown.lines() == {}
    shown.choose_head(3 * HEADS + 1)
    rows = rows_of(record, 3, 1)
    shown.hold(7)
    shown.point(3)
    assert shown.lines() == seen(rows, 7)
    assert shown.word(7).get_attribute("aria-selected") == "true"
    shown.hold(3, more=True)
    assert shown.lines() == seen(rows, 7, 3)
    shown.hold(3, more=True)
    assert shown.lines() == seen(rows, 7)
    shown.hold(2)
    assert shown.lines() == seen(rows, 2)
    shown.let_go()
    assert shown.lines() == {}


def test_one_head_then_another(show: Callable[..., Shown], record: Record) -> None:
    """The lines of a held word follow the chosen head; several heads are their mean, and say so."""
    shown = show("sentence")
    shown.let_go()
    shown.hold(7)
    for layer, head in ((2, 5), (4, 0)):
        shown.choose_head(layer * HEADS + head)
        assert shown.lines() == seen(rows_of(record, layer, head), 7)
    shown.choose_head(2 * HEADS + 5, more=True)
    mean = (rows_of(record, 2, 5) + rows_of(record, 4, 0)) / 2
    assert shown.lines() == seen(mean, 7)
    assert "mean of 2 heads" in shown.view("sentence").inner_text().lower()


def test_the_page_begins_with_its_strongest_link(show: Callable[..., Shown]) -> None:
    shown = show("sentence")
    assert shown.lines()
    assert shown.view("heads").locator("[data-head][aria-pressed=true]").count() == 1


def test_only_the_largest_are_known(show: Callable[..., Shown]) -> None:
    """Where a record holds the largest weights alone, there are lines for those and no others."""
    shown = show("largest")
    shown.let_go()
    record = PAGES["largest"]()
    row = record.weights(0, 5)
    shown.choose_head(2)
    shown.point(5)
    known = {(5, key): pytest.approx(row.weights[2, key], abs=NEAR)
             for key in np.flatnonzero(row.weights[2] >= LEAST)}  # fmt: skip
    assert shown.lines() == known
    assert not row.exact
    key = int(row.weights[2].argmax())
    assert shown.beside(key) == hundredths(row.weights[2, key], bound=not row.exact)


def test_unseen_words_are_told_apart(show: Callable[..., Shown]) -> None:
    shown = show("pieces")
    shown.let_go()
    shown.point(2)
    classes = [shown.word(key, "keys").get_attribute("class") for key in range(4)]
    assert ["unseen" in (name or "") for name in classes] == [False, False, False, True]


def test_two_texts(show: Callable[..., Shown]) -> None:
    shown = show("cross")
    record = PAGES["cross"]()
    shown.let_go()
    shown.choose_head(1)
    shown.point(1)
    row = record.weights(0, 1).weights[1]
    assert shown.lines() == {(1, key): pytest.approx(row[key], abs=NEAR)
                             for key in np.flatnonzero(row >= LEAST)}  # fmt: skip
    assert shown.word(1).inner_text().split() == ["cat"]
    assert shown.word(1, "keys").inner_text().split()[0] == "chat"


def test_a_long_text_is_drawn_where_it_is_seen(show: Callable[..., Shown]) -> None:
    shown = show("long")
    record = PAGES["long"]()
    options = shown.view("sentence").locator("[role=option]")
    assert 10 < options.count() < 150 < len(record.sides[0].words)
    shown.view("sentence").locator(".scroller").evaluate("box => box.scrollTop = box.scrollHeight")
    last = len(record.sides[0].words) - 1
    shown.word(last).wait_for()
    assert options.count() < 150
    shown.let_go()
    shown.choose_head(5)
    shown.point(last)
    row = record.weights(1, last).weights[1]
    lines = shown.lines()
    assert lines
    assert lines == {link: pytest.approx(row[link[1]], abs=NEAR) for link in lines}
    assert lines.keys() >= {
        (last, key) for key in range(last - 10, last) if row[key] >= LEAST and row[key] in _top(row)
    }


def _top(row: np.ndarray) -> np.ndarray:
    """As many weights of a row as are drawn at most."""
    return np.sort(row)[-64:]


def test_search(show: Callable[..., Shown]) -> None:
    shown = show("long")
    shown.let_go()
    field = shown.page.locator("input[name=search]")
    field.fill("word59")
    found = [unit for unit, word in enumerate(PAGES["long"]().sides[0].words)
             if word.text == "word59"]  # fmt: skip
    assert len(found) == 4
    count = shown.view("sentence").locator("[data-count]")
    assert count.inner_text() == "4 matches"
    for place, unit in enumerate(found):
        field.press("Enter")
        shown.settle()
        assert count.inner_text() == f"{place + 1} of 4"
        assert shown.word(unit).is_visible()
        assert "found" in (shown.word(unit).get_attribute("class") or "")
    field.press("Enter")
    assert count.inner_text() == "1 of 4"
    field.fill("nowhere")
    assert count.inner_text() == "not found"
    field.fill("")
    assert count.inner_text() == ""


def test_strongest_partners_in_turn(show: Callable[..., Shown], record: Record) -> None:
    shown = show("sentence")
    shown.let_go()
    shown.choose_head(3 * HEADS + 1)
    shown.hold(7)
    shown.hears("reads")
    row = rows_of(record, 3, 1)[7]
    onward = shown.view("sentence").get_by_role("button", name="Strongest")
    names = record.sides[0].names
    for key in np.argsort(-row)[:3]:
        onward.click()
        shown.settle()
        assert "target" in (shown.word(int(key), "keys").get_attribute("class") or "")
        shown.hears(f"{names[key]}, {hundredths(row[key])}")
