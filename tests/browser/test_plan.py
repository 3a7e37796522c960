"""What a file holds and what it does not: said on the page, and kept to everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from browser.pages import BUDGET, PAGES, WRITTEN_WITH, Shown

LAST = 239


def test_the_page_says_what_is_not_in_it(
    show: Callable[..., Shown], page_file: Callable[[str], Path]
) -> None:
    shown = show("cut")
    size = page_file("cut").stat().st_size
    assert size <= BUDGET
    plan = shown.page.locator("[data-plan]").inner_text()
    assert f"{size / 1e6:.1f} MB of at most {BUDGET / 1e6:.1f} MB" in plan
    left = PAGES["cut"]().page(**WRITTEN_WITH["cut"]()).left
    assert left
    for what, command in left:
        assert what in plan
        assert command in plan


def test_a_row_that_is_not_there_is_not_made_up(show: Callable[..., Shown]) -> None:
    """Some rows are in the file and some are not: the latter say so, and have no lines."""
    shown = show("cut")
    shown.let_go()
    options = shown.view("sentence").locator("[role=option][data-side=readers]")
    absent = options.evaluate_all(
        "all => all.filter((one) => one.classList.contains('absent')).map((o) => o.dataset.unit)"
    )
    held = options.evaluate_all(
        "all => all.filter((one) => !one.classList.contains('absent')).map((o) => o.dataset.unit)"
    )
    for unit in absent[:1]:
        shown.point(int(unit))
        assert shown.lines() == {}
        assert "not" in shown.view("listing").inner_text()
    for unit in held[:1]:
        shown.point(int(unit))
        assert shown.lines()
    assert absent or held


def test_steps_that_are_not_there_are_named(show: Callable[..., Shown]) -> None:
    shown = show("cut")
    shown.let_go()
    shown.reveal(LAST)
    shown.hold(LAST)
    steps = shown.view("steps")
    assert "not in this file" in steps.inner_text()
    assert "record.page(" in steps.locator("code").first.inner_text()


def test_a_short_text_is_there_whole(show: Callable[..., Shown]) -> None:
    plan = show("pieces").page.locator("[data-plan]").inner_text()
    assert "every row of every head" in plan
    assert "the four steps of every row in every head" in plan
    assert "Not in it" not in plan
