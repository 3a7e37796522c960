"""What one layer has shown of some items of a batch, call after call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from regard.errors import InputError
from regard.mechanism.api import readings
from regard.mechanism.readings import Ask, Readings
from regard.models.watched.asked import (
    check_places,
    counts_from_end,
    places_so_far,
    rows_at_end,
    rows_so_far,
)
from regard.models.watched.grown import Grown, Slab
from regard.models.watched.masks import part_of
from regard.models.watched.pieces import Piece

if TYPE_CHECKING:
    from jaxtyping import Bool, Int64

    from regard.models.watched.interface import ModelCall
    from regard.models.watched.places import Place

ALWAYS: Final = 3
"""Groups of keys whose mass is read where an ask has no groups of its own: the first token if it is
no special one, special tokens but the first, and a special token that is the first."""

KEPT: Final = ("query", "key", "value")

_BY_ROW: Final = (
    "top_index",
    "top_weight",
    "top_share",
    "entropy",
    "lse",
    "max_score",
    "columns",
    "group_mass",
)


@dataclass(frozen=True, eq=False)
class Wanted:
    """What a watch reads and keeps of each call.

    queries: which rows, as in `Ask`, or a `Sample`. ask: the readings. keep: some of 'query',
    'key', 'value'. heads: those chosen, or None.
    """

    queries: Any
    ask: Ask
    keep: frozenset[str]
    heads: list[int] | None

    @property
    def own_groups(self) -> bool:
        """Whether the groups are those of the caller."""
        return self.ask.groups is not None


class Track:
    """One layer's readings of some items that are called together, stitched over calls.

    Rows and keys are counted from the item's first token that is no padding.
    """

    def __init__(
        self, place: Place, wanted: Wanted, items: list[int], grows: bool, slab: Slab
    ) -> None:
        self.place = place
        self.wanted = wanted
        self.items = items
        self.grows = grows
        self.slab = slab
        self.kind: Literal["encoder", "decoder", "cross"] = "encoder"
        self.source: Any = None
        self.pieces: list[Piece] = []
        self.read: Int64[np.ndarray, " read"] = np.zeros(0, np.int64)
        self.decoded: Bool[np.ndarray, " read"] = np.zeros(0, np.bool_)
        self.by_row: dict[str, Grown] = {}
        self.by_key: dict[str, Grown] = {}
        self.kept: dict[str, Grown] = {}
        self.whole: list[tuple[Int64[np.ndarray, " rows"], int, Any]] = []
        self.once: dict[str, Any] = {}
        self.columns: Any = ()
        self.rows: Any = ()
        self.heads = 0
        self.scale = 1.0
        self.softcap: float | None = None
        self.sinks: Any = None
        self.backend = "loop"
        self.dtype = ""

    @property
    def stop(self) -> int:
        """One past the last row."""
        return self.pieces[-1].start + self.pieces[-1].rows if self.pieces else 0

    @property
    def first_key(self) -> int:
        """The first key that any row could see."""
        return self.pieces[0].first_key

    @property
    def last_key(self) -> int:
        """One past the last key."""
        return max(piece.first_key + piece.keys for piece in self.pieces)

    def add(self, call: ModelCall, start: int, first_key: int, labels: Any) -> None:
        """Read and keep what is wanted of one call.

        call: of these items only, without padding. start, first_key: the token of its first row
        and of its first key. labels: `(items, keys)`, 0 to ALWAYS-1 or -1, for each key.
        """
        queries, keys = call.query.shape[2], call.key.shape[2]
        if self.pieces:
            self._check_stitches(start, queries)
            if start < self.stop:
                self._rewind(start)
        else:
            self._begin(call, start + queries, first_key)
        decodes = bool(self.pieces) and queries == 1
        rows = (
            np.array([start])
            if decodes
            else rows_so_far(self.wanted.queries, start, start + queries)
        )
        self.pieces.append(Piece(start, queries, first_key, keys, call.mask))
        self._keep(call, queries)
        ask = self._ask(rows, start, first_key, keys)
        # with query and key kept, the weight on any key can still be asked for
        if len(rows) and (ask.anything or not {"query", "key"} <= self.wanted.keep):
            shift = first_key - self.first_key
            self._store(self._readings(call, ask, labels), rows, shift, first_key)
            self.read = np.concatenate((self.read, rows))
            self.decoded = np.concatenate((self.decoded, np.full(len(rows), decodes)))

    def _begin(self, call: ModelCall, stop: int, first_key: int) -> None:
        ask = self.wanted.ask
        self.heads = call.query.shape[1]
        self.scale, self.softcap, self.sinks = call.scale, call.softcap, call.sinks
        self.dtype = str(call.query.dtype).removeprefix("torch.")
        self.rows = places_so_far("rows", ask.rows, stop)
        self.columns = places_so_far("columns", ask.columns, first_key + call.key.shape[2])

    def _check_stitches(self, start: int, queries: int) -> None:
        """Refuse what cannot be told of several calls together."""
        ask = self.wanted.ask
        if ask.thumbnail:
            raise InputError(
                "thumbnail is a picture of one pass, and a generation has many: ask received, "
                "columns or groups, or watch a single forward pass over the whole text."
            )
        if ask.received and start < self.stop:
            raise InputError(
                f"the model went back to token {start} and computes rows again, as assisted "
                "generation does: received is a sum that cannot forget them. Leave received out."
            )
        summed = ask.received and counts_from_end(self.wanted.queries)
        if queries > 1 and (summed or counts_from_end(ask.rows) or counts_from_end(ask.columns)):
            raise InputError(
                "the prompt is computed in chunks, and the ask has received, rows or columns "
                "counted from its end, which only the last chunk knows: count from the start."
            )

    def _rewind(self, start: int) -> None:
        """Forget the rows from `start` on: the model computes them again."""
        left = int((self.read < start).sum())
        for grown in self.by_row.values():
            grown.cut(left)
        self.read, self.decoded = self.read[:left], self.decoded[:left]
        again = [int((rows < start).sum()) for rows, _, _ in self.whole]
        self.whole = [
            (rows[:count], shift, array[:, :, :count])
            for (rows, shift, array), count in zip(self.whole, again, strict=True)
            if count
        ]
        first = self.pieces[0].start
        for name, grown in self.kept.items():
            grown.cut(start - (first if name == "query" else self.first_key))
        kept = []
        for piece in self.pieces:
            rows = min(piece.rows, start - piece.start)
            if rows > 0:
                keys = min(piece.keys, start - piece.first_key) if self.grows else piece.keys
                shape = (len(self.items), self.heads, piece.rows, piece.keys)
                mask = part_of(
                    piece.mask, shape, list(range(shape[0])), None, slice(0, rows), slice(0, keys)
                )
                kept.append(Piece(piece.start, rows, piece.first_key, keys, mask))
        self.pieces = kept

    def _keep(self, call: ModelCall, queries: int) -> None:
        for name in sorted(self.wanted.keep):
            tensor = getattr(call, name)
            if name != "query" and name in self.kept:
                if not self.grows:
                    continue
                tensor = tensor[:, :, tensor.shape[2] - queries :]
            # a copy: the model may write to its own, and a view would hold more than it shows
            self.kept.setdefault(name, Grown(2)).append(tensor.to("cpu", copy=True).contiguous())

    def _ask(self, rows: Any, start: int, first_key: int, keys: int) -> Ask:
        """The ask for one call, in its own rows and keys."""
        ask = self.wanted.ask
        columns = np.asarray(self.columns, np.int64) - first_key
        groups: Any = None
        if ask.groups is not None:
            labels = np.asarray(ask.groups[0])
            if len(self.pieces) > 1 or first_key:
                labels = np.concatenate((labels, np.full(max(first_key + keys, 0), -1)))
                labels = labels[first_key : first_key + keys]
            groups = (labels, ask.groups[1])
        whole = [row for row in self.rows if start <= row < self.stop]
        return replace(
            ask,
            queries=rows - start,
            rows=np.array(whole, np.int64) - start,
            columns=columns[(columns >= 0) & (columns < keys)],
            groups=groups,
        )

    def _readings(self, call: ModelCall, ask: Ask, labels: Any) -> dict[str, Any]:
        """Readings by name, `(items, heads, ...)`; items whose labels differ are read apart."""
        batch = call.query.shape[0]
        alike = self.wanted.own_groups or (labels == labels[:1]).all()
        parts = [list(range(batch))] if alike else [[item] for item in range(batch)]
        done = []
        for items in parts:
            chosen = ask
            if not self.wanted.own_groups:
                chosen = replace(ask, groups=(labels[items[0]], ALWAYS))
            done.append(_named(_read(call, items, chosen)))
        if len(done) == 1:
            return done[0]
        import torch

        return {name: torch.cat([one[name] for one in done]) for name in done[0]}

    def _store(self, read: dict[str, Any], rows: Any, shift: int, first_key: int) -> None:
        import torch

        if "top_index" in read and shift:
            index = read["top_index"]
            read["top_index"] = torch.where(index >= 0, index + shift, index)
        if len(self.columns):
            places = np.asarray(self.columns, np.int64) - first_key
            read["columns"] = _wide(read, self.heads, len(rows), places, self.last_key - first_key)
        if len(self.pieces) == 1:
            read = {name: self.slab.place(array) for name, array in read.items()}
        for name, array in read.items():
            if name in _BY_ROW:
                self.by_row.setdefault(name, Grown(2)).append(array)
            elif name in ("received", "eligible"):
                self.by_key.setdefault(name, Grown(2)).add(array, shift)
            elif name == "rows":
                self.whole.append((np.array([r for r in self.rows if r in rows]), shift, array))
            else:
                self.once[name] = array

    def check(self) -> None:
        """Raises InputError for rows or columns that the text, as long as it got, does not have."""
        check_places("rows", self.rows, self.stop)
        check_places("columns", self.columns, self.last_key)
        rows_at_end(self.wanted.queries, self.prompt)

    @property
    def prompt(self) -> int:
        """One past the last row that was computed together with others, or alone as the first."""
        several = [piece.start + piece.rows for piece in self.pieces if piece.rows > 1]
        return max(several) if several and len(self.pieces) > 1 else self.stop


def _read(call: ModelCall, items: list[int], ask: Ask) -> Readings:
    batch, heads, queries, _ = call.query.shape
    shape = (batch, heads, queries, call.key.shape[2])
    mask = part_of(call.mask, shape, items, None, slice(0, queries), slice(0, shape[3]))
    some: Any = slice(items[0], items[-1] + 1)
    return readings(
        call.query[some],
        call.key[some],
        call.value[some] if ask.share else None,
        ask=ask,
        mask=mask,
        scale=call.scale,
        softcap=call.softcap,
        sinks=call.sinks,
    )


def _named(read: Readings) -> dict[str, Any]:
    return {
        name: array
        for name, array in vars(read).items()
        if name not in ("backend", "queries") and array is not None
    }


def _wide(read: dict[str, Any], heads: int, rows: int, places: Any, keys: int) -> Any:
    """The columns asked for, 0 for keys that a call does not have."""
    model = next(array for name, array in read.items() if name not in ("top_index", "eligible"))
    wide = model.new_zeros((model.shape[0], heads, rows, len(places)))
    inside = [int(i) for i in np.flatnonzero((places >= 0) & (places < keys))]
    if inside:
        wide[..., inside] = read["columns"]
    return wide
