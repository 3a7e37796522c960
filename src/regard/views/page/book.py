"""One kind of attention of a record as the page's book of numbers: what is always in the file."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.sources import is_whole
from regard.views.cells import clean
from regard.views.page.gathered import Gathered
from regard.views.page.level import Level
from regard.views.page.packing import block
from regard.views.page.spelled import is_spelled
from regard.views.page.units import as_pieces, is_split, side_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.record import Layer
    from regard.views.staging import Stage


_SHORT: Final = 2**22
_FEW_READERS: Final = 64
"""Words of a text with more weights than that, from which it is told what its heads do."""

MOST_BYTES: Final = 10
"""Of the budget a weight may take, for all rows of all heads to be whole: half of it is theirs,
four bytes and their packing for each."""


class Book:
    """What one kind of attention shows, before it is decided how much of it a file holds.


    source: what was read. links: the strongest of the text. routines, kinds: what heads do, of a
    long text as some of its words tell.
    """

    def __init__(self, stage: Stage, budget: int) -> None:
        self.stage = stage
        self.record = stage.record
        self.words = Level(self.record, stage.habit)
        self.pieces = Level(as_pieces(self.record), None) if is_split(self.record) else None
        self.labels = [
            layer.label(head) for layer in self.record.layers for head in range(layer.heads)
        ]
        self.gathered = Gathered(self.levels, budget // MOST_BYTES)
        if self.words.cells <= _SHORT:
            seen = stage.sentence()
            self.source, self.links = seen.source, seen.links
            self.routines, self.kinds = seen.routines, seen.kinds
        else:
            exact = all(map(is_whole, self.record.layers))
            self.source = stage.source(exact)
            self.links = stage.links(self.gathered.levels[0].strongest.links())
            self.routines, self.kinds = stage.doings(_FEW_READERS)

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
        source = self.source
        does = {
            label: {"reads": clean(one.reads), "always": one.always}
            for one in self.routines
            for label in one.heads
        }
        kinds = {label: kind.kind for kind in self.kinds for label in kind.heads}
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
            "written": self.written,
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

    @cached_property
    def written(self) -> dict[str, int] | None:
        """Where the model's own words begin among the readers."""
        text = (self.words.readers.text or "").rstrip()
        start = len(text) - _written_length(text, self.record.provenance.get("generated", ""))
        units = []
        for level in (self.words, self.tokens):
            after = [i for i, unit in enumerate(level.readers.words) if unit.stop > start]
            if not after or start == len(text):
                return None
            units.append(after[0])
        return {"unit": units[0], "piece": units[1]}


def _written_length(text: str, new: str) -> int:
    """How much of the end of `text` is the beginning of what was written: all but the last token,
    which nothing has read yet. 0 if the text does not end with it."""
    new = new.strip()
    last = len(new) - len(new.rpartition(" ")[0]) if " " in new else len(new) // 2
    for length in range(len(new), max(len(new) - last, 1) - 1, -1):
        if text.endswith(new[:length].rstrip()):
            return len(new[:length].rstrip())
    return 0


def _head_number(layer: Layer, head: int) -> int:
    return head if layer.head_numbers is None else int(layer.head_numbers[head])
