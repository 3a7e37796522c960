"""From a record to a scene: what was seen, as the plain values that a view shows.

Layers and words are indices into a record, as in `Record`; heads are (layer, head) pairs.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard import questions
from regard.errors import InputError
from regard.questions.others import weight_from_others
from regard.rows import by_word
from regard.views.scene import (
    Cell,
    FourSteps,
    KeyStep,
    Kind,
    Link,
    OneHead,
    OneRow,
    OneWord,
    Rollout,
    Routine,
    Row,
    Sentence,
    Source,
    Term,
    Turn,
    Versus,
    Vote,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jaxtyping import Float

    from regard.habit import Habit
    from regard.mechanism.steps import Steps
    from regard.record import Record, Side

TERMS: Final = 3  # products of a dot product that are spelled out
VALUES: Final = 8  # numbers of a value vector that are shown
UNKNOWN: Final = ("[UNK]", "<unk>")  # as tokenizers spell a word that is not in the vocabulary
LONGEST_MATRIX: Final = 16  # words; beyond, a word by word table fits no terminal


class Stage:
    """Makes scenes of one record; `habit` is that of its model, None if it is not known.

    Where it is not known and the text is long, habits are measured over the text's own rows.
    kind: 'encoder', 'decoder' or 'cross', of a record with several; None for the first it has.
    `record` is then the part with that kind of attention. Raises InputError if there is none.
    """

    def __init__(self, record: Record, habit: Habit | None, kind: str | None = None) -> None:
        self.kinds = tuple(dict.fromkeys(layer.kind for layer in record.layers))
        self.kind = kind if kind is not None or not self.kinds else self.kinds[0]
        layers = tuple(layer for layer in record.layers if layer.kind == self.kind)
        if not layers:
            has = " and ".join(self.kinds) or "none"
            raise InputError(f"the record has no {kind or ''} attention: it has {has}.")
        record = self.record = dataclasses.replace(record, layers=layers)
        self.measured = "neutral texts" if habit is not None else None
        if habit is None:
            habit = questions.habit_of(record)
            self.measured = "this text" if habit is not None else None
        self.habit = habit

    def sentence(self) -> Sentence:
        """The text as a whole."""
        seen = questions.overview(self.record, self.habit)
        return Sentence(
            source=self.source(seen.exact),
            links=tuple(self._link(link) for link in seen.links),
            routines=tuple(self._routine(one) for one in seen.routines),
            kinds=self._kinds(seen.kinds),
            special_mass=number(seen.special_mass),
            readers=seen.readers,
            of=seen.words,
        )

    def one_word(self, word: int) -> OneWord:
        """Whom one word reads, over all heads. Raises InputError if it reads in no layer."""
        seen = questions.strongest(self.record, word, self.habit)
        best = seen.far or (seen.links[0] if seen.links else None)
        if best is None:
            why = "the first head, as none stands out"
        elif best is seen.far:
            why = "the strongest that looks more than 2 words away"
        else:
            why = "the strongest beyond habit" if self.habit else "the strongest"
        layer, head = (best.layer, best.head) if best else (0, 0)
        _, side = self._sides(layer)
        by = questions.ReadBy((), exact=True)
        if self.kind != "cross":
            by = questions.read_by(self.record, word, self.habit)
        return OneWord(
            source=self.source(seen.exact),
            word=self._reader(layer).names[word],
            place=word,
            links=tuple(self._link(link) for link in seen.links),
            read_by=tuple(self._link(link) for link in by.links),
            read_by_exact=by.exact,
            routines=tuple(self._routine(one) for one in seen.set_aside),
            votes=tuple(Vote(side.names[vote.word], vote.heads) for vote in seen.votes),
            voters=seen.voters,
            special_mass=number(seen.special_mass),
            row=self._row(layer, head, word),
            why=why,
            leads=None if best is None else side.names[best.word],
            others=None if best is None else self._from_others(best),
        )

    def doings(self, most: int) -> tuple[tuple[Routine, ...], tuple[Kind, ...]]:
        """What heads do by habit, and in this text as `most` of its words at most tell."""
        routines = questions.routines(self.record, self.habit)
        kinds = [
            kind
            for index in range(len(self.record.layers))
            for kind in questions.head_kinds(self.record, index, most=most)
        ]
        return tuple(map(self._routine, routines)), self._kinds(kinds)

    def links(self, found: Iterable[questions.Link]) -> tuple[Link, ...]:
        """Links by their names."""
        return tuple(map(self._link, found))

    def links_of(self, word: int) -> tuple[tuple[Link, ...], Link | None]:
        """Whom one word reads beyond habit, over all heads, and the first of it that is far."""
        seen = questions.strongest(self.record, word, self.habit)
        return self.links(seen.links), None if seen.far is None else self._link(seen.far)

    def one_row(self, layer: int, head: int, word: int) -> OneRow:
        """Whom one word reads in one head."""
        row = self._row(layer, head, word)
        return OneRow(self.source(row.exact), word, row)

    def one_head(self, layer: int, head: int) -> OneHead:
        """One head over the whole text."""
        links = questions.head_links(self.record, layer, head, self.habit)
        routine = questions.routine_of(self.record, layer, head, self.habit)
        kinds = questions.head_kinds(self.record, layer)
        matrix, exact = self._matrix(layer, head)
        return OneHead(
            source=self.source(exact),
            head=self._label(layer, head),
            routine=None if routine is None else self._routine(routine),
            kind=kinds[head].kind if kinds else None,
            links=tuple(self._link(link) for link in sorted(links, key=lambda link: -link.weight)),
            matrix=matrix,
        )

    def rollout(self, word: int) -> Rollout:
        """What one word is made of by the rollout. Raises InputError if rows are missing."""
        side = self._reader(0)
        pieces = side.words[word].tokens
        apart = self.record.apart(0)
        mass = by_word(questions.rollout(self.record, pieces), side.word_of, len(side.words))
        return Rollout(
            source=self.source(exact=True),
            word=side.names[word],
            place=word,
            layers=len(self.record.layers),
            itself=0.5 ** len(self.record.layers),
            row=Row(
                reader=side.names[word],
                pieces=tuple(side.tokens[token] for token in pieces),
                head="",
                cells=tuple(
                    Cell(name, float(mass[place]), None, None, bool(rest), bool(mass[place] > 0))
                    for place, (name, rest) in enumerate(zip(side.names, apart, strict=True))
                ),
                exact=True,
            ),
        )

    def versus(self, other: Record, word: int, other_word: int) -> Versus:
        """The same word in two texts. Raises InputError if they are not of one model."""
        seen = questions.turns(self.record, word, other, other_word)
        names = self._sides(0)[1].names
        exact = seen is None or seen.exact
        groups = ((), (), ()) if seen is None else (seen.there, seen.back, seen.stays)
        there, back, stays = (
            tuple(Turn(self._label(turn.layer, turn.head), *turn.weights) for turn in turns)
            for turns in groups
        )
        return Versus(
            source=self.source(exact),
            other=Stage(other, self.habit, self.kind).source(exact),
            word=self._reader(0).names[word],
            place=word,
            other_place=other_word,
            first=None if seen is None else names[seen.first],
            second=None if seen is None else names[seen.second],
            there=there,
            back=back,
            stays=stays,
            heads=sum(layer.heads for layer in self.record.layers),
        )

    def four_steps(self, layer: int, head: int, word: int) -> FourSteps:
        """The arithmetic of a word's first piece in one head.

        Raises InputError if query, key and value were not kept, or the layer does not read it.
        """
        seen = self.record.layers[layer]
        reader, side = self._sides(layer)
        token = reader.words[word].tokens[0]
        rows = np.flatnonzero(seen.query_positions == token)
        if not len(rows):
            raise InputError(f"word {reader.names[word]!r} is no reader in layer {seen.number}.")
        query = int(rows[0])
        steps = self.record.steps(layer, head)
        sink = None if steps.sinks is None else float(np.exp(steps.sinks[0] - steps.shift[query]))
        return FourSteps(
            source=self.source(exact=True),
            word=reader.names[word],
            place=word,
            piece=0,
            pieces=tuple(reader.tokens[piece] for piece in reader.words[word].tokens),
            head=self._label(layer, head),
            dim=steps.d_k,
            value_dim=0 if steps.value is None else steps.value.shape[-1],
            scale=steps.scale,
            softcap=steps.softcap,
            sink=sink,
            largest=float(steps.shift[query]),
            row_sum=float(steps.row_sums[query]),
            keys=_key_steps([_token(side, place) for place in seen.key_positions], steps, query),
            output=() if steps.output is None else _first(steps.output[query]),
        )

    def source(self, exact: bool) -> Source:
        """The text that was read, and the model that read it."""
        side, read = self._sides(0)
        apart = np.flatnonzero(self.record.apart(0))
        return Source(
            text=side.text,
            words=side.names,
            spans=tuple((word.start, word.stop) for word in side.words),
            special=tuple(word.text for word in side.words if word.special),
            unknown=tuple(
                name
                for name, word in zip(side.names, side.words, strict=True)
                if not word.special and any(side.tokens[token] in UNKNOWN for token in word.tokens)
            ),
            tokens=len(side.tokens),
            model=self.record.provenance.get("model", "a model without a name"),
            heads=tuple(layer.heads for layer in self.record.layers),
            habit=self.measured,
            exact=exact,
            kind=self.record.layers[0].kind,
            kinds=self.kinds,
            read=None if read is side else " ".join(read.names) if read.text is None else read.text,
            apart=tuple(dict.fromkeys(read.words[word].text for word in apart)),
            written=self.record.provenance.get("generated"),
            stopped=self.record.provenance.get("stopped"),
        )

    def _row(self, layer: int, head: int, word: int) -> Row:
        seen = self.record.weights(layer, word)
        reader, side = self._sides(layer)
        habits = None
        if self.habit is not None:
            habits = questions.expected(self.record, layer, word, self.habit)
        return Row(
            reader=reader.names[word],
            pieces=tuple(reader.tokens[token] for token in reader.words[word].tokens),
            head=self._label(layer, head),
            cells=tuple(
                Cell(
                    word=name,
                    weight=float(seen.weights[head, place]),
                    share=None if seen.shares is None else number(seen.shares[head, place]),
                    habit=None if habits is None else number(habits[head, place]),
                    special=side.words[place].special,
                    seen=bool(seen.visible[place]),
                )
                for place, name in enumerate(side.names)
            ),
            exact=seen.exact,
        )

    def _matrix(self, layer: int, head: int) -> tuple[tuple[tuple[float, ...], ...] | None, bool]:
        """The word by word weights of a short text, and whether the head's weights are exact."""
        reader, side = self._sides(layer)
        whole = reader is side and len(side.words) <= LONGEST_MATRIX
        rows = [self.record.weights(layer, word) for word in range(len(side.words) if whole else 1)]
        exact = all(row.exact for row in rows)
        if not whole:
            return None, exact
        return tuple(tuple(float(w) for w in row.weights[head]) for row in rows), exact

    def _kinds(self, found: Iterable[questions.HeadKind]) -> tuple[Kind, ...]:
        kinds: dict[str, list[str]] = {}
        for one in found:
            kinds.setdefault(one.kind, []).append(self._label(one.layer, one.head))
        return tuple(Kind(kind, tuple(heads)) for kind, heads in kinds.items())

    def _link(self, link: questions.Link) -> Link:
        reader, side = self._sides(link.layer)
        return Link(
            reader=reader.names[link.reader],
            word=side.names[link.word],
            distance=link.distance,
            head=self._label(link.layer, link.head),
            weight=link.weight,
            habit=link.habit,
            share=link.share,
        )

    def _from_others(self, link: questions.Link) -> float | None:
        weight = weight_from_others(self.record, link.layer, link.head, link.word, link.reader)
        return number(weight)

    def _routine(self, routine: questions.Routine) -> Routine:
        heads = tuple(self._label(*head) for head in routine.heads)
        return Routine(routine.does, routine.always, heads)

    def _label(self, layer: int, head: int) -> str:
        return self.record.layers[layer].label(head)

    def _reader(self, layer: int) -> Side:
        return self._sides(layer)[0]

    def _sides(self, layer: int) -> tuple[Side, Side]:
        """The side that a layer's queries are of, and the side that its keys are of."""
        seen = self.record.layers[layer]
        return self.record.sides[seen.query_side], self.record.sides[seen.key_side]


def shipped_habit(record: Record) -> Habit | None:
    """The habit table that comes with the embedded model, for records of that model."""
    from regard.models.capture import EMBEDDED_HABIT
    from regard.models.encoder import default_habit

    return default_habit() if record.provenance.get("habit") == EMBEDDED_HABIT else None


def number(value: Any) -> float | None:
    """A plain number; None for NaN, which stands for "there is none"."""
    plain = float(value)
    return None if np.isnan(plain) else plain


def _token(side: Side, token: int) -> str:
    """A token by the name of its word if it is all of it, numbered where it repeats."""
    word = int(side.word_of[token])
    return side.names[word] if len(side.words[word].tokens) == 1 else side.tokens[token]


def _key_steps(tokens: list[str], steps: Steps, query: int) -> tuple[KeyStep, ...]:
    assert steps.query is not None
    assert steps.key is not None
    products = steps.query[query] * steps.key  # (keys, dim): what each q·k adds up
    largest = np.argsort(-np.abs(products), axis=1, kind="stable")[:, :TERMS]
    shares = steps.share()[query] if steps.value is not None else None
    keys = []
    for key, token in enumerate(tokens):
        keys.append(
            KeyStep(
                token=token,
                score=float(steps.scores[query, key]),
                terms=tuple(
                    Term(
                        dim=int(dim),
                        query=float(steps.query[query, dim]),
                        key=float(steps.key[key, dim]),
                        product=float(products[key, dim]),
                    )
                    for dim in largest[key]
                ),
                scaled=float(steps.scaled[query, key]),
                masked=float(steps.masked[query, key]) if steps.seen[query, key] else None,
                exponential=float(steps.exponentials[query, key]),
                weight=float(steps.weights[query, key]),
                share=None if shares is None else number(shares[key]),
                value=() if steps.value is None else _first(steps.value[key]),
            )
        )
    return tuple(keys)


def _first(numbers: Float[np.ndarray, " dim"]) -> tuple[float, ...]:
    return tuple(float(value) for value in numbers[:VALUES])
