"""Words and heads by the names that people write: 'it', 'it#2', '[CLS]', 'L3H1'."""

from __future__ import annotations

import difflib
import re
import unicodedata
from typing import Final

from regard.errors import InputError
from regard.record import Record, Side

_HEAD: Final = re.compile(r"L([0-9]{1,6})H([0-9]{1,6})", re.IGNORECASE)
_AROUND: Final = 2
_SHOWN: Final = 6


def find_word(side: Side, name: str) -> int:
    """The index in `side.words` of the word called `name`.

    'it', 'it#2' where there are several, '[CLS]'; upper and lower case count only where they tell
    words apart. Raises InputError if several words are meant (with where each stands) or none
    (with the nearest ones).
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(
            f"word is {name!r}: expected a word of {side.name!r}, as in {_some(side)}."
        )
    wanted = name.strip()
    for same in (_composed, _folded):
        for written in (side.names, [word.text for word in side.words]):
            found = [i for i, text in enumerate(written) if same(text) == same(wanted)]
            if len(found) == 1:
                return found[0]
            if found:
                raise InputError(
                    f"word {wanted!r} occurs {len(found)} times: say which. {_places(side, found)}"
                )
    stem, _, number = wanted.rpartition("#")
    found = [i for i, word in enumerate(side.words) if stem and _folded(word.text) == _folded(stem)]
    if found and number.isdecimal():
        times = "once" if len(found) == 1 else f"{len(found)} times"
        raise InputError(f"word {wanted!r}: {stem!r} occurs {times}. {_places(side, found)}")
    raise InputError(f"word {wanted!r} is not in {side.name!r}. {_nearest(side, wanted)}")


def find_head(record: Record, name: str) -> tuple[int, int]:
    """The index in `record.layers`, and the head's place in it, that a name as 'L3H1' means.

    Raises InputError if it is no such name, or the record has no such layer or head.
    """
    match = _HEAD.fullmatch(name.strip()) if isinstance(name, str) else None
    if match is None:
        raise InputError(f"head is {name!r}: expected a layer and a head from 0, as in L3H1.")
    number, head = int(match[1]), int(match[2])
    found = [i for i, layer in enumerate(record.layers) if layer.number == number]
    if not found:
        numbers = sorted({layer.number for layer in record.layers})
        listed = ", ".join(f"L{known}" for known in numbers[:30]) or "none"
        raise InputError(f"head {name.strip()}: the record has no layer {number}, only {listed}.")
    if len(found) > 1:
        kinds = ", ".join(record.layers[i].name for i in found)
        raise InputError(f"head {name.strip()} is in several layers: {kinds}. Keep one of them.")
    layer = record.layers[found[0]]
    if layer.head_numbers is None:
        known = range(layer.heads)
        said = f"{layer.heads} heads, H0 to H{layer.heads - 1}"
    else:
        known = layer.head_numbers.tolist()
        said = "recorded " + ", ".join(f"H{one}" for one in known[:30])
    if head not in known:
        raise InputError(f"head {name.strip()}: layer {number} has {said}.")
    return found[0], known.index(head)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _folded(text: str) -> str:
    return _composed(text).casefold()


def _places(side: Side, found: list[int]) -> str:
    """Each of these words among its neighbours."""
    lines = []
    for index in found[:_SHOWN]:
        words = [
            f"[{word.text}]" if place == index else word.text
            for place, word in enumerate(side.words)
            if abs(place - index) <= _AROUND and (place == index or not word.special)
        ]
        lines.append(f"{side.names[index]}: {' '.join(words)}")
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(lines) + more + "."


def _nearest(side: Side, wanted: str) -> str:
    by_folded = {_folded(name): name for name in reversed(side.names)}
    close = difflib.get_close_matches(_folded(wanted), by_folded, n=3, cutoff=0.5)
    if close:
        return f"Nearest: {', '.join(by_folded[name] for name in close)}."
    return f"Its words: {_some(side)}."


def _some(side: Side) -> str:
    names = [name for name, word in zip(side.names, side.words, strict=True) if not word.special]
    if not names:
        return ", ".join(side.names) or "none"
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
