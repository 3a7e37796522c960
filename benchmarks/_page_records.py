"""Records of any size for the benchmark of the page.

The smallest is the embedded model's own. The others are of random numbers, but of real code:
queries lean towards the key before them, towards one key somewhere before, or towards the first,
head by head, so that weights differ as a model's do.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import regard
from regard.mechanism.readings import Readings
from regard.record import Call, Layer, Record, Side

SENTENCE = "A dog ate the food because it was hungry"
HEADS, DIM = 12, 16
"""Of a layer; of a query, a key and a value."""

READ = regard.Ask(
    top=8, share=True, entropy=True, lse=True, max_score=True, received=True, thumbnail=64
)
"""What is read of a text too long to keep queries, keys and values of."""


def sentence() -> Record:
    """11 tokens in 72 heads, of the embedded model."""
    return regard.capture(SENTENCE)


def kept(tokens: int, heads: int) -> Record:
    """Queries, keys and values, as `regard.from_qkv` takes them."""
    made = [_vectors(tokens, seed) for seed in range(heads // HEADS)]
    text, pieces, offsets = _text(tokens)
    return regard.from_qkv(
        *(tuple(layer[part] for layer in made) for part in range(3)),
        pieces, regard.Mask(causal=True), text=text, offsets=offsets,
    )  # fmt: skip


def read(tokens: int, heads: int) -> Record:
    """Readings alone. Those of one layer are computed; the others have the same heads in another
    order, which a page cannot profit from, and are none the cheaper for it."""
    query, key, value = _vectors(tokens, 0)
    mask = regard.Mask(causal=True)
    of = regard.readings(query, key, value, ask=READ, mask=mask)
    side = Side.of_text(*_text(tokens), [False] * tokens)
    layers = tuple(_layer(number, _turned(of, number), mask) for number in range(heads // HEADS))
    return Record((side,), layers, {"model": "random numbers", "regard": "benchmark"})


def _layer(number: int, readings: Readings, mask: regard.Mask) -> Layer:
    places = np.arange(readings.entropy.shape[1])
    return Layer(
        number=number,
        name=f"layers.{number}.attention",
        kind="decoder",
        heads=HEADS,
        query_side=0,
        key_side=0,
        query_positions=places,
        key_positions=places,
        readings=readings,
        call=Call(scale=DIM**-0.5, mask=mask),
    )


def _vectors(tokens: int, seed: int) -> tuple[Any, Any, Any]:
    """Query, key and value `(HEADS, tokens, DIM)`, float32."""
    random = np.random.default_rng(seed)
    key, value, noise = random.normal(size=(3, HEADS, tokens, DIM)).astype(np.float32)
    rows = np.arange(tokens)
    sought = np.stack([np.maximum(rows - 1, 0), random.integers(0, rows + 1), np.zeros_like(rows)])
    lean = np.float32([3.0, 2.0, 1.0])[np.arange(HEADS) % 3, None, None]
    query = noise + lean * key[np.arange(HEADS)[:, None], sought[np.arange(HEADS) % 3]]
    return query, key, value


def _turned(readings: Readings, by: int) -> Readings:
    """The same readings with their heads in another order."""
    order = np.roll(np.arange(HEADS), by)
    arrays = {
        field.name: array[order]
        for field in dataclasses.fields(readings)
        if field.name not in ("backend", "queries")
        and (array := getattr(readings, field.name)) is not None
    }
    return dataclasses.replace(readings, **arrays)


def _text(tokens: int) -> tuple[str, list[str], list[tuple[int, int]]]:
    """A text of made-up words, one in four of two pieces; the pieces; their characters."""
    random = np.random.default_rng(7)
    letters = np.array(list("etaoinshrdlucm"))
    pieces: list[str] = []
    offsets: list[tuple[int, int]] = []
    text = ""
    while len(pieces) < tokens:
        text += " " if text else ""
        for _ in range(min(tokens - len(pieces), 1 + (random.random() < 0.25))):
            piece = "".join(random.choice(letters, random.integers(2, 7)))
            offsets.append((len(text), len(text) + len(piece)))
            pieces.append(piece)
            text += piece
    return text, pieces, offsets
