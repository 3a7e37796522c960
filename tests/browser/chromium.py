"""Which Chromium to start, and how: here, and in the benchmark of the page."""

from __future__ import annotations

import os
import shutil

from playwright.sync_api import Browser, Playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find(playwright: Playwright) -> str | None:
    """The path of a Chromium or Chrome: REGARD_CHROMIUM, one on PATH, or Playwright's own.

    Raises FileNotFoundError if REGARD_CHROMIUM names no file, rather than take another.
    """
    named = os.environ.get("REGARD_CHROMIUM")
    if named:
        if shutil.which(named) is None:
            raise FileNotFoundError(f"REGARD_CHROMIUM is {named!r}, which is no program.")
        return shutil.which(named)
    for name in (*_NAMES, playwright.chromium.executable_path):
        if found := shutil.which(name):
            return found
    return None


def start(playwright: Playwright, path: str, *more: str) -> Browser:
    """Start it without a window and without a network: no name resolves, nothing is fetched."""
    return playwright.chromium.launch(
        executable_path=path,
        chromium_sandbox=os.geteuid() != 0,  # Chromium refuses to be root's in a sandbox
        args=[
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-domain-reliability",
            "--no-pings",
            *more,
        ],
    )
