"""What the tests of the page rest on: each kind of fault is noticed, and no fault where none is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from browser import chromium
from browser.opening import Opener, axe

_POLICY = "default-src 'none'; style-src 'none'; script-src 'unsafe-inline'"


def _write(folder: Path, body: str, head: str = "") -> Path:
    path = folder / "page.html"
    path.write_text(
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>A page</title>{head}"
        f"</head><body><main><h1>A page</h1>{body}</main></body></html>",
        encoding="utf-8",
    )
    return path


def test_a_quiet_page_is_no_fault(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    script = """
        console.log("hello");
        const image = new Image();
        image.onload = () => document.body.dataset.drawn = "yes";
        image.src = URL.createObjectURL(new Blob(
            ["<svg xmlns='http://www.w3.org/2000/svg' width='4' height='4'/>"],
            {type: "image/svg+xml"}));
    """
    policy = '<meta http-equiv=Content-Security-Policy content="{}">'.format(
        "default-src 'none'; img-src blob:; script-src 'unsafe-inline'"
    )
    page = open_page(_write(tmp_path, f"<script>{script}</script>", policy))
    page.wait_for_selector("body[data-drawn=yes]")
    assert axe(page) == []


_FAULTS = {
    "<script>console.error('so and so')</script>": "console error: so and so",
    "<script>throw new Error('thrown')</script>": "page error: thrown",
    "<script>Promise.reject(new Error('later'))</script>": "page error: later",
    "<iframe title=x srcdoc='<script>inner()</script>'></iframe>": "page error: inner is",
    "<img alt='' src='beside.png'>": "request: file:///",
    "<img alt='' src='https://example.org/a.png'>": "request: https://example.org/a.png",
    "<script>fetch('https://example.org/b').catch(() => 0)</script>": "example.org/b",
    "<script>navigator.sendBeacon('https://example.org/c')</script>": "example.org/c",
    "<script>new WebSocket('wss://example.org/d')</script>": "wss://example.org/d",
    "<iframe title=x src='https://frames.example.org/'></iframe>": "https://frames.example.org/",
}


@pytest.mark.parametrize("policy", ["", _POLICY])
def test_faults_are_noticed(tmp_path: Path, browser: Browser, policy: str) -> None:
    head = f'<meta http-equiv=Content-Security-Policy content="{policy}">' if policy else ""
    opener = Opener(browser)
    opener.open(_write(tmp_path, "".join(_FAULTS), head)).wait_for_timeout(200)
    with pytest.raises(AssertionError) as raised:
        opener.close()
    complaints = str(raised.value)
    assert [said for said in _FAULTS.values() if said not in complaints] == []


def test_a_fault_after_the_load_is_noticed(tmp_path: Path, browser: Browser) -> None:
    opener = Opener(browser)
    page = opener.open(_write(tmp_path, "<button onclick='broken()'>Press</button>"))
    assert opener.complaints() == []
    page.get_by_role("button").click()
    with pytest.raises(AssertionError, match="broken is not defined"):
        opener.close()


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>", "image-alt (critical)"),
        ("<p style='color: #bbb; background: #fff'>pale</p>", "color-contrast (serious)"),
        ("<iframe title=x srcdoc='<html lang=en><title>x</title><input>'></iframe>", "label ("),
    ],
)
def test_a_hard_page_is_noticed(
    tmp_path: Path, open_page: Callable[..., Page], body: str, rule: str
) -> None:
    assert any(line.startswith(rule) for line in axe(open_page(_write(tmp_path, body))))


def test_axe_leaves_the_policy_in_force(tmp_path: Path, browser: Browser) -> None:
    policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">"
    opener = Opener(browser)
    page = opener.open(_write(tmp_path, "<script>document.title = 'ran'</script>", policy))
    assert axe(page) == []
    assert page.title() == "A page"
    assert "script-src" in " ".join(opener.complaints())


def test_settings_reach_the_page(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(
        _write(tmp_path, "<noscript>no scripts</noscript><script>document.title='ran'</script>"),
        width=360,
        height=700,
        color_scheme="dark",
        javascript=False,
        reduced_motion="reduce",
    )
    assert page.locator("noscript").inner_text() == "no scripts"
    assert page.title() == "A page"
    assert page.evaluate("[innerWidth, innerHeight]") == [360, 700]
    assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert page.evaluate("matchMedia('(prefers-reduced-motion)').matches")


def test_a_browser_named_wrongly_is_an_error(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_CHROMIUM", "/no/such/browser")
    with pytest.raises(FileNotFoundError, match="REGARD_CHROMIUM is '/no/such/browser'"):
        chromium.find(browser)  # type: ignore[arg-type]


@pytest.mark.parametrize("ci", [True, False], ids=["ci", "by hand"])
def test_without_a_browser(tmp_path: Path, ci: bool) -> None:
    """Tests of the page are skipped with a reason, but fail where nobody would notice that."""
    environment = {
        name: text for name, text in os.environ.items() if name not in ("CI", "REGARD_CHROMIUM")
    }
    environment |= {"PATH": "", "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    if ci:
        environment["CI"] = "true"
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider"]
    test = f"{Path(__file__)}::{test_a_quiet_page_is_no_fault.__name__}"
    done = subprocess.run(
        [*command, test],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "No Chromium or Chrome was found" in done.stdout
    assert ("1 error" if ci else "1 skipped") in done.stdout
    assert done.returncode == (1 if ci else 0)
