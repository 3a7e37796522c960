"""The page of a record, or of the same word in two."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from regard import questions
from regard.errors import InputError
from regard.questions.turns import counterpart
from regard.views.cells import clean, clip
from regard.views.page.asked import Asked, asked_of
from regard.views.page.assembly import Draft
from regard.views.page.book import Book
from regard.views.page.fallback import fallback
from regard.views.page.plan import Room, fill
from regard.views.staging import Stage, shipped_habit

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from regard.record import Layer, Record
    from regard.views.page.assembly import Page
    from regard.views.scene import Link

BUDGET: Final = 10_000_000
"""Bytes of a file, unless said otherwise."""

_TITLE: Final = 120
_COMMAND: Final = 160


def page_of_record(
    record: Record,
    path: str | os.PathLike[str] | None = None,
    *,
    words: Sequence[str | int] | str | int = (),
    heads: Sequence[str] | str = (),
    layers: Sequence[int] | int = (),
    versus: Record | None = None,
    kind: str | None = None,
    view: str | None = None,
    budget: int = BUDGET,
    typed: Sequence[str] | None = None,
) -> Page:
    """One HTML file that shows the record, of at most `budget` bytes; written to `path` if given.

    A short text is in it whole, with the four steps of every row. Of a long one the file holds
    what fits: small pictures and readings of all heads, the strongest links of every word, whole
    rows and steps of the words, heads and layers asked for (else the strongest), then the links
    of as many heads as there is room for. What is left out is in `Page.left`, and on the page.

    words: names ('it', 'it#2') or indices; the page begins with the first. heads: as 'L3H1'.
    layers: their numbers. versus: another record of the same model, in which the first of
    `words` is looked up. kind: 'encoder', 'decoder' or 'cross', to begin with. view: the view to
    begin with. typed: the command that made the record, spelled out where more can be asked.

    Raises InputError for what the record does not have, a budget that is too small, and a path
    that cannot be written.
    """
    if not record.layers:
        raise InputError("the record has no layers: there is nothing to show.")
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise InputError(f"budget is {budget!r}: expected a number of bytes.")
    books = _books(record, kind, budget)
    asked = asked_of(books, words, heads, layers)
    lead = next((i for i, one in enumerate(asked) if one.words or one.heads), 0)
    if versus is not None:
        books, asked = _both(books[lead], asked[lead], versus, budget)
        lead = 0
    view = view or ("sentence" if versus is None else "versus")
    links, start = _start(books, asked, lead, view)
    source = books[lead].source
    whole = clean(" ".join((source.text or " ".join(source.words)).split()))
    title = clip(whole, _TITLE) or "a text without words"
    subtitle = _subtitle(books[lead], versus)
    first = asked[lead].words
    word = books[lead].words.readers.names[first[0]] if first else None
    turns = None if versus is None else _versus(books, asked)
    if turns is not None and turns["there"] and not asked[lead].heads:
        start["head"] = turns["there"][0]["head"]  # the clearest of those that turn
    draft = Draft(
        title=title,
        subtitle=subtitle,
        books=[book.frame() for book in books],
        start=start,
        still=fallback(title, subtitle, source, links, word),
        budget=budget,
        versus=turns,
        notes=_notes(books),
    )
    room = draft.room
    for place, (book, data, one) in enumerate(zip(books, draft.books, asked, strict=True)):
        share = room // (len(books) - place)
        here = Room(share, share)
        fill(book, data, one, here)
        room -= share - here.left
        named = f"{book.record.layers[0].kind}: " if len(books) > 1 and versus is None else ""
        draft.kept += [named + said for said in here.kept]
        draft.left += [
            {"what": named + what, "command": _command(why, book, typed, budget)}
            for what, why in here.missing
        ]
    return draft.page(path)


def _books(record: Record, kind: str | None, budget: int) -> list[Book]:
    """A book for each kind of attention, and for each pair of sides that it is between."""
    kinds = list(dict.fromkeys(layer.kind for layer in record.layers))
    if kind is not None:
        if kind not in kinds:
            raise InputError(f"kind is {kind!r}: the record has {' and '.join(kinds)} attention.")
        kinds.sort(key=lambda one: one != kind)
    habit = shipped_habit(record)
    books = []
    for one in kinds:
        between: dict[tuple[int, int], list[Layer]] = {}
        for layer in record.layers:
            if layer.kind == one:
                between.setdefault((layer.query_side, layer.key_side), []).append(layer)
        for layers in between.values():
            part = replace(record, layers=tuple(layers))
            books.append(Book(Stage(part, habit, one), budget))
    return books


def _both(book: Book, asked: Asked, other: Record, budget: int) -> tuple[list[Book], list[Asked]]:
    """The same kind of attention in two records, and the same word in each."""
    if not asked.words:
        raise InputError("versus needs words: the word to compare in both texts.")
    stage = Stage(other, book.stage.habit, book.stage.kind)
    second = Book(stage, budget)
    word = counterpart(book.words.readers, asked.words[0], second.words.readers)
    return [book, second], [asked, Asked((word,), asked.heads)]


def _start(
    books: list[Book], asked: list[Asked], lead: int, view: str
) -> tuple[Sequence[Link], dict[str, Any]]:
    """The links that a still picture shows, and where the page begins."""
    book, one = books[lead], asked[lead]
    links: Sequence[Link] = book.links
    names = book.words.readers.names
    unit = one.words[0] if one.words else None
    if unit is None and book.written is not None:  # the row that wrote the model's first word
        unit = max(0, book.written["unit"] - 1)
    if unit is not None:
        links, far = book.stage.links_of(unit)
        links = [far, *(link for link in links if link != far)] if far else links
    elif links:
        unit = names.index(links[0].reader)
    head = one.heads[0] if one.heads else None
    if head is None and links:
        head = book.labels.index(links[0].head)
    step = 1 if view == "steps" else None
    return links, {"book": lead, "unit": unit, "head": head, "step": step, "view": view}


def _versus(books: list[Book], asked: list[Asked]) -> dict[str, Any]:
    """Which heads turn between the two books."""
    (a, b), (of_a, of_b) = books, asked
    assert of_a.words is not None
    assert of_b.words is not None
    unit_a, unit_b = of_a.words[0], of_b.words[0]
    seen = questions.turns(a.record, unit_a, b.record, unit_b)
    names = [clean(name) for name in a.words.keys.names]

    def listed(turns: Sequence[questions.Turn]) -> list[dict[str, Any]]:
        return [
            {
                "head": int(a.words.first_head[turn.layer]) + turn.head,
                "a": list(turn.weights[:2]),
                "b": list(turn.weights[2:]),
            }
            for turn in turns
        ]

    return {
        "a": 0,
        "b": 1,
        "a_unit": unit_a,
        "b_unit": unit_b,
        "first": None if seen is None else names[seen.first],
        "second": None if seen is None else names[seen.second],
        "a_first": None if seen is None else seen.first,
        "a_second": None if seen is None else seen.second,
        "b_first": None if seen is None else seen.first_b,
        "b_second": None if seen is None else seen.second_b,
        "there": [] if seen is None else listed(seen.there),
        "back": [] if seen is None else listed(seen.back),
        "stays": [] if seen is None else listed(seen.stays),
    }


def _subtitle(book: Book, versus: Record | None) -> str:
    source = book.source
    counts = sorted({*source.heads}) or [0]
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    heads = "head" if counts == [1] else "heads"
    layers = "layer" if len(source.heads) == 1 else "layers"
    said = f"{source.model}, {len(source.heads)} {layers} × {each} {heads}"
    if versus is None:
        return said
    other = next((side.text for side in versus.sides if side.text), None)
    return (
        said
        if other is None
        else f"{said}; beside it: {clip(clean(' '.join(other.split())), _TITLE)}"
    )


def _notes(books: Sequence[Book]) -> list[str]:
    """What has to be said of the record, whatever is looked at."""
    notes = []
    source = books[0].source
    if source.written:
        notes.append(f"It wrote: {clip(clean(' '.join(source.written.split())), 400)}")
    if source.stopped is not None:
        notes.append(f"The recording stopped early, {source.stopped}.")
    if not all(book.source.exact for book in books):
        notes.append("Only the largest weights were kept: sums marked ≥ are lower bounds.")
    if source.unknown:
        names = ", ".join(clean(name) for name in source.unknown[:8])
        notes.append(
            f"The model does not know: {clip(names, 200)}. It reads one token for all such words."
        )
    return notes


def _command(why: str, book: Book, typed: Sequence[str] | None, budget: int) -> str:
    """What to type to have more in the file; why: 'keep', 'budget', 'words', or a head that is not
    in it."""
    if why == "keep":
        return 'regard.capture(text, keep=("query", "key", "value"))'
    if why == "budget":
        return f"record.page(path, budget={2 * budget})"
    head = book.labels[int(why)] if why.isdigit() else book.labels[0]
    if typed is None:
        if why.isdigit():
            return f"record.page(path, heads=[{head!r}])"
        return f"record.page(path, words=[WORD], heads=[{head!r}])"
    options = f"--head {head}" if why.isdigit() else f"--word WORD --head {head}"
    line = clean(f"{shlex.join(typed)} {options} --html page.html")
    return line if len(line) <= _COMMAND else f"the same command with {options}"
