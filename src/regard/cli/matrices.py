"""A person's own matrices, from a file that may be broken or hostile, made into steps.

Three kinds of file, each with any of the three ways in: query, key and value; or x and the
three weight matrices; or scores and d_k, with value if there is one.
"""

from __future__ import annotations

import json
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.mechanism.numbers import floats
from regard.mechanism.steps import Steps, project, steps, steps_from_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jaxtyping import Float

MOST_BYTES: Final = 2**28

_OTHER_NAMES: Final = {
    "query": ("q",),
    "key": ("k",),
    "value": ("v",),
    "w_query": ("w_q", "wq"),
    "w_key": ("w_k", "wk"),
    "w_value": ("w_v", "wv"),
    "x": (),
    "scores": (),
    "d_k": ("dk",),
    "words": (),
    "query_words": (),
    "key_words": (),
    "mask": (),
    "scale": (),
    "softcap": (),
    "sinks": (),
}
_NAME: Final = {other: name for name, others in _OTHER_NAMES.items() for other in (name, *others)}
_WAYS: Final = (
    ("query", "key", "value"),
    ("x", "w_query", "w_key", "w_value"),
    ("scores", "d_k"),
)
_EXPECTED: Final = (
    "query, key and value; or x, w_query, w_key and w_value; or scores and d_k (and value)"
)


@dataclass(frozen=True, eq=False)
class Projection:
    """X and the weight matrices that query, key and value were made with, in float64."""

    x: Float[np.ndarray, "tokens d_model"]
    weights: tuple[
        Float[np.ndarray, "d_model dim"],
        Float[np.ndarray, "d_model dim"],
        Float[np.ndarray, "d_model value_dim"],
    ]


def read_matrices(path: Path) -> dict[str, Any]:
    """What the file holds, by our names. Raises InputError for a file that cannot be read."""
    kinds: dict[str, Callable[[Path], dict[str, Any]]] = {
        ".npz": _from_npz,
        ".safetensors": _from_safetensors,
        ".json": _from_json,
    }
    read = kinds.get(path.suffix.lower())
    if read is None:
        raise InputError(f"{path.name!r}: expected a file ending in .npz, .safetensors or .json.")
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path.name!r} is not a file.")
        _check_bytes(path, status.st_size)
        found = read(path)
    except InputError:
        raise
    except Exception as error:  # a broken file can make its reader fail in any way at all
        reason = getattr(error, "strerror", None) or error or type(error).__name__
        raise InputError(f"{path.name!r} cannot be read: {reason}") from None
    return _by_our_names(path, found)


def steps_of(found: dict[str, Any], words: Sequence[str] = ()) -> tuple[Steps, Projection | None]:
    """Steps from what a file or an example holds; words, if given, take the place of its own.

    words: one text for queries and keys, or two, split at white space. Raises InputError.
    """
    way = _way(found)
    labels = _words(found, words)
    more = {name: found[name] for name in ("mask", "scale", "softcap", "sinks") if name in found}
    if "mask" in more:
        more["mask"] = np.asarray(more["mask"])
    for name in ("scale", "softcap"):
        if name in more:
            more[name] = _number(name, more[name])
    if way[0] == "scores":
        if more:
            raise InputError(
                f"{next(iter(more))} cannot be used with scores: begin at query and key."
            )
        d_k = _number("d_k", found["d_k"])
        if d_k != int(d_k):
            raise InputError(f"d_k is {d_k}: expected a whole number.")
        value = found.get("value")
        return steps_from_scores(found["scores"], d_k=int(d_k), value=value, words=labels), None
    if way[0] == "query":
        return steps(*(found[name] for name in way), words=labels, **more), None
    x, w_query, w_key, w_value = (floats(name, found[name], np.float64) for name in way)
    query_key_value = project(x, w_query, w_key, w_value)
    made = Projection(x, (w_query, w_key, w_value))
    return steps(*query_key_value, words=labels, **more), made


def _way(found: dict[str, Any]) -> tuple[str, ...]:
    begun = [way for way in _WAYS if way[0] in found or set(way) <= set(found)]
    if len(begun) > 1:
        raise InputError(
            f"both {begun[0][0]} and {begun[1][0]} are there: expected one way in, {_EXPECTED}."
        )
    names = ", ".join(repr(name) for name in list(found)[:12]) or "nothing"
    if not begun:
        raise InputError(f"found {names}: expected {_EXPECTED}.")
    missing = [name for name in begun[0] if name not in found]
    if missing:
        raise InputError(f"found {names}, but not {' nor '.join(missing)}: expected {_EXPECTED}.")
    return begun[0]


def _words(found: dict[str, Any], texts: Sequence[str]) -> Any:
    if texts:
        sides = [text.split() for text in texts]
        return sides[0] if len(sides) == 1 else (sides[0], sides[1])
    if ("query_words" in found) != ("key_words" in found):
        raise InputError("query_words and key_words belong together: give both, or words for both.")
    if "query_words" in found:
        return tuple(_word_list(name, found[name]) for name in ("query_words", "key_words"))
    return _word_list("words", found["words"]) if "words" in found else None


def _word_list(name: str, words: Any) -> list[str]:
    listed = words.tolist() if isinstance(words, np.ndarray) else words
    if isinstance(listed, str):
        return listed.split()
    if not isinstance(listed, list) or not all(isinstance(word, str) for word in listed):
        raise InputError(f"{name} must be a text or a list of strings.")
    return listed


def _number(name: str, value: Any) -> float:
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise InputError(f"{name} must be one finite number.")
    return float(array.reshape(()))


def _by_our_names(path: Path, found: dict[str, Any]) -> dict[str, Any]:
    ours: dict[str, Any] = {}
    for theirs, value in found.items():
        name = _NAME.get(theirs.lower(), theirs)
        if name in ours:
            raise InputError(f"{path.name!r} holds {name} twice, once as {theirs!r}.")
        ours[name] = value
    return ours


def unused(found: dict[str, Any]) -> list[str]:
    """Names in a file that mean nothing here."""
    return [name for name in found if name not in _OTHER_NAMES]


def _check_bytes(path: Path, count: int) -> None:
    if count > MOST_BYTES:
        raise InputError(
            f"{path.name!r} holds {count / 2**20:,.0f} MiB: expected at most "
            f"{MOST_BYTES / 2**20:,.0f} MiB. Steps are for few words."
        )


def _from_npz(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:  # before anything is unpacked
        _check_bytes(path, sum(member.file_size for member in archive.infolist()))
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _from_safetensors(path: Path) -> dict[str, Any]:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        names = list(file.keys())
        for name in names:
            kind = file.get_slice(name).get_dtype()
            if kind.startswith(("BF", "F8")):
                raise InputError(f"{path.name!r} holds {name!r} as {kind}: save it as float32.")
        found = {name: file.get_tensor(name) for name in names}
        notes = file.metadata() or {}
    for name in ("words", "query_words", "key_words"):
        if name in notes:
            text = notes[name]
            found[name] = json.loads(text) if text.lstrip().startswith("[") else text
    if "d_k" in notes and "d_k" not in found:
        found["d_k"] = int(notes["d_k"])
    return found


def _from_json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8-sig"))
    if not isinstance(found, dict):
        raise InputError(
            f"{path.name!r} holds a {type(found).__name__}: expected an object with {_EXPECTED}."
        )
    return found
