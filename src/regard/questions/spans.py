"""Named parts of a text: where they lie, and which tokens are theirs.

A token belongs to the part in which its first character lies; blanks before a word (" fox" in one
token) do not count as its first. Tokens in no part, as a template's markers, have the label -1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError

if TYPE_CHECKING:
    from jaxtyping import Bool, Int64

_PARAGRAPH: Final = re.compile(r"\n[ \t\r]*\n\s*")
_SENTENCE_END: Final = re.compile(
    r"[.!?\u2026]+[\"'\u2019\u201d)\]]*(?=\s)|[\u3002\uff01\uff1f]+|\n+"
)
# Words that end in a point and end no sentence.
_SHORT: Final = re.compile(
    r"(?:^|[\s(\"'])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|cf|e\.g|i\.e|Fig|approx)\.$"
)


@dataclass(frozen=True)
class Span:
    """A named part of a text, its characters text[start:stop]. Raises InputError if it is empty."""

    name: str
    start: int
    stop: int

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"name of a span is {self.name!r}: expected a name.")
        for end in (self.start, self.stop):
            if isinstance(end, bool) or not isinstance(end, (int, np.integer)):
                raise InputError(f"span {self.name!r} has the end {end!r}: expected characters.")
        if not 0 <= self.start < self.stop:
            raise InputError(
                f"span {self.name!r} is at {self.start}:{self.stop}: expected 0 <= start < stop, "
                "in characters of the text."
            )


def sentence_spans(text: str, start: int = 0, stop: int | None = None) -> tuple[Span, ...]:
    """The sentences of text[start:stop], named 's1', 's2', ...

    A sentence ends with . ! ? … (and closing quotation marks) before white space, with 。！？, or
    with the line; not with an initial or one of a few short forms (Dr., e.g.).
    """
    stop = len(text) if stop is None else stop
    edges, first = [], start
    for end in _SENTENCE_END.finditer(text, start, stop):
        if not _SHORT.search(text[max(first, end.start() - 12) : end.start() + 1]):
            edges.append((first, end.end()))
            first = end.end()
    return _numbered("s", text, [*edges, (first, stop)])


def paragraph_spans(text: str, start: int = 0, stop: int | None = None) -> tuple[Span, ...]:
    """The paragraphs or documents of text[start:stop], which blank lines part: 'p1', 'p2', ..."""
    stop = len(text) if stop is None else stop
    edges, first = [], start
    for gap in _PARAGRAPH.finditer(text, start, stop):
        edges.append((first, gap.start()))
        first = gap.end()
    return _numbered("p", text, [*edges, (first, stop)])


def message_spans(rendered: str, messages: Sequence[Mapping[str, Any]]) -> tuple[Span, ...]:
    """The content of each message in a chat template's text, named by role: 'user#1', 'user#2'.

    rendered: what the template made of `messages`, each with 'role' and 'content' (a string, or
    parts of which those with 'text' count). A template may trim a content's blanks; empty
    messages are left out. Raises InputError for a message that is not found in its place.
    """
    found: list[tuple[str, int, int]] = []
    place = 0
    for number, message in enumerate(messages):
        role = str(message.get("role", "message"))
        for content in _contents(message, number):
            start = rendered.find(content, place)
            if start < 0:
                raise InputError(
                    f"message {number} ({role}) is not in the rendered text as it stands: "
                    f"{content[:40]!r}. The template changes it; give its spans by characters."
                )
            place = start + len(content)
            found.append((role, start, place))
    times, so_far = Counter(role for role, _, _ in found), Counter[str]()
    spans = []
    for role, start, stop in found:
        so_far[role] += 1
        spans.append(Span(f"{role}#{so_far[role]}" if times[role] > 1 else role, start, stop))
    return tuple(spans)


def check_spans(text: str, spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans in the order of the text. Raises InputError if two overlap or one lies outside."""
    ordered = sorted(spans, key=lambda span: span.start)
    if not ordered:
        raise InputError("spans is empty: expected at least one part of the text.")
    for span in ordered:
        if span.stop > len(text):
            raise InputError(
                f"span {span.name!r} is at {span.start}:{span.stop} and the text has {len(text)} "
                "characters: expected to lie within it."
            )
    for before, after in pairwise(ordered):
        if after.start < before.stop:
            raise InputError(
                f"span {after.name!r} begins at {after.start}, within {before.name!r} "
                f"({before.start}:{before.stop}): a token can belong to one span only."
            )
    return tuple(ordered)


def token_labels(
    text: str,
    spans: Sequence[Span],
    offsets: Sequence[tuple[int, int]],
    special: Sequence[bool] | Bool[np.ndarray, " tokens"] | None = None,
) -> Int64[np.ndarray, " tokens"]:
    """Which span each token belongs to, by its index in `spans`; -1 for none.

    spans: in the order of the text, not overlapping (`check_spans`). offsets: (start, stop)
    characters of each token; an empty one belongs to no span, and so does a `special` token.
    `(labels, len(spans))` are the `groups` of a regard.Ask.
    """
    starts = np.array([span.start for span in spans])
    labels = np.full(len(offsets), -1)
    for token, (start, stop) in enumerate(offsets):
        if not 0 <= start <= stop <= len(text):
            raise InputError(
                f"token {token} has the offset ({start}, {stop}) and the text has {len(text)} "
                "characters. Do the text and the offsets belong together?"
            )
        if start == stop or (special is not None and special[token]):
            continue
        part = text[start:stop]
        if not part.isspace():
            start += len(part) - len(part.lstrip())
        owner = int(np.searchsorted(starts, start, side="right")) - 1
        if owner >= 0 and start < spans[owner].stop:
            labels[token] = owner
    return labels


def _numbered(letter: str, text: str, edges: Iterable[tuple[int, int]]) -> tuple[Span, ...]:
    """Spans without blanks at their ends, numbered from 1; empty ones are left out."""
    trimmed = []
    for start, stop in edges:
        part = text[start:stop]
        if part.strip():
            first = start + len(part) - len(part.lstrip())
            trimmed.append((first, start + len(part.rstrip())))
    return tuple(Span(f"{letter}{n + 1}", *ends) for n, ends in enumerate(trimmed))


def _contents(message: Mapping[str, Any], number: int) -> list[str]:
    """The texts of a message, as a template that trims blanks leaves them; empty ones left out."""
    content = message.get("content")
    if isinstance(content, str):
        parts: list[Any] = [content]
    elif isinstance(content, Sequence):
        parts = [part["text"] for part in content if isinstance(part, Mapping) and "text" in part]
    else:
        raise InputError(
            f"message {number} has the content {content!r}: expected a string, or a list of parts."
        )
    return [part.strip() for part in parts if part.strip()]
