"""What some rows of a record, those of an answer, read of each named part of its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from regard.errors import InputError
from regard.record import Layer, Record
from regard.sources import token_rows

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int64

    from regard.questions.spans import Span

REST: Final = ("special and first tokens", "the answer so far", "outside the spans")
"""What the tokens in no span are, in the order of the groups after the spans."""


@dataclass(frozen=True, eq=False)
class SpanReadings:
    """Per head and reading row, the mass and the part of the result of each group of tokens.

    Groups: the spans in order, then the three of `REST`, so that every token is in exactly one.
    tokens: `(groups)`, how many. length: `(groups)`, the mean over the rows of the part of the
        tokens that the row may see: what an even spread would give.
    heads: (index of the layer in the record, head) for each entry of the first axis below.
    mass: `(heads, rows, groups)`; with a sink, the groups sum to less than 1.
    bare: the same without the tokens set apart (special ones, the first one), not renormalised.
    share: `(heads, rows, groups)`, the part of the result z that a group's keys make up,
        Σ w_j (v_j · z) / |z|²: sums to 1 over the groups, may be negative, NaN where z is 0; None
        where values were not kept.
    exact: False where weights beyond the largest are unknown: then all are lower bounds.
    """

    spans: tuple[Span, ...]
    tokens: Int64[np.ndarray, " groups"]
    length: Float[np.ndarray, " groups"]
    heads: tuple[tuple[int, int], ...]
    mass: Float[np.ndarray, "heads rows groups"]
    bare: Float[np.ndarray, "heads rows groups"]
    share: Float[np.ndarray, "heads rows groups"] | None
    exact: bool

    @property
    def weight(self) -> Float[np.ndarray, " groups"]:
        """Mean mass over rows and over all heads of all layers, each head counting alike."""
        weight: Float[np.ndarray, " groups"] = self.mass.mean(axis=(0, 1), dtype=np.float64)
        return weight

    @property
    def without_apart(self) -> Float[np.ndarray, " groups"]:
        """As `weight`, over what is left when special and first tokens are taken out.

        The means are renormalised, not each row: a head that gives the first token .99 has little
        to say about the rest, and counts by what it has left. NaN where nothing is left.
        """
        left = self.bare.mean(axis=(0, 1), dtype=np.float64)
        with np.errstate(invalid="ignore"):
            renormalised: Float[np.ndarray, " groups"] = left / left.sum()
        return renormalised

    @property
    def part(self) -> Float[np.ndarray, " groups"] | None:
        """Mean part of the result over rows and heads, each counting alike; NaN rows left out."""
        if self.share is None:
            return None
        flat = self.share.reshape(-1, self.share.shape[-1])
        known = flat[np.isfinite(flat).all(axis=1)]
        if not len(known):
            return np.full(flat.shape[1], np.nan)
        parts: Float[np.ndarray, " groups"] = known.mean(axis=0, dtype=np.float64)
        return parts

    @property
    def top_head(self) -> Float[np.ndarray, " groups"]:
        """The mean mass over the rows in the one head that reads a group most."""
        largest: Float[np.ndarray, " groups"] = self.mass.mean(axis=1, dtype=np.float64).max(axis=0)
        return largest

    @property
    def by_layer(self) -> Float[np.ndarray, "layers groups"]:
        """Mean mass over the rows and heads of each layer of the record, in order."""
        owner = np.array([layer for layer, _ in self.heads])
        rows = self.mass.mean(axis=1, dtype=np.float64)
        return np.stack([rows[owner == layer].mean(axis=0) for layer in np.unique(owner)])

    def top_heads(self, group: int, count: int) -> list[tuple[int, int, float]]:
        """The heads that read a group most: (layer index, head, mean mass over the rows)."""
        masses = self.mass[:, :, group].mean(axis=1, dtype=np.float64)
        order = np.argsort(-masses, kind="stable")[:count]
        return [(*self.heads[int(place)], float(masses[place])) for place in order]


def read_spans(
    record: Record,
    spans: Sequence[Span],
    labels: Int64[np.ndarray, " tokens"],
    readers: Sequence[int],
    apart: Bool[np.ndarray, " tokens"],
) -> SpanReadings:
    """What the tokens `readers` read of each span, in every layer of the record.

    labels: the index in `spans` of each token of the key side, -1 for none (`token_labels`).
    readers: tokens of the query side, ascending: the rows that predict an answer, of which the
        first is the last token of the prompt. apart: special tokens, and where the model is
        causal the first token. Tokens after the first reader are the answer so far.

    Exact where the layers kept these rows (`Ask(rows=...)`) or query and key; shares need values.
    Raises InputError for a record of which this is not known or to which the labels do not belong.
    """
    if not record.layers:
        raise InputError("the record has no layers: nothing was read.")
    if not len(readers):
        raise InputError("readers is empty: expected the tokens that predict the answer.")
    count = len(spans) + len(REST)
    groups = _groups(labels, len(spans), int(readers[0]), apart)
    masses, bares, shares, heads = [], [], [], []
    lengths, exact = [], True
    for index, layer in enumerate(record.layers):
        of_keys = _of_layer(record, layer, groups)
        found = token_rows(layer, _rows(layer, readers))
        masses.append(by_group(found.weights, of_keys, count))
        kept = ~apart[layer.key_positions]
        bares.append(by_group(found.weights[..., kept], of_keys[kept], count))
        shares.append(_shares(layer, found.weights, of_keys, count))
        heads += [(index, head) for head in range(layer.heads)]
        seen = by_group(found.visible.astype(np.float64), of_keys, count)
        lengths.append((seen / np.maximum(seen.sum(axis=1, keepdims=True), 1)).mean(axis=0))
        exact &= bool(found.exact.all())
    known = [share for share in shares if share is not None]
    return SpanReadings(
        spans=tuple(spans),
        tokens=np.bincount(groups, minlength=count),
        length=np.mean(lengths, axis=0),
        heads=tuple(heads),
        mass=np.concatenate(masses),
        bare=np.concatenate(bares),
        share=np.concatenate(known) if len(known) == len(shares) else None,
        exact=exact,
    )


def by_group(
    weights: Float[np.ndarray, "*leading keys"], groups: Int64[np.ndarray, " keys"], count: int
) -> Float[np.ndarray, "*leading groups"]:
    """Sums over the keys of each group."""
    sums = np.zeros((*weights.shape[:-1], count), weights.dtype)
    for group in np.unique(groups):
        sums[..., group] = weights[..., groups == group].sum(axis=-1)
    return sums


def _groups(
    labels: Int64[np.ndarray, " tokens"], spans: int, first: int, apart: Bool[np.ndarray, " tokens"]
) -> Int64[np.ndarray, " tokens"]:
    """`labels` with the tokens in no span given to one of `REST`."""
    if len(labels) != len(apart):
        raise InputError(f"labels are of {len(labels)} tokens and apart of {len(apart)}.")
    groups = np.where(labels < 0, spans + 2, labels)
    groups[first + 1 :] = spans + 1
    groups[(labels < 0) & apart] = spans
    return groups


def _of_layer(record: Record, layer: Layer, groups: Any) -> Int64[np.ndarray, " keys"]:
    tokens = len(record.sides[layer.key_side].tokens)
    if len(groups) != tokens:
        raise InputError(
            f"labels are of {len(groups)} tokens and the side that {layer.name!r} reads has "
            f"{tokens}: expected one label a token."
        )
    of_keys: Int64[np.ndarray, " keys"] = groups[layer.key_positions]
    return of_keys


def _rows(layer: Layer, readers: Sequence[int]) -> Int64[np.ndarray, " rows"]:
    place = {int(token): row for row, token in enumerate(layer.query_positions)}
    for token in readers:
        if int(token) not in place:
            raise InputError(
                f"token {token} is no reader in layer {layer.name!r}, whose rows are "
                f"{len(place)} tokens: capture the rows that predict the answer."
            )
    return np.array([place[int(token)] for token in readers])


def _shares(
    layer: Layer,
    weights: Float[np.ndarray, "heads rows keys"],
    groups: Int64[np.ndarray, " keys"],
    count: int,
) -> Float[np.ndarray, "heads rows groups"] | None:
    """Each group's part of the result: (its Σ w_j v_j) · z / |z|²."""
    if layer.value is None:
        return None
    value = layer.value.astype(np.result_type(layer.value, np.float32), copy=False)
    heads, rows, keys = weights.shape
    kv_heads = len(value)  # the heads of one key head follow one another
    grouped = weights.reshape(kv_heads, heads // max(kv_heads, 1) * rows, keys)
    parts = np.zeros((*grouped.shape[:2], count, value.shape[2]), np.float64)
    for group in np.unique(groups):
        mine = groups == group
        parts[:, :, group] = grouped[:, :, mine] @ value[:, mine]
    result = parts.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        along = np.einsum("hrgd,hrd->hrg", parts, result) / np.square(result).sum(-1)[..., None]
    shares: Float[np.ndarray, "heads rows groups"] = along.reshape(heads, rows, count)
    return shares
