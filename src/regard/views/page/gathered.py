"""What is read of every head and every unit in one pass over the layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.layer_readings import layer_readings
from regard.rows import by_word
from regard.views.page.level import joined
from regard.views.page.packing import block
from regard.views.page.strongest import Strongest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Float

    from regard.layer_readings import Readings
    from regard.record import Layer
    from regard.views.page.level import Level, Tops
    from regard.views.page.packing import Block

THUMB: Final = 32
"""Blocks of a head's small picture, each way."""

STRONGEST: Final = 12
"""Links of each unit that are gathered over all heads."""

TOP: Final = 8
"""Largest weights of each row, where rows are too many to be read whole."""

MOST_LINKS: Final = 2**24
"""Links of a level that are kept in memory, 200 MB of them; else chosen heads are read again."""

READINGS: Final = ("apart", "entropy", "received", "sums")


class OfLevel:
    """What is read of the units of one level, NaN where not known.

    of['entropy'], of['apart'], of['sums'] `(H, readers)`: nats; weight on special tokens (in a
    decoder the first token); what a row sums to. Means over the pieces of a unit.
    of['received'] `(H, keys)`: mean weight from each row that may see the unit.
    seen `(layers, readers, keys)`, or None where rows are not read whole.
    tops: the largest weights of each layer's rows, where they are kept for later.
    """

    def __init__(self, level: Level, tops: bool) -> None:
        self.level = level
        self.tops: list[Tops | None] | None = [] if tops else None
        readers, keys = len(level.readers.words), len(level.keys.words)
        self.of = {
            name: np.full(
                (level.heads, keys if name == "received" else readers), np.nan, np.float32
            )
            for name in READINGS
        }
        self.strongest = Strongest(level, STRONGEST)
        self.seen: Any = None
        if level.whole and len(level.record.layers) * readers * keys <= 2**25:
            self.seen = np.zeros((len(level.record.layers), readers, keys), np.bool_)

    def add(self, index: int, layer: Layer, read: Readings) -> None:
        """One layer and its readings."""
        level, here = self.level, slice(*self.level.first_head[index : index + 2])
        units = len(level.readers.words)
        if read.queries is not None:
            owner = level.readers.word_of[layer.query_positions[read.queries]]
            if read.entropy is not None:
                self.of["entropy"][here] = _means(read.entropy, owner, units)
            if read.group_mass is not None:
                self.of["apart"][here] = _means(read.group_mass[..., 0], owner, units)
            if layer.call is not None and layer.call.sinks is not None and read.lse is not None:
                taken = np.exp(layer.call.sinks[:, None].astype(np.float64) - read.lse)
                self.of["sums"][here] = _means(1 - taken, owner, units)
        if read.received_mean is not None:
            owner = level.keys.word_of[layer.key_positions]
            self.of["received"][here] = by_word(read.received_mean, owner, len(level.keys.words))
        found: list[Tops] = []
        if level.whole:
            for rows in level.rows(index):
                self.strongest.add_rows(index, rows)
                self.of["sums"][here, rows.readers] = rows.weights.sum(axis=2)
                if self.seen is not None:
                    self.seen[index, rows.readers] = rows.visible
                if self.tops is not None:
                    found.append(level.tops_of(rows, TOP))
        elif (tops := level.tops(index, read, TOP)) is not None:
            self.strongest.add_tops(index, tops)
            found.append(tops)
        if self.tops is not None:
            self.tops.append(joined(found))


class Gathered:
    """Everything that one pass over the layers reads, at every level: words first.

    longest: weights of a level, above which the largest of each row are kept as well.
    """

    def __init__(self, levels: Sequence[Level], longest: int) -> None:
        self.levels = [
            OfLevel(level, longest < level.cells and _links(level) <= MOST_LINKS)
            for level in levels
        ]
        words = levels[0]
        whole = all(one.level.whole for one in self.levels)
        self.thumbs: list[Any] = []
        for index, layer in enumerate(words.record.layers):
            apart = words.record.apart(index)[words.keys.word_of[layer.key_positions]]
            read = layer_readings(
                layer,
                top=0 if whole else TOP,
                entropy=True,
                received=True,
                lse=layer.call is not None and layer.call.sinks is not None,
                thumbnail=min(THUMB, len(layer.query_positions), len(layer.key_positions)),
                apart=apart,
            )
            self.thumbs.append(read.thumbnail)
            for one in self.levels:
                one.add(index, layer, read)

    def thumbs_data(self, size: int = THUMB) -> dict[str, Block] | None:
        """The small pictures of all heads, in 256 steps up to the largest cell of each."""
        found = self.thumbs
        if (
            not found
            or any(one is None for one in found)
            or len({one.shape[1:] for one in found}) > 1
        ):
            return None
        cells = np.nan_to_num(np.concatenate(found))
        grid = cells.shape[1]
        if grid > size:  # blocks of blocks: sums over what is read, means over who reads
            at = np.arange(0, grid, -(-grid // size))
            cells = np.add.reduceat(np.add.reduceat(cells, at, axis=2), at, axis=1)
            cells /= np.diff(at, append=grid)[:, None]
        top = cells.max(axis=(1, 2), initial=0)
        scaled = np.rint(cells / np.where(top > 0, top, 1)[:, None, None] * 255)
        return {"data": block("core", scaled, "u1"), "top": block("core", top, "f4")}


def _links(level: Level) -> int:
    return level.heads * len(level.readers.words) * min(TOP, len(level.keys.words))


def mean_of(numbers: Float[np.ndarray, "heads units"]) -> Block | None:
    """The mean of each head over what is known."""
    known = ~np.isnan(numbers)
    if not known.any():
        return None
    with np.errstate(all="ignore"):
        means = np.where(known, numbers, 0).sum(axis=1, dtype=float) / known.sum(axis=1)
    return block("core", means, "f4")


def _means(numbers: Any, owner: Any, units: int) -> Any:
    """The mean over the pieces of each unit; NaN for units without."""
    count = np.bincount(owner, minlength=units)
    sums = by_word(np.asarray(numbers, np.float64), owner, units)
    return sums / np.where(count, count, np.nan)
