"""Hostile text made harmless, real text left alone, and both aligned."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from regard.views.cells import _OURS, clean, clip, isolate, one_line, pad, width

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
REAL = {
    "hungry": 6,
    "e\u0301te\u0301": 3,
    "漢字": 4,
    "한국": 4,
    "שלום": 4,
    "مرحبا": 5,
    "می\u200cخواهم": 7,  # the joiner-breaker belongs to Persian spelling
    "क्\u200dष": 2,
    FAMILY: 2,
    "\U0001f469\U0001f3fd\u200d\U0001f680": 2,
    "❤\ufe0f\u200d\U0001f525": 2,
    "1\ufe0f\u20e3": 2,
    "\U0001f1eb\U0001f1f7": 2,
    SCOTLAND: 2,
}
HOSTILE = {
    "a\x1b[31mb": "a\\x1b[31mb",
    "\x9b31m": "\\x9b31m",
    "\x00\x07\x7f": "\\x00\\x07\\x7f",
    "a\tb\r\n": "a\\tb\\r\\n",
    "\u202egod\u202c": "\\u202egod\\u202c",
    "\u2066x\u2069": "\\u2066x\\u2069",
    "\u200e\u200f\u061c": "\\u200e\\u200f\\u061c",
    "\u2028\u2029\x85": "\\u2028\\u2029\\x85",
    "a\u200bb\ufeff": "a\\u200bb\\ufeff",
    "a\u200db": "a\\u200db",
    "\ud800": "\\ud800",
    "so\xadft": "so\\xadft",
    "a\U000e0041\U000e007f": "a\\U000e0041\\U000e007f",
    "a\ufe0f": "a\\ufe0f",
    "\u3164": "\\u3164",
    "\u0301e": "\u25cc\u0301e",
    "e" + "\u0301" * 7: "e" + "\u0301" * 6 + "\\u0301",
}


@pytest.mark.parametrize(("text", "cells"), REAL.items())
def test_real_text_is_left_alone_and_measured(text: str, cells: int) -> None:
    assert clean(text) == text
    assert width(text) == cells


@pytest.mark.parametrize(("text", "shown"), HOSTILE.items())
def test_what_steers_or_hides_is_written_out(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_what_is_measured_without_wcwidth_is_measured_as_it_would() -> None:
    from wcwidth import wcwidth

    latin = [chr(code) for code in range(0xA1, 0x300) if clean(chr(code)) == chr(code)]
    assert len(latin) > 500
    for char in (*latin, *_OURS):
        assert width(char) == wcwidth(char), ascii(char)


def test_one_line_folds_white_space_and_cleans_the_rest() -> None:
    assert one_line(" a\tb\r\n\u2028c \x1b ") == "a b c \\x1b"


def test_a_right_to_left_word_is_isolated_and_padded_by_what_is_drawn() -> None:
    assert isolate("hungry") == "hungry"
    assert pad("שלום", 6) == "\u2068שלום\u2069  "
    assert pad("שלום", 6, "right") == "  \u2068שלום\u2069"


@pytest.mark.parametrize(
    ("align", "padded"), [("left", "漢  "), ("right", "  漢"), ("centre", " 漢 ")]
)
def test_pad_counts_cells(align: str, padded: str) -> None:
    assert pad("漢", 4, align) == padded  # type: ignore[arg-type]


def test_pad_leaves_what_is_wider() -> None:
    assert pad("hungry", 3) == "hungry"


@pytest.mark.parametrize(
    ("text", "cells", "clipped"),
    [
        ("hungry", 6, "hungry"),
        ("hungry", 5, "hung…"),
        ("漢字漢", 5, "漢字…"),
        ("漢字漢", 4, "漢…"),
        (FAMILY * 3, 4, FAMILY + "…"),
        (FAMILY * 3, 2, "…"),
        ("e\u0301" * 3, 2, "e\u0301…"),
        ("hungry", 1, "…"),
        ("hungry", 0, ""),
        ("x" * 10_000_000, 4, "xxx…"),
    ],
)
def test_clip_never_cuts_inside_what_is_drawn_as_one(text: str, cells: int, clipped: str) -> None:
    assert clip(text, cells) == clipped


def test_clip_can_keep_the_end() -> None:
    assert clip("hungry dog", 5, keep="end") == "… dog"
    assert clip("漢字漢字", 5, keep="end") == "…漢字"
    assert clip("dog", 3, keep="end") == "dog"


def test_clip_marks_with_what_the_encoding_can_carry() -> None:
    assert clip("hungry", 5, more="..") == "hun.."


@given(st.text(st.characters(), max_size=40))
def test_nothing_that_steers_survives_and_cleaning_twice_changes_nothing(text: str) -> None:
    shown = clean(text)
    assert clean(shown) == shown
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert not any(unicodedata.bidirectional(c) in _STEERS for c in shown)
    shown.encode("utf-8")


_STEERS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(st.text(st.characters(), max_size=40), st.integers(0, 30))
def test_clipped_and_padded_text_fills_its_cells(text: str, cells: int) -> None:
    shown = clip(clean(text), cells)
    assert 0 <= width(shown) <= cells
    assert width(shown) == width(clean(text)) or shown.endswith("…") or cells == 0
