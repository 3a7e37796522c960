"""The pages that the tests look at, and what a person would do and see on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from playwright.sync_api import Locator, Page

import regard
from records import record_of, top_only
from regard.mechanism.steps import Steps
from regard.record import Record

SENTENCE = "A dog ate the food because it was hungry"
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


def cross() -> Record:
    """One text reads another."""
    random = np.random.default_rng(3)
    return regard.from_qkv(
        random.normal(size=(4, 3, 8)), random.normal(size=(2, 5, 8)),
        random.normal(size=(2, 5, 8)), ["the", "cat", "sat"],
        key_tokens=["le", "chat", "est", "assis", "."],
    )  # fmt: skip


_CAUSAL = regard.Mask(causal=True)

PAGES: dict[str, Callable[[], Record | Steps]] = {
    made.__name__: made for made in (sentence, pieces, largest, long, cross, pencil)
}


def two_decimals(number: float) -> str:
    """A score as a record's page prints it, from Python's own rounding."""
    text = f"{number:.2f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def three_decimals(number: float) -> str:
    """A weight, an exponential or a part of the result in the four steps."""
    text = f"{number:.3f}"
    text = text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")
    return text.replace("0.", ".", 1) if abs(float(f"{number:.3f}")) < 1 else text


class Shown:
    """An opened page: its parts by what they are for, and what a person does with them."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def view(self, name: str) -> Locator:
        return self.page.locator(f"section[data-view={name}]")

    def word(self, unit: int, side: str = "readers") -> Locator:
        return self.view("sentence").locator(f"[data-side={side}][data-unit='{unit}']")

    def head(self, number: int) -> Locator:
        return self.view("heads").locator(f"[data-head='{number}']")

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

    def let_go(self) -> None:
        """Hold no word."""
        self.page.keyboard.press("Escape")
        self.settle()

    def settle(self) -> None:
        """Until what was done is drawn."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def number(self, step: int, what: str, key: int) -> str:
        panel = self.page.locator(f"[data-step='{step}']")
        return panel.locator(f"[data-number={what}][data-key='{key}']").first.inner_text()

    def scrolls_sideways(self) -> bool:
        return bool(
            self.page.evaluate(
                "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            )
        )
