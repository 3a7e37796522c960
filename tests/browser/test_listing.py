"""One word in numbers: the row it reads, the strongest over all heads, and who reads it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from browser.pages import PAGES, Shown, hundredths
from regard.models.encoder import default_habit
from regard.record import Record

HEADS = 12
IT, LAYER, HEAD = 7, 3, 1


@pytest.fixture(scope="module")
def record() -> Record:
    return PAGES["sentence"]()


@pytest.fixture
def shown(show: Callable[..., Shown]) -> Shown:
    opened = show("sentence")
    opened.let_go()
    opened.choose_head(LAYER * HEADS + HEAD)
    opened.hold(IT)
    return opened


def table(shown: Shown, number: int) -> list[list[str]]:
    """The cells of one of the tables, without what isolates words."""
    lines = shown.view("listing").locator("table").nth(number).locator("tbody tr")
    cells = lines.evaluate_all("all => all.map((one) => [...one.cells].map((c) => c.innerText))")
    return [[cell.strip() for cell in line if cell.strip()] for line in cells]


def test_the_row(shown: Shown, record: Record) -> None:
    """Word, weight, habit, part of the result: every word of a short text, heaviest first."""
    row = record.weights(LAYER, IT)
    habit = default_habit().expected(LAYER, record.apart(LAYER), IT)[HEAD]
    weights, shares = row.weights[HEAD], row.shares[HEAD]
    names = record.sides[0].names
    assert table(shown, 0) == [
        [names[key], *(hundredths(array[key]) for array in (weights, habit, shares))]
        for key in np.argsort(-weights, kind="stable")
    ]


def test_the_strongest_over_all_heads(shown: Shown, record: Record) -> None:
    """Each link is one of the record's, with its habit, the furthest beyond habit first."""
    lines = table(shown, 1)
    names = record.sides[0].names
    lifts = []
    for word, weight, habit, head in lines:
        layer, number = (int(part) for part in head.removeprefix("L").split("H"))
        key = names.index(word)
        exact = record.weights(layer, IT).weights[number, key]
        usual = default_habit().expected(layer, record.apart(layer), IT)[number, key]
        assert (weight, habit) == (hundredths(exact), hundredths(usual))
        lifts.append(exact - usual)
    assert len(lines) > 3
    assert lifts == sorted(lifts, reverse=True)


def test_who_reads_it(shown: Shown, record: Record) -> None:
    column = np.array([record.weights(LAYER, word).weights[HEAD, IT] for word in range(11)])
    names = record.sides[0].names
    lines = table(shown, 2)
    order = np.argsort(-column, kind="stable")[: len(lines)]
    assert lines == [[names[reader], hundredths(column[reader])] for reader in order]
    assert f"{column.mean():.3f}".removeprefix("0") in shown.view("listing").inner_text()


def test_what_weight_is_not(shown: Shown) -> None:
    assert "not why the model decides" in shown.view("listing").inner_text()
