"""A few numbers for each layer and head, for a training log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float

    from regard.models.watched.track import Track

_NUMBERS: Final = ("entropy", "max_score", "first_mass", "special_mass")


@dataclass(frozen=True, eq=False)
class Summary:
    """What each head of each layer did, over the rows that were read of all items.

    layers: a label a layer, as 'L3', with its kind before it where a number occurs twice. Arrays
    are `(layers, heads)`, float64, NaN where a layer has fewer heads or a number was not read:

    entropy: mean, in nats. max_score: the largest masked score of those rows. first_mass: mean
    weight on the first token. special_mass: mean weight on special tokens (the first among them
    if it is one).
    rows: `(layers)`, how many rows each is taken from.
    """

    layers: tuple[str, ...]
    entropy: Float[np.ndarray, "layers heads"]
    max_score: Float[np.ndarray, "layers heads"]
    first_mass: Float[np.ndarray, "layers heads"]
    special_mass: Float[np.ndarray, "layers heads"]
    rows: Any

    def as_dict(self, prefix: str = "attention") -> dict[str, float]:
        """Flat, for a logger: 'attention/L3H1/entropy' to a number. What is NaN is left out."""
        flat = {}
        for name in _NUMBERS:
            for layer, head in np.ndindex(self.entropy.shape):
                number = float(getattr(self, name)[layer, head])
                if not np.isnan(number):
                    flat[f"{prefix}/{self.layers[layer]}H{head}/{name}"] = number
        return flat


def summarise(layers: Sequence[Sequence[Track]]) -> Summary:
    """The summary of layers, each of them the tracks of its items."""
    most = max((tracks[0].heads for tracks in layers), default=0)
    numbers = {name: np.full((len(layers), most), np.nan) for name in _NUMBERS}
    rows = np.zeros(len(layers), np.int64)
    for index, tracks in enumerate(layers):
        heads = tracks[0].heads
        read = [track for track in tracks if len(track.read)]
        weights = [len(track.read) * len(track.items) for track in read]
        rows[index] = sum(weights)
        if not read:
            continue
        for name in _NUMBERS:
            found = [_of_track(track, name) for track in read]
            known = [one for one in found if one is not None]
            if len(known) < len(found):
                continue
            if name == "max_score":
                numbers[name][index, :heads] = np.max(known, axis=0)
            else:
                numbers[name][index, :heads] = np.average(known, axis=0, weights=weights)
    return Summary(_labels([tracks[0] for tracks in layers]), **numbers, rows=rows)


def _of_track(track: Track, name: str) -> Any:
    """`(heads)`, or None where it was not read."""
    if name in ("entropy", "max_score"):
        if name not in track.by_row:
            return None
        array = track.by_row[name].array.double()  # (items, heads, rows)
        joined = array.amax((0, 2)) if name == "max_score" else array.mean((0, 2))
        return joined.cpu().numpy()
    if track.wanted.own_groups or "group_mass" not in track.by_row:
        return None
    mass = track.by_row["group_mass"].array.double().mean((0, 2))
    groups = [0, 2] if name == "first_mass" else [1, 2]
    return mass[:, groups].sum(1).cpu().numpy()


def _labels(tracks: Sequence[Track]) -> tuple[str, ...]:
    numbers = [track.place.number for track in tracks]
    plain = len(set(numbers)) == len(numbers)
    labels = []
    for track in tracks:
        label = f"L{track.place.number}"
        labels.append(label if plain else f"{track.kind}.{label}")
    if len(set(labels)) < len(labels):  # two encoders side by side
        labels = [f"{track.place.name}." for track in tracks]
    return tuple(labels)
