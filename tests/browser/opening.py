"""Pages opened from disk, everything they say or ask for written down."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, Page

# What a page makes out of itself, and no server sees.
_OF_ITSELF = ("blob:", "data:")


@dataclass
class Opened:
    """One page, in a context of its own, and what came out of it: frames and pop-ups too."""

    address: str
    context: BrowserContext
    console: list[tuple[str, str]] = field(default_factory=list)  # kind, text
    errors: list[str] = field(default_factory=list)  # thrown and caught by nobody
    requests: list[str] = field(default_factory=list)  # attempted, allowed or not

    def __post_init__(self) -> None:
        self.context.on("console", lambda said: self.console.append((said.type, said.text)))
        self.context.on("weberror", lambda thrown: self.errors.append(str(thrown.error)))
        self.context.on("request", lambda asked: self.requests.append(asked.url))
        self.context.on("page", self._listen)

    def _listen(self, page: Page) -> None:
        page.on("websocket", lambda socket: self.requests.append(socket.url))
        page.on("crash", lambda _: self.errors.append("the page crashed"))

    def complaints(self) -> list[str]:
        """What a page that stands alone must not do; one line each."""
        said = [f"console {kind}: {text}" for kind, text in self.console if kind == "error"]
        thrown = [f"page error: {error}" for error in self.errors]
        asked = [
            f"request: {url}"
            for url in self.requests
            if url.partition("#")[0] != self.address and not url.startswith(_OF_ITSELF)
        ]
        return said + thrown + asked


class Opener:
    """Opens pages and answers for all of them at the end."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._opened: list[Opened] = []

    def open(
        self,
        path: Path,
        *,
        width: int = 1280,
        height: int = 900,
        color_scheme: Literal["light", "dark"] = "light",
        javascript: bool = True,
        reduced_motion: Literal["reduce", "no-preference"] = "no-preference",
    ) -> Page:
        """The page at a path, loaded; with scripts, ready if it says when it is."""
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=color_scheme,
            java_script_enabled=javascript,
            reduced_motion=reduced_motion,
        )
        context.set_default_timeout(30_000)
        address = path.absolute().as_uri()
        self._opened.append(Opened(address, context))
        page = context.new_page()
        page.goto(address)
        return page

    def complaints(self) -> list[str]:
        return [line for opened in self._opened for line in opened.complaints()]

    def close(self) -> None:
        """Close every page. Raises AssertionError with all that they should not have done."""
        complaints = self.complaints()
        for opened in self._opened:
            opened.context.close()
        assert not complaints, "\n".join(complaints)


@cache
def _axe() -> str:
    path = Path(sys.prefix) / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        raise FileNotFoundError(f"No axe-core at {path}. `make types` installs it.")
    return path.read_text(encoding="utf-8")


_RUN_AXE = """async () => {
    const {violations} = await axe.run(document, {resultTypes: ["violations"]});
    return violations.flatMap(({id, impact, help, nodes}) =>
        nodes.map(({html, failureSummary}) => [id, impact, help, html, failureSummary]));
}"""


def axe(page: Page) -> list[str]:
    """What axe-core finds wrong with a page as it stands now, frames included; one line each.

    Scripts that the tests bring are not held by the page's security policy, so it stays in force.
    """
    for frame in page.frames:
        frame.evaluate(_axe())
        # Files on disk have no origin by which a frame's answer could be trusted.
        frame.evaluate('axe.configure({allowedOrigins: ["<unsafe_all_origins>"]})')
    return [
        f"{rule} ({impact}): {text}: {html[:200]} — {' '.join((why or '').split())[:300]}"
        for rule, impact, text, html, why in page.evaluate(_RUN_AXE)
    ]
