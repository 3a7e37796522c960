"""Small records for tests: random, of the sizes asked for, with everything kept."""

from __future__ import annotations

import dataclasses

import numpy as np

import regard
from regard.mechanism.readings import Readings
from regard.record import Call, Layer, Record, Side
from regard.words import Word


def side_of(*words: str, special: tuple[str, ...] = ("[CLS]", "[SEP]"), name: str = "text") -> Side:
    """A side with a text: each argument is a word, its pieces parted by |."""
    text, tokens, made, flags = "", [], [], []
    for word in words:
        pieces = word.split("|")
        first = len(tokens)
        tokens.extend(pieces)
        places = tuple(range(first, len(tokens)))
        if word in special:
            made.append(Word(word, 0, 0, places, True))
        else:
            text += " " if text else ""
            start = len(text)
            text += "".join(pieces)
            made.append(Word("".join(pieces), start, len(text), places, False))
        flags.extend([word in special] * len(pieces))
    return Side(name, text, tuple(tokens), tuple(made), np.array(flags, np.bool_))


def layer_of(
    side: Side,
    *,
    number: int = 0,
    heads: int = 4,
    kv_heads: int = 2,
    mask: regard.Mask | None = None,
    kind: str = "encoder",
    seed: int = 0,
    **changes: object,
) -> Layer:
    """A self-attention layer with random query, key and value."""
    random = np.random.default_rng(seed)
    tokens = len(side.tokens)
    parts: dict[str, object] = {
        "number": number,
        "name": f"layer.{number}",
        "kind": kind,
        "heads": heads,
        "query_side": 0,
        "key_side": 0,
        "query_positions": np.arange(tokens),
        "key_positions": np.arange(tokens),
        "readings": Readings(backend="loop"),
        "call": Call(scale=0.4, mask=mask or regard.Mask()),
        "query": random.normal(size=(heads, tokens, 6)).astype(np.float32),
        "key": random.normal(size=(kv_heads, tokens, 6)).astype(np.float32),
        "value": random.normal(size=(kv_heads, tokens, 5)).astype(np.float32),
    }
    return Layer(**(parts | changes))


def record_of(*words: str, layers: int = 1, **settings: object) -> Record:
    """A record of one side and layers as `layer_of` makes them."""
    side = side_of(*words)
    made = tuple(layer_of(side, number=i, seed=i, **settings) for i in range(layers))
    return Record((side,), made, {"model": "random"})


def given_record(weights: np.ndarray, *words: str, kind: str = "encoder") -> Record:
    """A record of whole rows (heads, tokens, tokens) and nothing else, one layer."""
    side = side_of(*words)
    heads, tokens, _ = weights.shape
    readings = Readings(backend="given", queries=np.arange(tokens), rows=weights)
    layer = layer_of(
        side, heads=heads, kind=kind, readings=readings, call=None, query=None, key=None, value=None
    )
    return Record((side,), (layer,), {"model": "given"})


def dense(layer: Layer) -> tuple[np.ndarray, np.ndarray]:
    """Weights (heads, rows, keys) and values of each head, from the four steps in float64."""
    call = layer.call
    steps = regard.steps(
        layer.query,
        layer.key,
        layer.value,
        mask=call.mask,
        scale=call.scale,
        softcap=call.softcap,
        sinks=call.sinks,
    )
    return steps.weights, layer.value.repeat(layer.heads // layer.value.shape[0], axis=0)


def top_only(*words: str, mask: regard.Mask | None = None, top: int = 2) -> tuple[Record, Record]:
    """A record with everything kept, and the same with nothing but its largest weights."""
    full = record_of(*words, mask=mask)
    layer = full.layers[0]
    ask = regard.Ask(top=top, share=True)
    readings = regard.readings(
        layer.query, layer.key, layer.value, ask=ask, mask=layer.call.mask, scale=layer.call.scale
    )
    bare = dataclasses.replace(layer, readings=readings, ask=ask, query=None, key=None, value=None)
    return full, Record(full.sides, (bare,), {})
