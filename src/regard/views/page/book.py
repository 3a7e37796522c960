"""One kind of attention of a record as the page's book of numbers: what is always in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.rows import by_word
from regard.sources import layer_readings
from regard.views.page.level import Level
from regard.views.page.packing import block
from regard.views.page.units import as_pieces, is_split, side_data

if TYPE_CHECKING:
    from jaxtyping import Float

    from regard.record import Layer
    from regard.views.page.packing import Block
    from regard.views.scene import Sentence
    from regard.views.staging import Stage

THUMB: Final = 32
"""Blocks of a head's small picture, each way."""


class Book:
    """What one kind of attention shows, before it is decided how much of it a file holds."""

    def __init__(self, stage: Stage, seen: Sentence) -> None:
        self.stage = stage
        self.record = stage.record
        self.seen = seen
        self.words = Level(self.record, stage.habit)
        self.pieces = Level(as_pieces(self.record), None) if is_split(self.record) else None
        self.labels = [
            layer.label(head) for layer in self.record.layers for head in range(layer.heads)
        ]

    @property
    def tokens(self) -> Level:
        """The level whose units are tokens."""
        return self.words if self.pieces is None else self.pieces

    def frame(self) -> dict[str, Any]:
        """Everything but numbers of rows."""
        source = self.seen.source
        does = {
            label: {"reads": one.reads, "always": one.always}
            for one in self.seen.routines
            for label in one.heads
        }
        kinds = {label: kind.kind for kind in self.seen.kinds for label in kind.heads}
        heads = [
            (at, layer, head)
            for at, layer in enumerate(self.record.layers)
            for head in range(layer.heads)
        ]
        return {
            "text": self.words.readers.text,
            "name": self.words.readers.name,
            "model": source.model,
            "kind": self.record.layers[0].kind,
            "layers": [{"number": one.number, "name": one.name} for one in self.record.layers],
            "heads": [
                {
                    "label": layer.label(head),
                    "layer": at,
                    "number": _head_number(layer, head),
                    "does": does.get(layer.label(head)),
                    "kind": kinds.get(layer.label(head)),
                }
                for at, layer, head in heads
            ],
            "words": self._level(self.words),
            "pieces": None if self.pieces is None else self._level(self.pieces),
            "habit": self._habit(),
            "thumbs": None,
            "steps": [],
            "written": self._written(),
        }

    def _level(self, level: Level) -> dict[str, Any]:
        of_words = level is self.words
        apart = level.record.apart(0)
        special = level.readers.special_words
        whose = [
            None if of_words else side.word_of for side in (self.words.readers, self.words.keys)
        ]
        return {
            "readers": side_data(level.readers, apart if level.same else special, whose[0]),
            "keys": None if level.same else side_data(level.keys, apart, whose[1]),
            **dict.fromkeys(("full", "seen", "links", "strongest", "entropy", "apart")),
            **dict.fromkeys(("received", "sums")),
            "means": {"entropy": None, "apart": None},
        }

    def _habit(self) -> dict[str, Any] | None:
        habit = self.stage.habit
        if habit is None or not self.words.same:
            return None
        tables = {
            "bins": habit.distance, "first": habit.first, "last": habit.last,
        }  # fmt: skip
        return {
            "over": self.stage.measured,
            **{
                name: block(
                    "core",
                    np.concatenate([table[one.number, : one.heads] for one in self.record.layers]),
                    "f4",
                )
                for name, table in tables.items()
            },
        }

    def _written(self) -> dict[str, int] | None:
        """Where the model's own words begin among the readers."""
        text, new = self.words.readers.text, self.record.provenance.get("generated", "").strip()
        if not new or text is None or not text.rstrip().endswith(new):
            return None
        start = len(text.rstrip()) - len(new)
        units = []
        for level in (self.words, self.tokens):
            after = [i for i, unit in enumerate(level.readers.words) if unit.stop > start]
            if not after:
                return None
            units.append(after[0])
        return {"unit": units[0], "piece": units[1]}


class Readings:
    """What is read of each head and each token, over all layers, at both levels.

    entropy, apart `(H, readers)`; received `(H, keys)`; NaN where not known. thumbs `(H, g, g)` or
    None.
    """

    def __init__(self, book: Book, thumb: int = THUMB) -> None:
        self.book = book
        heads = book.words.heads
        words, tokens = book.words, book.tokens
        self.of: dict[str, dict[str, Any]] = {}
        for name, level in (("words", words), ("tokens", tokens)):
            self.of[name] = {
                "entropy": np.full((heads, len(level.readers.words)), np.nan, np.float32),
                "apart": np.full((heads, len(level.readers.words)), np.nan, np.float32),
                "received": np.full((heads, len(level.keys.words)), np.nan, np.float32),
            }
        self.thumbs: list[Any] = []
        for index, layer in enumerate(book.record.layers):
            self._add(index, layer, thumb)

    def _add(self, index: int, layer: Layer, thumb: int) -> None:
        book = self.book
        here = slice(*book.words.first_head[index : index + 2])
        apart = book.record.apart(index)[book.words.keys.word_of[layer.key_positions]]
        size = min(thumb, len(layer.query_positions), len(layer.key_positions))
        read = layer_readings(layer, entropy=True, received=True, thumbnail=size, apart=apart)
        if size:
            self.thumbs.append(read.thumbnail)
        for level, into in ((book.words, self.of["words"]), (book.tokens, self.of["tokens"])):
            owner = level.readers.word_of[layer.query_positions]
            if read.queries is not None:
                owner = owner[read.queries]
                if read.entropy is not None:
                    into["entropy"][here] = _means(read.entropy, owner, len(level.readers.words))
                if read.group_mass is not None:
                    mass = read.group_mass[..., 0]
                    into["apart"][here] = _means(mass, owner, len(level.readers.words))
            mean = read.received_mean
            if mean is not None:
                owner = level.keys.word_of[layer.key_positions]
                into["received"][here] = by_word(mean, owner, len(level.keys.words))


def thumbs_data(found: list[Any]) -> dict[str, Block] | None:
    """The small pictures of all heads, in 256 steps up to the largest cell of each."""
    if not found or any(one is None for one in found) or len({one.shape[1:] for one in found}) > 1:
        return None
    cells = np.nan_to_num(np.concatenate(found))
    top = cells.max(axis=(1, 2), initial=0)
    scaled = np.rint(cells / np.where(top > 0, top, 1)[:, None, None] * 255)
    return {"data": block("core", scaled, "u1"), "top": block("core", top, "f4")}


def mean_of(numbers: Float[np.ndarray, "heads units"]) -> Block | None:
    """The mean of each head over what is known."""
    known = ~np.isnan(numbers)
    if not known.any():
        return None
    with np.errstate(all="ignore"):
        means = np.where(known, numbers, 0).sum(axis=1, dtype=float) / known.sum(axis=1)
    return block("core", means, "f4")


def _means(numbers: Any, owner: Any, units: int) -> Any:
    """The mean over the pieces of each unit; NaN for units without."""
    count = np.bincount(owner, minlength=units)
    with np.errstate(all="ignore"):
        return by_word(np.asarray(numbers, np.float64), owner, units) / np.where(
            count, count, np.nan
        )


def _head_number(layer: Layer, head: int) -> int:
    return head if layer.head_numbers is None else int(layer.head_numbers[head])
