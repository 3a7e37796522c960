"""Every page as a whole: it opens, asks for nothing, is readable by all and fits a telephone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from browser.opening import Opener, axe
from browser.pages import PAGES, SENTENCE, Shown

DESKTOP = {"width": 1280, "height": 900}
TELEPHONE = {"width": 360, "height": 740}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    "settings",
    [DESKTOP | {"color_scheme": "light"}, TELEPHONE | {"color_scheme": "dark"}],
    ids=["desktop, light", "telephone, dark"],
)
def test_readable_by_all(show: Callable[..., Shown], name: str, settings: dict) -> None:
    shown = show(name, **settings)
    assert not shown.scrolls_sideways()
    assert axe(shown.page) == []


@pytest.mark.parametrize(
    "settings",
    [DESKTOP | {"color_scheme": "dark"}, TELEPHONE | {"color_scheme": "light"}],
    ids=["desktop, dark", "telephone, light"],
)
def test_readable_in_the_other_colours(show: Callable[..., Shown], settings: dict) -> None:
    shown = show("sentence", **settings)
    assert not shown.scrolls_sideways()
    assert axe(shown.page) == []


def test_title_and_heading(show: Callable[..., Shown]) -> None:
    shown = show("sentence")
    assert shown.page.title() == SENTENCE
    assert shown.page.locator("h1").inner_text() == SENTENCE
    assert "6 layers × 12 heads" in shown.page.locator("header").inner_text()


def test_ready_is_told(show: Callable[..., Shown]) -> None:
    page = show("sentence").page
    assert page.evaluate("performance.getEntriesByName('regard-ready').length") == 1


def test_nothing_global(
    show: Callable[..., Shown], open_page: Callable[..., Page], page_file: Callable[[str], Path]
) -> None:
    """Several pages may share a notebook: the script leaves no name behind."""
    bare = open_page(page_file("sentence"), javascript=False)
    names = "Object.getOwnPropertyNames(window)"
    assert set(show("sentence").page.evaluate(names)) == set(bare.evaluate(names))


def test_nothing_is_let_in(browser: Browser, page_file: Callable[[str], Path]) -> None:
    """The page's policy: no script but its own runs, and nothing is fetched or sent."""
    opener = Opener(browser)
    page = opener.open(page_file("pencil"))
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.__let = 'in'";
            document.body.append(script);
            const button = document.createElement("button");
            button.setAttribute("onclick", "window.__let = 'in'");
            document.body.append(button);
            button.click();
            fetch("https://example.org/").catch(() => {});
        }"""
    )
    assert page.evaluate("window.__let") is None
    complaints = "\n".join(opener.complaints())
    assert "script-src" in complaints
    assert "connect-src" in complaints or "default-src" in complaints
