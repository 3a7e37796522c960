"""The grid of heads: colours that are the record's numbers, choosing one or several."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from browser.pages import PAGES, Shown, hundredths
from regard.record import Record

HEADS = 12
IT = 7


@pytest.fixture(scope="module")
def record() -> Record:
    return PAGES["sentence"]()


def names_of(shown: Shown) -> list[str]:
    """What each head says of itself to a screen reader."""
    cells = shown.view("heads").locator("[data-head]")
    return cells.evaluate_all("cells => cells.map(cell => cell.getAttribute('aria-label'))")


def colour_by(shown: Shown, reading: str) -> None:
    control = shown.view("heads").locator("[name=reading]").first
    if control.evaluate("control => control.tagName") == "SELECT":
        control.select_option(reading)
    else:
        shown.view("heads").locator(f"[name=reading][value={reading}]").check()
    shown.settle()


def test_every_head_is_there(show: Callable[..., Shown]) -> None:
    names = names_of(show("sentence"))
    assert [name.partition(":")[0].partition(";")[0] for name in names] == [
        f"L{layer}H{head}" for layer in range(6) for head in range(HEADS)
    ]


def test_weight_from_a_word_to_the_one_it_reads_most(
    show: Callable[..., Shown], record: Record
) -> None:
    shown = show("sentence")
    shown.let_go()
    shown.hold(IT)
    colour_by(shown, "weight")
    words = record.sides[0].names
    for layer in (0, 3):
        rows = record.weights(layer, IT).weights
        for head in range(HEADS):
            name = names_of(shown)[layer * HEADS + head]
            number, _, rest = name.partition(": ")[2].partition(" to ")
            key = int(rows[head].argmax())
            assert number == hundredths(rows[head, key])
            assert words[key] in rest


def test_entropy(show: Callable[..., Shown], record: Record) -> None:
    """Of the chosen word; in nats, from the exact row."""
    shown = show("sentence")
    shown.let_go()
    shown.hold(IT)
    colour_by(shown, "entropy")
    rows = record.weights(2, IT).weights
    entropies = -(rows * np.log(np.where(rows > 0, rows, 1))).sum(axis=1)
    for head in range(HEADS):
        said = names_of(shown)[2 * HEADS + head]
        number = float(said.partition(": ")[2].split()[0].rstrip(";."))
        assert number == pytest.approx(entropies[head], abs=0.0051)


def test_one_head_several_heads_all_heads(show: Callable[..., Shown]) -> None:
    shown = show("sentence")
    pressed = shown.view("heads").locator("[data-head][aria-pressed=true]")
    shown.choose_head(13)
    assert pressed.count() == 1
    assert pressed.get_attribute("data-head") == "13"
    shown.choose_head(14, more=True)
    assert pressed.count() == 2
    said = shown.view("heads").locator("[data-chosen-heads]")
    assert said.inner_text().startswith("Mean of 2 heads: L1H1, L1H2.")
    shown.choose_head(14, more=True)
    assert pressed.count() == 1
    shown.view("heads").get_by_role("button", name="all heads of L2").click()
    shown.settle()
    assert pressed.count() == HEADS
    shown.view("heads").get_by_role("button", name="all heads", exact=True).click()
    shown.settle()
    assert pressed.count() == 6 * HEADS


def test_pictures(show: Callable[..., Shown]) -> None:
    """Every head as a small picture: no two the same, none empty."""
    shown = show("sentence")
    shown.view("heads").locator("input[name=pictures]").check()
    shown.settle()
    pictures = (
        shown.view("heads")
        .locator("[data-head] canvas")
        .evaluate_all("all => all.map(canvas => canvas.toDataURL())")
    )
    assert len(pictures) == 6 * HEADS
    assert len(set(pictures)) == 6 * HEADS


def test_keys_of_the_grid(show: Callable[..., Shown]) -> None:
    shown = show("sentence")
    shown.choose_head(13)
    shown.view("heads").locator("[data-head='13']").focus()
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        shown.page.keyboard.press(key)
    shown.settle()
    pressed = shown.view("heads").locator("[data-head][aria-pressed=true]")
    assert pressed.get_attribute("data-head") == "26"
