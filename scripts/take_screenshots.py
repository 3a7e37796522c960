"""Take the pictures of the page that the README and `docs/page.md` show.

    python scripts/take_screenshots.py docs ./SmolLM2-135M-Instruct

Pages are written as a user writes them and opened in Chromium. The model is needed for the long
text and the generation.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import regard

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser.chromium import find, start

SENTENCE: Final = "A dog ate the food because it was hungry"
OTHER: Final = "A dog ate the food because it was delicious"
PROMPT: Final = "The capital of France is"
LONG: Final = Path(__file__).parents[1] / "LICENSE"
COLOURS: Final = 128


@dataclass(frozen=True)
class Shot:
    """One picture: of a page, at a size, after some doing; `view`: one section of it alone."""

    name: str
    page: str
    width: int = 1200
    height: int = 860
    scheme: str = "light"
    view: str | None = None
    do: Callable[[Page], Any] | None = None


def step(number: int) -> Callable[[Page], None]:
    """Open a step by its box."""
    return lambda page: page.locator(f"#regard-tab-{number}").click()


SHOTS: Final = (
    Shot("page-light", "sentence"),
    Shot("page-dark", "sentence", scheme="dark"),
    Shot("page-narrow", "sentence", width=360, height=1200),
    Shot("page-steps", "sentence", view="steps", do=step(4)),
    Shot("page-versus", "versus", view="versus"),
    Shot("page-long", "long"),
    Shot("page-generation", "generation", view="generation"),
)


def pages(folder: Path, model: str) -> dict[str, Path]:
    """The pages that are looked at, by name."""
    kept = {"keep": ("query", "key", "value")}
    sentence, other = regard.capture(SENTENCE, **kept), regard.capture(OTHER, **kept)
    text = LONG.read_text(encoding="utf-8")
    written: dict[str, Path] = {}

    def write(name: str, made: Any, **asked: Any) -> None:
        written[name] = folder / f"{name}.html"
        made.page(written[name], **asked)

    write("sentence", sentence, words="it")
    write("versus", sentence, words="it", versus=other)
    write("long", regard.capture(text, model, **kept))
    write("generation", regard.capture(PROMPT, model, generate=8, **kept))
    return written


def take(browser: Browser, shot: Shot, path: Path) -> bytes:
    """The picture as PNG, with few colours."""
    page = browser.new_page(
        viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.scheme
    )
    page.goto(path.absolute().as_uri())
    page.wait_for_selector("html[data-ready='1']", timeout=60_000)
    if shot.do is not None:
        shot.do(page)
    page.wait_for_timeout(1000)
    seen: Any = page if shot.view is None else page.locator(f"section[data-view={shot.view}]")
    picture = Image.open(io.BytesIO(seen.screenshot())).convert("RGB").quantize(COLOURS)
    page.context.close()
    small = io.BytesIO()
    picture.save(small, "PNG", optimize=True)
    return small.getvalue()


def main(docs: str, model: str) -> None:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        chromium = find(playwright)
        if chromium is None:
            raise SystemExit("No Chromium was found: install one or name it in REGARD_CHROMIUM.")
        written = pages(Path(folder), model)
        with start(playwright, chromium) as browser:
            for shot in SHOTS:
                file = Path(docs) / f"{shot.name}.png"
                file.write_bytes(take(browser, shot, written[shot.page]))
                print(f"{file}: {file.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
