"""One Chromium for the tests of the page, and a way to open files in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from browser.chromium import find, start
from browser.opening import Opener
from browser.pages import PAGES, WRITTEN_WITH, Shown

_NONE = (
    "No Chromium or Chrome was found. Install one (Debian: apt-get install chromium; anywhere: "
    "python -m playwright install chromium), or name one in REGARD_CHROMIUM."
)


# Playwright keeps an event loop running in this thread for as long as it is open, and no
# asyncio.run works there meanwhile: so the browser is gone once the tests of this folder are.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = find(playwright)
        if path is None:
            (pytest.fail if "CI" in os.environ else pytest.skip)(_NONE)
        chromium = start(playwright, path)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """`Opener.open`; the test fails at its end on any error, or any request but the file."""
    opener = Opener(browser)
    yield opener.open
    opener.close()


@pytest.fixture(scope="package")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of one of `pages.PAGES`, written once."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def write(name: str) -> Path:
        file = folder / f"{name}.html"
        PAGES[name]().page(file, **WRITTEN_WITH.get(name, dict)())
        return file

    return write


@pytest.fixture
def show(open_page: Callable[..., Page], page_file: Callable[[str], Path]) -> Callable[..., Shown]:
    """Open the page of one of `pages.PAGES` and wait until it is ready; `Opener.open`'s words."""

    def opened(name: str, **settings: Any) -> Shown:
        page = open_page(page_file(name), **settings)
        page.wait_for_selector("html[data-ready='1']")
        return Shown(page)

    return opened
