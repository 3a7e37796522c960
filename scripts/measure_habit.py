"""Measure the habit table of the embedded model, and write it beside the model.

    python scripts/measure_habit.py            write habit.safetensors and say what it holds
    python scripts/measure_habit.py --check    measure again and compare with the shipped table

Every text of neutral.txt goes through the model by itself. Its tokens are grouped into words; the
weight from a word to a word is the mean over the reader's pieces of the sum over the other's.
Weights are averaged by distance (key - query, in words, special tokens apart) within each text
first and over the texts then, so that a text of 300 words counts as much as one of three: pairs
alone would leave the short ones no say. A text counts where it has pairs at that distance.
The spread is the standard deviation with the same weights: pairs within a text, then texts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

import regard
from regard.habit import Habit, read_habit, write_habit
from regard.models.encoder import DEFAULT_DIRECTORY, Encoder, default_encoder
from regard.words import group_words

TABLE = DEFAULT_DIRECTORY / "habit.safetensors"
TEXTS = DEFAULT_DIRECTORY / "neutral.txt"
REACH = 16
"""The largest distance with a bin of its own; further ones share one bin on each side."""


@dataclass(frozen=True)
class Measured:
    """A habit, and how much it rests on: texts, and word pairs at each distance `(2D+3)`."""

    habit: Habit
    texts: int
    pairs: np.ndarray


def read_texts() -> list[str]:
    """The neutral texts."""
    lines = TEXTS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def word_weights(encoder: Encoder, text: str) -> tuple[np.ndarray, np.ndarray]:
    """Each word's weights: on words `(layers, heads, words, words)`, special tokens apart, and on
    the first and the last token `(2, layers, heads, words)`; float32."""
    encoding = encoder.encode(text)
    words = group_words(text, encoding.tokens, encoding.offsets, encoding.special.tolist())
    words = [word for word in words if not word.special]
    member = np.zeros((len(words), len(encoding.ids)), np.float32)
    for row, word in zip(member, words, strict=True):
        row[list(word.tokens)] = 1
    reader = member / member.sum(axis=1, keepdims=True)
    run = encoder.run(encoding.ids, ask=regard.Ask(rows=range(len(encoding.ids))))
    rows = np.stack([layer.readings.rows for layer in run.layers])  # layers heads tokens tokens
    from_words = reader @ rows  # layers heads words tokens
    ends = np.stack([from_words[..., 0], from_words[..., -1]])
    return from_words @ member.T, ends


def by_distance(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of one text's word weights: pairs in each bin `(2D+3)`; the sums of the weights and of
    their squares in each bin `(2, ..., 2D+3)`; in the bins' order of `Habit`."""
    count = weights.shape[-1]
    distances = np.subtract.outer(np.arange(count), np.arange(count)).T  # key - query
    bins = (np.clip(distances, -REACH - 1, REACH + 1) + REACH + 1).ravel()
    order = np.argsort(bins, kind="stable")
    pairs = np.bincount(bins, minlength=2 * REACH + 3)
    present = np.flatnonzero(pairs)
    starts = np.cumsum(pairs[present]) - pairs[present]
    flat = weights.reshape(*weights.shape[:-2], -1)[..., order]
    sums = np.zeros((2, *weights.shape[:-2], 2 * REACH + 3))
    for total, power in zip(sums, (flat, flat**2), strict=True):
        total[..., present] = np.add.reduceat(power, starts, axis=-1, dtype=np.float64)
    return pairs, sums[0], sums[1]


def measure(encoder: Encoder, texts: Iterable[str]) -> Measured:
    """The habit of every head of `encoder` over `texts`."""
    shape = (encoder.config.layers, encoder.config.heads)
    bins = 2 * REACH + 3
    mean, square = np.zeros((*shape, bins)), np.zeros((*shape, bins))
    ends = np.zeros((2, *shape))
    pairs, having, texts_read = np.zeros(bins, np.int64), np.zeros(bins, np.int64), 0
    for text in texts:
        weights, on_ends = word_weights(encoder, text)
        text_pairs, sums, squares = by_distance(weights)
        mean += sums / np.maximum(text_pairs, 1)
        square += squares / np.maximum(text_pairs, 1)
        ends += on_ends.mean(axis=-1)
        pairs += text_pairs
        having += text_pairs > 0
        texts_read += 1
    if not having.all():
        sys.exit(f"no text has words {REACH + 1} apart or more: the table would have holes")
    mean /= having
    spread = np.sqrt(np.maximum(square / having - mean**2, 0))
    first, last = (ends / texts_read).astype(np.float32)
    habit = Habit(mean.astype(np.float32), first, last, spread.astype(np.float32))
    return Measured(habit, texts_read, pairs)


def provenance(measured: Measured) -> str:
    """What the table was measured on, as JSON."""
    sources = (TEXTS, DEFAULT_DIRECTORY / "model.safetensors")
    facts = {
        "model": default_encoder().name,
        "sha256": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sources},
        "texts": measured.texts,
        "pairs": measured.pairs.tolist(),
        "average": "by distance within each text, then over texts",
    }
    return json.dumps(facts, sort_keys=True)


def report(measured: Measured) -> None:
    """Say what the table holds, and name the heads that mostly read one distance."""
    habit = measured.habit
    print(f"{measured.texts} texts, {measured.pairs.sum():,} word pairs")
    print(f"[CLS] {habit.first.mean():.3f}, [SEP] {habit.last.mean():.3f} of a word's weight")
    for layer, head, place in np.argwhere(habit.distance > 0.5):
        at = (layer, head, place)
        print(
            f"L{layer}H{head} gives {habit.distance[at]:.2f} ± {habit.spread[at]:.2f} "
            f"to the word at {place - REACH - 1:+d}"
        )


def main() -> None:
    """Measure, then write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    measured = measure(default_encoder(), read_texts())
    report(measured)
    if not check:
        # One key only: with several, their order in the file is not fixed.
        write_habit(measured.habit, TABLE, {"provenance": provenance(measured)})
        return
    shipped = read_habit(TABLE)
    for field in fields(Habit):
        new, old = getattr(measured.habit, field.name), getattr(shipped, field.name)
        if new.shape != old.shape or not np.allclose(new, old, rtol=0, atol=1e-5):
            sys.exit(f"{field.name} differs from the shipped table: run this without --check")


if __name__ == "__main__":
    main()
