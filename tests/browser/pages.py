"""The pages that the tests look at, and what a person would do and see on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page, expect

import regard
from records import record_of, top_only
from regard.mechanism.steps import Steps
from regard.record import Record

SENTENCE = "A dog ate the food because it was hungry"
BUDGET = 450_000
PROMPT, ANSWER = ("the", "dog", "ate"), ("be|cause", "it", "was", "hungry")
OTHER = "A dog ate the food because it was delicious"
WORDS = tuple(f"word{i}" if i % 3 else f"wo|rd{i}" for i in range(60))


def sentence() -> Record:
    """The sentence of the main job, in the embedded model."""
    return regard.capture(SENTENCE)


def pieces() -> Record:
    """Words of several pieces, causal, with half as many key heads."""
    return record_of("I", "un|der|stand", "em|bed|dings", ".", mask=_CAUSAL, kind="decoder")


def largest() -> Record:
    """Nothing but the two largest weights of each row."""
    return top_only("one", "two", "three", "fo|ur", "five", "one", mask=_CAUSAL)[1]


def long() -> Record:
    """More words than a screen holds."""
    return record_of(*WORDS, *WORDS, *WORDS, *WORDS, layers=2, mask=_CAUSAL, kind="decoder")


def pencil() -> Steps:
    """Three words small enough for a pencil."""
    return regard.steps(
        [[1, 0, 1], [0, 2, 0], [1, 1, 0]], [[0, 1, 1], [4, 4, 0], [2, 3, 1]],
        [[1, 2, 3], [2, 8, 0], [2, 6, 3]], words=["I", "am", "good"],
    )  # fmt: skip


def cut() -> Record:
    """A long text in a file that has no room for most of its rows."""
    return long()


def cross() -> Record:
    """One text reads another."""
    random = np.random.default_rng(3)
    return regard.from_qkv(
        random.normal(size=(4, 3, 8)), random.normal(size=(2, 5, 8)),
        random.normal(size=(2, 5, 8)), ["the", "cat", "sat"],
        key_tokens=["le", "chat", "est", "assis", "."],
    )  # fmt: skip


def versus() -> Record:
    """The sentence of the main job, beside one in which the same word means another."""
    return regard.capture(SENTENCE)


def generation() -> Record:
    """A prompt of three words and four that a model wrote; the last it wrote it never read."""
    made = record_of(*PROMPT, *ANSWER[:-1], layers=2, mask=_CAUSAL, kind="decoder")
    return dataclasses.replace(
        made, provenance={"model": "random", "generated": " ".join(ANSWER).replace("|", "")}
    )


_CAUSAL = regard.Mask(causal=True)

PAGES: dict[str, Callable[[], Record | Steps]] = {
    made.__name__: made
    for made in (sentence, pieces, largest, long, cut, cross, pencil, versus, generation)
}
WRITTEN_WITH: dict[str, Callable[[], dict[str, Any]]] = {
    "cut": lambda: {"budget": BUDGET},
    "versus": lambda: {"words": "it", "versus": regard.capture(OTHER)},
}
"""What `page` is called with, beside the path."""


def two_decimals(number: float) -> str:
    """A score as a record's page prints it, from Python's own rounding."""
    text = f"{number:.2f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def three_decimals(number: float) -> str:
    """A weight, an exponential or a part of the result in the four steps."""
    text = f"{number:.3f}"
    text = text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")
    return text.replace("0.", ".", 1) if abs(float(f"{number:.3f}")) < 1 else text


def hundredths(number: float, bound: bool = False) -> str:
    """A weight or a part of the result beside a word."""
    text = two_decimals(number)
    return ("≥" if bound else "") + text.replace("0.", ".", 1) if abs(number) < 0.995 else text


_SCROLL = """(box, unit) => {
    const height = box.querySelector("[role=option]").getBoundingClientRect().height;
    box.scrollTop = (unit + 0.5) * height - box.clientHeight / 2;
}"""


class Shown:
    """An opened page: its parts by what they are for, and what a person does with them."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def view(self, name: str) -> Locator:
        return self.page.locator(f"section[data-view={name}]")

    def word(self, unit: int, side: str = "readers") -> Locator:
        return self.view("sentence").locator(f"[role=option][data-side={side}][data-unit='{unit}']")

    def reveal(self, unit: int) -> None:
        """Scroll the two columns to a word: only what is in view is in the document."""
        self.view("sentence").locator(".scroller").evaluate(_SCROLL, unit)
        self.word(unit).or_(self.word(unit, "keys")).first.wait_for()

    def point(self, unit: int, side: str = "readers") -> None:
        """Move the pointer onto a word."""
        self.word(unit, side).hover()
        self.settle()

    def hold(self, unit: int, side: str = "readers", *, more: bool = False) -> None:
        """Click a word; with `more`, in addition to the others."""
        self.word(unit, side).click(modifiers=["Shift"] if more else [])
        self.settle()

    def let_go(self) -> None:
        """Hold no word."""
        self.page.keyboard.press("Escape")
        self.page.mouse.move(1, 1)
        self.settle()

    def choose_head(self, number: int, *, more: bool = False) -> None:
        """Click a head, counted over all layers."""
        at = self.view("heads").locator(f"[data-head='{number}']")
        at.click(modifiers=["Shift"] if more else [])
        self.settle()

    def switch(self, name: str, value: str | bool = True) -> None:
        """Set a switch: a tick, one of several, or one of a list."""
        controls = self.view("switches").locator(f"[name={name}]")
        first = controls.first
        if first.evaluate("control => control.tagName") == "SELECT":
            first.select_option(str(value))
        elif first.get_attribute("type") == "radio":
            controls.and_(self.page.locator(f"[value={value}]")).check()
        else:
            first.set_checked(bool(value))
        self.settle()

    def lines(self) -> dict[tuple[int, int], float]:
        """The weight of each line that is drawn, by (reader, key)."""
        found = (
            self.view("sentence")
            .locator("svg [data-from]")
            .evaluate_all(
                "lines => lines.map(({dataset: d}) => [d.from, d.to, d.weight].map(Number))"
            )
        )
        return {(int(reader), int(key)): weight for reader, key, weight in found}

    def beside(self, unit: int, side: str = "keys") -> str:
        """The number beside a word of the columns."""
        return self.word(unit, side).locator(".numbers").inner_text()

    def open_step(self, step: int) -> None:
        """Click the box of one of the four steps."""
        self.page.locator(f"[role=tab][aria-controls=regard-step-{step}]").click()
        self.settle()

    def panel(self, step: int) -> Locator:
        return self.page.locator(f"[role=tabpanel][data-step='{step}']")

    def settle(self) -> None:
        """Wait until what was done is drawn."""
        self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def hears(self, text: str) -> None:
        """Wait until a screen reader is told this; what stands there may be told a little later."""
        expect(self.page.locator("[data-live]")).to_contain_text(text)

    def scrolls_sideways(self) -> bool:
        return bool(
            self.page.evaluate(
                "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            )
        )
