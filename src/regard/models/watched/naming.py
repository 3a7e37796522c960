"""Ids that a model was given, made into the tokens and words of a `Side`."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.record import Side

if TYPE_CHECKING:
    from jaxtyping import Bool, Int64

    Offsets = list[tuple[int, int]]

UNKNOWN: Final = -1
"""Stands for an id that was not seen: embeddings, a cache filled before."""

_CONTEXT: Final = 8
"""Ids that tell whether a piece begins with a blank: at the start of a text many decode without."""


class Vocabulary:
    """What a tokenizer, or without one a model's configuration, says of ids."""

    def __init__(self, tokenizer: Any, config: Any) -> None:
        self.tokenizer = getattr(tokenizer, "tokenizer", tokenizer)  # of a processor
        if self.tokenizer is not None and not hasattr(self.tokenizer, "convert_ids_to_tokens"):
            raise InputError(
                f"tokenizer is {type(tokenizer).__name__}: expected the model's own tokenizer of "
                "transformers, AutoTokenizer.from_pretrained(...)."
            )
        self.special = np.array(sorted(_special_ids(self.tokenizer, config)), np.int64)

    def are_special(self, ids: Int64[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """Which ids are those of special tokens."""
        return np.isin(ids, self.special)

    def side(self, name: str, ids: Int64[np.ndarray, " tokens"], text: str | None) -> Side:
        """The side of these ids. text: what they, or the first of them, were made from, or None.

        Without a tokenizer, or where an id is unknown, tokens are labelled by position. Raises
        InputError if the text does not give the ids.
        """
        special = self.are_special(ids)
        if self.tokenizer is None or (ids == UNKNOWN).any():
            return Side.of_labels([str(token) for token in range(len(ids))], special, name=name)
        tokens = [str(token) for token in self.tokenizer.convert_ids_to_tokens(ids.tolist())]
        if not getattr(self.tokenizer, "is_fast", False):
            return Side.of_labels(tokens, special, name=name)
        written, offsets = self._written(ids, special, text, name)
        return Side.of_text(written, tokens, offsets, special, name=name)

    def _written(self, ids: Any, special: Any, text: str | None, name: str) -> tuple[str, Offsets]:
        """The whole text and each token's characters."""
        start, given, offsets = 0, "", []
        if text is not None:
            offsets = self._of_given(ids, special, text, name)
            start, given = len(offsets), text
        # special tokens at either end are no text; those within keep their place in it
        inner = np.flatnonzero(~special[start:]) + start
        if not len(inner):
            return given, offsets + [(len(given), len(given))] * (len(ids) - start)
        first, last = int(inner[0]), int(inner[-1]) + 1
        rest = self._decode(ids[first:last])
        if text is None:
            found = self._offsets(rest, ids[first:last])
        else:
            # only the whole says what a piece is: a blank before it, half of a character
            rest = self._after(ids[:first], ids[first:last])
            found = self._placed(rest, ids[:first], ids[first:last])
        begin, end = len(given), len(given) + len(rest)
        moved = [(start + begin, stop + begin) for start, stop in found]
        before, after = [(begin, begin)] * (first - start), [(end, end)] * (len(ids) - last)
        return given + rest, offsets + before + moved + after

    def _of_given(self, ids: Any, special: Any, text: str, name: str) -> Offsets:
        """Offsets of the tokens that a given text makes: all of them, or the first."""
        made = []
        for marked in (True, False):
            encoding = self.tokenizer(text, add_special_tokens=marked, return_offsets_mapping=True)
            made = list(encoding["input_ids"])
            offsets = [tuple(pair) for pair in encoding["offset_mapping"]]
            if list(ids[: len(made)]) == made:
                return offsets
            # an end mark is added to a text, and not where a generation goes on
            if marked and len(made) and list(ids[: len(made) - 1]) == made[:-1]:
                return offsets[:-1]
            lead = int(special.argmin()) if len(special) and not special.all() else 0
            if list(ids[lead : lead + len(made)]) == made:
                return [(0, 0)] * lead + offsets
        raise InputError(
            f"texts give the ids {made[:6]}... and the model was given {list(ids[:6])}... as its "
            f"{name}: expected the text that was tokenized, before any chat template; or leave "
            "texts out, and the ids are decoded."
        )

    def _offsets(self, text: str, ids: Any) -> Offsets:
        """Offsets from the whole text, tokenized again and checked against the ids.

        Where a stretch of ids is not what the text would give (a model may write a word in
        unusual pieces), its pieces are placed by the lengths of what they decode to.
        """
        encoding = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        made = list(encoding["input_ids"])
        offsets = [tuple(pair) for pair in encoding["offset_mapping"]]
        given = ids.tolist()
        if made == given:
            return offsets
        placed: Offsets = [(0, 0)] * len(given)
        at = 0
        blocks = SequenceMatcher(None, given, made, autojunk=False).get_matching_blocks()
        done = 0
        for block in blocks:
            stop = offsets[block.b][0] if block.size else len(text)
            if block.a > done:
                found = self._placed(text[at:stop], ids[:done], ids[done : block.a])
                placed[done : block.a] = [(start + at, end + at) for start, end in found]
            placed[block.a : block.a + block.size] = offsets[block.b : block.b + block.size]
            if block.size:
                at, done = offsets[block.b + block.size - 1][1], block.a + block.size
        return placed

    def _placed(self, text: str, before: Any, ids: Any) -> Offsets:
        """Offsets of pieces in the text that they add to that of the ids before them."""
        few = before[-_CONTEXT:]
        return _by_length(text, ids, lambda some: self._after(few, some))

    def _after(self, before: Any, ids: Any) -> str:
        """What ids add to the text of those before them."""
        both, known = self._decode(np.concatenate((before, ids))), self._decode(before)
        return both[len(known) :] if both.startswith(known) else self._decode(ids)

    def _decode(self, ids: Any) -> str:
        return str(
            self.tokenizer.decode(
                list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )


def _by_length(text: str, ids: Any, decode: Any) -> Offsets:
    """Offsets of pieces by what the first few of them decode to; a piece of a character shares it.

    If those lengths do not add up to the text, every piece is given all of it.
    """
    ends = []
    for count in range(1, len(ids) + 1):
        part = decode(ids[:count])
        ends.append(len(part.rstrip("\N{REPLACEMENT CHARACTER}")))
    if not ends or ends[-1] != len(text) or any(np.diff(ends) < 0):
        return [(0, len(text))] * len(ids)
    placed: Offsets = []
    for index, end in enumerate(ends):
        start = ends[index - 1] if index else 0
        if end == start:  # part of a character that a later piece completes
            end = next((later for later in ends[index:] if later > start), start)
            end = min(end, start + 1)
        placed.append((start, end))
    return placed


def _special_ids(tokenizer: Any, config: Any) -> set[int]:
    if tokenizer is not None:
        return {int(token) for token in tokenizer.all_special_ids}
    found: set[int] = set()
    for part in (config, getattr(config, "text_config", None)):
        for name in ("bos", "eos", "pad", "cls", "sep", "decoder_start"):
            token = getattr(part, f"{name}_token_id", None)
            several: Sequence[Any] = token if isinstance(token, (list, tuple)) else [token]
            found |= {one for one in several if isinstance(one, int)}
    return found
