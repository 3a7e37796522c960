"""Does a head of the embedded model read 'it' as what it means? Measured, for the README.

Each pair is one sentence with two endings: with one 'it' means the first noun, with the other the
second. A head is right on a sentence when 'it' gives the noun that is meant more weight than the
other one; chance is one half. Run: python scripts/measure_pronoun.py
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

import regard
from regard.questions import find_word

HEADS = ((3, 1), (5, 11))

EATERS = ("dog", "cat", "horse", "rabbit", "bear", "fox", "goat", "pig")
FOODS = ("food", "bread", "meat", "fish", "cake", "fruit")
ENDINGS = (
    ("hungry", "delicious"),
    ("starving", "tasty"),
    ("greedy", "fresh"),
    ("hungry", "sweet"),
    ("weak", "ripe"),
)

WRITTEN = (
    ("The box did not go through the door because it was too {}.", "box", "door", "wide", "narrow"),
    ("The rope could not hold the crate because it was too {}.", "rope", "crate", "thin", "heavy"),
    ("The truck passed the bus because it was going so {}.", "truck", "bus", "fast", "slowly"),
    ("The lamp stood behind the vase, so it was {} to see.", "lamp", "vase", "hard", "easy"),
    ("The stone broke the window because it was so {}.", "stone", "window", "hard", "thin"),
    (
        "The letter would not fit the envelope because it was {}.",
        "letter",
        "envelope",
        "long",
        "small",
    ),
    ("The nail went into the plank because it was {}.", "nail", "plank", "sharp", "soft"),
    ("The cloth dried the plate until it was {}.", "cloth", "plate", "soaked", "shiny"),
    ("The hammer cracked the tile because it was so {}.", "hammer", "tile", "heavy", "brittle"),
    (
        "The bucket could not carry the water because it was {}.",
        "bucket",
        "water",
        "leaky",
        "frozen",
    ),
    ("The tree shaded the bench because it was {}.", "tree", "bench", "tall", "low"),
    ("The wolf lost the hare because it was too {}.", "wolf", "hare", "slow", "quick"),
    ("The snake swallowed the mouse because it was so {}.", "snake", "mouse", "large", "tiny"),
    ("The team beat the club because it was better {}.", "team", "club", "trained", "known"),
    ("The sponge soaked up the milk because it was {}.", "sponge", "milk", "dry", "spilt"),
    ("The firm sued the bank because it had been {}.", "firm", "bank", "cheated", "dishonest"),
    ("The knife cut the rope because it was {}.", "knife", "rope", "sharp", "worn"),
    (
        "The chair scratched the floor because it was {}.",
        "chair",
        "floor",
        "dragged",
        "unprotected",
    ),
    ("The boat hit the bridge because it was too {}.", "boat", "bridge", "high", "low"),
    ("The kitten followed the duck because it was {}.", "kitten", "duck", "curious", "limping"),
)


@dataclass(frozen=True)
class Pair:
    """A sentence with two endings; `first` is meant with the first of them."""

    sentence: str
    first: str
    second: str
    endings: tuple[str, str]


def templated() -> list[Pair]:
    return [
        Pair(f"A {eater} ate the {food} because it was {{}}", eater, food, endings)
        for eater, food, endings in product(EATERS, FOODS, ENDINGS)
    ]


def written() -> list[Pair]:
    return [
        Pair(sentence, first, second, (one, other))
        for sentence, first, second, one, other in WRITTEN
    ]


def right(pairs: list[Pair]) -> np.ndarray:
    """`(pairs, 2, layers, heads)`: whether 'it' gives the noun meant the larger weight."""
    answers = []
    for pair in pairs:
        for ending, meant, other in (
            (pair.endings[0], pair.first, pair.second),
            (pair.endings[1], pair.second, pair.first),
        ):
            record = regard.capture(pair.sentence.format(ending))
            side = record.sides[0]
            it = find_word(side, "it")
            weights = np.stack([record.weights(layer, it).weights for layer in range(6)])
            answers.append(
                weights[:, :, find_word(side, meant)] > weights[:, :, find_word(side, other)]
            )
    return np.array(answers).reshape(len(pairs), 2, *answers[0].shape)


def main() -> None:
    for name, pairs in (("templated", templated()), ("written by hand", written())):
        by_sentence = right(pairs)
        print(f"{name}: {len(pairs)} pairs")
        for layer, head in HEADS:
            answers = by_sentence[:, :, layer, head]
            first, second = answers.mean(axis=0)
            print(
                f"  L{layer}H{head}: right {first:.2f} where it means the first noun, {second:.2f} "
                f"the second, {answers.all(axis=1).mean():.2f} of pairs both"
            )
        both = by_sentence.all(axis=1).mean(axis=0)
        layer, head = np.unravel_index(both.argmax(), both.shape)
        print(f"  best of all 72: L{layer}H{head} with {both.max():.2f} of pairs both")


if __name__ == "__main__":
    main()
