"""Two texts side by side: which heads turn from one word to another, as Python says."""

from __future__ import annotations

from collections.abc import Callable

import regard
from browser.pages import OTHER, PAGES, Shown, hundredths
from regard.views.staging import Stage, shipped_habit

HEADS = 12


def test_both_texts_and_what_turns(show: Callable[..., Shown]) -> None:
    shown = show("versus")
    view = shown.view("versus")
    a, b = PAGES["versus"](), regard.capture(OTHER)
    scene = Stage(a, shipped_habit(a)).versus(b, 7, 7)
    text = view.inner_text()
    assert "hungry" in text
    assert "delicious" in text
    assert scene.there
    for turn in scene.there[:3]:
        row = view.locator("tr").filter(has=shown.page.locator(f"text='{turn.head}'")).first
        said = row.inner_text()
        numbers = (turn.first_in_a, turn.second_in_a, turn.first_in_b, turn.second_in_b)
        assert said.split()[1:] == [hundredths(number) for number in numbers]


def test_a_click_chooses_the_head_everywhere(show: Callable[..., Shown]) -> None:
    shown = show("versus")
    button = shown.view("versus").locator("[data-head]").first
    number = button.get_attribute("data-head")
    button.click()
    shown.settle()
    assert button.get_attribute("aria-pressed") == "true"
    pressed = shown.view("heads").locator("[data-head][aria-pressed=true]")
    assert pressed.get_attribute("data-head") == number


def test_the_rest_of_the_page_shows_either(show: Callable[..., Shown]) -> None:
    shown = show("versus")
    sentence = shown.view("sentence").locator(".columns")
    assert "hungry" in sentence.inner_text()
    shown.view("versus").get_by_text("text B").click()
    shown.settle()
    assert "delicious" in sentence.inner_text()
    assert "hungry" not in sentence.inner_text()


def test_no_second_text_no_part_for_it(show: Callable[..., Shown]) -> None:
    assert show("sentence").view("versus").count() == 0
