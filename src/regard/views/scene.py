"""What a view shows, in plain values: the same for a terminal, a page and `--json`.

A scene holds strings, numbers, booleans and tuples of these, never an array. Weights and shares
are fractions of 1 and not rounded. A number that does not exist (the habit of a model without a
habit table, the share where only weights are known) is None.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final

SCHEMA: Final = "regard.show/1"


@dataclass(frozen=True)
class Source:
    """What was read, and by what.

    text: None where tokens have labels and no text. words: in order, special tokens included,
    repeated words numbered. spans: the characters of each word in `text`.
    unknown: words that the model does not know and reads as one token for all such words.
    model: its name; heads: how many in each layer.
    habit: what habits were measured over, "neutral texts" or "this text"; None without habits.
    exact: False where only the largest weights are known: weights and sums are lower bounds then.
    kind: "encoder", "decoder" (a word sees nothing after it) or "cross" (`words` read `read`).
    kinds: every kind of attention that was recorded. read: in "cross", the text that is read.
    apart: the special tokens, and in a decoder the first word: where heads rest.
    written: what the model wrote itself, at the end of the text or in answer to it, or None.
    stopped: how far the recording got, where it was interrupted, or None.
    """

    text: str | None
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    special: tuple[str, ...]
    unknown: tuple[str, ...]
    tokens: int
    model: str
    heads: tuple[int, ...]
    habit: str | None
    exact: bool
    kind: str
    kinds: tuple[str, ...]
    read: str | None
    apart: tuple[str, ...]
    written: str | None
    stopped: str | None


@dataclass(frozen=True)
class Link:
    """One word reading another in one head, beside what that head usually does.

    distance: how many words after the reader the word stands, negative before; None between two
    texts.
    """

    reader: str
    word: str
    distance: int | None
    head: str
    weight: float
    habit: float | None
    share: float | None


@dataclass(frozen=True)
class Cell:
    """One word of a row: how much of the weight it has, and of the result."""

    word: str
    weight: float
    share: float | None
    habit: float | None
    special: bool
    seen: bool


@dataclass(frozen=True)
class Row:
    """Whom one word reads in one head: every word of the text, in order.

    pieces: the reader's tokens; with more than one, weights are means over them.
    """

    reader: str
    pieces: tuple[str, ...]
    head: str
    cells: tuple[Cell, ...]
    exact: bool


@dataclass(frozen=True)
class Routine:
    """Heads that read the same place whatever the words are, as "the word before" or "[SEP]".

    always: whether they hardly ever do anything else; otherwise they mostly do.
    """

    reads: str
    always: bool
    heads: tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """How many heads do the same in this text; kind as in `regard.questions.HeadKind`."""

    kind: str
    heads: tuple[str, ...]


@dataclass(frozen=True)
class Vote:
    """How many heads give a word more weight than any other word (special tokens apart)."""

    word: str
    heads: int


@dataclass(frozen=True)
class Sentence:
    """A text as a whole: its strongest links beyond habit, and what its heads do.

    routines: what heads do by habit; those by position are not in `links`. kinds: what they do in
    this text. readers, of: how many words were asked, of how many: all of them in a text that is
    not very long.
    """

    view: ClassVar[str] = "sentence"
    source: Source
    links: tuple[Link, ...]
    routines: tuple[Routine, ...]
    kinds: tuple[Kind, ...]
    special_mass: float | None
    readers: int
    of: int


@dataclass(frozen=True)
class OneWord:
    """Whom one word reads, over all heads.

    links: for each word read, the head that goes furthest beyond its habit, strongest first.
    read_by: the same for each word that reads this one; `read_by_exact` as `Source.exact`.
    votes: the words that most heads have on top, of `voters` heads.
    row: one head in full, and why this one. others: what the other words of the text give, on
    average, to the word that leads there, `leads`; both None where no word does.
    """

    view: ClassVar[str] = "word"
    source: Source
    word: str
    place: int
    links: tuple[Link, ...]
    read_by: tuple[Link, ...]
    read_by_exact: bool
    routines: tuple[Routine, ...]
    votes: tuple[Vote, ...]
    voters: int
    special_mass: float | None
    row: Row
    why: str
    leads: str | None
    others: float | None


@dataclass(frozen=True)
class OneRow:
    """Whom one word reads in one head."""

    view: ClassVar[str] = "row"
    source: Source
    place: int
    row: Row


@dataclass(frozen=True)
class OneHead:
    """One head over the whole text: its links, strongest first, and its matrix if that is small.

    matrix: a row of weights for each word, from it to every word; None for long texts.
    routine: what the head does by habit, if it has one. kind: what it does in this text.
    """

    view: ClassVar[str] = "head"
    source: Source
    head: str
    routine: Routine | None
    kind: str | None
    links: tuple[Link, ...]
    matrix: tuple[tuple[float, ...], ...] | None


@dataclass(frozen=True)
class Rollout:
    """What the rollout through all layers finds of each word in one word; see `rollout`.

    row: its cells have no share and no habit; `special` is said of a decoder's first word as well;
    its head is empty. layers: how many there are.
    itself: what the word has of itself by the residual half of each layer alone.
    """

    view: ClassVar[str] = "rollout"
    source: Source
    word: str
    place: int
    layers: int
    itself: float
    row: Row


@dataclass(frozen=True)
class Term:
    """One of the products that a dot product adds up: dimension, query's number, key's number."""

    dim: int
    query: float
    key: float
    product: float


@dataclass(frozen=True)
class KeyStep:
    """One token through the four steps, seen from the reader.

    score: q . k. scaled: times the scale. masked: after softcap, bias and mask, what the softmax
    gets. exponential: e^(masked - the row's largest). terms: the largest products in `score`.
    value: the first numbers of its value vector.
    """

    token: str
    score: float
    terms: tuple[Term, ...]
    scaled: float
    masked: float | None
    exponential: float
    weight: float
    share: float | None
    value: tuple[float, ...]


@dataclass(frozen=True)
class FourSteps:
    """The four steps of one head for one token, with the real numbers.

    piece, pieces: which piece of the word this is, counted from 0, and all of them.
    output: the first numbers of z, in the order of `KeyStep.value`.
    """

    view: ClassVar[str] = "steps"
    source: Source
    word: str
    place: int
    piece: int
    pieces: tuple[str, ...]
    head: str
    dim: int
    value_dim: int
    scale: float
    softcap: float | None
    sink: float | None
    largest: float
    row_sum: float
    keys: tuple[KeyStep, ...]
    output: tuple[float, ...]


@dataclass(frozen=True)
class Turn:
    """What one head gives the two words that are compared: both in A, then both in B."""

    head: str
    first_in_a: float
    second_in_a: float
    first_in_b: float
    second_in_b: float


@dataclass(frozen=True)
class Versus:
    """One word in two texts: which heads turn from one word to another, and which stay.

    source, other: text A and text B. word, place, other_place: the reader, in A and in B.
    first, second: the two words compared; None if no two words stand in both texts.
    there: heads that prefer `first` in A and `second` in B; back: the other way; stays: heads
    that prefer `first` in both; each clearest first. heads: how many were compared.
    """

    view: ClassVar[str] = "versus"
    source: Source
    other: Source
    word: str
    place: int
    other_place: int
    first: str | None
    second: str | None
    there: tuple[Turn, ...]
    back: tuple[Turn, ...]
    stays: tuple[Turn, ...]
    heads: int


Scene = Sentence | OneWord | OneRow | OneHead | Rollout | FourSteps | Versus


def as_json(scene: Scene) -> dict[str, Any]:
    """The scene for `--json`: its fields, with "schema" and "view" before them.

    Numbers are not rounded. JSON has no NaN or infinity: such a number is null.
    """
    return {"schema": SCHEMA, "view": scene.view, **_plain(dataclasses.asdict(scene))}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
