"""One HTML file from its parts."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

import regard
from records import record_of
from regard.errors import InputError
from regard.views.page import page_of_record
from regard.views.page.document import Shell, document, escaped, joined_style
from regard.views.page.file import write
from regard.views.page.script import AssetError
from unpacked import Elements

HOSTILE = (
    "</script><script>alert(1)</script>", "<!--", "<img src=x onerror=alert(1)>", "a<b<c",
    "\"'`\\", "\u2028\u2029", "\ud800", "\u202eabc", "a\0b\x1b[31m", "\ufeff", "&lt;&amp;",
    "e" + "\u0301" * 40, "\U0001f468\u200d\U0001f469\u200d\U0001f467", "@script@", "x" * 10_000,
)  # fmt: skip


def test_style_and_script_are_let_in_by_their_hashes_and_nothing_else() -> None:
    html = regard.capture("A dog").page().html
    found = Elements(html)
    policy = next(
        meta["content"] or ""
        for meta in found.metas
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    run = [text for attributes, text in found.scripts if not attributes]
    assert rules["script-src"] == f"'{_hash(run[0])}'"
    assert rules["style-src"] == f"'{_hash(found.styles[0])}'"
    assert len(run) == len(found.styles) == 1
    assert not [name for _, name, _ in found.attributes if name == "style" or name[:2] == "on"]
    # the policy stands before anything that it has to hold for
    assert html.index("Content-Security-Policy") < html.index("<style>")


def test_hostile_words_are_text_everywhere() -> None:
    side = regard.from_weights([[1 / len(HOSTILE)] * len(HOSTILE)] * len(HOSTILE), HOSTILE)
    plain = regard.from_weights([[0.5, 0.5]] * 2, ["a", "b"]).page().html
    html = side.page().html
    html.encode("utf-8")
    found, usual = Elements(html), Elements(plain)
    assert set(found.tags) == set(usual.tags)
    assert found.tags.count("script") == usual.tags.count("script")
    assert "\0" not in html
    shown = "".join(found.text)
    assert "\u202e" not in shown
    assert "</script><script>alert(1)</script>" in shown


def test_what_looks_like_a_field_of_the_template_stays_text() -> None:
    shell = Shell("s();", "p{}", "<title>@title@</title>@fallback@<script>@script@</script>")
    made = document(shell, title="@script@", fallback="@book@", book="", parts={}, version="")
    assert made == "<title>@script@</title>@book@<script>s();</script>"


def test_text_is_escaped_for_attributes_too() -> None:
    assert escaped('<a href="x">\'&') == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;"


def test_the_style_of_the_page_comes_first() -> None:
    style = joined_style({"a/b.css": "b {}", "core/page.css": "p {}", "a/a.css": "\n  a {}\n"})
    assert style == "p {}\na {}\nb {}\n"
    with pytest.raises(AssetError, match="</style"):
        joined_style({"page.css": "</STYLE>"})


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "page.html"
    target.write_text("before", encoding="utf-8")
    page = page_of_record(record_of("a", "b"), target)
    assert target.read_text("utf-8") == page.html
    assert page.size == target.stat().st_size
    assert page.path == str(target)

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write(target, "after")
    assert target.read_text("utf-8") == page.html
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("path", [".", "missing/page.html", "a\0b.html"])
def test_a_path_that_cannot_be_written_is_said(path: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"directory|cannot be written"):
        write(tmp_path / path, "text")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def test_the_page_says_its_own_size() -> None:
    html = regard.capture("A dog").page().html
    found = re.search(r'"bytes":(\d+)', html)
    assert found is not None
    assert int(found[1]) == len(html.encode("utf-8"))
