"""Which words, heads and layers a page is to hold whole, by the names that people write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import InputError
from regard.questions import find_head, find_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.views.page.book import Book


@dataclass(frozen=True)
class Asked:
    """What is wanted whole: words (units of the readers), heads (places among all heads of a
    book), first the one to begin with; None where nothing was said."""

    words: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None


def asked_of(books: Sequence[Book], words: Any, heads: Any, layers: Any) -> list[Asked]:
    """For each book what was asked of it. Raises InputError for what is in none of them.

    words: names or indices; heads: as 'L3H1'; layers: numbers.
    """
    listed = [[one] if isinstance(one, (str, int)) else list(one) for one in (words, heads, layers)]
    found: list[Asked] = []
    for book in books:
        first = book.words.first_head
        of_words = [unit for name in listed[0] if (unit := _word(book, name)) is not None]
        places = [place for name in listed[1] if (place := _head(book, name)) is not None]
        of_heads = [int(first[index]) + head for index, head in places]
        of_layers = [
            head
            for number in listed[2]
            for index, layer in enumerate(book.record.layers)
            if layer.number == number
            for head in range(first[index], first[index + 1])
        ]
        heads_of = of_heads or of_layers
        if of_heads and of_layers:
            heads_of = [head for head in of_heads if head in of_layers] or of_heads
        found.append(Asked(tuple(of_words) or None, tuple(map(int, heads_of)) or None))
    _check(books, found, listed)
    return found


def _word(book: Book, name: Any) -> int | None:
    side = book.words.readers
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
        return int(name) if 0 <= name < len(side.words) else None
    try:
        return find_word(side, name)
    except InputError:
        return None


def _head(book: Book, name: Any) -> tuple[int, int] | None:
    try:
        return find_head(book.record, name)
    except InputError:
        return None


def _check(books: Sequence[Book], found: Sequence[Asked], listed: list[list[Any]]) -> None:
    """Raises the first error of what is in no book."""
    words, heads, layers = listed
    lead = books[0]
    for name in words:
        if all(_word(book, name) is None for book in books):
            if isinstance(name, str):
                find_word(lead.words.readers, name)  # says what is wrong with it
            raise InputError(
                f"words has {name!r}: expected names, or indices 0 to "
                f"{len(lead.words.readers.words) - 1}."
            )
    for name in heads:
        if all(_head(book, name) is None for book in books):
            find_head(lead.record, name)
    numbers = {layer.number for book in books for layer in book.record.layers}
    for number in layers:
        if number not in numbers:
            raise InputError(f"layers has {number!r}: expected among {sorted(numbers)}.")
