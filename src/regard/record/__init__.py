"""What was seen: sides that can be read, layers that read them, and where it all came from.

Plain data in NumPy arrays, checked once when made, with look-ups by word. One shape serves a
forward pass, a generation stitched into rows, one item of a batch, and data from elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from regard.errors import InputError
from regard.record.layer import Call, Layer
from regard.record.side import Side

if TYPE_CHECKING:
    from jaxtyping import Bool, Float
    from matplotlib.figure import Figure

    from regard.mechanism.steps import Steps
    from regard.questions.spans import Span
    from regard.table import Table
    from regard.views.page import Page

__all__ = ["Call", "Layer", "Record", "Side", "WordRow", "many"]


@dataclass(frozen=True, eq=False)
class WordRow:
    """Whom one word reads, in one layer, for all heads and every word of the key side.

    weights: `(heads, words)`: from a word the mean over its query pieces, to a word the sum over
        its key pieces. They sum to 1 (less with sinks).
    shares: `(heads, words)` or None where values are not kept: each word's part of the result,
        the result of a word being the mean of its pieces' results. They sum to 1 and may be
        negative; NaN where the result is 0, or (with `exact` False) unknown.
    exact: False where only the largest weights were kept: then `weights` are lower bounds.
    visible: `(words)`: which words this word may see at all; where that is not known, True.
    """

    weights: Float[np.ndarray, "heads words"]
    shares: Float[np.ndarray, "heads words"] | None
    exact: bool
    visible: Bool[np.ndarray, " words"]


@dataclass(frozen=True, eq=False)
class Record:
    """Sides, the layers that read them, and provenance: 'model', 'dtype', 'backend', 'regard' ...

    Methods take a layer by its index in `layers` and a word by its index in the side's words
    (`regard.questions.find_word` finds it by name). Raises InputError if the parts do not fit.
    """

    sides: tuple[Side, ...]
    layers: tuple[Layer, ...]
    provenance: Mapping[str, str]

    def __post_init__(self) -> None:
        for layer in self.layers:
            for axis in ("query", "key"):
                index = getattr(layer, f"{axis}_side")
                positions = getattr(layer, f"{axis}_positions")
                if index >= len(self.sides):
                    raise InputError(
                        f"{axis}_side of layer {layer.name!r} is {index} and the record has "
                        f"{len(self.sides)} sides."
                    )
                tokens = len(self.sides[index].tokens)
                if positions.size and not 0 <= positions.min() <= positions.max() < tokens:
                    raise InputError(
                        f"{axis}_positions of layer {layer.name!r} reach from {positions.min()} to "
                        f"{positions.max()} and its side has {tokens} tokens."
                    )
        for name, value in self.provenance.items():
            if not isinstance(name, str) or not isinstance(value, str):
                raise InputError(f"provenance has {name!r}: {value!r}: expected str to str.")

    def apart(self, layer: int) -> Bool[np.ndarray, " words"]:
        """Which words of the layer's key side are special tokens or, in a decoder, the first token.

        They take weight whatever the text says: what a head has no use for goes to [CLS] and [SEP]
        in encoders, and in causal models to the first token, often an ordinary word.
        """
        seen = self.layers[layer]
        side = self.sides[seen.key_side]
        apart = side.special_words.copy()
        if seen.kind == "decoder" and len(side.tokens):
            apart[side.word_of[0]] = True
        return apart

    def weights(self, layer: int, word: int) -> WordRow:
        """Whom does this word of the query side read: word level, all heads.

        Exact from kept rows, or computed again from kept query and key; lower bounds where only
        the top k are known; otherwise InputError, saying what to keep or ask.
        """
        from regard.rows import word_rows

        return word_rows(self, layer, [word])[0]

    def row(self, layer: int, head: int, token: int) -> Float[np.ndarray, " keys"]:
        """The exact weights of one token (its index in the query side) over the layer's columns."""
        from regard.rows import token_row

        return token_row(self, layer, head, token)

    def steps(self, layer: int, head: int, word: int | None = None) -> Steps:
        """The four steps of one head, spelled out; needs query, key and value kept.

        word: of the rows of one word only, for texts too long to spell out whole.
        """
        from regard.rows import head_steps

        return head_steps(self, layer, head, word)

    def table(
        self,
        *,
        level: Literal["words", "tokens"] = "words",
        layers: Sequence[int] | None = None,
        heads: Sequence[int] | None = None,
        readers: Sequence[int] | None = None,
        minimum: float = 0.01,
        top: int | None = None,
        without_special: bool = False,
    ) -> Table:
        """Who reads whom as a tidy table, a row for each pair: see `regard.table.tabulate`."""
        from regard.table import tabulate

        return tabulate(
            self,
            level=level,
            layers=layers,
            heads=heads,
            readers=readers,
            minimum=minimum,
            top=top,
            without_special=without_special,
        )

    def heatmap(self, head: str | tuple[int, int], *, kind: str | None = None) -> Figure:
        """The weights of one head as a figure: see `regard.views.figure.matrix`."""
        from regard.views.figure.matrix import heatmap

        return heatmap(self, head, kind=kind)

    def lines(
        self,
        word: str | int,
        *,
        head: str | tuple[int, int] | None = None,
        kind: str | None = None,
    ) -> Figure:
        """Whom a word reads in one head, as lines: see `regard.views.figure.lines`."""
        from regard.views.figure.lines import lines

        return lines(self, word, head=head, kind=kind)

    def heads(
        self,
        reading: Literal["entropy", "special", "weight", "lift"] = "entropy",
        *,
        word: str | int | None = None,
        to: str | int | None = None,
        kind: str | None = None,
    ) -> Figure:
        """All heads in the colours of one reading: see `regard.views.figure.heads`."""
        from regard.views.figure.heads import heads

        return heads(self, reading, word=word, to=to, kind=kind)

    def spans_figure(
        self,
        spans: Sequence[Span] | None = None,
        *,
        readers: Sequence[int] | None = None,
        effects: Sequence[float | None] | None = None,
        kind: str | None = None,
    ) -> Figure:
        """What rows read of each part of the text: see `regard.views.figure.spans`."""
        from regard.views.figure.spans import spans_figure

        return spans_figure(self, spans, readers=readers, effects=effects, kind=kind)

    def page(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        words: Sequence[str | int] | str | int = (),
        heads: Sequence[str] | str = (),
        layers: Sequence[int] | int = (),
        versus: Record | None = None,
        kind: str | None = None,
        budget: int = 10_000_000,
    ) -> Page:
        """One HTML file that shows the record: see `regard.views.page.page_of_record`."""
        from regard.views.page import page_of_record

        return page_of_record(
            self,
            path,
            words=words,
            heads=heads,
            layers=layers,
            versus=versus,
            kind=kind,
            budget=budget,
        )

    def _repr_html_(self) -> str:
        from regard.views.page import record_in_notebook

        return record_in_notebook(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to one file, atomically: see `regard.storage.save`."""
        from regard.storage import save

        save(self, path)

    def __repr__(self) -> str:
        sides = ", ".join(
            f"{side.name}: {many(len(side.tokens), 'token')}, {many(len(side.words), 'word')}"
            for side in self.sides
        )
        heads = sorted({layer.heads for layer in self.layers})
        of = f" of {self.provenance['model']}" if "model" in self.provenance else ""
        each = f" × {' or '.join(many(count, 'head') for count in heads)}" if heads else ""
        return f"Record({sides}; {many(len(self.layers), 'layer')}{each}{of})"


def many(count: int, what: str) -> str:
    """'1 layer', '2 layers'."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
