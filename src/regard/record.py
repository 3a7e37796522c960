"""What was seen: sides that can be read, layers that read them, and where it all came from.

Plain data in NumPy arrays, checked once when made, with look-ups by word. One shape serves a
forward pass, a generation stitched into rows, one item of a batch, and data from elsewhere.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from regard.errors import InputError
from regard.mechanism.mask import Mask
from regard.mechanism.readings import Ask, Readings, reading_shapes
from regard.mechanism.sizes import Sizes
from regard.words import Word, group_words, label_words, word_names

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int64

    from regard.mechanism.steps import Steps
    from regard.table import Table

KINDS: Final = ("encoder", "decoder", "cross")


@dataclass(frozen=True, eq=False)
class Side:
    """A sequence that can be read: the tokens of a text, the patches of an image.

    name: what it is, as 'text'. text: what the words are cut from, or None for labels.
    tokens: each token as the vocabulary spells it, or its label.
    words: every token in exactly one of them.
    special: `(tokens)`, True for tokens that the tokenizer added, as [CLS].

    Raises InputError if these do not belong together.
    """

    name: str
    text: str | None
    tokens: tuple[str, ...]
    words: tuple[Word, ...]
    special: Bool[np.ndarray, " tokens"]

    def __post_init__(self) -> None:
        count = len(self.tokens)
        _check_array("special", self.special, (count,), "b", f"side {self.name!r}")
        uses = Counter(token for word in self.words for token in word.tokens)
        if sorted(uses.elements()) != list(range(count)):
            raise InputError(
                f"the words of side {self.name!r} name the tokens {sorted(uses.elements())[:20]}: "
                f"expected each of its {count} tokens exactly once."
            )
        for word in self.words:
            if not word.tokens or any(self.special[t] != word.special for t in word.tokens):
                raise InputError(
                    f"word {word.text!r} of side {self.name!r} has special={word.special} and "
                    f"the tokens {word.tokens}: expected at least one, all flagged alike."
                )
            if not 0 <= word.start <= word.stop <= len(self.text or ""):
                raise InputError(
                    f"word {word.text!r} of side {self.name!r} is at {word.start}:{word.stop}: "
                    f"expected to lie within the text of {len(self.text or '')} characters."
                )

    @classmethod
    def of_text(
        cls,
        text: str,
        tokens: Sequence[str],
        offsets: Sequence[tuple[int, int]],
        special: Sequence[bool] | Bool[np.ndarray, " tokens"],
        *,
        name: str = "text",
    ) -> Side:
        """The side of a tokenized text; offsets as (start, stop) characters. Raises InputError."""
        flags = [bool(flag) for flag in special]
        words = group_words(text, tokens, offsets, flags)
        return cls(name, text, tuple(tokens), words, np.array(flags, np.bool_))

    @classmethod
    def of_labels(
        cls,
        labels: Sequence[str],
        special: Sequence[bool] | Bool[np.ndarray, " tokens"],
        *,
        name: str = "text",
    ) -> Side:
        """A side that has labels and no text: one word a label."""
        flags = [bool(flag) for flag in special]
        words = label_words(labels, flags)
        return cls(name, None, tuple(labels), words, np.array(flags, np.bool_))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each word, different for each: 'it', or 'it#1', 'it#2'."""
        return word_names(self.words)

    @cached_property
    def word_of(self) -> Int64[np.ndarray, " tokens"]:
        """The index of the word that each token belongs to."""
        owner = np.zeros(len(self.tokens), np.int64)
        for index, word in enumerate(self.words):
            owner[list(word.tokens)] = index
        return owner

    @cached_property
    def special_words(self) -> Bool[np.ndarray, " words"]:
        """Which words are special tokens."""
        return np.array([word.special for word in self.words], np.bool_)


@dataclass(frozen=True, eq=False)
class Call:
    """How a layer's attention was called: what it takes to compute its weights again.

    sinks: `(heads)` or None.
    """

    scale: float
    softcap: float | None = None
    sinks: Float[np.ndarray, " heads"] | None = None
    mask: Mask = dataclasses.field(default_factory=Mask)

    def __post_init__(self) -> None:
        if not math.isfinite(self.scale):
            raise InputError(f"scale is {self.scale!r}: expected a finite number.")
        if self.softcap is not None and not (math.isfinite(self.softcap) and self.softcap > 0):
            raise InputError(f"softcap is {self.softcap!r}: expected a number above 0, or None.")


@dataclass(frozen=True, eq=False)
class Layer:
    """What the attention of one layer read; the leading axis of every array is its heads.

    number: the layer's number in its model, from 0, as written in L3H1.
    name: its module's name; kind: 'encoder', 'decoder' (causal) or 'cross'.
    query_side, key_side: indices into `Record.sides`.
    query_positions, key_positions: int64, which token of the side each row or column is, each
        once; `readings.queries` and indices within `readings` count rows and columns.
    readings: what was read in the pass. ask: the Ask they answer, which says what `rows`,
        `columns` and `group_mass` are of; None if they are of all queries in order.
    call: what exact recomputation needs, or None.
    query `(heads, queries, dim)`, key `(kv_heads, keys, dim)`, value `(kv_heads, keys,
        value_dim)`, or None where not kept.

    Raises InputError if sizes do not belong together.
    """

    number: int
    name: str
    kind: Literal["encoder", "decoder", "cross"]
    heads: int
    query_side: int
    key_side: int
    query_positions: Int64[np.ndarray, " queries"]
    key_positions: Int64[np.ndarray, " keys"]
    readings: Readings
    call: Call | None = None
    query: Float[np.ndarray, "heads queries dim"] | None = None
    key: Float[np.ndarray, "kv_heads keys dim"] | None = None
    value: Float[np.ndarray, "kv_heads keys value_dim"] | None = None
    ask: Ask | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind of layer {self.name!r} is {self.kind!r}: expected {KINDS}.")
        for name in ("number", "heads", "query_side", "key_side"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise InputError(
                    f"{name} of layer {self.name!r} is {number!r}: expected a whole number, "
                    "0 or more."
                )
        for name in ("query_positions", "key_positions"):
            positions = getattr(self, name)
            _check_array(name, positions, (len(positions),), "i", self.name)
            if len(np.unique(positions)) != len(positions):
                raise InputError(f"{name} of layer {self.name!r} names a token twice.")
        self._check_kept()
        self._check_call()
        self._check_readings()

    def label(self, head: int) -> str:
        """How a head is written: L3H1."""
        return f"L{self.number}H{head}"

    @property
    def sizes(self) -> Sizes:
        """The sizes of the attention call, as `Mask` and `Ask` are checked against."""
        kv_heads = self.heads if self.key is None else self.key.shape[0]
        dim = 1 if self.query is None else self.query.shape[2]
        value_dim = 0 if self.value is None else self.value.shape[2]
        rows, columns = len(self.query_positions), len(self.key_positions)
        return Sizes(1, self.heads, kv_heads, rows, columns, dim, value_dim, axes=3)

    def _check_kept(self) -> None:
        rows, columns = len(self.query_positions), len(self.key_positions)
        for name, count in (("query", rows), ("key", columns), ("value", columns)):
            array = getattr(self, name)
            if array is None:
                continue
            _check_array(name, array, (*array.shape[:1], count, *array.shape[2:3]), "f", self.name)
            heads = array.shape[0]
            if heads != self.heads and (name == "query" or heads == 0 or self.heads % heads):
                raise InputError(
                    f"{name} of layer {self.name!r} has {heads} heads and the layer {self.heads}: "
                    "expected as many, or for key and value a number that divides it."
                )
        if self.key is not None:
            if self.query is not None and self.query.shape[2] != self.key.shape[2]:
                raise InputError(
                    f"query of layer {self.name!r} has dim {self.query.shape[2]} and key "
                    f"{self.key.shape[2]}: expected the same."
                )
            if self.value is not None and self.value.shape[0] != self.key.shape[0]:
                raise InputError(
                    f"value of layer {self.name!r} has {self.value.shape[0]} heads and key "
                    f"{self.key.shape[0]}: expected the same."
                )

    def _check_call(self) -> None:
        if self.call is None:
            return
        if self.call.sinks is not None:
            _check_array("sinks", self.call.sinks, (self.heads,), "f", self.name)
        self.call.mask.flatten(self.sizes)

    def _check_readings(self) -> None:
        readings, sizes = self.readings, self.sizes
        queries = readings.queries
        if queries is not None:
            _check_array("readings.queries", queries, (len(queries),), "i", self.name)
        ask = _ask_of(readings) if self.ask is None else self.ask
        shapes = reading_shapes(ask.flatten(sizes, 1), sizes)
        for field in dataclasses.fields(readings):
            array = getattr(readings, field.name)
            if field.name in ("backend", "queries") or array is None:
                continue
            if field.name not in shapes:
                raise InputError(
                    f"readings of layer {self.name!r} have {field.name}, which their ask does not "
                    "name: give the Ask that they answer."
                )
            kind = "i" if field.name in ("top_index", "eligible") else "f"
            shape = (self.heads, *shapes[field.name])
            _check_array(f"readings.{field.name}", array, shape, kind, self.name)
            if kind == "i" and array.size:
                low, high = (
                    (-1, sizes.keys) if field.name == "top_index" else (0, sizes.queries + 1)
                )
                if array.min() < low or array.max() >= high:
                    raise InputError(
                        f"readings.{field.name} of layer {self.name!r} reaches from {array.min()} "
                        f"to {array.max()}: expected {low} to {high - 1}."
                    )


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

    def steps(self, layer: int, head: int) -> Steps:
        """The four steps of one head, spelled out; needs query, key and value kept."""
        from regard.rows import head_steps

        return head_steps(self, layer, head)

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


def _check_array(name: str, array: Any, shape: tuple[int, ...], kind: str, where: str) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind != kind or array.shape != shape:
        seen = (
            f"{array.dtype} {array.shape}"
            if isinstance(array, np.ndarray)
            else type(array).__name__
        )
        wanted = {"f": "float", "i": "int", "b": "bool"}[kind]
        raise InputError(f"{name} of {where} is {seen}: expected a NumPy {wanted} array {shape}.")


def _ask_of(readings: Readings) -> Ask:
    """The Ask that readings over all rows and in order answer, as their shapes tell it."""
    queries = () if readings.queries is None else readings.queries
    if readings.columns is not None or readings.group_mass is not None:
        raise InputError(
            "readings with columns or group_mass need ask: the Ask that says which they are."
        )
    top = 0 if readings.top_index is None else int(readings.top_index.shape[-1])
    return Ask(
        queries=queries,
        top=top,
        share=readings.top_share is not None and top > 0,
        entropy=readings.entropy is not None,
        lse=readings.lse is not None,
        max_score=readings.max_score is not None,
        received=readings.received is not None,
        rows=() if readings.rows is None else queries,
        thumbnail=0 if readings.thumbnail is None else int(readings.thumbnail.shape[-1]),
    )
