"""A record as plain JSON values and named arrays, and back, every field checked.

Names of arrays: 'side.0.starts', 'layer.2.query', 'layer.2.readings.top_index',
'layer.2.mask.bias', 'layer.2.ask.rows'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

import numpy as np

from regard.errors import InputError
from regard.mechanism.mask import Mask
from regard.mechanism.readings import FLAGS, Ask, Readings
from regard.record import Call, Layer, Record, Side
from regard.storage.checked import Fields, Store
from regard.words import Word

FORMAT: Final = "regard-record"
VERSION: Final = 1
_LARGEST: Final = 2**48
_MOST_HEADS: Final = 2**16
_READINGS: Final = tuple(field.name for field in fields(Readings) if field.name != "backend")
_KEPT: Final = ("query", "key", "value")

Arrays = dict[str, np.ndarray]


def to_form(record: Record) -> tuple[dict[str, Any], Arrays]:
    """JSON values and arrays that hold all of a record."""
    arrays: Arrays = {}
    form = {
        "format": FORMAT,
        "version": VERSION,
        "sides": [_side_form(f"side.{i}", s, arrays) for i, s in enumerate(record.sides)],
        "layers": [_layer_form(f"layer.{i}", one, arrays) for i, one in enumerate(record.layers)],
        "provenance": dict(record.provenance),
    }
    return form, arrays


def from_form(
    form: Any, shapes: Mapping[str, tuple[int, ...]], read: Callable[[str], np.ndarray]
) -> Record:
    """The record. shapes: of every array there is; `read` fetches one. Raises InputError."""
    if not isinstance(form, dict) or form.get("format") != FORMAT:
        raise InputError(f"its JSON does not say format {FORMAT!r}.")
    if form.get("version") != VERSION:
        raise InputError(
            f"it has version {form.get('version')!r:.40} and this regard reads {VERSION}: "
            "expected a file of the same version; a newer regard may read it."
        )
    top = Fields("the record", form)
    top.take("format", str)
    top.take("version", int)
    store = Store(shapes, read)
    sides = tuple(_side(f"side.{i}", one, store) for i, one in enumerate(top.take("sides", list)))
    layers = tuple(
        _layer(f"layer.{i}", one, store) for i, one in enumerate(top.take("layers", list))
    )
    provenance = top.take("provenance", dict)
    top.done()
    store.done()
    return Record(sides, layers, provenance)


def _side_form(name: str, side: Side, arrays: Arrays) -> dict[str, Any]:
    words = side.words
    arrays[f"{name}.special"] = side.special
    arrays[f"{name}.word_of"] = side.word_of
    arrays[f"{name}.starts"] = np.array([word.start for word in words], np.int64)
    arrays[f"{name}.stops"] = np.array([word.stop for word in words], np.int64)
    labels = {
        str(index): word.text
        for index, word in enumerate(words)
        if word.text != _written(side.text, side.tokens, word.start, word.stop, word.tokens)
    }
    return {"name": side.name, "text": side.text, "tokens": list(side.tokens), "labels": labels}


def _written(
    text: str | None, tokens: tuple[str, ...], start: int, stop: int, pieces: tuple[int, ...]
) -> str:
    """What a word says unless a label says otherwise."""
    if text is not None and start < stop:
        return text[start:stop]
    return "".join(tokens[piece] for piece in pieces)


def _side(name: str, form: Any, store: Store) -> Side:
    part = Fields(name, form)
    text = part.take("text", str, type(None))
    tokens = tuple(part.take("tokens", list))
    labels = part.take("labels", dict)
    title = part.take("name", str)
    part.done()
    for token in (*tokens, *labels.values()):
        if not isinstance(token, str):
            raise InputError(f"{name} has the token {str(token)[:40]}: expected strings.")
    special = store.take(f"{name}.special", (len(tokens),), "b")
    word_of = store.take(f"{name}.word_of", (len(tokens),), "i")
    starts = store.take(f"{name}.starts", (-1,), "i")
    stops = store.take(f"{name}.stops", starts.shape, "i")
    if len(starts) > len(tokens) or (
        len(tokens) and not 0 <= word_of.min() <= word_of.max() < len(starts)
    ):
        raise InputError(f"{name} has {len(starts)} words and word_of does not fit them.")
    pieces: list[list[int]] = [[] for _ in starts]
    for token, word in enumerate(word_of.tolist()):
        pieces[word].append(token)
    words = []
    for index, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        of_word = tuple(pieces[index])
        written = labels.get(str(index))
        if written is None:
            written = _written(text, tokens, start, stop, of_word)
        is_special = bool(of_word) and bool(special[of_word[0]])
        words.append(Word(written, start, stop, of_word, is_special))
    return Side(title, text, tokens, tuple(words), special)


def _layer_form(name: str, layer: Layer, arrays: Arrays) -> dict[str, Any]:
    arrays[f"{name}.query_positions"] = layer.query_positions
    arrays[f"{name}.key_positions"] = layer.key_positions
    if layer.head_numbers is not None:
        arrays[f"{name}.head_numbers"] = layer.head_numbers
    for field in _KEPT:
        if getattr(layer, field) is not None:
            arrays[f"{name}.{field}"] = getattr(layer, field)
    for field in _READINGS:
        if getattr(layer.readings, field) is not None:
            arrays[f"{name}.readings.{field}"] = np.asarray(getattr(layer.readings, field))
    call = layer.call
    return {
        "number": layer.number,
        "name": layer.name,
        "kind": layer.kind,
        "heads": layer.heads,
        "query_side": layer.query_side,
        "key_side": layer.key_side,
        "backend": layer.readings.backend,
        "call": None if call is None else _call_form(name, call, arrays),
        "ask": None if layer.ask is None else _ask_form(f"{name}.ask", layer.ask, arrays),
    }


def _layer(name: str, form: Any, store: Store) -> Layer:
    part = Fields(name, form)
    plain = {field: part.take(field, str) for field in ("name", "kind")}
    counts = {
        field: part.take(field, int) for field in ("number", "heads", "query_side", "key_side")
    }
    if max(counts.values()) > _MOST_HEADS:
        raise InputError(f"{name} says {counts}: expected at most {_MOST_HEADS} of each.")
    backend = part.take("backend", str)
    call = _call(name, part.take("call", dict, type(None)), store)
    ask = _ask(f"{name}.ask", part.take("ask", dict, type(None)), store)
    part.done()
    rows = store.take(f"{name}.query_positions", (-1,), "i")
    columns = store.take(f"{name}.key_positions", (-1,), "i")
    heads = counts["heads"]
    kept = {
        "query": store.optional(f"{name}.query", (heads, len(rows), -1), "f"),
        "key": store.optional(f"{name}.key", (-1, len(columns), -1), "f"),
        "value": store.optional(f"{name}.value", (-1, len(columns), -1), "f"),
    }
    readings = {
        field: store.optional(f"{name}.readings.{field}", None, "fi") for field in _READINGS
    }
    return Layer(
        **plain,
        **counts,
        query_positions=rows,
        key_positions=columns,
        readings=Readings(backend=backend, **readings),
        call=call,
        **kept,
        ask=ask,
        head_numbers=store.optional(f"{name}.head_numbers", (heads,), "i"),
    )


def _call_form(name: str, call: Call, arrays: Arrays) -> dict[str, Any]:
    mask = call.mask
    if call.sinks is not None:
        arrays[f"{name}.sinks"] = call.sinks
    form: dict[str, Any] = {
        "scale": float(call.scale),
        "softcap": None if call.softcap is None else float(call.softcap),
        "causal": bool(mask.causal),
        "window": None
        if mask.window is None
        else [None if side is None else int(side) for side in mask.window],
    }
    for field in ("offset", "lengths"):
        value = getattr(mask, field)
        if value is None or np.ndim(value) == 0:
            form[field] = None if value is None else int(value)
        else:
            arrays[f"{name}.mask.{field}"] = np.asarray(value, np.int64)
            form[field] = "array"
    if isinstance(mask.segments, tuple):
        for field, labels in zip(("segments", "key_segments"), mask.segments, strict=True):
            arrays[f"{name}.mask.{field}"] = np.asarray(labels, np.int64)
    elif mask.segments is not None:
        arrays[f"{name}.mask.segments"] = np.asarray(mask.segments, np.int64)
    for field in ("allowed", "bias"):
        if getattr(mask, field) is not None:
            arrays[f"{name}.mask.{field}"] = np.asarray(getattr(mask, field))
    return form


def _call(name: str, form: Any, store: Store) -> Call | None:
    if form is None:
        return None
    part = Fields(f"{name}.call", form)
    scale = part.take("scale", float)
    softcap = part.take("softcap", float, type(None))
    causal = part.take("causal", bool)
    window = part.take("window", list, type(None))
    if window is not None:
        for side in window:
            if side is not None and (type(side) is not int or abs(side) > _LARGEST):
                raise InputError(f"{name}.call has the window {str(window)[:60]}.")
        window = tuple(window)
    numbers: dict[str, Any] = {}
    for field in ("offset", "lengths"):
        numbers[field] = part.take(field, int, str, type(None))
        if isinstance(numbers[field], str):
            numbers[field] = store.take(f"{name}.mask.{field}", (-1,), "i")
    part.done()
    segments = store.optional(f"{name}.mask.segments", None, "i")
    of_keys = store.optional(f"{name}.mask.key_segments", None, "i")
    mask = Mask(
        causal=causal,
        window=window,
        **numbers,
        segments=segments if of_keys is None else (segments, of_keys),
        allowed=store.optional(f"{name}.mask.allowed", None, "b"),
        bias=store.optional(f"{name}.mask.bias", None, "f"),
    )
    return Call(scale, softcap, store.optional(f"{name}.sinks", None, "f"), mask)


def _ask_form(name: str, ask: Ask, arrays: Arrays) -> dict[str, Any]:
    queries: Any = ask.queries
    if isinstance(queries, slice):
        queries = [None if end is None else int(end) for end in
                   (queries.start, queries.stop, queries.step)]  # fmt: skip
    elif queries is not None and not isinstance(queries, str):
        arrays[f"{name}.queries"] = np.asarray(queries, np.int64)
        queries = "array"
    for field in ("rows", "columns"):
        if len(getattr(ask, field)):
            arrays[f"{name}.{field}"] = np.asarray(getattr(ask, field), np.int64)
    if ask.groups is not None:
        arrays[f"{name}.labels"] = np.asarray(ask.groups[0], np.int64)
    return {
        "queries": queries,
        "top": int(ask.top),
        "thumbnail": int(ask.thumbnail),
        "groups": None if ask.groups is None else int(ask.groups[1]),
        **{flag: bool(getattr(ask, flag)) for flag in FLAGS},
    }


def _ask(name: str, form: Any, store: Store) -> Ask | None:
    if form is None:
        return None
    part = Fields(name, form)
    queries: Any = part.take("queries", str, list, type(None))
    if queries == "array":
        queries = store.take(f"{name}.queries", (-1,), "i")
    elif isinstance(queries, list):
        ends = [end for end in queries if end is not None]
        if len(queries) != 3 or any(type(end) is not int or abs(end) > _LARGEST for end in ends):
            raise InputError(f"{name} has the queries {str(queries)[:60]}: expected a slice of 3.")
        if queries[2] == 0:
            raise InputError(f"{name} has a slice of step 0.")
        queries = slice(*queries)
    count = part.take("groups", int, type(None))
    sizes = {field: part.take(field, int) for field in ("top", "thumbnail")}
    if max(*sizes.values(), count or 0) > _LARGEST:
        raise InputError(f"{name} says {sizes}: expected less.")
    flags = {flag: part.take(flag, bool) for flag in FLAGS}
    part.done()
    groups = None if count is None else (store.take(f"{name}.labels", (-1,), "i"), count)
    rows = store.optional(f"{name}.rows", (-1,), "i")
    columns = store.optional(f"{name}.columns", (-1,), "i")
    return Ask(
        queries=queries,
        rows=() if rows is None else rows,
        columns=() if columns is None else columns,
        groups=groups,
        **sizes,
        **flags,
    )
