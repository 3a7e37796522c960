"""A prompt and what a model wrote after it: each new word with the row it was written from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from browser.pages import PAGES, PROMPT, Shown, hundredths
from regard.record import Record


@pytest.fixture(scope="module")
def record() -> Record:
    return PAGES["generation"]()


def written(shown: Shown) -> str:
    return shown.view("generation").locator("[data-written]").inner_text()


def test_stepping_with_the_arrow_keys(show: Callable[..., Shown], record: Record) -> None:
    shown = show("generation")
    shown.let_go()
    names, new = record.sides[0].names, len(PROMPT)
    shown.choose_head(4)
    shown.view("generation").get_by_role("button", name="next word").focus()
    for place, unit in enumerate(range(new, len(names))):
        shown.page.keyboard.press("ArrowRight")
        shown.settle()
        said = written(shown).replace("\u2068", "").replace("\u2069", "")
        row = record.weights(1, unit - 1).weights[0]
        strongest = int(np.argmax(row))
        assert said.startswith(f"{place + 1} of {len(names) - new}.")
        assert names[unit] in said
        assert names[unit - 1] in said
        assert f"{names[strongest]} {hundredths(row[strongest])}" in said
        assert {reader for reader, _ in shown.lines()} == {unit - 1}
    shown.page.keyboard.press("ArrowLeft")
    shown.settle()
    assert written(shown).startswith(f"{len(names) - new - 1} of")


def test_a_click_on_a_new_word(show: Callable[..., Shown]) -> None:
    shown = show("generation")
    shown.view("generation").locator(f"[data-writes='{len(PROMPT) + 1}']").click()
    shown.settle()
    assert written(shown).startswith("2 of 3.")


def test_nothing_written_no_part_for_it(show: Callable[..., Shown]) -> None:
    assert show("sentence").view("generation").count() == 0
