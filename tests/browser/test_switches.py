"""Measures, special tokens left out, pieces for words: the numbers follow, and it is said."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from browser.pages import PAGES, Shown, hundredths
from regard.models.encoder import default_habit
from regard.record import Record

HEADS = 12
IT, LAYER, HEAD = 7, 3, 1
LEAST = 0.005


@pytest.fixture(scope="module")
def record() -> Record:
    return PAGES["sentence"]()


@pytest.fixture
def shown(show: Callable[..., Shown]) -> Shown:
    """The sentence of the main job, 'it' held in L3H1."""
    opened = show("sentence")
    opened.let_go()
    opened.choose_head(LAYER * HEADS + HEAD)
    opened.hold(IT)
    return opened


def beside(shown: Shown, words: int = 11) -> list[str]:
    return [shown.beside(key) for key in range(words)]


def printed(values: np.ndarray) -> list[str]:
    return [hundredths(value) if abs(value) >= LEAST else "" for value in values]


def test_weight_then_part_of_the_result(shown: Shown, record: Record) -> None:
    row = record.weights(LAYER, IT)
    assert beside(shown) == printed(row.weights[HEAD])
    shown.switch("measure", "share")
    assert beside(shown) == printed(row.shares[HEAD])
    assert "part of" in shown.view("sentence").inner_text()


def test_beyond_habit(shown: Shown, record: Record) -> None:
    """What a head gives a word beyond what it usually gives one at that distance."""
    shown.switch("measure", "lift")
    habit = _habit(record)
    lift = record.weights(LAYER, IT).weights[HEAD] - habit
    expected = ["" if np.isnan(one) else text
                for one, text in zip(lift, printed(np.nan_to_num(lift)), strict=True)]  # fmt: skip
    assert beside(shown) == expected
    assert "beyond habit" in shown.view("sentence").inner_text()


def _habit(record: Record) -> np.ndarray:
    """What L3H1 usually gives each word that 'it' can read, from the table that is shipped."""
    return default_habit().expected(LAYER, record.apart(LAYER), IT)[HEAD]


def test_without_special_tokens(shown: Shown, record: Record) -> None:
    row = record.weights(LAYER, IT).weights[HEAD]
    shown.switch("without")
    left = row.copy()
    left[[0, 10]] = 0
    assert beside(shown) == printed(left / left.sum())
    note = shown.view("switches").locator("[data-note]").inner_text()
    assert "[CLS]" in note
    assert "[SEP]" in note
    assert hundredths(left.sum()) in note
    shown.switch("without", False)
    assert beside(shown) == printed(row)


def test_a_mean_of_heads_has_no_part_of_the_result(shown: Shown) -> None:
    shown.choose_head(0, more=True)
    share = shown.view("switches").locator("[name=measure][value=share]")
    assert share.is_disabled()
    assert "mean" in shown.view("switches").inner_text()


def test_who_reads_it(shown: Shown, record: Record) -> None:
    shown.switch("direction", "readBy")
    column = np.array([record.weights(LAYER, word).weights[HEAD][IT] for word in range(11)])
    assert [shown.beside(word, "readers") for word in range(11)] == printed(column)


def test_words_or_pieces(show: Callable[..., Shown]) -> None:
    shown = show("pieces")
    record = PAGES["pieces"]()
    shown.let_go()
    shown.choose_head(2)
    shown.hold(2)
    assert beside(shown, 4) == printed(record.weights(0, 2).weights[2])
    shown.switch("level", "pieces")
    options = shown.view("sentence").locator("[role=option][data-side=readers]")
    tokens = record.sides[0].tokens
    assert options.count() == len(tokens)
    first = record.sides[0].words[2].tokens[0]
    assert shown.word(first).get_attribute("aria-selected") == "true"
    assert beside(shown, len(tokens)) == printed(record.row(0, 2, first))


def test_what_is_not_there_is_not_offered(show: Callable[..., Shown]) -> None:
    """Without pieces no units to choose; without values no part; without habits no lift."""
    shown = show("cross")
    switches = shown.view("switches")
    assert not switches.locator("[name=level]").first.is_visible()
    assert switches.locator("[name=measure][value=lift]").is_disabled()
    assert "habit" in switches.inner_text().lower()
