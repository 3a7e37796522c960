"""One kind of attention of a record as the page's book of numbers: what is always in the file."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.sources import is_whole
from regard.views.page.level import Level
from regard.views.page.packing import block
from regard.views.page.spelled import is_spelled
from regard.views.page.units import as_pieces, is_split, side_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.record import Layer
    from regard.views.scene import Sentence
    from regard.views.staging import Stage


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

    @property
    def levels(self) -> list[Level]:
        """Words, and pieces where they differ."""
        return [self.words] if self.pieces is None else [self.words, self.pieces]

    @cached_property
    def whole(self) -> bool:
        """Whether every weight of every row that was read can be had."""
        return all(map(is_whole, self.record.layers))

    @property
    def spelled(self) -> list[int]:
        """The layers that keep what the four steps need."""
        return [i for i, layer in enumerate(self.record.layers) if is_spelled(layer)]

    def pieces_of(self, words: Sequence[int]) -> list[int]:
        """The readers among the tokens that these words are made of."""
        return [token for word in words for token in self.words.readers.words[word].tokens]

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


def _head_number(layer: Layer, head: int) -> int:
    return head if layer.head_numbers is None else int(layer.head_numbers[head])
