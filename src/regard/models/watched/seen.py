"""What a watch has seen: a record for each item of the batch, and a summary."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.models.watched.naming import UNKNOWN
from regard.models.watched.recorded import recorded
from regard.models.watched.summary import Summary, summarise
from regard.record import Record, Side

if TYPE_CHECKING:
    from regard.models.watched.collection import Collection
    from regard.models.watched.sequence import Sequence
    from regard.models.watched.track import Track

_NAMES: Final = {"pixel_values": "image", "input_features": "audio", "input_values": "audio"}
_NOTHING: Final = "nothing was seen yet: run the model inside the with block first."


class Seen:
    """What a watch collects: the newest text that the model read, however many passes it took.

    A pass that goes on from a cache is stitched to the passes before it; one that starts anew
    replaces them. Records are made when they are asked for, of what has been seen by then, also
    after the watch has ended.
    """

    def __init__(self, model: Any, collection: Collection, texts: list[str] | None) -> None:
        self._model = model
        self._collection = collection
        self._texts = texts
        self._made: tuple[int, list[Record]] | None = None
        self.implementation = ""

    @property
    def record(self) -> Record:
        """The record of the one item that was seen. Raises InputError for a batch of several."""
        records = self.records
        if len(records) != 1:
            raise InputError(
                f"the batch had {len(records)} items: seen.records holds one record an item."
            )
        return records[0]

    @property
    def records(self) -> list[Record]:
        """One record for each item of the batch. Raises InputError if nothing was seen yet."""
        changes = self._collection.changes
        if self._made is None or self._made[0] != changes:
            layers = self._collection.layers
            if not layers:
                raise InputError(_NOTHING)
            items = max(max(track.items) for tracks in layers for track in tracks) + 1
            self._made = changes, [self._record(item, layers) for item in range(items)]
        return self._made[1]

    @property
    def memory(self) -> int:
        """Bytes that the kept query, key and value of the newest text take in all layers.

        What it will be is said before it is taken: at level INFO in the log of 'regard', and as
        MemoryBudgetError if it passes the memory budget.
        """
        return self._collection.memory

    def summary(self) -> Summary:
        """A few numbers for each layer and head of the newest text, ready for a logger.

        They are taken from the rows that the watch's `ask` reads; without an ask, from at most 64
        rows of each pass, spread evenly. Raises InputError if nothing was seen yet.
        """
        layers = self._collection.layers
        if not layers:
            raise InputError(_NOTHING)
        return summarise(layers)

    def _record(self, item: int, layers: list[list[Track]]) -> Record:
        sides: list[Side] = []
        index: dict[Any, int] = {}
        made = []
        for tracks in layers:
            track = next((one for one in tracks if item in one.items and one.pieces), None)
            if track is None:
                continue
            own = self._collection.sequences[track.place.stack]
            read = track.source if track.kind == "cross" else own
            at = []
            for sequence in (own, read):
                # what is read but was not seen (features of an image) is told by its length
                key = id(sequence) if sequence is not None else track.last_key
                if key not in index:
                    index[key] = len(sides)
                    sides.append(self._side(sequence, item, track.last_key, layers))
                at.append(index[key])
            made.append(recorded(track, item, (at[0], at[1]), sides[at[1]]))
        return Record(tuple(sides), tuple(made), self._provenance(layers))

    def _side(
        self, sequence: Sequence | None, item: int, tokens: int, layers: list[list[Track]]
    ) -> Side:
        """The side of a sequence; of labels where its ids are not known.

        tokens: how many there are where the sequence itself was not seen.
        """
        if sequence is None:
            return _labelled("keys", tokens)
        batch = max(max(one.items) for one in layers[0]) + 1
        stack = next(name for name, one in self._collection.sequences.items() if one is sequence)
        name = self._name(stack, sequence)
        ids = sequence.item_ids(item, max(batch, sequence.batch))
        longest = max(
            (
                max(one.stop, one.last_key if one.kind != "cross" else 0)
                for tracks in sequence.tracks.values()
                for one in tracks
                if one.pieces and item in one.items
            ),
            default=0,
        )
        if longest > len(ids) or (ids == UNKNOWN).all():
            return _labelled(name, max(longest, len(ids)))
        text = None
        if self._texts is not None and name != "target":
            if item >= len(self._texts):
                raise InputError(
                    f"texts has {len(self._texts)} and the batch more items: give one text each."
                )
            text = self._texts[item]
        return self._collection.vocabulary.side(name, ids, text)

    def _name(self, stack: str, sequence: Sequence) -> str:
        """'text'; 'source' and 'target' where one is read by the other; 'image', 'audio'."""
        module = self._model.get_submodule(stack)
        name = _NAMES.get(getattr(module, "main_input_name", ""), "text")
        crossed = [
            one for tracks in self._collection.layers for one in tracks if one.kind == "cross"
        ]
        if not crossed or name != "text":
            return name
        return "target" if any(one.place.stack == stack for one in crossed) else "source"

    def _provenance(self, layers: list[list[Track]]) -> dict[str, str]:
        import torch
        import transformers

        config = getattr(self._model, "config", None)
        name = getattr(config, "_name_or_path", "") or architecture_of(self._model)
        tracks = [track for group in layers for track in group if track.pieces]
        said = {
            "model": name,
            "revision": getattr(config, "_commit_hash", None) or "",
            "dtype": ", ".join(sorted({track.dtype for track in tracks})),
            "attention": self.implementation,
            "backend": ", ".join(sorted({track.backend for track in tracks})),
            "regard": _version("regard"),
            "torch": str(torch.__version__),
            "transformers": transformers.__version__,
            "numpy": np.__version__,
        }
        return {key: value for key, value in said.items() if value}


def architecture_of(model: Any) -> str:
    """The class of a model, or of the one inside PEFT's wrappers."""
    inner = getattr(model, "get_base_model", None)
    return type(inner() if callable(inner) else model).__name__


def _labelled(name: str, tokens: int) -> Side:
    return Side.of_labels([str(token) for token in range(tokens)], [False] * tokens, name=name)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"
