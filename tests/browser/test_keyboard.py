"""Everything without a mouse: by Tab, arrows and a few letters; and what is said aloud."""

from __future__ import annotations

from collections.abc import Callable

from browser.pages import Shown, hundredths


def focused(shown: Shown, attribute: str) -> str | None:
    return shown.page.evaluate("name => document.activeElement.getAttribute(name)", attribute)


def test_words_by_arrow_keys(show: Callable[..., Shown]) -> None:
    shown = show("sentence")
    shown.let_go()
    shown.word(1).focus()
    for key in ("ArrowDown", "ArrowDown", "End", "ArrowUp"):
        shown.page.keyboard.press(key)
    shown.settle()
    assert focused(shown, "data-unit") == "9"
    assert {reader for reader, _ in shown.lines()} == {9}
    shown.page.keyboard.press("ArrowRight")
    shown.settle()
    assert focused(shown, "data-side") == "keys"
    assert {key for _, key in shown.lines()} == {9}


def test_holding_by_enter(show: Callable[..., Shown]) -> None:
    shown = show("sentence")
    shown.let_go()
    shown.word(4).focus()
    shown.page.keyboard.press("Enter")
    shown.settle()
    assert shown.word(4).get_attribute("aria-selected") == "true"
    shown.page.keyboard.press("ArrowDown")
    shown.page.keyboard.press("Shift+Enter")
    shown.settle()
    assert shown.word(5).get_attribute("aria-selected") == "true"
    assert shown.word(4).get_attribute("aria-selected") == "true"
    shown.page.keyboard.press("Escape")
    shown.settle()
    held = shown.view("sentence").locator("[role=option][aria-selected=true]")
    assert held.count() == 0


def test_letters(show: Callable[..., Shown]) -> None:
    shown = show("sentence")
    shown.choose_head(13)
    pressed = shown.view("heads").locator("[data-head][aria-pressed=true]")
    shown.page.keyboard.press("]")
    shown.settle()
    assert pressed.get_attribute("data-head") == "14"
    shown.hears("L1H2")
    shown.page.keyboard.press("[")
    shown.settle()
    assert pressed.get_attribute("data-head") == "13"
    shown.page.keyboard.press("/")
    assert focused(shown, "name") == "search"
    shown.page.keyboard.type("[dog]")
    assert pressed.get_attribute("data-head") == "13"
    assert shown.page.locator("input[name=search]").input_value() == "[dog]"


def test_the_list_of_keys(show: Callable[..., Shown]) -> None:
    shown = show("sentence")
    shown.page.keyboard.press("?")
    dialog = shown.page.get_by_role("dialog")
    assert dialog.is_visible()
    shown.page.keyboard.press("Escape")
    assert not dialog.is_visible()


def test_tab_reaches_every_part(show: Callable[..., Shown]) -> None:
    """Each part once or a few times, not once a word or a head."""
    shown = show("sentence")
    seen: list[str] = []
    shown.page.locator("body").focus()
    for _ in range(80):
        shown.page.keyboard.press("Tab")
        view = shown.page.evaluate(
            "document.activeElement.closest('[data-view]')?.dataset.view ?? ''"
        )
        seen.append(view)
        if shown.page.evaluate("document.activeElement === document.body"):
            break
    assert {"switches", "sentence", "heads", "steps", "matrix", "export"} <= set(seen)
    assert len(seen) < 80
    visible = shown.page.evaluate("getComputedStyle(document.querySelector('h1')).visibility")
    assert visible == "visible"


def test_the_chosen_row_is_said_aloud(show: Callable[..., Shown]) -> None:
    shown = show("sentence")
    shown.let_go()
    shown.choose_head(3 * 12 + 1)
    shown.hold(7)
    shown.hears("reads")
    shown.hears("L3H1")
    shown.hears(f"dog\u2069” {hundredths(0.53)}")
