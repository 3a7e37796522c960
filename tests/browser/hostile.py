"""Words that would break a careless page, and records made of them."""

from __future__ import annotations

import numpy as np

import regard
from regard.record import Record

MARK = "window.__broken = 1"
"""What none of them may ever do."""

WORDS = (
    f"</script><script>{MARK}</script>",
    "</SCRIPT >",
    "<!--",
    "-->",
    "<!--<script>",
    f"<img src=x onerror='{MARK}'>",
    f"<svg onload={MARK}>",
    f"'\"><iframe srcdoc='<script>parent.{MARK}</script>'>",
    "</style><style>*{display:none}</style>",
    "</iframe></main></body></html>",
    f"javascript:{MARK}",
    "a<b<c",
    "&lt;b&gt; &amp;amp; &#60;",
    "\"'`",
    "\\u003cb\\u003e\\",
    "${1+1} {{1+1}} %3Cb%3E",
    "line\u2028paragraph\u2029end",
    "lone\ud800high",
    "\udc00low",
    "\u202eoverridden\u202c",
    "\u2067isolated, never closed",
    "\u200bzero\u200bwidth\ufeff",
    "e\u0301" + "\u0300\u0316\u0334" * 20,
    "👨‍👩‍👧‍👦👩🏽‍🚀🏴‍☠️",
    "مرحبا بالعالم",
    "שָׁלוֹם",
    "नमस्ते क्षत्रिय",
    "注意力机制",
    "ภาษาไทย",
    "tab\tand\nnew\r\nlines",
    "null\0bell\x07escape\x1b[31m",
    "",
    " ",
    "__proto__",
    "constructor",
    "x" * 10_000,
    "https://example.org/" + "y" * 300,
    "=HYPERLINK(1)",
)


def labels() -> Record:
    """Every one of them a word of its own, in two layers of two heads."""
    random = np.random.default_rng(11)
    shape = (2, len(WORDS), 4)
    made = [tuple(random.normal(size=shape) for _ in range(2)) for _ in range(3)]
    return regard.from_qkv(*made, list(WORDS))


def text() -> Record:
    """All of them as one text, cut where they were joined."""
    random = np.random.default_rng(12)
    pieces = [word for word in WORDS if word.strip() and len(word) < 1000]
    whole, offsets = "", []
    for piece in pieces:
        offsets.append((len(whole), len(whole) + len(piece)))
        whole += piece + " "
    query, key, value = random.normal(size=(3, 2, len(pieces), 4))
    return regard.from_qkv(query, key, value, pieces, text=whole, offsets=offsets)
