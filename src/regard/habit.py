"""Habit: the weight that a head usually gives a word at a distance, whatever the words are.

Many heads always read the word before, the word after, or [SEP]. What they usually do says
nothing about a text; what goes beyond it may.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import InputError

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int64


@dataclass(frozen=True, eq=False)
class Habit:
    """What each head of a model usually does, measured over many texts; float32 or float64.

    Distances are key - query, counted in words, special tokens apart: -1 is the word before. With
    the last axis of length 2D+3, index 0 is everything below -D, index d+D+1 is distance d, and
    index 2D+2 everything above D.

    distance: `(layers, heads, 2D+3)`: mean weight that a word gives one word at that distance.
    first, last: `(layers, heads)`: mean weight on the first and on the last special token.
    spread: `(layers, heads, 2D+3)`: standard deviation of the weights in `distance`.

    Raises InputError if the sizes do not belong together or a number is not finite.
    """

    distance: Float[np.ndarray, "layers heads bins"]
    first: Float[np.ndarray, "layers heads"]
    last: Float[np.ndarray, "layers heads"]
    spread: Float[np.ndarray, "layers heads bins"]

    def __post_init__(self) -> None:
        shape = self.distance.shape
        if len(shape) != 3 or shape[2] < 3 or shape[2] % 2 == 0:
            raise InputError(
                f"distance has shape {shape}: expected (layers, heads, 2D+3), the last axis odd."
            )
        for name, wanted in (("first", shape[:2]), ("last", shape[:2]), ("spread", shape)):
            if getattr(self, name).shape != wanted:
                raise InputError(
                    f"{name} has shape {getattr(self, name).shape} and distance {shape}: "
                    f"expected {wanted}."
                )
        for field in fields(self):
            array = getattr(self, field.name)
            if array.dtype.kind != "f" or not np.isfinite(array).all():
                raise InputError(
                    f"{field.name} of a habit, dtype {array.dtype}, must be finite floats. "
                    "Measure the habit again."
                )

    @property
    def layers(self) -> int:
        """How many layers were measured."""
        return int(self.distance.shape[0])

    @property
    def heads(self) -> int:
        """How many heads each layer has."""
        return int(self.distance.shape[1])

    @property
    def reach(self) -> int:
        """D, the largest distance with a bin of its own."""
        return int((self.distance.shape[2] - 3) // 2)

    def bins(self, distances: Int64[np.ndarray, "..."]) -> Int64[np.ndarray, "..."]:
        """The index in the last axis of `distance` for each distance in words."""
        inside: Int64[np.ndarray, "..."] = np.clip(distances, -self.reach - 1, self.reach + 1)
        return inside + self.reach + 1

    def expected(
        self, layer: int, special: Bool[np.ndarray, " words"], word: int
    ) -> Float[np.ndarray, "heads words"]:
        """The weight each head of `layer` usually gives each word when `word` is the reader.

        special: which words of the side are special tokens. The first and the last of them have a
        habit if they stand at the ends; other special tokens, and a reader that is itself one,
        have none: NaN.
        """
        special = np.asarray(special, np.bool_)
        expected = np.full((self.heads, len(special)), np.nan, self.distance.dtype)
        if special[word]:
            return expected
        place = np.cumsum(~special)  # counts words, special tokens apart
        expected[:, ~special] = self.distance[layer][:, self.bins(place - place[word])][:, ~special]
        if special[0]:
            expected[:, 0] = self.first[layer]
        if special[-1]:
            expected[:, -1] = self.last[layer]
        return expected


def read_habit(path: str | os.PathLike[str]) -> Habit:
    """The habit in a safetensors file, written by `write_habit`. Raises InputError."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{os.fspath(path)} cannot be read as a habit table: {error}.") from error
    names = {field.name for field in fields(Habit)}
    if set(tensors) != names:
        raise InputError(
            f"{os.fspath(path)} holds {sorted(tensors)}: expected {sorted(names)}, a habit table."
        )
    return Habit(**tensors)


def write_habit(
    habit: Habit, path: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write a habit as safetensors; `metadata` says what it was measured on."""
    from safetensors.numpy import save_file

    arrays = {f.name: np.ascontiguousarray(getattr(habit, f.name)) for f in fields(habit)}
    save_file(arrays, path, metadata)
