"""What of a record goes into a file of a stated size, and what does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.record import many
from regard.views.page.gathered import READINGS, THUMB, Gathered, OfLevel, mean_of
from regard.views.page.links import links, whole_rows
from regard.views.page.packing import block, cost, positive
from regard.views.page.sight import sight
from regard.views.page.spelled import layer_steps, steps_size, word_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from regard.views.page.asked import Asked
    from regard.views.page.book import Book

# Of the budget, at most, when not everything fits: so that no one thing crowds out the rest.
_THUMBS, _READINGS, _STRONGEST, _ROWS, _STEPS, _LINKS = 0.15, 0.15, 0.15, 0.12, 0.15, 0.35
_UNASKED: Final = 0.75
_ALL_ROWS: Final = 0.5
_ASKED: Final = 0.6
_PACKED: Final = 1.25
"""Bytes in a page for a byte of numbers: base64, less what compression saves at the least."""

_LARGEST: Final = (8, 6, 4)
_KEYS: Final = 256
"""Keys of a long row that the four steps are spelled out for: those read most."""

_SOME, _FEW = 12, 4
"""Words whose rows, and words whose four steps, are in a file where none were asked for."""


@dataclass
class Room:
    """The bytes that are left, of `whole`, and what was said of what is in and what is not."""

    whole: int
    left: int
    kept: list[str] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)

    def takes(self, tree: Any, part: float = 1.0) -> bool:
        """Whether these blocks fit, into that part of the whole too; if so, they are in."""
        size = cost(tree)
        if size > min(self.left, part * self.whole):
            return False
        self.left -= size
        return True

    def fits(self, numbers: float, part: float = 1.0) -> bool:
        """Whether so many bytes of numbers would fit, by an estimate."""
        return numbers * _PACKED <= min(self.left, part * self.whole)


def fill(book: Book, data: dict[str, Any], asked: Asked, room: Room) -> None:
    """Put into `data`, the frame of a book, the numbers that there is room for."""
    gathered = book.gathered
    _small(data, gathered, room)
    levels = list(zip(("words", "pieces"), gathered.levels, strict=False))
    for name, one in levels:
        _strongest(data[name], one, name, room)
    every = [_all_rows(data[name], one, name, room) for name, one in levels]
    if all(every) and _all_steps(book, data, room):
        for name, one in levels:
            _readings(data[name], one, name, room)
        return
    if not (asked.words or asked.heads):  # room for what may be asked, and less to decode
        room.left = max(room.left - int((1 - _UNASKED) * room.whole), 0)
    words = asked.words or best_words(book)[:_SOME]
    heads = list(dict.fromkeys([*(asked.heads or ()), *best_heads(book, words)]))
    _chosen_rows(book, data, every, asked, words, room)
    _chosen_steps(book, data, asked, asked.words or words[:_FEW], heads, room)
    for (name, one), full in zip(levels, every, strict=True):
        _readings(data[name], one, name, room)
        if not full:
            _links(data[name], one, name, heads, room)


def best_words(book: Book) -> list[int]:
    """The readers of the strongest links, best first."""
    names = {name: place for place, name in enumerate(book.words.readers.names)}
    first = [names[link.reader] for link in book.links]
    lift = book.gathered.levels[0].strongest.lift.max(axis=1, initial=-np.inf)
    rest = [int(word) for word in np.argsort(-lift, kind="stable") if np.isfinite(lift[word])]
    return list(dict.fromkeys([*first, *rest])) or [*range(len(names))]


def best_heads(book: Book, words: Sequence[int]) -> list[int]:
    """All heads: those of the strongest links of these words, of the text, then the others."""
    strongest = book.gathered.levels[0].strongest
    found = []
    for of in (np.asarray(words, np.int64), slice(None)):
        head, lift = strongest.head[of].ravel(), strongest.lift[of].ravel()
        order = np.argsort(-lift, kind="stable")
        found += [int(one) for one in head[order] if one >= 0]
        found += [book.labels.index(link.head) for link in book.links]
    return list(dict.fromkeys([*found, *range(book.words.heads)]))


def _small(data: dict[str, Any], gathered: Gathered, room: Room) -> None:
    """Small pictures of heads, and what is known of each unit in each head."""
    for size in (THUMB, THUMB // 2, THUMB // 4):
        found = gathered.thumbs_data(size)
        if found is None or room.takes(found, _THUMBS):
            data["thumbs"] = found
            break
    else:
        room.missing.append(("pictures of heads in small", "budget"))
    for name, one in zip(("words", "pieces"), gathered.levels, strict=False):
        into = data[name]
        into["means"] = {read: mean_of(one.of[read]) for read in ("entropy", "apart")}
        room.takes(into["means"])
        into["seen"], whole = sight(one.level, one.seen)
        if not (whole and room.takes(into["seen"])):
            into["seen"] = None
            room.missing.append((f"which {name} each of the {name} may see", "budget"))


def _readings(into: dict[str, Any], one: OfLevel, name: str, room: Room) -> None:
    """What is known of each unit in each head, in 32 bits each where they are few, else in 16."""
    for read in READINGS:
        numbers = one.of[read]
        if np.isnan(numbers).all():
            continue
        if read == "sums" and not (np.abs(numbers[~np.isnan(numbers)] - 1) > 1e-3).any():
            continue
        small = numbers.size <= 2**15
        if small or 2 * numbers.size < min(room.left, _READINGS * room.whole):
            packed = block("core", numbers, "f4") if small else positive("core", numbers)
            if room.takes(packed, _READINGS):
                into[read] = packed
                continue
        room.missing.append((f"{_SAID[read]} of each of the {name}", "budget"))


_SAID: Final = {
    "apart": "the weight on special tokens",
    "entropy": "the entropy",
    "received": "the weight received",
    "sums": "the row sum",
}


def _strongest(into: dict[str, Any], one: OfLevel, name: str, room: Room) -> None:
    for most in (one.strongest.most, 8, 4, 2):
        found = one.strongest.data(most)
        if found is None or room.takes(found, _STRONGEST):
            into["strongest"] = found
            return
    room.missing.append((f"the strongest links of each of the {name}", "budget"))


def _all_rows(into: dict[str, Any], one: OfLevel, name: str, room: Room) -> bool:
    """Every row of every head, if there is room; whether there was."""
    level = one.level
    if not level.whole or not room.fits(4 * level.cells, _ALL_ROWS):
        return False
    heads, readers = range(level.heads), range(len(level.readers.words))
    exact = level.cells <= 2**17
    full = whole_rows(level, heads, readers, exact=exact)
    if not room.takes(full, _ALL_ROWS):
        return False
    into["full"] = full
    room.kept.append(f"every row of every head, by {name}")
    return True


def _all_steps(book: Book, data: dict[str, Any], room: Room) -> bool:
    if not book.spelled:
        room.missing.append((_NO_STEPS, "keep"))
        return True
    layers = [(index, book.record.layers[index]) for index in book.spelled]
    size = sum(steps_size(layer, layer.heads, len(layer.query_positions)) for _, layer in layers)
    if not room.fits(size):
        return False
    steps = [
        layer_steps(book.record, index, range(layer.heads), int(book.words.first_head[index]))
        for index, layer in layers
    ]
    if not room.takes(steps):
        return False
    data["steps"] = steps
    room.kept.append("the four steps of every row in every head")
    return True


_NO_STEPS: Final = "the four steps, of which no query, key and value were kept"


def _chosen_rows(
    book: Book,
    data: dict[str, Any],
    every: Sequence[bool],
    asked: Asked,
    words: Sequence[int],
    room: Room,
) -> None:
    """Whole rows of chosen words in all heads, or in those asked for if not all fit; of heads
    asked for without words, whole rows of all words if they fit."""
    part = _ASKED if asked.words or asked.heads else _ROWS
    for name, level, full in zip(("words", "pieces"), book.levels, every, strict=False):
        if full:
            continue
        if not book.whole:
            room.missing.append((f"whole rows of {name}, which the record does not hold", "keep"))
            continue
        heads: Sequence[int] = range(level.heads)
        readers: Sequence[int] = [*words] if name == "words" else book.pieces_of(words)
        if asked.heads:
            row, every_word = 4 * len(level.keys.words), range(len(level.readers.words))
            if not asked.words and room.fits(row * len(asked.heads) * len(every_word), part):
                heads, readers = asked.heads, every_word
            elif not room.fits(row * level.heads * len(readers), part):
                heads = asked.heads
        taken = _most(
            readers,
            partial(whole_rows, level, heads, exact=False),
            4 * len(heads) * len(level.keys.words),
            room,
            part,
        )
        if taken is None:
            room.missing.append((f"whole rows of {name}", "budget"))
            continue
        data[name]["full"], count = taken
        of = f"{count} of {many(len(level.readers.words), name[:-1])}"
        within = f"{len(heads)} of {many(level.heads, 'head')}"
        room.kept.append(f"whole rows of {of} in {within}")
        room.missing.append((f"whole rows beyond {of} in {within}", "words"))


def _chosen_steps(
    book: Book,
    data: dict[str, Any],
    asked: Asked,
    words: Sequence[int],
    heads: Sequence[int],
    room: Room,
) -> None:
    """The four steps of chosen words in chosen heads, a head at a time while there is room."""
    if not book.spelled:
        room.missing.append((_NO_STEPS, "keep"))
        return
    part = _ASKED if asked.words or asked.heads else _STEPS
    before = room.left
    count = 0
    for head in heads:
        index = int(np.searchsorted(book.words.first_head, head, side="right")) - 1
        first = int(book.words.first_head[index])
        layer = book.record.layers[index]
        if not room.fits(steps_size(layer, 1, len(words), _KEYS)):
            break
        if index not in book.spelled:
            continue
        made = word_steps(book.record, index, head - first, first, words, _KEYS)
        if made is None:
            continue
        used = before - room.left + cost(made)
        if used > part * room.whole or not room.takes(made):
            break
        data["steps"].append(made)
        count += 1
    names = ", ".join(book.words.readers.names[word] for word in words[:_FEW])
    of = f"{names} in {count} of {many(book.words.heads, 'head')}"
    if count:
        room.kept.append(f"the four steps of {of}")
    room.missing.append((f"the four steps beyond those of {of}", "words"))


def _links(into: dict[str, Any], one: OfLevel, name: str, heads: Sequence[int], room: Room) -> None:
    """The largest weights of every row of as many heads as there is room for."""
    level = one.level
    first = dict.fromkeys(heads)
    order = [*first, *(head for head in range(level.heads) if head not in first)]
    rows = len(level.readers.words)
    part = _LINKS if name == "words" else _LINKS / 2
    for most in _LARGEST:
        each = rows * most * 6
        if room.fits(each * level.heads, part) or most == _LARGEST[-1]:
            break
    taken = _most(order, lambda heads: links(one, most, sorted(heads)), each, room, part)
    if taken is None:
        room.missing.append((f"links of {many(level.heads, 'head')} by {name}", "budget"))
        return
    into["links"], count = taken
    if into["links"] is None:
        return
    said = f"links of {count} of {many(level.heads, 'head')} by {name}"
    room.kept.append(f"{said}, the {most} largest of each row")
    if count < level.heads:
        room.missing.append(
            (
                f"links of {level.heads - count} of {many(level.heads, 'head')} by {name}",
                str(order[count]),
            )
        )


def _most(
    order: Sequence[int],
    make: Callable[[Sequence[int]], Any],
    each: float,
    room: Room,
    part: float,
) -> tuple[Any, int] | None:
    """What `make` makes of as many of `order` as fit, and how many; each: bytes of one."""
    limit = min(room.left, part * room.whole)
    count = min(len(order), int(limit / (each * _PACKED))) if each else len(order)
    while count > 0:
        made = make(order[:count])
        if room.takes(made, part):
            return made, count
        count = min(count - 1, int(count * 0.95 * limit / cost(made)))
    return None
