"""What a page weighs and how quick it is, in Chromium, from the shortest text to the longest.

11 tokens in 72 heads are the embedded model's; 512 in 144 are random queries, keys and values;
4 096 and 16 384 are readings of random numbers, computed by the package (see `_page_records.py`).
Times are taken inside the page by its own clock: from the navigation to the first paint of content
and to the page's own mark that all is drawn; from a pointer's move to the end of the frame that
follows, which waits up to 17 ms for the screen. Where lines are not those of the word that is
pointed at, no time is told.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _machine import machine, options, say, table, unpin

unpin()
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import _page_records as records  # noqa: E402
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright  # noqa: E402

from browser.chromium import find, start  # noqa: E402

CASES: dict[str, Any] = {
    "11 × 72": records.sentence,
    "512 × 144": lambda: records.kept(512, 144),
    "4096 × 144": lambda: records.read(4096, 144),
    "16384 × 288": lambda: records.read(16384, 288),
}

AIMS: dict[str, dict[str, float]] = {
    "11 × 72": {"megabytes": 1.5},
    "512 × 144": {"megabytes": 8, "first_paint": 1, "hover": 0.05},
    "4096 × 144": {"megabytes": 10},
    "16384 × 288": {"megabytes": 10, "ready": 3, "hover": 0.1},
}
"""At most so many megabytes (of a million bytes) and seconds."""

WATCH_POINTER = """() => {
    window.regardHovers = [];
    addEventListener("pointermove", (event) => requestAnimationFrame(() => {
        const after = new MessageChannel();
        after.port1.onmessage = () => regardHovers.push(performance.now() - event.timeStamp);
        after.port2.postMessage(null);
    }), {capture: true});
}"""
"""A message that a frame's callback sends arrives when the frame has been drawn."""

LINES_OF = """() => [...new Set(
    [...document.querySelectorAll("svg [data-from]")].map((line) => line.dataset.from))]"""

IN_VIEW = """() => [...document.querySelectorAll("[role=option][data-side=readers]")]
    .map((word) => {
        const {x, y, width, height} = word.getBoundingClientRect();
        return {word, unit: Number(word.dataset.unit), x: x + width / 2, y: y + height / 2};
    })
    .filter(({word, x, y}) => word.contains(document.elementFromPoint(x, y)))
    .map(({unit, x, y}) => [unit, x, y])"""


def main() -> int:
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--only", choices=CASES, action="append", help="one size; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="times that each page is opened")
    parser.add_argument("--moves", type=int, default=50, help="words that are pointed at")
    chosen = parser.parse_args()
    figures: dict[str, Any] = {"machine": machine(), "pages": {}}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        path = find(playwright)
        if path is None:
            raise SystemExit("No Chromium was found: install one or name it in REGARD_CHROMIUM.")
        for name in chosen.only or CASES:
            file = Path(folder) / "page.html"
            seconds = written(name, file)
            # A browser for each, so that none starts with the memory of the one before.
            with start(playwright, path) as browser:
                found = opened(browser, file, chosen.rounds, chosen.moves)
                figures["machine"]["browser"] = browser.version
            found |= {"megabytes": file.stat().st_size / 1e6, "write": seconds}
            figures["pages"][name] = found
    missed = show(figures["pages"])
    say(figures | {"missed": missed}, chosen.json)
    return 1 if missed else 0


def written(name: str, file: Path) -> float:
    """Seconds that writing the page takes; making the record is not among them."""
    record = CASES[name]()
    begun = time.perf_counter()
    record.page(file)
    return time.perf_counter() - begun


def opened(browser: Browser, file: Path, rounds: int, moves: int) -> dict[str, Any]:
    """Seconds to the first paint, until ready, and of a hover: medians; megabytes of memory."""
    paints, readies = [], []
    for last in [False] * (rounds - 1) + [True]:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(file.absolute().as_uri())
        page.wait_for_selector("html[data-ready='1']", timeout=60_000)
        readies.append(page.evaluate("performance.getEntriesByName('regard-ready')[0].startTime"))
        until(page, "() => performance.getEntriesByName('first-contentful-paint').length")
        paints.append(
            page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        )
        if last:
            break
        page.context.close()
    found = {
        "first_paint": statistics.median(paints) / 1000,
        "ready": statistics.median(readies) / 1000,
        **memory(browser, page),
        "hover": hovered(page, moves),
    }
    page.context.close()
    return found


def until(page: Page, condition: str, argument: Any = None) -> None:
    """Wait for it from outside: the page lets in no code that Playwright would wait with."""
    end = time.monotonic() + 60
    while not page.evaluate(condition, argument):
        if time.monotonic() > end:
            raise SystemExit(f"This did not come true in a minute: {condition}")
        time.sleep(0.005)


def memory(browser: Browser, page: Page) -> dict[str, float | None]:
    """Of the page's objects after a collection, and of its whole process: megabytes."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = {
        one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]
    }
    return {
        "heap": metrics["JSHeapUsedSize"] / 1e6,
        "process": process(browser.new_browser_cdp_session()),
    }


def process(session: CDPSession) -> float | None:
    """Resident memory of the largest of the browser's pages: there is only one. None off Linux."""
    sizes = []
    for one in session.send("SystemInfo.getProcessInfo")["processInfo"]:
        status = Path(f"/proc/{one['id']}/status")
        if one["type"] == "renderer" and status.exists():
            lines = status.read_text(encoding="utf-8").splitlines()
            sizes += [int(line.split()[1]) for line in lines if line.startswith("VmRSS:")]
    return max(sizes) * 1024 / 1e6 if sizes else None


def hovered(page: Page, moves: int) -> float:
    """Seconds from a pointer's move onto a word until its lines are drawn: the median."""
    page.keyboard.press("Escape")  # lets go of the word that the page begins with
    page.wait_for_timeout(500)
    page.evaluate(WATCH_POINTER)
    words = page.evaluate(IN_VIEW)
    if len(words) < 2:
        raise SystemExit("No two words are in view, so there is nothing to point at.")
    for move in range(moves):
        # Far from the one before, so that no two moves fall on the same word.
        unit, x, y = words[(move * (len(words) // 2 | 1) + move // 2) % len(words)]
        page.mouse.move(x, y)
        until(page, "(count) => regardHovers.length > count", move)
        drawn = page.evaluate(LINES_OF)
        if drawn != [str(unit)]:
            raise SystemExit(f"Pointed at word {unit}, and the lines are of {drawn}: no time.")
    return statistics.median(page.evaluate("regardHovers")) / 1000


def show(pages: dict[str, dict[str, Any]]) -> list[str]:
    """Print the table; what missed its aim."""
    table(
        ["tokens × heads", "file, MB", "writing, s", "first paint, s", "ready, s",
         "hover to lines, ms", "objects, MB", "tab, MB"],
        [
            [
                name, f"{one['megabytes']:.2f}", f"{one['write']:.1f}",
                f"{one['first_paint']:.2f}", f"{one['ready']:.2f}", f"{one['hover'] * 1000:.0f}",
                f"{one['heap']:.0f}", "–" if one["process"] is None else f"{one['process']:.0f}",
            ]
            for name, one in pages.items()
        ],
    )  # fmt: skip
    missed = [
        f"{name}: {what} {pages[name][what]:.3g}, at most {most:g} wanted"
        for name, aims in AIMS.items()
        for what, most in aims.items()
        if name in pages and pages[name][what] > most
    ]
    print("\n" + ("Missed: " + "; ".join(missed) if missed else "Every aim was met."))
    return missed


if __name__ == "__main__":
    sys.exit(main())
