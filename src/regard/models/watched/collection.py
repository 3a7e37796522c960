"""What a watched model shows, call after call, sorted by stack, layer and item."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import InputError, MemoryBudgetError
from regard.mechanism.readings import memory_budget
from regard.models.watched.grown import Slab
from regard.models.watched.masks import part_of
from regard.models.watched.naming import Vocabulary
from regard.models.watched.sequence import Sequence
from regard.models.watched.track import KEPT, Track, Wanted

if TYPE_CHECKING:
    from jaxtyping import Bool, Int64

    from regard.models.watched.interface import ModelCall
    from regard.models.watched.places import Place

_log = logging.getLogger("regard")


@dataclass(frozen=True, eq=False)
class _Extent:
    """Where the rows and keys of one call lie among the tokens of its sequences.

    own, source: the sequences of the rows and of the keys, None where the call does not fit what
    is known of it. first_row, first_key: the token of the first of each. rows, keys: how many.
    """

    own: Sequence | None
    source: Sequence | None
    first_row: int
    rows: int
    first_key: int
    keys: int

    @property
    def apart(self) -> bool:
        """Whether padding makes each item a call of its own."""
        return any(one is not None and one.padded for one in (self.own, self.source))

    def spans(self, item: int, batch: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """For rows and for keys: (first real token of the item, first, one past the last)."""
        both = (
            (self.own, self.first_row, self.rows),
            (self.source, self.first_key, self.keys),
        )
        found = []
        for sequence, first, count in both:
            low, high = (0, first + count) if sequence is None else sequence.span(item, batch)
            found.append((low, max(low, first), max(low, first, min(high, first + count))))
        return found[0], found[1]


class Collection:
    """The newest text that a model has read, as far as it is wanted.

    A pass that goes on from a cache is stitched to the passes before it; one that starts anew
    replaces them. layers_like(place): how many layers like this one will be kept.
    """

    def __init__(
        self, wanted: Wanted, vocabulary: Vocabulary, layers_like: Callable[[Place], int]
    ) -> None:
        self.wanted = wanted
        self.vocabulary = vocabulary
        self.sequences: dict[str, Sequence] = {}
        self.memory = 0
        self.changes = 0
        self._layers_like = layers_like
        self._said = 0
        self._slab = Slab()

    @property
    def layers(self) -> list[list[Track]]:
        """The tracks of each layer that showed anything, in the order of their first calls."""
        found = [
            (place.order, tracks)
            for sequence in self.sequences.values()
            for place, tracks in sequence.tracks.items()
            if any(track.pieces for track in tracks)
        ]
        return [tracks for _, tracks in sorted(found, key=lambda one: one[0])]

    def forget(self, stacks: list[str]) -> None:
        """Start anew with these stacks."""
        for stack in stacks:
            self.sequences.pop(stack, None)
        self._said = 0
        self._slab = Slab()

    def begin(
        self,
        stack: str,
        past: int,
        shape: tuple[int, ...],
        ids: Int64[np.ndarray, "batch tokens"] | None,
        padding: Bool[np.ndarray, "batch tokens"] | None,
    ) -> None:
        """The first call of a stack in a pass; shape: of its query, (batch, heads, rows, dim)."""
        known = self.sequences.get(stack)
        if known is None or past == 0 or past > known.total or known.batch != shape[0]:
            known = self.sequences[stack] = Sequence(shape[0])
        known.extend(past, shape[2], ids, padding)
        self.changes += 1

    def take(self, place: Place, past: int, cached: bool, call: ModelCall, kind: Any) -> None:
        """Read and keep what is wanted of one call of a chosen layer."""
        batch = call.query.shape[0]
        self._learn_padding(place, past, call)
        extent = self._extent(place, past, cached, call)
        if self.wanted.keep:
            self._say_memory(place, call, extent)
        tracks = self.sequences[place.stack].tracks
        if place not in tracks:
            groups = [[item] for item in range(batch)] if extent.apart else [list(range(batch))]
            tracks[place] = [
                Track(place, self.wanted, items, grows=extent.source is extent.own, slab=self._slab)
                for items in groups
            ]
        for track in tracks[place]:
            of_rows, of_keys = extent.spans(track.items[0], batch)
            if of_rows[1] >= of_rows[2] or of_keys[1] >= of_keys[2]:
                continue
            part = self._part(call, track.items, extent, of_rows, of_keys)
            labels = self._labels(extent.source, track.items, batch, of_keys)
            track.kind = kind
            track.source = extent.source
            track.add(part, of_rows[1] - of_rows[0], of_keys[1] - of_keys[0], labels)

    def _learn_padding(self, place: Place, past: int, call: ModelCall) -> None:
        """Where the model was given no mask of two axes, its call's mask may tell the padding."""
        sequence, segments = self.sequences[place.stack], call.mask.segments
        batch, _, queries, _ = call.query.shape
        if (
            sequence.sure
            or place.cross
            or past
            or not isinstance(segments, tuple)
            or (batch, queries) != (sequence.batch, sequence.total)
        ):
            return
        labels = np.broadcast_to(np.asarray(segments[1]), (batch, call.key.shape[2]))
        if labels.shape[1] >= sequence.total:
            sequence.learn(labels[:, : sequence.total] >= 0)

    def _extent(self, place: Place, past: int, cached: bool, call: ModelCall) -> _Extent:
        batch, _, queries, _ = call.query.shape
        keys = call.key.shape[2]
        sequence = self.sequences[place.stack]
        # the stages of a vision model have lengths and batches of their own
        fits = past + queries == sequence.total and batch == sequence.batch
        own = sequence if fits else None
        first_row = past if fits else 0
        if place.cross or (not cached and keys != queries):
            return _Extent(own, self._source(sequence, keys), first_row, queries, 0, keys)
        # a fixed cache has room beyond the last token; a sliding one has dropped the first ones
        last = first_row + queries
        first_key = max(last - keys, 0)
        return _Extent(own, own, first_row, queries, first_key, last - first_key)

    def _source(self, own: Sequence, keys: int) -> Sequence | None:
        """The sequence that cross-attention reads, if it was seen: the last of that length."""
        others = [one for one in self.sequences.values() if one is not own and one.total == keys]
        return others[-1] if others else None

    def _part(
        self,
        call: ModelCall,
        items: list[int],
        extent: _Extent,
        of_rows: tuple[int, int, int],
        of_keys: tuple[int, int, int],
    ) -> ModelCall:
        """The call of some items and the chosen heads, without padding: views where possible."""
        rows = slice(of_rows[1] - extent.first_row, of_rows[2] - extent.first_row)
        keys = slice(of_keys[1] - extent.first_key, of_keys[2] - extent.first_key)
        batch, heads, queries, _ = call.query.shape
        shape = (batch, heads, queries, call.key.shape[2])
        some: Any = slice(items[0], items[-1] + 1)
        query, key, value = call.query[some], call.key[some], call.value[some]
        sinks, chosen = call.sinks, self.wanted.heads
        if chosen is not None:
            if max(chosen) >= heads:
                raise InputError(f"heads holds {max(chosen)} and the layer has {heads} heads.")
            of_key = [head // (heads // key.shape[1]) for head in chosen]
            query, key, value = query[:, chosen], key[:, of_key], value[:, of_key]
            sinks = None if sinks is None else sinks[chosen]
        return replace(
            call,
            query=query[:, :, rows],
            key=key[:, :, keys],
            value=value[:, :, keys],
            mask=part_of(call.mask, shape, items, chosen, rows, keys),
            sinks=sinks,
        )

    def _labels(
        self,
        source: Sequence | None,
        items: list[int],
        batch: int,
        of_keys: tuple[int, int, int],
    ) -> Int64[np.ndarray, "items keys"]:
        """Which of the groups that are always read each key belongs to, or -1."""
        base, first, last = of_keys
        special = np.zeros((len(items), last - first), np.bool_)
        if source is not None:
            ids = source.ids[source.owners(items, batch), first:last]
            special = self.vocabulary.are_special(ids)
        leads = np.arange(first, last) == base
        labels: Int64[np.ndarray, "items keys"] = np.where(
            special, np.where(leads, 2, 1), np.where(leads, 0, -1)
        )
        return labels

    def _say_memory(self, place: Place, call: ModelCall, extent: _Extent) -> None:
        """Say what keeping will take before it is taken, and again as a text gets longer."""
        tokens = max(extent.first_row + extent.rows, extent.first_key + extent.keys)
        if tokens <= self._said:
            return
        size = 0
        for name in self.wanted.keep:
            array = getattr(call, name)
            heads = array.shape[1] if self.wanted.heads is None else len(self.wanted.heads)
            size += array.shape[0] * heads * tokens * array.shape[3] * array.dtype.itemsize
        layers = self._layers_like(place)
        self.memory = size * layers
        self._said = tokens if not self._said else max(tokens, self._said + self._said // 4)
        names = ", ".join(name for name in KEPT if name in self.wanted.keep)
        said = (
            f"keeping {names} of {layers} layers over {tokens} tokens takes "
            f"{self.memory / 2**20:,.1f} MiB"
        )
        if self.memory > memory_budget():
            raise MemoryBudgetError(
                f"{said}; the budget is {memory_budget() / 2**20:,.0f} MiB. Choose layers= or "
                "heads=, or keep less and ask more. (regard.set_memory_budget raises it.)"
            )
        _log.info("%s", said)
